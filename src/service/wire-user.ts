import { canonicalPhone } from '../model/canonical.ts';
import type { Id } from '../model/id.ts';
import type { RejectedRow } from '../model/listing.ts';
import { type Field, fields, type ServiceUser, type Unreadable, type UserPatch } from '../model/user.ts';
import type { Reply } from './call.ts';
import { isObject, type JsonObject } from './json-object.ts';
import { takeId, takeInteger } from './row-flaws.ts';
import {
  decodeList,
  excerpt,
  nothing,
  type Nullable,
  requireRows,
  type Shape,
  takeSentFields,
  takeText,
  unexpected,
} from './wire.ts';

type Sent = Omit<ServiceUser, 'id' | 'raw' | Field> &
  Partial<Nullable<Record<Exclude<Field, 'roleId'>, string>>> & {
    readonly roleId?: Id | null;
  };

const shape: Shape<Required<Sent> & Pick<ServiceUser, 'id'>> = {
  id: ['id', takeId],
  name: ['name', takeText],
  email: ['email', takeText],
  phone: ['phone', takeText],
  roleId: ['role_id', takeInteger],
  teamId: ['team_id', takeInteger],
  createdAt: ['created_at', takeText],
  updatedAt: ['updated_at', takeText],
  userCreatedAt: ['user_created_at', takeText],
  userUpdatedAt: ['user_updated_at', takeText],
};

const excerptLength = 60;

const packedNames = [...(Object.keys(shape) as (keyof typeof shape)[]), 'raw' as const].filter(
  (name) => name !== 'id' && name !== 'teamId',
);

/** interface.md, User. A field that can be written is unreadable, and not left out, where no value can be made of it. */
export function decodeUser(row: JsonObject): ServiceUser {
  const user = takeSentFields(row, shape) as ServiceUser;
  return user.raw === nothing ? user : { ...user, ...unreadableOf(user.raw) };
}

function unreadableOf(raw: JsonObject): Partial<Record<Field, Unreadable>> {
  const found = fields.filter((field) => Object.hasOwn(raw, shape[field][0]));
  return Object.fromEntries(
    found.map((field) => [field, { unreadable: excerpt(raw[shape[field][0]]).slice(0, excerptLength) }]),
  );
}

/**
 * `{memberships: User[]}`: the answer of `GET /v1/users/get` and `POST /v1/users/update` (interface.md,
 * Endpoints).
 *
 * @throws ServiceError for any other shape
 */
export function decodeMemberships(reply: Reply): {
  readonly users: readonly ServiceUser[];
  readonly rejected: readonly RejectedRow[];
  readonly requestId: string | null;
} {
  const { value, suspicious } = reply.body;
  if (!isObject(value)) throw unexpected(reply, '`memberships`');
  const rows = requireRows(reply, value['memberships'], 'a list of `memberships`');
  const { rows: users, rejected } = decodeList('users', rows, suspicious, decodeUser, packedNames);
  return { users, rejected, requestId: reply.requestId };
}

/** What `GET /v1/users/get` takes: "phone string[] (optional; E.164 without plus), email string[] (optional)". */
export function encodeUserFilter(filter: {
  readonly emails: readonly string[];
  readonly phones: readonly string[];
}): JsonObject {
  const phones = filter.phones.map(canonicalPhone).filter((phone) => phone !== '');
  return {
    ...(phones.length === 0 ? {} : { phone: phones }),
    ...(filter.emails.length === 0 ? {} : { email: filter.emails }),
  };
}

/**
 * UpdateUser (interface.md, Endpoints, note 2): `id` and only what changes. `first_name` and `last_name`
 * are "linked: send both together or one is overwritten", so they go together or not at all. A phone is
 * digits "in E.164 form without the plus sign"; none is sent as the empty string.
 *
 * @throws RangeError for an email or a role to be cleared: the mirror refuses that when it is written
 */
export function encodeUserPatch(id: Id, patch: UserPatch): JsonObject {
  const { name, email, phone, roleId } = patch;
  if (email === null || roleId === null) throw new RangeError(`user ${id}: email and role cannot be cleared`);
  return {
    id,
    ...(name === undefined ? {} : { first_name: name.first, last_name: name.last }),
    ...(email === undefined ? {} : { email }),
    ...(phone === undefined ? {} : { phone: canonicalPhone(phone) }),
    ...(roleId === undefined ? {} : { role_id: roleId }),
  };
}
