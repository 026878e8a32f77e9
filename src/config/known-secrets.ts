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
  /^(?:DATABASE_URL|PGPASSWORD|MUSTERD_(?:NEXT_)?SECRET_KEY|MUSTERD_API_KEY|MUSTERD_NOTIFY_(?:URL|SECRET)|MUSTERD__.*(?:secretKey|nextSecretKey|apiKey|token|password|url|secret))$/;

/** The secret parts of an address: the password, even if a `/` in it makes it no address, or else the path. */
function secretsInAddress(text: string): readonly string[] {
  const [, password] =
    /^\w+:\/\/[^@/?#:]*:([^/?#]*)@/.exec(text) ?? /^\w+:\/\/[^@/?#:]*:(.*)@/s.exec(text) ?? [];
  const [, passwordInQuery] = /[?&]password=([^&]*)/.exec(text) ?? [];
  const [, path] = /^https?:\/\/[^/?#]*(.*)$/s.exec(text) ?? [];
  return [password, passwordInQuery, path].filter((part) => part !== undefined);
}

const decoded = (text: string) =>
  text.replace(/(?:%[0-9a-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString());

/** Whether a setting whose name ends with this word has a secret value. */
export const isSecret = (word: string, value: string): boolean =>
  names.test(`MUSTERD__${word}`) &&
  (/^\w+:\/\//.test(value) ? secretsInAddress(value) : [value]).some((part) => part !== '');

export function createKnownSecrets(env: Environment): KnownSecrets {
  const fromEnvironment = Object.entries(env).flatMap(([name, value]) => (names.test(name) && value) || []);
  const lists: (readonly Pick<Secret, 'reveal'>[])[] = [];
  return {
    add: (secrets) => {
      lists.push(secrets);
    },
    blot: (text) => {
      const values = [...fromEnvironment, ...lists.flat().map((secret) => secret.reveal())];
      const parts = values.flatMap((value) => (/^\w+:\/\//.test(value) ? secretsInAddress(value) : [value]));
      return blotOut(
        text,
        parts.flatMap((part) => [part, decoded(part)]),
      );
    },
  };
}
