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

/** A field's value of another type than expected, as a short piece of JSON. */
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
 * here. Absent, `null` and unreadable are three cases, which {@link readingOf} distinguishes. In a long answer `raw` is
 * a getter that parses its text each time, so read properties by their names, and do not spread such a user.
 */
export interface ServiceUser extends ShownFields {
  readonly id: Id;
  readonly teamId?: Id | null;
  /** The time in ISO 8601 UTC, as the service wrote it. */
  readonly createdAt?: string | null;
  readonly updatedAt?: string | null;
  readonly userCreatedAt?: string | null;
  readonly userUpdatedAt?: string | null;
  /** All other properties of the user in the service's answer. */
  readonly raw: Readonly<Record<string, unknown>>;
}

/** The last agreed values. `joined` is the service's name, and `name` has the two halves that we store for it. */
export interface BaseUser extends UserValues {
  readonly joined: string;
}

/** The part of a mirror row that editors may edit. */
export interface MirrorUser extends UserValues {
  readonly split: NameSplit;
}

/** The whole mirror row, including the columns that only the service sets. */
export interface MirrorRow extends MirrorUser {
  readonly joined: string;
  readonly role: string | null;
  readonly resolved: boolean;
  readonly gone: boolean;
}

/** The values to send to the service for one user. A name is always sent with both halves. */
export type UserPatch = Partial<UserValues>;

export function isUnreadable(value: unknown): value is Unreadable {
  return typeof value === 'object' && value !== null && 'unreadable' in value;
}

/** True if any field of the user is unreadable. */
export const hasUnreadable = (user: ServiceUser): boolean =>
  fields.some((field) => isUnreadable(user[field]));

/** The readable value; `undefined` if it is unreadable or was left out. */
export function readable<T>(shown: ShownValue<T> | undefined): T | null | undefined {
  return isUnreadable(shown) ? undefined : shown;
}

/** The service's value of one field; `undefined` if it is unreadable or was left out. A name is joined. */
export type ServiceValue = string | Id | null | undefined;

export function serviceValue(user: ServiceUser, field: Field): ServiceValue {
  return readable<string | Id>(user[field]);
}

/** The canonical form of a field's value. Values are compared with the service in this form. */
export function canonicalOf(field: Field, value: FieldValue | undefined): string {
  const pair = value ?? emptyValues[field];
  return field === 'name' ? joinName(pair as NamePair) : canonicalShown(field, pair as SingleValue);
}

export const canonicalValue = <F extends Field>(field: F, values: Pick<UserValues, F>): string =>
  canonicalOf(field, values[field]);

/** The canonical form of a value of the service, in which a name is joined. */
export function canonicalShown(field: Field, value: SingleValue): string {
  return field === 'name' ? canonicalName(String(value ?? '')) : single(field).canonical(value);
}

/** A field as read from the service: its value in canonical form, or the reason why there is no value. */
export type FieldReading = { readonly value: string } | 'left out' | 'unreadable';

export function readingOf(field: Field, user: ServiceUser): FieldReading {
  const value = user[field];
  if (isUnreadable(value)) return 'unreadable';
  return value === undefined ? 'left out' : { value: canonicalShown(field, value) };
}

/** True if the field was read as this value, in canonical form. */
export function isReadAs(reading: FieldReading, value: string): boolean {
  return typeof reading === 'object' && reading.value === value;
}

/** True if two values of a field are the same, byte for byte. A missing name is the same as an empty name. */
export function sameValue(field: Field, a: FieldValue | undefined, b: FieldValue | undefined): boolean {
  const [left, right] = [a ?? emptyValues[field], b ?? emptyValues[field]];
  return field === 'name' ? samePair(left as NamePair, right as NamePair) : left === right;
}

/** Compares the values byte for byte, because every edit counts, even an edit of only case or spaces. */
export const sameBytes = (field: Field, a: UserValues, b: UserValues): boolean =>
  sameValue(field, a[field], b[field]);
