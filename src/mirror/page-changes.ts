/** The ledger as the page shows it: filtered, the newest first, a page of it by keys. */
import { type RawBuilder, sql } from 'kysely';
import type { PushOutcome } from '../model/intent.ts';
import type { Id } from '../model/id.ts';
import { type ChangeField, changeFields, type Direction, kindsOf } from '../model/ledger-words.ts';
import { idArray } from './by-key.ts';
import type { Row } from './database.ts';
import type { PageReader } from './page-reader.ts';

/** What is left `null` selects everything. */
export interface ChangesAsked {
  /** What a name contains, or an id is; without details an id alone. */
  readonly q: string;
  readonly details: boolean;
  readonly field: ChangeField | null;
  readonly direction: Direction | null;
  /** Who edited or decided; of what was pulled nobody knows. */
  readonly actor: string | null;
  readonly runId: bigint | null;
  readonly since: Date | null;
  /** Older than this one. */
  readonly before: bigint | null;
  /** Changes at most; a change is of one user, and may be of several fields. */
  readonly limit: number;
}

/** One field moved; who came, went or came back is one row without a field. */
export interface ChangeRow
  extends Row<
    'sync.changes',
    | 'change_id'
    | 'team_id'
    | 'run_id'
    | 'user_id'
    | 'kind'
    | 'request_id'
    | 'opened_at'
    | 'closed_at'
    | 'decided_by'
    | 'decided_why'
  > {
  /** As the mirror has it today. */
  readonly name: string | null;
  readonly field: ChangeField | null;
  readonly base_value: unknown;
  readonly old_value: unknown;
  readonly new_value: unknown;
  readonly outcome: PushOutcome | null;
  readonly edited_by: string | null;
  /** Of a hold: why it is held, where it still is. */
  readonly held: string | null;
}

export interface LookedTo {
  readonly changeId: bigint;
  readonly at: Date;
}

export interface ChangesRead {
  readonly rows: readonly ChangeRow[];
  readonly isMore: boolean;
  /** Of a page that is not full: the oldest change that was looked at, where there may be others before it. */
  readonly lookedTo: LookedTo | null;
  /** Who edited or decided lately. */
  readonly actors: readonly string[];
}

/** Rows of the ledger that a page looks through at most: what is rare is found over several pages. */
const mostLookedAt = 30_000;
/** Of how many of the newest changes the actors are offered. */
const actorsOf = 1_000;
/** Users whose names are alike. */
const mostNamed = 200;

const pattern = (q: string) => `%${q.replaceAll(/[\\%_]/g, '\\$&')}%`;

/** `null`: nobody was asked for. */
async function findNamed(
  { db, teamIds }: PageReader,
  { q, details }: ChangesAsked,
): Promise<readonly Id[] | null> {
  if (q === '') return null;
  const byId = /^\d{1,18}$/.test(q) ? [BigInt(q)] : [];
  if (!details || byId.length > 0) return byId;
  const { rows } = await sql<{ id: Id }>`
    select distinct id from (
      select id from mirror.users where team_id = any (${idArray(teamIds)}) and name ilike ${pattern(q)} limit ${mostNamed}
    ) named`.execute(db);
  return rows.map(({ id }) => id);
}

/** What an index leads to; the newest rows of the teams otherwise. */
function chosenBy(
  { runId }: ChangesAsked,
  teamIds: readonly Id[],
  userIds: readonly Id[] | null,
): RawBuilder<unknown> {
  return sql.join(
    [
      sql`c.team_id = any (${idArray(teamIds)})`,
      ...(userIds === null ? [] : [sql`c.user_id = any (${idArray(userIds)})`]),
      ...(runId === null ? [] : [sql`c.run_id = ${runId}`]),
    ],
    sql` and `,
  );
}

/** What each of them is asked for. */
function letThrough({ field, direction, actor, since }: ChangesAsked): RawBuilder<unknown> {
  const all = [
    sql`true`,
    ...(direction === null ? [] : [sql`c.kind = any (${kindsOf[direction]}::text[])`]),
    ...(field === null
      ? []
      : [sql`(c.new ? ${field} or c.old ? ${field}) and c.kind not in ('adopt', 'return')`]),
    ...(actor === null
      ? []
      : [
          sql`(c.decided_by = ${actor} or c.edited_by is not null and ${actor} in (${sql.join(
            changeFields.map((name) => sql`c.edited_by ->> ${sql.lit(name)}`),
          )}))`,
        ]),
    ...(since === null ? [] : [sql`c.opened_at >= ${since}`]),
  ];
  return sql.join(all, sql` and `);
}

