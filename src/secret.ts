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

/** Shorter parts of a secret are parts of ordinary words, too. */
const shortestPart = 8;

/** One case, with every character at its place. */
const folded = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** Hides what of a text also stands in a secret, in either case, from 8 characters on. */
export function blotOut(text: string, secrets: readonly string[]): string {
  const parts = new Set<string>();
  for (const secret of secrets.map(folded))
    for (let at = 0; at + shortestPart <= secret.length; at += 1)
      parts.add(secret.slice(at, at + shortestPart));
  const searched = folded(text);
  let shown = '';
  let hiddenTo = 0;
  for (let at = 0; at + shortestPart <= text.length; at += 1) {
    if (!parts.has(searched.slice(at, at + shortestPart))) continue;
    if (at > hiddenTo || hiddenTo === 0) shown += `${text.slice(hiddenTo, at)}[secret]`;
    hiddenTo = at + shortestPart;
  }
  return shown + text.slice(hiddenTo);
}
