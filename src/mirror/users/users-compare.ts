/** Compares the service's users with mirror and base. SQL leaves out users who are the same in all three, byte for byte. */
import { type RawBuilder, sql } from 'kysely';
import { singleNames } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import { hasUnreadable, readable, type ServiceUser } from '../../model/user.ts';
import type { ComparedUsers, RoleNames, ShownUsers } from '../../model/plan.ts';
import { singlesIn, stagedSingles, valuesOf } from '../db/field-sql.ts';
import { idArray } from '../db/by-key.ts';
import type { Database, Queryable } from '../db/database.ts';
import { type StageShape, withSpool } from '../db/spool.ts';
import { type Staged, withStaged } from '../db/stage.ts';
import { isOlder, isToBeBelieved } from '../team/stale.ts';
import { stagedTimes, timesOf } from '../db/timestamp.ts';
import { editsJoin, heldOf, toState, userColumns, userJoins, type UserRow } from './users-read.ts';

/** The columns to stage. Empty and unreadable values become null, but a user with an unreadable value always differs. */
const shapeWith = (roles: RoleNames): StageShape<ServiceUser> => ({
  name: 'users',
  columns: [
    ['id', 'bigint'],
    ['name', 'text'],
    ...stagedSingles,
    ['role', 'text'],
    ...stagedTimes,
    ['unreadable', 'boolean'],
  ],
  values: (user) => [
    user.id,
    readable(user.name),
    ...singleNames.map((field) => {
      const value = readable<string | Id>(user[field]);
      return value === '' ? null : value;
    }),
    roles.get(user.id),
    ...timesOf(user),
    hasUnreadable(user),
  ],
});

/** Joins some users by key lookups, without reading the whole tables, because the team may be large. */
const fewBesides = (teamId: Id, staged: Staged) => sql`${staged}
  cross join lateral (select s.id) as i (id)
  ${userJoins(teamId)}`;

/** Joins all users of service, mirror and base, and reads each table once. */
function allBesides(teamId: Id, staged: Staged) {
  const ofTeam = (table: string) => sql`(select * from ${sql.table(table)} where team_id = ${teamId})`;
  return sql`${staged}
    full join ${ofTeam('mirror.users')} u on u.id = s.id
    full join ${ofTeam('sync.user_base')} b on b.id = coalesce(s.id, u.id)
    full join (select * from sync.absences where team_id = ${teamId} and resource = 'users') a
      on a.id = coalesce(s.id, u.id, b.id)
    full join (select * from sync.changes where team_id = ${teamId} and state = 'open') c
      on c.user_id = coalesce(s.id, u.id, b.id)
    full join (select f.user_id, ${heldOf} as held from sync.held_fields f where f.team_id = ${teamId} group by f.user_id) h
      on h.user_id = coalesce(s.id, u.id, b.id)
    cross join lateral (select coalesce(s.id, u.id, b.id)) as i (id)
    ${editsJoin(teamId)}`;
}

const observedDiffers = sql`(
  (u.name, u.created_at, u.updated_at, u.user_created_at, u.user_updated_at)
    is distinct from (coalesce(s.name, u.name), s.created_at, s.updated_at, s.user_created_at, s.user_updated_at)
  or u.role is distinct from coalesce(s.role, u.role) or u.resolved is distinct from true)`;

const serviceMoved = sql`(
  (s.name, ${singlesIn('s')}) is distinct from (b.name, ${singlesIn('b')}))`;

const isDifferent = sql`(
  u.id is null or b.id is null or u.gone_at is not null or a.id is not null or c.change_id is not null
  or h.held is not null or b.older_since is not null or s.unreadable
  or (${valuesOf('u')}) is distinct from (${valuesOf('b')})
  or ${serviceMoved} or ${observedDiffers})`;

const isUnknown = sql`(
  u.id is null and b.id is null and a.id is null and c.change_id is null and h.held is null and not s.unreadable)`;

