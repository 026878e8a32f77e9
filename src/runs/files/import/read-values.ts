/** Reads the cells of a row as values for a known user. */
import type { UserValues } from '../../../model/fields.ts';
import { longestWritten } from '../../../model/longest-text.ts';
import { canonicalEmail, canonicalPhone, isEmailAddress } from '../../../model/canonical.ts';
import { maxId, type Id } from '../../../model/id.ts';
import {
  canonicalName,
  countWords,
  joinName,
  type NamePair,
  type NameSplit,
  splitName,
} from '../../../model/name.ts';
import type { ImportColumn } from './column-words.ts';
import { hasLostLetters } from './lost-letters.ts';
import { isSamePhone, type PhoneHabits, readNewPhone, withoutDecimals } from './read-phone.ts';

/** Returns the trimmed cell of the column with this meaning; empty if the row has no value there. */
export type Cells = (column: ImportColumn) => string;

/** The new value that a cell gives. `undefined` leaves the present value unchanged. */
export type WantedValue<T> =
  | { readonly value: T; readonly isGuess?: true; readonly unsure?: string }
  | { readonly wrong: string; readonly isLost?: true }
  | undefined;

export const lostLetters = (text: string) => ({
  wrong: `"${text}": the file has lost letters; save it as CSV UTF-8`,
  isLost: true as const,
});

/** Rejects a text that is too long, by the same limits as `mirror.check_user_edit`. */
const tooLong = (text: string, most: number, what: string) =>
  Array.from(text).length > most ? { wrong: `${what} is longer than ${most} characters` } : undefined;

const namedTooLong = ({ first, last }: NamePair, now: NamePair) =>
  (first === now.first ? undefined : tooLong(first, longestWritten.half, 'the first name')) ??
  (last === now.last ? undefined : tooLong(last, longestWritten.half, 'the last name'));

/** @param clears true if an empty cell removes the phone */
export function wantedPhone(
  given: string,
  { phone }: Pick<UserValues, 'phone'>,
  clears: boolean,
  habits: PhoneHabits,
): WantedValue<string | null> {
  if (given === '') return clears && phone !== null ? { value: null } : undefined;
  if (phone !== null && isSamePhone(given, phone)) return undefined;
  const read = readNewPhone(given, phone, habits);
  if ('wrong' in read) return read;
  const { digits, ...unsure } = read;
  return digits === canonicalPhone(phone) ? undefined : { value: digits, ...unsure };
}

export function wantedEmail(text: string, now: UserValues): WantedValue<string> {
  if (text === '' || canonicalEmail(text) === canonicalEmail(now.email)) return undefined;
  if (hasLostLetters(canonicalEmail(text), canonicalEmail(now.email))) return lostLetters(text);
  if (!isEmailAddress(text)) return { wrong: `"${text}" is not an email address` };
  return tooLong(text, longestWritten.email, 'the email') ?? { value: text };
}

const particles: ReadonlySet<string> = new Set(
  'af al av bin bint da das de del della den der des di do dos du el ibn la le lo ten ter van vom von zu zum zur'.split(
    ' ',
  ),
);

/** Begins the last name at the first particle that has words on both sides, else at the last word. */
function guessHalves(whole: string): NamePair {
  const words = canonicalName(whole).split(' ');
  const at = words.slice(0, -1).findIndex((word, n) => n > 0 && particles.has(word.toLowerCase()));
  return at < 0 ? splitName(whole) : { first: words.slice(0, at).join(' '), last: words.slice(at).join(' ') };
}

