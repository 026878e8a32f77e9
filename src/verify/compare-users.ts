/** Compares the users of the two sides, field by field. */
import type { TeamMember } from '../model/team-member.ts';
import { columnOf, fields, valuesIn } from '../model/fields.ts';
import type { Id } from '../model/id.ts';
import type { MirroredUser } from '../model/mirrored-user.ts';
import { canonicalName, joinName } from '../model/name.ts';
import { canonicalValue, readable, type ServiceUser, readingOf, isReadAs } from '../model/user.ts';
import type { Difference, Duplicate, Differences, OneSided, Value } from './difference.ts';

/** The users on the service: `users` from answers by address or without a filter, `members` from the team list. */
export interface ServiceUsers {
  readonly users: ReadonlyMap<Id, ServiceUser>;
  readonly members: readonly TeamMember[];
  /** True if `users` and `members` were both read to their end. */
  readonly complete: boolean;
}

type UserDifference = Pick<Difference, 'field' | 'mirror' | 'service' | 'because'>;

/** Compares the writable fields that the service shows, in canonical form. */
function compareWritable(mirror: MirroredUser, service: ServiceUser): readonly UserDifference[] {
  const values = valuesIn(mirror);
  return fields.flatMap((field) => {
    const column = columnOf(field);
    const reading = readingOf(field, service);
    if (typeof reading !== 'object' || isReadAs(reading, canonicalValue(field, values))) return [];
    const ours = field === 'name' ? joinName(values.name) : values[field];
    const theirs = readable<string | Id>(service[field]) ?? null;
    return [{ field: column, mirror: ours, service: theirs, because: mirror.expected[column] ?? null }];
  });
}

/**
 * The writable fields that cannot be compared: unreadable fields, and fields that the service leaves out although the
 * mirror has a value. If an edit, push or hold explains the mirror's value, the field is not reported.
 */
function findUnread(mirrored: readonly MirroredUser[], users: ServiceUsers['users']): readonly string[] {
  const all = mirrored.flatMap((mirror) => {
    const service = users.get(mirror.id);
    if (mirror.gone_at !== null || service === undefined) return [];
    return fields.flatMap((field) => {
      const column = columnOf(field);
      const reading = readingOf(field, service);
      if (typeof reading === 'object') return [];
      const isExplained = canonicalValue(field, valuesIn(mirror)) === '' || column in mirror.expected;
      if (reading === 'left out' && isExplained) return [];
      return [
        {
          id: mirror.id,
          finding: reading === 'left out' ? `${column} is left out` : `${column} cannot be read`,
        },
      ];
    });
  });
  return [...Map.groupBy(all, ({ finding }) => finding)].map(([finding, rows]) => {
    const ids = rows.slice(0, 3).map(({ id }) => id);
    const more = rows.length > ids.length ? ` and ${rows.length - ids.length} more` : '';
    return `users: the ${finding} in the service's answers: ${ids.join(', ')}${more}`;
  });
}

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:?\d\d)$/;

/** True if two times are at most 1 ms apart, because Postgres rounds finer digits. */
function sameTime(mirror: Date | null, service: string | null): boolean {
  const serviceMs = isoTime.test(service ?? '') ? Date.parse(service ?? '') : Number.NaN;
  if (mirror === null || Number.isNaN(serviceMs)) return mirror === null && Number.isNaN(serviceMs);
  return Math.abs(mirror.getTime() - serviceMs) <= 1;
}

/** Compares the columns that only the service sets. */
function compareObserved(
  mirror: MirroredUser,
  service: ServiceUser,
  member: TeamMember | undefined,
  differs: boolean,
): readonly UserDifference[] {
  const found: UserDifference[] = [];
  const add = (field: string, ours: Value, theirs: Value) =>
    found.push({ field, mirror: ours, service: theirs, because: null });
  const times = [
    ['created_at', mirror.created_at, service.createdAt, true],
    ['user_created_at', mirror.user_created_at, service.userCreatedAt, true],
    // If another field differs, these two times are not compared, because they would only repeat the difference.
    ['updated_at', mirror.updated_at, service.updatedAt, !differs],
    ['user_updated_at', mirror.user_updated_at, service.userUpdatedAt, !differs],
  ] as const;
  for (const [field, ours, theirs, wanted] of times) {
    if (wanted && theirs !== undefined && !sameTime(ours, theirs)) add(field, ours, theirs);
  }
  const shownName = readable(service.name);
  const sameName = canonicalName(mirror.name) === canonicalName(shownName ?? '');
  if (!differs && shownName !== undefined && !sameName) add('joined_name', mirror.name, shownName);
  return [...found, ...compareRole(mirror, service, member?.role ?? null)];
}