/** For users new to the mirror, selects only the id. Otherwise a first run would read an empty row for each user. */
const select = (from: RawBuilder<unknown>, where: RawBuilder<unknown>) => sql<ComparedRow>`
  with compared as materialized (
    select i.id, ${userColumns}, s.id is not null as is_seen, coalesce(${isUnknown}, false) as is_unknown, ${observedDiffers} as observed_differs,
      b.id is not null and ${isOlder(sql`u`)} and not ${isToBeBelieved} and (${serviceMoved} or h.held is not null) as stale
    from ${from} where ${where}
  )
  select c.*, case when row_number() over () = 1 then n.ids end as unknown
  from (select string_agg(id::text, ',') as ids from compared where is_unknown) n
  left join compared c on not c.is_unknown`;

interface ComparedRow extends UserRow {
  readonly is_seen: boolean;
  /** In the first row: the ids of users new to the mirror, separated by commas. The row's `id` is null if none differs. */
  readonly unknown: string | null;
}

/**
 * Checks that mirror and base are equal for all users, and that the team has no hold, open push or open edit. Missing,
 * stale or unreadable users count as a difference.
 * @returns the newest `agreed_at` of a base, as Postgres writes it; `null` if something differs or is open
 */
export async function agreesWithBase(db: Queryable, teamId: Id): Promise<string | null> {
  const none = (table: string, condition = sql`true`) =>
    sql`not exists (select from ${sql.table(table)} where team_id = ${teamId} and ${condition})`;
  const ofTeam = (table: string) => sql`(select * from ${sql.table(table)} where team_id = ${teamId})`;
  const { rows } = await sql<{ agreed: string }>`
    select coalesce(max(agreed_at)::text, '') as agreed from sync.user_base where team_id = ${teamId} having ${none('sync.held_fields')} and ${none('sync.changes', sql`state = 'open'`)} and ${none('sync.edits', sql`ended_at is null`)}
      and ${none('sync.absences', sql`resource = 'users'`)} and ${none('sync.user_base', sql`older_since is not null`)}
      and not exists (select from sync.learned l join sync.teams t using (team) where t.team_id = ${teamId} and l.topic = 'rejected users')
      and not exists (
        select from ${ofTeam('mirror.users')} u full join ${ofTeam('sync.user_base')} b on b.id = u.id
        where u.gone_at is null and (u.id is null or b.id is null or not u.resolved
          or (${valuesOf('u')}) is distinct from (${valuesOf('b')}))
      )`.execute(db);
  return rows[0]?.agreed ?? null;
}

async function readRows(
  db: Database,
  teamId: Id,
  { users, roles, leftOut }: ShownUsers,
): Promise<readonly ComparedRow[]> {
  return await withSpool(shapeWith(roles), users.values(), (spool) =>
    withStaged(db, spool, async (tx, staged) => {
      if (leftOut === null) return (await select(fewBesides(teamId, staged), isDifferent).execute(tx)).rows;
      const isUnseen = sql`((u.gone_at is null or u.id = any (${idArray(leftOut)})) and coalesce(u.id, b.id) is not null)`;
      const isRead = sql`case when s.id is null then ${isUnseen} else ${isDifferent} end`;
      return (await select(allBesides(teamId, staged), isRead).execute(tx)).rows;
    }),
  );
}

/** Reads all users who differ. If all users of the service were read, also known users whom the service does not show. */
export async function compareSides(db: Database, teamId: Id, shown: ShownUsers): Promise<ComparedUsers> {
  const rows = await readRows(db, teamId, shown);
  const unknown = new Set(rows[0]?.unknown?.split(',').map(BigInt));
  const rowsThat = (isSeen: boolean) => rows.filter((row) => row.is_seen === isSeen);
  return {
    differing: rowsThat(true).map((row) => toState(row, shown.users.get(row.id))),
    unknown: shown.users
      .keys()
      .filter((id) => unknown.has(id))
      .toArray(),
    unseen: rowsThat(false).map((row) =>
      toState({ ...row, observed_differs: false, stale: false }, undefined),
    ),
  };
}
