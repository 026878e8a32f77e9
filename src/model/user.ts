import { canonicalEmail, canonicalPhone, canonicalRoleId } from './canonical.ts';
import type { Id } from './id.ts';
import { canonicalName, joinName, type NamePair, type NameSplit, samePair } from './name.ts';

/** The four values of a user that can be written to the service. The name is one value of two halves. */
export interface UserValues {
  readonly name: NamePair;
  readonly email: string | null;
  readonly phone: string | null;
  readonly roleId: Id | null;
}

export type Field = keyof UserValues;

export const fields: readonly Field[] = ['name', 'email', 'phone', 'roleId'];

/** What stood where a value belongs and cannot be read as one, as a short piece of JSON. */
export interface Unreadable {
  readonly unreadable: string;
}

/** What the service shows of a field that it did not leave out. */
export type Shown<T> = T | Unreadable | null;

/**
 * A user as the service gave it in `memberships` (interface.md, User). A property that the service left
 * out is absent here, which is neither `null` nor unreadable: {@link saidOf} tells the three apart. Of a long answer
 * `raw` is read from its text each time that it is asked for: take properties by their names, and spread none of these.
 */
export interface ServiceUser {
  readonly id: Id;
  readonly name?: Shown<string>;
  readonly email?: Shown<string>;
  readonly phone?: Shown<string>;
  readonly roleId?: Shown<Id>;
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

/** Whether any of the four values is unreadable. */
export const hasUnreadable = ({ name, email, phone, roleId }: ServiceUser): boolean =>
  isUnreadable(name) || isUnreadable(email) || isUnreadable(phone) || isUnreadable(roleId);

/** What can be read of it: `undefined` both where it is unreadable and where it was left out. */
export function readable<T>(shown: Shown<T> | undefined): T | null | undefined {
  return isUnreadable(shown) ? undefined : shown;
}

/** What the service said of one field; `undefined` where it said nothing that can be read. For the name, the joined name. */
export type ServiceValue = string | Id | null | undefined;

export function serviceValue(user: ServiceUser, field: Field): ServiceValue {
  return readable<string | Id>(user[field]);
}

/** A field's value in the form in which it is compared with the service. */
export function canonicalValue<F extends Field>(field: F, values: Pick<UserValues, F>): string {
  const value = values[field];
  switch (field) {
    case 'name':
      return joinName(value as NamePair);
    case 'email':
      return canonicalEmail(value as string | null);
    case 'phone':
      return canonicalPhone(value as string | null);
    case 'roleId':
      return canonicalRoleId(value as Id | null);
    default:
      return field satisfies never;
  }
}

/** The same for a value of the service; of the name, the joined one. */
export function canonicalShown(field: Field, value: string | Id | null): string {
  switch (field) {
    case 'name':
      return canonicalName(String(value ?? ''));
    case 'email':
      return canonicalEmail(value as string | null);
    case 'phone':
      return canonicalPhone(value as string | null);
    case 'roleId':
      return canonicalRoleId(value as Id | null);
    default:
      return field satisfies never;
  }
}

/** What the service says of a field: a value, in the form in which it is compared, or why there is none. */
export type Said = { readonly value: string } | 'left out' | 'unreadable';

export function saidOf(field: Field, user: ServiceUser): Said {
  const shown = user[field];
  if (isUnreadable(shown)) return 'unreadable';
  return shown === undefined ? 'left out' : { value: canonicalShown(field, shown) };
}

/** Whether the service says this of a field, in canonical form. */
export function says(said: Said, value: string): boolean {
  return typeof said === 'object' && said.value === value;
}

/** Byte for byte: mirror against base, where every edit counts, even one of case or spaces. */
export function sameBytes(field: Field, a: UserValues, b: UserValues): boolean {
  return field === 'name' ? samePair(a.name, b.name) : a[field] === b[field];
}

/** By which addresses a user can be looked up. */
export interface Addresses {
  readonly id: Id;
  readonly emails: readonly string[];
  readonly phones: readonly string[];
}
