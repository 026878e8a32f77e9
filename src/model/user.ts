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

/**
 * A user as the service gave it in `memberships` (interface.md, User). A property that the service left
 * out is absent here, which is not the same as `null`: what is absent leaves base and mirror alone.
 */
export interface ServiceUser {
  readonly id: Id;
  readonly name?: string | null;
  readonly email?: string | null;
  readonly phone?: string | null;
  readonly roleId?: Id | null;
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

/** What is sent to the service for one user. No half of a name can be expressed. */
export type UserPatch = Partial<UserValues>;

/** What the service said of one field; `undefined` where it said nothing. For the name, the joined name. */
export type ServiceValue = string | Id | null | undefined;

export function serviceValue(user: ServiceUser, field: Field): ServiceValue {
  return user[field];
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

/** The same for what the service said; a field that it left out has no canonical form. */
export function canonicalServiceValue(field: Field, user: ServiceUser): string | undefined {
  switch (field) {
    case 'name':
      return user.name === undefined ? undefined : canonicalName(user.name ?? '');
    case 'email':
      return user.email === undefined ? undefined : canonicalEmail(user.email);
    case 'phone':
      return user.phone === undefined ? undefined : canonicalPhone(user.phone);
    case 'roleId':
      return user.roleId === undefined ? undefined : canonicalRoleId(user.roleId);
    default:
      return field satisfies never;
  }
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
