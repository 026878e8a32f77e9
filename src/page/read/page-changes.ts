/** The ledger for the status page: filtered, newest first, with keyset pagination. */
import { type RawBuilder, sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import { type Direction, kindsOf } from '../../model/ledger-words.ts';
import { idArray } from '../../mirror/db/by-key.ts';
import type { Row } from '../../mirror/db/database.ts';
import type { LedgerRow } from '../../mirror/users/ledger.ts';
import { readUserQuery } from '../../mirror/users/user-query.ts';
import { matches } from './page-people.ts';
import type { PageReader } from './page-reader.ts';

/** The filters of the ledger. A filter that is `null` selects everything. */
export interface ChangesFilter {
  /** A part of a name, or an id. If the page hides personal details, only an id. */
  readonly q: string;
  readonly details: boolean;
  readonly field: string | null;
  readonly direction: Direction | null;
  /** The editor or approver. Pulls have neither. */
  readonly actor: string | null;
  readonly runId: bigint | null;
  /** The number of a decision. Selects its rows, and the pushes that carried it out. */
  readonly decision: bigint | null;
  readonly since: Date | null;
  readonly before: bigint | null;
  /** The most changes to return. A change is about one user and one or more fields. */
  readonly limit: number;
}

/** One field that changed. A user who joined, left or came back is one row without a field. */
export interface ChangeRow extends LedgerRow, Row<'sync.changes', 'team_id' | 'batch'> {
  /** The edit that was sent or decided. */
  readonly edit_id: Id | null;
}

export type LedgerLine = Omit<ChangeRow, 'kind'> & { readonly kind: ChangeRow['kind'] | 'edit' };

export interface SearchEnd {
  readonly changeId: bigint;
  readonly at: Date;
}

export interface ChangesRead {
  readonly rows: readonly ChangeRow[];
  readonly isMore: boolean;
  /** The oldest change that was searched, if the search ended early and older changes could match; otherwise `null`. */
  readonly searchEnd: SearchEnd | null;
}

/** The most ledger rows to search per page. Rare matches are found over several pages. */
const mostLookedAt = 10_000;
/** The most users to search for if a search text matches many. */
const mostNamed = 200;

/** Finds the ids of the searched users. An id is kept even if only the ledger has it. @returns `null` without a search */
async function findNamed(
  { db, teamIds }: PageReader,
  { q, details }: ChangesFilter,
): Promise<readonly Id[] | null> {
  if (q === '') return null;
  const { id } = readUserQuery(q);
  const users = sql`mirror.users u where u.team_id = any (${idArray(teamIds)})`;
  const { rows } = await sql<{ id: Id }>`
    with this as (select u.id from ${users} and u.id = ${id}::bigint)
    select id from this
    union all (select u.id from ${users} and not exists (select from this) and ${matches({ q, details })} limit ${mostNamed})`.execute(
    db,
  );
  return [...(id === null ? [] : [id]), ...rows.map((row) => row.id)];
}

type Condition = RawBuilder<unknown>;
const every = (all: readonly Condition[]) => sql.join([sql`true`, ...all], sql` and `);

async function findDecided({ db, teamIds }: PageReader, decision: bigint) {
  const { rows } = await sql<{ users: readonly Id[]; edits: readonly Id[]; first: bigint | null }>`
    select coalesce(array_agg(distinct user_id), '{}') as users, min(change_id) as first,
      coalesce(array_agg(distinct edit_id) filter (where edit_id is not null), '{}') as edits
    from report.decisions where team_id = any (${idArray(teamIds)}) and decision_id = ${decision}`.execute(
    db,
  );
  return rows[0] ?? { users: [], edits: [], first: null };
}

/** The conditions for which an index exists, and the conditions on each row. A decision also selects its pushes. */
async function conditionsOf(reader: PageReader, filter: ChangesFilter) {
  const { field, direction, actor, runId, decision, since, before } = filter;
  const users = await findNamed(reader, filter);
  const decided = decision === null ? null : await findDecided(reader, decision);
  const [byIndex, byRow]: [Condition[], Condition[]] = [
    [sql`c.team_id = any (${idArray(reader.teamIds)})`],
    [],
  ];
  if (users !== null) byIndex.push(sql`c.user_id = any (${idArray(users)})`);
  if (runId !== null) byIndex.push(sql`c.run_id = ${runId}`);
  if (before !== null) byIndex.push(sql`c.change_id < ${before}`);
  if (decided !== null) {
    byIndex.push(sql`c.user_id = any (${idArray(decided.users)}) and c.change_id >= ${decided.first}`);
    byRow.push(
      sql`(c.decision_id = ${decision} or c.kind = 'push' and c.edit_id = any (${idArray(decided.edits)}))`,
    );
  }
  if (field !== null) byRow.push(sql`c.field = ${field} and c.kind not in ('adopt', 'return')`);
  if (direction !== null) byRow.push(sql`c.kind = any (${kindsOf[direction]}::text[])`);
  if (actor !== null)
    byRow.push(sql`${actor} in (c.decided_by, split_part(c.decided_by, ', said by ', 1), c.edited_by)`);
  if (since !== null) byRow.push(sql`c.opened_at >= ${since}`);
  return { byIndex: every(byIndex), byRow: every(byRow) };
}

/** First finds the changes, up to the limit; then reads their values. An adopted user is one row without a field. */
export async function readChanges(reader: PageReader, filter: ChangesFilter): Promise<ChangesRead> {
  const { byIndex, byRow } = await conditionsOf(reader, filter);
  const looked = sql`report.changes c where ${byIndex} order by c.change_id desc`;
  const { rows: chosen } = await sql<{ id: bigint }>`
    select distinct c.change_id as id from (
      select change_id, kind, field, decided_by, edited_by, opened_at, decision_id, edit_id from ${looked}
      fetch first (${mostLookedAt}) rows with ties
    ) c
    where ${byRow} order by c.change_id desc limit ${filter.limit + 1}`.execute(reader.db);
  const ids = chosen.slice(0, filter.limit).map(({ id }) => id);
  const isMore = chosen.length > filter.limit;
  const searchEnd = isMore ? null : await readSearchEnd(reader, looked, filter.since);
  return { rows: await readRows(reader, ids, byRow), isMore, searchEnd };
}

/** The old or the new value of the row c. A row without a user (a message, tag or conversation) has a text instead. */
const shown = (which: 'old' | 'new') => {
  const [text, value] = [sql.ref(`c.${which}_text`), sql.ref(`c.${which}_value`)];
  return sql`case when c.user_id is null then to_jsonb(${text}) else ${value} end as ${sql.ref(`${which}_value`)}`;
};

/** Reads the rows of these changes. A user who joined or came back is one row without a field. */
async function readRows(
  reader: PageReader,
  ids: readonly bigint[],
  fits: Condition = sql`true`,
): Promise<readonly ChangeRow[]> {
  const { rows } = await sql<ChangeRow>`
    select c.change_id, c.team_id, c.run_id, c.user_id, c.name, c.kind, c.request_id, c.opened_at, c.closed_at, c.decided_by,
      c.decided_why, c.edit_id, c.batch, f.*
    from (
      select c.*, row_number() over (partition by change_id order by field) as nth from report.changes c
      where c.team_id = any (${idArray(reader.teamIds)}) and c.change_id = any (${idArray(ids)}) and ${fits}
    ) c
    left join lateral (
      select c.field, ${shown('old')}, ${shown('new')}, c.outcome, c.edited_by where c.kind not in ('adopt', 'return')
    ) f on true
    where c.nth = 1 or c.kind not in ('adopt', 'return')
    order by c.change_id desc, c.field`.execute(reader.db);
  return rows;
}

async function readSearchEnd(
  { db }: PageReader,
  looked: RawBuilder<unknown>,
  since: Date | null,
): Promise<SearchEnd | null> {
  const { rows } = await sql<SearchEnd>`
    select change_id as "changeId", opened_at as at from ${looked} offset ${mostLookedAt} - 1 limit 1`.execute(
    db,
  );
  const [found] = rows;
  return found === undefined || (since !== null && found.at < since) ? null : found;
}

export async function readMoves(
  reader: PageReader,
  fits: RawBuilder<unknown>,
  most: number,
): Promise<readonly ChangeRow[]> {
  const { rows } = await sql<{ id: bigint }>`
    select change_id as id from report.changes where ${fits} order by change_id desc limit ${most}`.execute(
    reader.db,
  );
  const ids = rows.map(({ id }) => id);
  return (await readRows(reader, ids)).slice(0, most);
}

const mostOfOne = 200;

/** The history of one user, newest first: the ledger, and the edits in the mirror, which are not in the ledger. */
export async function readHistory(reader: PageReader, userId: Id): Promise<readonly LedgerLine[]> {
  const { db, teamIds } = reader;
  const ofOne = sql`team_id = any (${idArray(teamIds)}) and user_id = ${userId}`;
  const { rows: edits } = await sql<LedgerLine>`
    select 'edit' as kind, 0::bigint as change_id, team_id, user_id, field, old_value, new_value, edited_by, changed_at as opened_at,
      null as closed_at, null as run_id, null as name, null as outcome, null as request_id, null as decided_by,
      null as decided_why, null as edit_id, null as batch
    from report.roster_changes
    where ${ofOne} and side = 'mirror' and field in ('first_name', 'last_name', 'email', 'phone', 'role_id')
    order by changed_at desc limit ${mostOfOne}`.execute(db);
  const moves = await readMoves(reader, ofOne, mostOfOne);
  const when = ({ closed_at: closed, opened_at: opened }: LedgerLine) => (closed ?? opened).getTime();
  return [...moves, ...edits].toSorted(
    (a, b) =>
      when(b) - when(a) || Number(b.change_id - a.change_id) || (a.field ?? '').localeCompare(b.field ?? ''),
  );
}
