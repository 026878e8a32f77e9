import {
  type Field,
  fields,
  columnOf,
  eachSingle,
  isText,
  single,
  singleNames,
  type SingleValues,
  type SingleName,
  type SingleValue,
} from '../model/fields.ts';
import { canonicalPhone } from '../model/canonical.ts';
import type { Id } from '../model/id.ts';
import type { UsersAnswer } from '../model/service-request.ts';
import type { ServiceUser, Unreadable, UserPatch } from '../model/user.ts';
import type { Reply } from './call.ts';
import type { DecodeRows } from './page.ts';
import { isObject, type JsonObject } from './json-object.ts';
import { takeId, takeInteger } from './row-flaws.ts';
import {
  countKeys,
  decodeRows,
  excerpt,
  isPlainText,
  nothing,
  type Shape,
  takeRows,
  takeSentFields,
  takeText,
  unexpected,
} from './wire.ts';

type SentFields = Omit<ServiceUser, 'id' | 'raw' | Field> &
  Partial<SingleValues> & { readonly name?: string | null };

/** The interface's name of each field with a single value, and the reader of its type. */
const singleShapes = eachSingle((field) => [
  columnOf(field),
  isText(field) ? takeText : takeInteger,
]) as Shape<SingleValues>;

const shape: Shape<Required<SentFields> & Pick<ServiceUser, 'id'>> = {
  id: ['id', takeId],
  name: ['name', takeText],
  ...singleShapes,
  teamId: ['team_id', takeInteger],
  createdAt: ['created_at', takeText],
  updatedAt: ['updated_at', takeText],
  userCreatedAt: ['user_created_at', takeText],
  userUpdatedAt: ['user_updated_at', takeText],
};

const excerptLength = 60;

/** interface.md, User. A writable field with an unusable value is marked as unreadable, which differs from absent. */
function decodeUser(row: JsonObject): ServiceUser {
  const user = takeSentFields(row, shape) as ServiceUser;
  return user.raw === nothing ? user : { ...user, ...unreadableOf(user.raw) };
}

function unreadableOf(raw: JsonObject): Partial<Record<Field, Unreadable>> {
  const found = fields.filter((field) => Object.hasOwn(raw, shape[field][0]));
  return Object.fromEntries(
    found.map((field) => [field, { unreadable: excerpt(raw[shape[field][0]]).slice(0, excerptLength) }]),
  );
}

/** Equal ids of roles and teams share one `bigint`, which saves memory, because a team has few different ids. */
const shared = new Map<number, Id>();
const mostShared = 1_000;

function share(number: number): Id {
  const sharedId = shared.get(number);
  if (sharedId !== undefined) return sharedId;
  if (shared.size >= mostShared) shared.clear();
  const id = BigInt(number);
  shared.set(number, id);
  return id;
}

const isPlainNumber = (value: unknown): value is number => Number.isSafeInteger(value);

/** The fields with a single value, as the fast path reads them. */
const plainSingles = singleNames.map((field) => ({
  field,
  column: columnOf(field),
  take: (value: unknown) => {
    if (isText(field)) return isPlainText(value) ? value : null;
    return isPlainNumber(value) ? share(value) : null;
  },
}));

/** Fast path for a user with exactly the documented fields and types, as nearly all users have them. */
function decodePlainUser(row: JsonObject): ServiceUser | null {
  const { id, name, team_id: team } = row;
  const { created_at: createdAt, updated_at: updatedAt } = row;
  const { user_created_at: userCreatedAt, user_updated_at: userUpdatedAt } = row;
  if (!Number.isSafeInteger(id) || (id as number) <= 0) return null;
  if (!isPlainNumber(team) || !isPlainText(name)) return null;
  if (!isPlainText(createdAt) || !isPlainText(updatedAt)) return null;
  if (!isPlainText(userCreatedAt) || !isPlainText(userUpdatedAt) || countKeys(row) !== documented)
    return null;
  const singles: Partial<Record<SingleName, SingleValue>> = {};
  for (const { field, column, take } of plainSingles) {
    const value = take(row[column]);
    if (value === null) return null;
    singles[field] = value;
  }
  return {
    id: BigInt(id as number),
    name,
    ...(singles as SingleValues),
    teamId: share(team),
    createdAt,
    updatedAt,
    userCreatedAt,
    userUpdatedAt,
    raw: nothing,
  };
}

const documented = Object.keys(shape).length;

const decodeUsers: DecodeRows<ServiceUser> = (rows, look) =>
  decodeRows({ resource: 'users', decode: decodeUser, decodePlain: decodePlainUser }, rows, look);

/**
 * `{memberships: User[]}`: the answer of `GET /v1/users/get` and `POST /v1/users/update` (interface.md,
 * Endpoints).
 *
 * @throws ServiceError for any other shape
 */
export async function decodeMemberships(reply: Reply): Promise<UsersAnswer> {
  const { value } = reply.body;
  if (!isObject(value)) throw unexpected(reply, '`memberships`');
  const { rows: users, rejected } = await takeRows(
    reply,
    value['memberships'],
    'a list of `memberships`',
    decodeUsers,
  );
  return { users, rejected, requestId: reply.requestId };
}

/** The filter of `GET /v1/users/get`: "phone string[] (optional; E.164 without plus), email string[] (optional)". */
export function encodeUserFilter(filter: {
  readonly emails: readonly string[];
  readonly phones: readonly string[];
}): JsonObject {
  const phones = filter.phones.map(canonicalPhone).filter((phone) => phone !== '');
  const orNone = (addresses: readonly string[]) => (addresses.length === 0 ? undefined : addresses);
  return { phone: orNone(phones), email: orNone(filter.emails) };
}

/**
 * UpdateUser (interface.md, Endpoints, note 2): `id` and only what changes. `first_name` and `last_name`
 * are "linked: send both together or one is overwritten", so they go together or not at all. A phone is
 * digits "in E.164 form without the plus sign"; to remove a phone, the empty string is sent. The JSON leaves out values
 * that are `undefined`.
 *
 * @throws RangeError for clearing an email or a role: the mirror already refuses such edits
 */
export function encodeUserPatch(id: Id, patch: UserPatch): JsonObject {
  const { name } = patch;
  const singles = singleNames.flatMap((field) => {
    const value = patch[field];
    if (value === undefined) return [];
    const { column, noun, canBeEmptied, encode } = single(field);
    if (value === null && !canBeEmptied) throw new RangeError(`user ${id}: the ${noun} cannot be cleared`);
    return [[column, encode(value)]];
  });
  return {
    id,
    first_name: name?.first,
    last_name: name?.last,
    ...Object.fromEntries(singles),
  };
}
