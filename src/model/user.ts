import {
  emptyValues,
  type Field,
  fields,
  type FieldValue,
  single,
  type SingleName,
  type SingleValue,
  type SingleValues,
  type UserValues,
} from './fields.ts';
import type { Id } from './id.ts';
import { canonicalName, joinName, type NamePair, type NameSplit, samePair } from './name.ts';

/** What stood where a value belongs and cannot be read as one, as a short piece of JSON. */
export interface Unreadable {
  readonly unreadable: string;
}

/** What the service shows of a field that it did not leave out. */
export type Shown<T> = T | Unreadable | null;

/** The writable fields as the service shows them: the name joined. */
type ShownFields = { readonly [F in SingleName]?: Shown<NonNullable<SingleValues[F]>> } & {
  readonly name?: Shown<string>;
};

/**
 * A user as the service gave it in `memberships` (interface.md, User). A property that the service left
 * out is absent here, which is neither `null` nor unreadable: {@link saidOf} tells the three apart. Of a long answer
 * `raw` is read from its text each time that it is asked for: take properties by their names, and spread none of these.
 */
export interface ServiceUser extends ShownFields {
  readonly id: Id;
  readonly teamId?: Id | null;
  /** ISO 8601 UTC, as the service wrote it. */
  readonly createdAt?: string | null;
  readonly updatedAt?: string | null;
  readonly userCreatedAt?: string | null;
  readonly userUpdatedAt?: string | null;
  /** Whatever else the service said of the user. */
  readonly raw: Readonly<Record<string, unknown>>;
}

/** What both sides last agreed on. `joined` is the service's own name, `name` the pair that stands for it. */
export interface BaseUser extends UserValues {
  readonly joined: string;
}

/** Our row, which anyone may edit. */
export interface MirrorUser extends UserValues {
  readonly split: NameSplit;
}

/** The whole row: what anyone may edit, and what only ever follows the service. */
export interface MirrorRow extends MirrorUser {
  readonly joined: string;
  readonly role: string | null;
  readonly resolved: boolean;
  readonly gone: boolean;
}

/** What is sent to the service for one user. No half of a name can be expressed. */
export type UserPatch = Partial<UserValues>;

export function isUnreadable(value: unknown): value is Unreadable {
  return typeof value === 'object' && value !== null && 'unreadable' in value;
}

/** Whether any of its fields is unreadable. */
export const hasUnreadable = (user: ServiceUser): boolean =>
  fields.some((field) => isUnreadable(user[field]));

/** What can be read of it: `undefined` both where it is unreadable and where it was left out. */
export function readable<T>(shown: Shown<T> | undefined): T | null | undefined {
  return isUnreadable(shown) ? undefined : shown;
}

/** What the service said of one field; `undefined` where it said nothing that can be read. For the name, the joined name. */
export type ServiceValue = string | Id | null | undefined;

export function serviceValue(user: ServiceUser, field: Field): ServiceValue {
  return readable<string | Id>(user[field]);
}

/** The form of a field's value in which it is compared with the service. */
export function canonicalOf(field: Field, value: FieldValue | undefined): string {
  const known = value ?? emptyValues[field];
  return field === 'name' ? joinName(known as NamePair) : canonicalShown(field, known as SingleValue);
}

export const canonicalValue = <F extends Field>(field: F, values: Pick<UserValues, F>): string =>
  canonicalOf(field, values[field]);

/** The same for a value of the service; of the name, the joined one. */
export function canonicalShown(field: Field, value: SingleValue): string {
  return field === 'name' ? canonicalName(String(value ?? '')) : single(field).canonical(value);
}

/** What the service says of a field: a value, in the form in which it is compared, or why there is none. */
export type FieldReading = { readonly value: string } | 'left out' | 'unreadable';

export function saidOf(field: Field, user: ServiceUser): FieldReading {
  const shown = user[field];
  if (isUnreadable(shown)) return 'unreadable';
  return shown === undefined ? 'left out' : { value: canonicalShown(field, shown) };
}

/** Whether the service says this of a field, in canonical form. */
export function says(said: FieldReading, value: string): boolean {
  return typeof said === 'object' && said.value === value;
}

/** Whether two values of a field are the same, byte for byte; no value of a name is an empty one. */
export function sameValue(field: Field, a: FieldValue | undefined, b: FieldValue | undefined): boolean {
  const [one, other] = [a ?? emptyValues[field], b ?? emptyValues[field]];
  return field === 'name' ? samePair(one as NamePair, other as NamePair) : one === other;
}

/** Mirror against base, where every edit counts, even one of case or spaces. */
export const sameBytes = (field: Field, a: UserValues, b: UserValues): boolean =>
  sameValue(field, a[field], b[field]);
