/** Users as the service shows them, beside mirror and base: SQL drops whoever is equal everywhere, byte for byte. */
import { type RawBuilder, sql } from 'kysely';
import type { Id } from '../model/id.ts';
import { hasUnreadable, readable, type ServiceUser } from '../model/user.ts';
import type { ComparedUsers, ShownUsers, UserState } from '../model/user-state.ts';
import { byKey, idArray } from './by-key.ts';
import type { Database } from './database.ts';
import { type StageShape, withSpool } from './spool.ts';
import { goesAsJson, type Staged, withStaged } from './stage.ts';
import { isOlder, isToBeBelieved } from './stale.ts';
import { asTimestamp } from './timestamp.ts';
import { heldOf, toState, userColumns, userJoins, type UserRow } from './users-read.ts';
import { isEditedSince, isNewer, isTelling } from './versions.ts';

/**
 * An empty text of the service counts as none, and so does what cannot be read: whoever has such a field is never
 * equal everywhere.
 */
const shapeWith = (roles: ReadonlyMap<Id, string>): StageShape<ServiceUser> => ({
  name: 'users',
  columns: [
    ['id', 'bigint'],
    ['name', 'text'],
    ['email', 'text'],
    ['phone', 'text'],
    ['role_id', 'bigint'],
    ['role', 'text'],
    ['created_at', 'timestamptz'],
    ['updated_at', 'timestamptz'],
    ['user_created_at', 'timestamptz'],
    ['user_updated_at', 'timestamptz'],
    ['unreadable', 'boolean'],
  ],
  values: (user) => [
    user.id,
    readable(user.name),
    readable(user.email) || null,
    readable(user.phone) || null,
    readable(user.roleId),
    roles.get(user.id),
    asTimestamp(user.createdAt),
    asTimestamp(user.updatedAt),
    asTimestamp(user.userCreatedAt),
    asTimestamp(user.userUpdatedAt),
    hasUnreadable(user),
  ],
});

/** A few users of a team that may be large: each by its key. */
const fewBesides = (teamId: Id, staged: Staged) => sql`${staged}
  cross join lateral (select s.id) as i (id)
  left join lateral ${byKey('mirror.users', teamId, sql`s.id`)} u on true
  left join lateral ${byKey('sync.user_base', teamId, sql`s.id`)} b on true
  left join lateral ${byKey('sync.stale_rows', teamId, sql`s.id`)} t on true
  ${userJoins(teamId)}`;

/** Everybody: each table is read once. */
function allBesides(teamId: Id, staged: Staged) {
  const ofTeam = (table: string) => sql`(select * from ${sql.table(table)} where team_id = ${teamId})`;
  return sql`${staged}
    full join ${ofTeam('mirror.users')} u on u.id = s.id
    full join ${ofTeam('sync.user_base')} b on b.id = coalesce(s.id, u.id)
    full join ${ofTeam('sync.stale_rows')} t on t.id = coalesce(s.id, u.id, b.id)
    full join (select * from sync.absences where team_id = ${teamId} and resource = 'users') a
      on a.id = coalesce(s.id, u.id, b.id)
    full join (select * from sync.changes where team_id = ${teamId} and state = 'open') c
      on c.user_id = coalesce(s.id, u.id, b.id)
    full join (select f.user_id, ${heldOf} as held from sync.held_fields f where f.team_id = ${teamId} group by f.user_id) h
      on h.user_id = coalesce(s.id, u.id, b.id)
    cross join lateral (select coalesce(s.id, u.id, b.id)) as i (id)`;
}

const observedDiffers = sql`(
  (u.name, u.created_at, u.updated_at, u.user_created_at, u.user_updated_at)
    is distinct from (coalesce(s.name, u.name), s.created_at, s.updated_at, s.user_created_at, s.user_updated_at)
  or u.role is distinct from coalesce(s.role, u.role) or u.resolved is distinct from true)`;

const serviceMoved = sql`(
  (s.name, s.email, s.phone, s.role_id) is distinct from (b.name, b.email, b.phone, b.role_id))`;

const isNotAtRest = sql`(
  u.id is null or b.id is null or u.gone_at is not null or a.id is not null or c.change_id is not null
  or h.held is not null or t.id is not null or s.unreadable
  or (u.first_name, u.last_name, u.email, u.phone, u.role_id)
     is distinct from (b.first_name, b.last_name, b.email, b.phone, b.role_id)
  or ${serviceMoved} or ${observedDiffers})`;

const select = (teamId: Id, from: RawBuilder<unknown>, where: RawBuilder<unknown>) => sql<ComparedRow>`
  select i.id, ${userColumns}, s.id is not null as is_seen, ${observedDiffers} as observed_differs,
    ${isNewer} as is_newer, ${isEditedSince} as is_edited_since, ${isTelling(teamId)} as is_telling,
    ${isOlder(sql`u`)} and not ${isToBeBelieved} and ${serviceMoved} as stale
  from ${from} where ${where}`;

interface ComparedRow extends UserRow {
  readonly is_seen: boolean;
}

/** These users as far as they differ, whoever else there is. */
export async function readDifferingUsers(
  db: Database,
  teamId: Id,
  users: readonly ServiceUser[],
  roles: ReadonlyMap<Id, string>,
): Promise<readonly UserState[]> {
  const byId = new Map(users.map((user) => [user.id, user]));
  const { differing } = await compareShownUsers(db, teamId, { users: byId, roles, listed: null });
  return differing;
}

/** Whoever is not at rest; with no members listed, only those who are shown. */
export async function compareShownUsers(
  db: Database,
  teamId: Id,
  { users, roles, listed }: Omit<ShownUsers, 'listed'> & { readonly listed: ShownUsers['listed'] | null },
): Promise<ComparedUsers> {
  const only = [...(listed ?? [])].filter((id) => !users.has(id));
  const isUnseen = sql`((u.gone_at is null or u.id = any (${idArray(only)})) and coalesce(u.id, b.id) is not null)`;
  const rows = await withSpool(shapeWith(roles), users.values(), (spool) =>
    withStaged(db, spool, async (on, staged) => {
      const query =
        listed === null && goesAsJson(spool)
          ? select(teamId, fewBesides(teamId, staged), isNotAtRest)
          : select(
              teamId,
              allBesides(teamId, staged),
              sql`case when s.id is null then ${listed !== null} and ${isUnseen} else ${isNotAtRest} end`,
            );
      return (await query.execute(on)).rows;
    }),
  );
  const [seen, unseen] = [rows.filter((row) => row.is_seen), rows.filter((row) => !row.is_seen)];
  return {
    differing: seen.map((row) => toState(row, users.get(row.id))),
    unseen: unseen.map((row) => toState({ ...row, observed_differs: false, stale: false }, undefined)),
  };
}
