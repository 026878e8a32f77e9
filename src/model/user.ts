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

/** The value of a field that is of another type than expected, as a short piece of JSON. */
export interface Unreadable {
  readonly unreadable: string;
}

/** The service's value of a field that it did not leave out. */
export type ShownValue<T> = T | Unreadable | null;

/** The writable fields as the service shows them, with a joined name. */
type ShownFields = { readonly [F in SingleName]?: ShownValue<NonNullable<SingleValues[F]>> } & {
  readonly name?: ShownValue<string>;
};

/**
 * A user as the service gave it in `memberships` (interface.md, User). A property that the service left out is absent
 * here, which is neither `null` nor unreadable: {@link readingOf} tells the three apart. In a long
 * answer `raw` is a getter that parses its text each time: take properties by their names, and spread none of these.
 */
export interface ServiceUser extends ShownFields {
  readonly id: Id;
  readonly teamId?: Id | null;
  /** In ISO 8601 UTC, as the service wrote it. */
  readonly createdAt?: string | null;
  readonly updatedAt?: string | null;
  readonly userCreatedAt?: string | null;
  readonly userUpdatedAt?: string | null;
  /** All that the service said about the user besides. */
  readonly raw: Readonly<Record<string, unknown>>;
}

/** The last agreed values. `joined` is the service's own name, `name` the pair that stands for it. */
export interface BaseUser extends UserValues {
  readonly joined: string;
}

/** The part of our row that anyone may edit. */
export interface MirrorUser extends UserValues {
  readonly split: NameSplit;
}

/** The whole row, including what only follows the service. */
export interface MirrorRow extends MirrorUser {
  readonly joined: string;
  readonly role: string | null;
  readonly resolved: boolean;
  readonly gone: boolean;
}

/** The values to send to the service for one user. Half of a name cannot be expressed. */
export type UserPatch = Partial<UserValues>;

export function isUnreadable(value: unknown): value is Unreadable {
  return typeof value === 'object' && value !== null && 'unreadable' in value;
}

/** Whether any of its fields is unreadable. */
export const hasUnreadable = (user: ServiceUser): boolean =>
  fields.some((field) => isUnreadable(user[field]));

/** The readable value; `undefined` if it is unreadable or was left out. */
export function readable<T>(shown: ShownValue<T> | undefined): T | null | undefined {
  return isUnreadable(shown) ? undefined : shown;
}

/** The service's value of one field; `undefined` if it said nothing readable. A name is joined. */
export type ServiceValue = string | Id | null | undefined;

export function serviceValue(user: ServiceUser, field: Field): ServiceValue {
  return readable<string | Id>(user[field]);
}

/** The canonical form of a field's value, in which it is compared with the service. */
export function canonicalOf(field: Field, value: FieldValue | undefined): string {
  const pair = value ?? emptyValues[field];
  return field === 'name' ? joinName(pair as NamePair) : canonicalShown(field, pair as SingleValue);
}

export const canonicalValue = <F extends Field>(field: F, values: Pick<UserValues, F>): string =>
  canonicalOf(field, values[field]);

/** The same for a value of the service, in which a name is joined. */
export function canonicalShown(field: Field, value: SingleValue): string {
  return field === 'name' ? canonicalName(String(value ?? '')) : single(field).canonical(value);
}

/** A field as it is read from the service: a value in canonical form, or why there is none. */
export type FieldReading = { readonly value: string } | 'left out' | 'unreadable';

export function readingOf(field: Field, user: ServiceUser): FieldReading {
  const value = user[field];
  if (isUnreadable(value)) return 'unreadable';
  return value === undefined ? 'left out' : { value: canonicalShown(field, value) };
}

/** Whether a field is read as this value, in canonical form. */
export function isReadAs(reading: FieldReading, value: string): boolean {
  return typeof reading === 'object' && reading.value === value;
}

/** Whether two values of a field are the same, byte for byte. A missing name is the same as an empty one. */
export function sameValue(field: Field, a: FieldValue | undefined, b: FieldValue | undefined): boolean {
  const [left, right] = [a ?? emptyValues[field], b ?? emptyValues[field]];
  return field === 'name' ? samePair(left as NamePair, right as NamePair) : left === right;
}

/** Compares the values byte for byte, because every edit counts, even one of case or spaces. */
export const sameBytes = (field: Field, a: UserValues, b: UserValues): boolean =>
  sameValue(field, a[field], b[field]);
