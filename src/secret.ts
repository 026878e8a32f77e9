import { inspect } from 'node:util';

/** A value that must never be printed. Everything prints it as `[secret]`; only `reveal` returns the value. */
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

/** The shortest part of a secret to hide, because shorter parts also occur in ordinary words. */
const shortestPart = 8;

/** The text with A to Z in lower case. Every character keeps its position. */
const folded = (text: string) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** Hides each part of a text that has at least 8 characters and occurs in a secret. Ignores case. */
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