export async function readChanges(reader: PageReader, asked: ChangesAsked): Promise<ChangesRead> {
  const { db, teamIds } = reader;
  const userIds = await findNamed(reader, asked);
  const older = asked.before === null ? sql`true` : sql`c.change_id < ${asked.before}`;
  const { rows } = await sql<ChangeRow>`
    with looked as (
      select c.change_id, c.team_id, c.run_id, c.user_id, c.kind, c.state, c.base, c.old, c.new, c.outcome, c.request_id,
        c.opened_at, c.closed_at, c.decided_by, c.decided_why, c.edited_by
      from sync.changes c where ${chosenBy(asked, teamIds, userIds)} and ${older}
      order by c.change_id desc limit ${mostLookedAt}
    ),
    chosen as materialized (
      select * from looked c where ${letThrough(asked)} order by c.change_id desc limit ${asked.limit + 1}
    )
    select c.change_id, c.team_id, c.run_id, c.user_id, u.name, c.kind, f.field, c.base -> f.field as base_value,
      c.old -> f.field as old_value,
      c.new -> f.field as new_value,
      case when c.state = 'open' then 'unknown' else c.outcome ->> f.field end as outcome,
      c.request_id, c.opened_at, c.closed_at, c.decided_by, c.decided_why, c.edited_by ->> f.field as edited_by,
      case when c.kind = 'hold' then h.reason end as held
    from chosen c
    left join lateral (
      select k.field from jsonb_object_keys(c.old || c.new) k (field)
      where c.kind not in ('adopt', 'return') and (${asked.field}::text is null or k.field = ${asked.field})
    ) f on true
    left join lateral (select u.name from mirror.users u where u.team_id = c.team_id and u.id = c.user_id offset 0) u on true
    left join lateral (
      select h.reason from report.held h
      where c.kind = 'hold' and h.team_id = c.team_id and h.user_id = c.user_id and h.field = f.field offset 0
    ) h on true
    order by c.change_id desc, f.field`.execute(db);
  const ids = [...new Set(rows.map(({ change_id }) => change_id))];
  const last = ids.length > asked.limit ? ids.at(-1) : undefined;
  const lookedTo =
    last === undefined
      ? await readLookedTo(reader, sql`${chosenBy(asked, teamIds, userIds)} and ${older}`, asked.since)
      : null;
  const roles = await readRoleNames(reader);
  return {
    rows: rows.filter(({ change_id }) => change_id !== last).map((row) => withRoleNames(row, roles)),
    isMore: last !== undefined,
    lookedTo,
    actors: await readActors(reader),
  };
}

/** Where a page stopped that is not full, if there is more before it. */
async function readLookedTo(
  { db }: PageReader,
  chosen: RawBuilder<unknown>,
  since: Date | null,
): Promise<LookedTo | null> {
  const { rows } = await sql<LookedTo>`
    select change_id as "changeId", opened_at as at from sync.changes c where ${chosen}
    order by c.change_id desc offset ${mostLookedAt} - 1 limit 1`.execute(db);
  const [found] = rows;
  return found === undefined || (since !== null && found.at < since) ? null : found;
}

/** By team and id. */
async function readRoleNames({ db, teamIds }: PageReader): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<Row<'mirror.roles', 'team_id' | 'role_id' | 'name'>>`
    select team_id, role_id, name from mirror.roles where team_id = any (${idArray(teamIds)}) and name is not null`.execute(
    db,
  );
  return new Map(rows.map((row) => [`${row.team_id} ${row.role_id}`, row.name ?? '']));
}

/** A role is a number to the service, and has a name for people. */
function withRoleNames(row: ChangeRow, roles: ReadonlyMap<string, string>): ChangeRow {
  if (row.field !== 'role_id') return row;
  const named = (value: unknown) => {
    const name = roles.get(`${row.team_id} ${String(value)}`);
    return name === undefined ? value : `${String(value)} ${name}`;
  };
  return {
    ...row,
    base_value: named(row.base_value),
    old_value: named(row.old_value),
    new_value: named(row.new_value),
  };
}

const mostOfOne = 200;

/** All that moved of one user, the newest first. */
export async function readChangesOf(reader: PageReader, userId: Id): Promise<readonly ChangeRow[]> {
  const none = { field: null, direction: null, actor: null, runId: null, since: null, before: null };
  const asked = { ...none, q: userId.toString(), details: false, limit: mostOfOne };
  return (await readChanges(reader, asked)).rows;
}

async function readActors({ db, teamIds }: PageReader): Promise<readonly string[]> {
  const { rows } = await sql<{ actor: string }>`
    with newest as materialized (
      select c.edited_by, c.decided_by from sync.changes c
      where c.team_id = any (${idArray(teamIds)}) order by c.change_id desc limit ${actorsOf}
    )
    select e.value as actor from newest n cross join lateral jsonb_each_text(n.edited_by) e
    union select n.decided_by from newest n where n.decided_by is not null
    order by actor limit 50`.execute(db);
  return rows.map(({ actor }) => actor);
}
