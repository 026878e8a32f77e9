/** The last line of defense: hides configured secrets in each error text, wherever the text comes from. */
import type { Environment } from './raw-settings.ts';
import { blotOut, type Secret } from '../secret.ts';

export interface KnownSecrets {
  /** Adds a list of secrets. `blot` reads the list again each time, because it can grow. */
  add(secrets: readonly Pick<Secret, 'reveal'>[]): void;
  /** Hides the secrets in a text, and parts of them that have at least 8 characters. */
  blot(text: string): string;
}

const names =
  /^(?:DATABASE_URL|PGPASSWORD|HTTPS_PROXY|https_proxy|MUSTERD_(?:NEXT_)?SECRET_KEY|MUSTERD_API_KEY|MUSTERD_NOTIFY_(?:URL|SECRET)|MUSTERD__.*(?:secretKey|nextSecretKey|apiKey|token|password|url|secret))$/;

/** The secret parts of an address: its passwords, even with a `/`, which URLs forbid, and the path of an HTTP URL. */
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

/** True if a setting whose name ends with this word has a secret value. */
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
