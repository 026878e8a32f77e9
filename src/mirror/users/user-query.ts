/** The text that names a user: an id, an email, a phone number or a name, written as the person is used to. */
import { canonicalEmail, isEmailAddress, canonicalPhone } from '../../model/canonical.ts';
import { type Id, maxId } from '../../model/id.ts';
import { canonicalName } from '../../model/name.ts';

/** The possible meanings of a text, in canonical form; `null` for one that it cannot have. */
export interface UserQuery {
  readonly id: Id | null;
  readonly email: string | null;
  readonly phone: string | null;
  readonly name: string | null;
  /** A regular expression for each word, of Postgres and of JavaScript, for texts without marks, in lower case. */
  readonly words: readonly string[];
  /** A pattern of LIKE for each word, which all ASCII texts fit that the expression fits, in a third of the time. */
  readonly rough: readonly string[];
}

/** A text without diacritics, in lower case. In SQL it is `plainColumn`. */
export const plain = (text: string) =>
  text
    .normalize('NFD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .toLowerCase();

/** Other spellings of a letter, without marks to take away. */
const spellings: Readonly<Record<string, string>> = {
  a: '(ae?|[æÆ])',
  o: '([oøØ]e?|[œŒ])',
  u: 'ue?',
  ss: '(ss|[ßẞ])',
  l: '[lłŁ]',
  d: '[dđĐ]',
  i: '[iı]',
};

const roughly: typeof spellings = { a: '_%', o: '_%', u: '_%' };

const letters: readonly (readonly [RegExp, string])[] = [
  [/æ/g, 'a'],
  [/[øœ]/g, 'o'],
  [/ß/g, 'ss'],
  [/ł/g, 'l'],
  [/đ/g, 'd'],
  [/ı/g, 'i'],
];

function spelled(word: string, forms: typeof spellings): string {
  const simple = letters.reduce((text, [from, to]) => text.replaceAll(from, to), plain(word));
  return simple.replaceAll(/([aou])e?|ss|./gsu, (part, vowel?: string) => {
    const key = vowel ?? part;
    return forms[key] ?? key.replace(/[\\^$.*+?()[\]{}|]/, '\\$&');
  });
}

export const wholeName = ({ words }: UserQuery) => `^\\s*${words.join('\\s+')}\\s*$`;

/** Whether a text has each word somewhere, as `contains` finds out in SQL. */
export const hasWords = (text: string, { words }: UserQuery) =>
  words.every((word) => new RegExp(word, 'u').test(plain(text)));

/** The digits of a phone without its leading zeros, which stand for a plus sign and a calling code; `null` if none are left. */
export const endOfPhone = ({ phone }: UserQuery) => phone?.replace(/^0+/, '') || null;

/** Digits alone may be an id or a phone number; with a plus sign or spaces in between, only a number. */
export function readUserQuery(text: string): UserQuery {
  const trimmed = text.trim();
  const isDigits = /^\d+$/.test(trimmed);
  const phone = canonicalPhone(trimmed.replace(/^(\+.*)\(0\)/, '$1'));
  const isPhone = /^\+?[0-9 ()./-]+$/.test(trimmed) && phone !== '';
  const isEmail = isEmailAddress(trimmed);
  const words = trimmed.split(/\s+/).filter(Boolean);
  const id = isDigits && BigInt(trimmed) <= maxId ? BigInt(trimmed) : null;
  return {
    id,
    email: isEmail ? canonicalEmail(trimmed) : null,
    phone: isPhone ? phone : null,
    name: isPhone || isEmail ? null : canonicalName(trimmed),
    words: words.map((word) => spelled(word, spellings)),
    rough: words.map((word) => `%${spelled(word, roughly)}%`),
  };
}