/** Compares the name of the role. If the ids are equal, the difference is expected: the next run updates the name. */
function compareRole(
  mirror: MirroredUser,
  service: ServiceUser,
  role: string | null,
): readonly UserDifference[] {
  if (role === null || role === mirror.role) return [];
  const roleId = readable(service.roleId);
  const isSame = roleId === undefined || roleId === mirror.role_id;
  const because = isSame
    ? 'the role is the same; its name follows with the next run'
    : (mirror.expected['role_id'] ?? null);
  return [{ field: 'role', mirror: mirror.role, service: role, because }];
}

function compareUser(
  mirror: MirroredUser,
  service: ServiceUser | undefined,
  member: TeamMember | undefined,
): readonly Difference[] {
  const shown = (service === undefined ? member?.name : readable(service.name)) ?? mirror.name;
  const finish = ({ field, mirror: ours, service: theirs, because }: UserDifference): Difference => ({
    resource: 'users',
    id: mirror.id,
    name: shown,
    field,
    mirror: ours,
    service: theirs,
    judgement: because === null ? 'drift' : 'expected',
    because,
  });
  const answered = service !== undefined;
  if (mirror.resolved !== answered)
    return [finish({ field: 'resolved', mirror: mirror.resolved, service: answered, because: null })];
  if (service === undefined) return [];
  const values = compareWritable(mirror, service);
  const isOpen = Object.values(mirror.expected).includes('open push');
  return [...values, ...compareObserved(mirror, service, member, values.length > 0 || isOpen)].map(finish);
}

/** The finding about a user of the mirror who is neither among the service's users nor in its team list. */
function onlyInMirror({ id, name, agreed, expected, missing_since }: MirroredUser): OneSided {
  const [held] = Object.values(expected);
  const stranger = !agreed && held !== undefined;
  const missing =
    missing_since === null
      ? null
      : `missed by complete runs since ${missing_since.toISOString()}, and not yet proven gone`;
  return {
    resource: 'users',
    id,
    name,
    side: 'mirror',
    judgement: stranger ? 'expected' : 'drift',
    because: stranger ? held : missing,
  };
}

export function compareUsers(
  mirrored: readonly MirroredUser[],
  { users, members, complete }: ServiceUsers,
): Differences & { readonly unread: readonly string[] } {
  const listed = new Map(members.map((member) => [member.id, member]));
  const differences: Difference[] = [];
  const oneSided: OneSided[] = [];
  const byId = new Map(mirrored.map((user) => [user.id, user]));
  for (const mirror of mirrored) {
    if (mirror.gone_at !== null) continue;
    const service = users.get(mirror.id);
    const member = listed.get(mirror.id);
    if (service !== undefined || member !== undefined) {
      differences.push(...compareUser(mirror, service, member));
    } else if (complete) oneSided.push(onlyInMirror(mirror));
  }
  for (const id of new Set([...users.keys(), ...listed.keys()])) {
    const mirror = byId.get(id);
    if (mirror !== undefined && mirror.gone_at === null) continue;
    const name = readable(users.get(id)?.name) ?? listed.get(id)?.name ?? '';
    const because =
      mirror === undefined ? null : `the mirror calls it gone since ${mirror.gone_at?.toISOString()}`;
    oneSided.push({ resource: 'users', id, name, side: 'service', judgement: 'drift', because });
  }
  return { differences, oneSided, unread: findUnread(mirrored, users) };
}

/** Finds addresses that two users of one side share. */
export function findSharedAddresses(
  side: Duplicate['side'],
  users: Iterable<{ readonly id: Id; readonly email: string | null; readonly phone: string | null }>,
): readonly Duplicate[] {
  const owners = { email: new Map<string, Id[]>(), phone: new Map<string, Id[]>() };
  for (const user of users) {
    for (const field of ['email', 'phone'] as const) {
      const value = canonicalValue(field, { email: user.email, phone: user.phone });
      if (value === '') continue;
      const ids = owners[field].get(value) ?? [];
      ids.push(user.id);
      owners[field].set(value, ids);
    }
  }
  return (['email', 'phone'] as const).flatMap((field) =>
    [...owners[field]]
      .filter(([, ids]) => ids.length > 1)
      .map(([value, ids]): Duplicate => ({ resource: 'users', field, value, ids, side })),
  );
}
