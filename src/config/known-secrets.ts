/** The last line of defence: no error contains a configured secret, wherever its words come from. */
import type { Environment } from './raw-settings.ts';
import { blotOut, type Secret } from '../secret.ts';

export interface KnownSecrets {
  /** Adds a list that is read again each time, because it may have grown. */
  add(secrets: readonly Pick<Secret, 'reveal'>[]): void;
  /** Hides them, whole or in parts of 8 characters and more. */
  blot(text: string): string;
}

const names =
  /^(?:DATABASE_URL|PGPASSWORD|HTTPS_PROXY|https_proxy|MUSTERD_(?:NEXT_)?SECRET_KEY|MUSTERD_API_KEY|MUSTERD_NOTIFY_(?:URL|SECRET)|MUSTERD__.*(?:secretKey|nextSecretKey|apiKey|token|password|url|secret))$/;

/** The secret parts of an address: the password, even if a `/` in it makes it no address, or else the path. */
function secretsInAddress(text: string): readonly string[] {
  const [, password] =
    /^\w+:\/\/[^@/?#:]*:([^/?#]*)@/.exec(text) ?? /^(?:\w+:\/+|(?!\w+:\/))[^@/?#:]*:(.*)@/s.exec(text) ?? [];
  const [, passwordInQuery] = /(?:^|[?&\s])password\s*=\s*([^&\s]*)/.exec(text) ?? [];
  const [, path] = /^https?:\/\/[^/?#]*(.*)$/s.exec(text) ?? [];
  return [password, passwordInQuery, path].filter((part) => part !== undefined);
}

const decoded = (text: string) =>
  text.replace(/(?:%[0-9a-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString());

const secretsIn = (text: string, name: string): readonly string[] =>
  /^\w+:\/\//.test(text) || /database(?:__|_)url$|_proxy$/i.test(name) ? secretsInAddress(text) : [text];

/** Whether a setting whose name ends with this word has a secret value. */
export const isSecret = (word: string, value: string): boolean =>
  names.test(`MUSTERD__${word}`) && secretsIn(value, word).some((part) => part !== '');

export function createKnownSecrets(env: Environment): KnownSecrets {
  const fromEnvironment = Object.entries(env).filter(([name, value]) => names.test(name) && value);
  const lists: (readonly Pick<Secret, 'reveal'>[])[] = [];
  return {
    add: (secrets) => {
      lists.push(secrets);
    },
    blot: (text) => {
      const values = [...fromEnvironment, ...lists.flat().map((secret) => ['', secret.reveal()] as const)];
      const parts = values.flatMap(([name, value = '']) => secretsIn(value, name));
      return blotOut(
        text,
        parts.flatMap((part) => [part, decoded(part)]),
      );
    },
  };
}