/** The name in the row: its halves, or a guessed split of a whole name. A split of the same name only replaces a guess. */
export function wantedName(
  cells: Cells,
  now: { readonly name: NamePair; readonly split: NameSplit },
): WantedValue<NamePair> {
  const whole = cells('name');
  if (whole !== '') {
    if (canonicalName(whole) === joinName(now.name)) return undefined;
    if (hasLostLetters(canonicalName(whole), joinName(now.name))) return lostLetters(whole);
    const value = guessHalves(whole);
    return namedTooLong(value, now.name) ?? { value, isGuess: true };
  }
  const lost = (['first', 'last'] as const)
    .map((half) => [canonicalName(cells(`${half}_name`)), canonicalName(now.name[half])] as const)
    .find(([text, old]) => hasLostLetters(text, old));
  if (lost !== undefined) return lostLetters(lost[0]);
  const half = (column: 'first_name' | 'last_name', old: string) => {
    const text = canonicalName(cells(column));
    return text === '' || text === canonicalName(old) ? old : text;
  };
  const value = { first: half('first_name', now.name.first), last: half('last_name', now.name.last) };
  const isAlone = cells('first_name') === '' || cells('last_name') === '';
  // If both halves are given and split the name unlike the present guess, that is an edit, even of the same name.
  const isCut = !isAlone && now.split === 'guessed' && value.first !== canonicalName(now.name.first);
  if (joinName(value) === joinName(now.name) && !isCut) return undefined;
  if (isAlone && now.split === 'guessed' && countWords(joinName(now.name)) > 2)
    return {
      wrong: `the split of "${joinName(now.name)}" is a guess: give first and last name`,
    };
  return namedTooLong(value, now.name) ?? { value };
}

/** A role in use, with the name that the service gives it. */
export interface KnownRole {
  readonly id: Id;
  readonly name: string;
}

const roleName = (text: string) => canonicalName(text).toLowerCase();

/** @returns the id, or the reason why the text is not a usable role */
function readRole(
  text: string,
  roles: readonly KnownRole[],
  isNumber: boolean,
): { readonly id: Id } | Exclude<WantedValue<Id>, undefined | { readonly value: Id }> {
  const roleWords = [...new Set(roles.map(({ id, name }) => `${name} (${id})`))].toSorted().join(', ');
  const all = roleWords === '' ? 'none is known yet' : `the roles are ${roleWords}`;
  const isId = /^\d+$/.test(text) && BigInt(text) <= maxId;
  const named = isNumber ? [] : roles.filter(({ name }) => roleName(name) === roleName(text));
  const found = new Set(named.length > 0 || !isId ? named.map(({ id }) => id) : [BigInt(text)]);
  const [id] = found;
  const isLost = ({ name }: KnownRole) =>
    hasLostLetters(canonicalName(text), canonicalName(name)) ||
    hasLostLetters(roleName(text), roleName(name));
  if (id === undefined && roles.some(isLost)) return lostLetters(text);
  if (id === undefined) return { wrong: `no user has the role "${text}": ${all}` };
  if (found.size > 1) return { wrong: `several roles are called "${text}": ${all}` };
  if (named.length === 0 && !roles.some((role) => role.id === id))
    return { wrong: `no user has the role ${text}: ${all}` };
  return { id };
}

/** The role that the row gives, by name or id. If it gives both, the value that differs from the present role counts. */
export function wantedRole(
  cells: Cells,
  now: Pick<UserValues, 'roleId'> & { readonly role: string | null },
  roles: readonly KnownRole[],
): WantedValue<Id> {
  const [name, number] = [cells('role'), withoutDecimals(cells('role_id'))];
  // The name of the role comes from the service, so it is outdated if the role was edited and the edit was not sent yet.
  const isShown = now.role !== null && roleName(name) === roleName(now.role);
  const isKnown = roles.some((role) => roleName(role.name) === roleName(name));
  const isNameSaid = name !== '' && !(isShown && (number !== '' || !isKnown));
  const isNumberSaid = number !== '' && number !== String(now.roleId ?? '');
  const read = [
    ...(isNameSaid ? [readRole(name, roles, false)] : []),
    ...(isNumberSaid ? [readRole(number, roles, true)] : []),
  ];
  const wrong = read.find((role) => 'wrong' in role);
  if (wrong !== undefined) return wrong;
  const found = read.flatMap((role) => ('id' in role && role.id !== now.roleId ? [role.id] : []));
  const ids = [...new Set(found)];
  const [id] = ids;
  if (ids.length > 1) return { wrong: `role "${name}" and role_id ${number} are not the same role` };
  return id === undefined ? undefined : { value: id };
}
