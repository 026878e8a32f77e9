/** A text that names a user: an id, an email, a phone number or a name, in any usual spelling. */
import { canonicalEmail, isEmailAddress, canonicalPhone } from '../../model/canonical.ts';
import { type Id, maxId } from '../../model/id.ts';
import { canonicalName } from '../../model/name.ts';

/** The possible meanings of a text, in canonical form; `null` for a meaning that the text cannot have. */
export interface UserQuery {
  readonly id: Id | null;
  readonly email: string | null;
  readonly phone: string | null;
  /** True if the phone is written with its calling code, so that it is not the end of another phone. */
  readonly isWhole: boolean;
  readonly name: string | null;
  /** A regular expression for each word, valid in Postgres and in JavaScript, for texts as `plain` returns them. */
  readonly words: readonly string[];
  /** A LIKE pattern for each word: a faster first filter, which passes at least all ASCII texts that `words` match. */
  readonly rough: readonly string[];
}

/** A text without diacritics, in lower case. In SQL, `ifPlain` of `find-user.ts` does the same. */
export const plain = (text: string) =>
  text
    .normalize('NFD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .toLowerCase();

/** Further spellings of a letter or a text, after `plain` has removed diacritics. */
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

/** True if a text contains each word. In SQL, `contains` does the same. */
export const hasWords = (text: string, { words }: UserQuery) =>
  words.every((word) => new RegExp(word, 'u').test(plain(text)));

/** The digits of a phone without leading zeros, which replace a plus sign or a calling code; `null` if none are left. */
export const endOfPhone = ({ phone }: UserQuery) => phone?.replace(/^0+/, '') || null;

/** Reads what a text may mean. Digits may be an id or a phone; with a plus sign or spaces, only a phone. */
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
    isWhole: /^(\+|00)/.test(trimmed),
    name: isPhone || isEmail ? null : canonicalName(trimmed),
    words: words.map((word) => spelled(word, spellings)),
    rough: words.map((word) => `%${spelled(word, roughly)}%`),
  };
}
