import { inspect } from 'node:util';

/**
 * A value that must never be printed. It shows as `[secret]` in strings, JSON, logs and the inspector;
 * only `reveal` gives it away.
 */
export interface Secret {
  reveal(): string;
}

export function createSecret(value: string): Secret {
  const hidden = () => '[secret]';
  return Object.freeze({
    reveal: () => value,
    toString: hidden,
    toJSON: hidden,
    [inspect.custom]: hidden,
  });
}
