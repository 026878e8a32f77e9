/** Reads the mirror for `musterd verify`: several statements in one snapshot. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import { columnNamesOf, type ListedResource } from '../../model/listed-resource.ts';
import { listedResources } from '../../model/listed-resources.ts';
import type { MirroredUser } from '../../model/mirrored-user.ts';
import { differs, rowPerField, valuesOf } from '../db/field-sql.ts';
import { absenceByKey, byKey } from '../db/by-key.ts';
import { type Database, databaseTime, type Queryable, type Row, type Transaction } from '../db/database.ts';
import { heldBecause } from './holds.ts';

/** A row of a listing; `columns` has the columns whose values come from the service. */
export interface MirroredRow {
  readonly id: Id;
  readonly gone_at: Date | null;
  readonly missing_since: Date | null;
  /** True if a lookup on the service found the row, although the listing leaves it out. */
  readonly found: boolean;
  readonly columns: Readonly<Record<string, unknown>>;
}

export interface MirrorSnapshot {
  readonly team: Row<'mirror.teams', 'name' | 'list_size' | 'members'> | null;
  readonly users: readonly MirroredUser[];
  /** The rows of each listed resource, by the resource's name. */
  readonly listed: ReadonlyMap<string, readonly MirroredRow[]>;
  /** True if a run is in progress. Changes that the run is making may appear as differences. */
  readonly isRunning: boolean;
}

async function readUsers(tx: Transaction, teamId: Id): Promise<readonly MirroredUser[]> {
  const { rows } = await sql<MirroredUser>`
    select u.id, u.name, ${valuesOf('u')}, u.role, u.resolved, u.gone_at,
           u.created_at, u.updated_at, u.user_created_at, u.user_updated_at, b.id is not null as agreed,
           case when a.passes > 0 then a.missing_since end as missing_since,
           p.pending || o.sent || h.held as expected
    from mirror.users u
    left join lateral ${byKey('sync.user_base', teamId, sql`u.id`)} b on true
    left join lateral ${absenceByKey('users', teamId, sql`u.id`)} a on true
    cross join lateral (
      select coalesce(jsonb_object_agg(f.field, 'pending edit'), '{}') as pending
      from ${rowPerField((field) => [differs(field, 'u', 'b')])} f (field, edited) where f.edited and b.id is not null
    ) p
    cross join lateral (
      select coalesce(jsonb_object_agg(k.field, 'open push'), '{}') as sent
      from sync.changes c cross join lateral jsonb_object_keys(c.new) k (field)
      where c.team_id = u.team_id and c.user_id = u.id and c.state = 'open'
    ) o
    cross join lateral (
      select coalesce(jsonb_object_agg(h.field, 'held: ' || ${heldBecause}), '{}') as held
      from sync.held_fields h where h.team_id = u.team_id and h.user_id = u.id
        and (h.decision is null or h.decision = 'rejected')
    ) h
    where u.team_id = ${teamId} order by u.id`.execute(tx);
  return rows;
}

type RowInSql = Omit<MirroredRow, 'columns'>;

function toRow({ id, gone_at, missing_since, found, ...columns }: RowInSql): MirroredRow {
  return { id, gone_at, missing_since, found, columns };
}

/** True if the service has answered that the row of absence a exists. */
const isFound = sql`a.verdict is not distinct from 'found'`;

async function readListed(
  tx: Transaction,
  teamId: Id,
  resource: ListedResource,
): Promise<readonly MirroredRow[]> {
  const columns = sql.join(columnNamesOf(resource).map((column) => sql.ref(`t.${column}`)));
  const { rows } = await sql<RowInSql>`
    select t.id, t.gone_at, a.missing_since, ${isFound} as found, ${columns} from ${sql.table(`mirror.${resource.name}`)} t
    left join lateral ${absenceByKey(resource.name, teamId, sql`t.id`)} a on true
    where t.team_id = ${teamId} order by t.id`.execute(tx);
  return rows.map(toRow);
}

/** Reads all parts in one snapshot, in a read-only transaction. */
export async function readSnapshot(db: Database, team: string, teamId: Id): Promise<MirrorSnapshot> {
  return db.transaction(
    async (tx) => {
      await sql`set transaction read only`.execute(tx);
      const mirrored = await tx
        .selectFrom('mirror.teams')
        .select(['name', 'list_size', 'members'])
        .where('team_id', '=', teamId)
        .executeTakeFirst();
      const lease = await tx
        .selectFrom('sync.leases')
        .select('team')
        .where('team', '=', team)
        .where('expires_at', '>', databaseTime)
        .executeTakeFirst();
      const listed = new Map<string, readonly MirroredRow[]>();
      for (const resource of listedResources)
        listed.set(resource.name, await readListed(tx, teamId, resource));
      return {
        team: mirrored ?? null,
        users: await readUsers(tx, teamId),
        listed,
        isRunning: lease !== undefined,
      };
    },
    { isolationLevel: 'repeatable read' },
  );
}

/** The addresses to look a user up by. */
export interface KnownAddress extends Row<'mirror.users', 'email' | 'phone'> {
  /** `null` for an address of `mirror.user_lookups`, whose user is unknown. */
  readonly id: Id | null;
}

/** Reads the addresses of present users (from mirror, base, holds and pushes), and all of `mirror.user_lookups`. */
export async function readKnownAddresses(db: Queryable, teamId: Id): Promise<readonly KnownAddress[]> {
  const { rows } = await sql<KnownAddress>`
    select id, email, phone from mirror.users where team_id = ${teamId} and gone_at is null
    union
    select b.id, b.email, b.phone from sync.user_base b join mirror.users u on u.team_id = b.team_id and u.id = b.id
    where b.team_id = ${teamId} and u.gone_at is null
    union
    select h.user_id, case h.field when 'email' then h.shown_value #>> '{}' end,
           case h.field when 'phone' then h.shown_value #>> '{}' end
    from sync.held_fields h where h.team_id = ${teamId} and h.field in ('email', 'phone')
    union
    select c.user_id, c.new ->> 'email', c.new ->> 'phone' from sync.changes c
    where c.team_id = ${teamId} and c.state = 'open'
    union
    select null, email, phone from mirror.user_lookups where team_id = ${teamId}`.execute(db);
  return rows;
}
