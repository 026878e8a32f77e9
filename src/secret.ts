import { inspect } from 'node:util';

/** A value that must never be printed. It shows as `[secret]` everywhere; only `reveal` gives it away. */
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

/** Shorter parts of a secret also occur in ordinary words. */
const shortestPart = 8;

/** The text in one case, with every character in its place. */
const folded = (text: string) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** Hides parts of a text that are also in a secret, ignoring case, from 8 characters on. */
export function blotOut(text: string, secrets: readonly string[]): string {
  const hidden = secrets.map(folded);
  const searched = folded(text);
  let result = '';
  let hiddenTo = 0;
  for (let at = 0; at + shortestPart <= text.length; at += 1) {
    const part = searched.slice(at, at + shortestPart);
    if (!hidden.some((secret) => secret.includes(part))) continue;
    if (at > hiddenTo || hiddenTo === 0) result += `${text.slice(hiddenTo, at)}[secret]`;
    hiddenTo = at + shortestPart;
  }
  return result + text.slice(hiddenTo);
}
