/** The read-only listings: published in one transaction, and only the rows that changed are written. */
import { type RawBuilder, sql } from 'kysely';
import type { AbsentRow, ListedResource, RefreshResult } from '../model/absence.ts';
import type { ContactCount } from '../model/contact-count.ts';
import type { ContactField } from '../model/contact-field.ts';
import type { Id } from '../model/id.ts';
import { toJson } from '../model/json.ts';
import { type ListingMemory, nothingLearned, type RejectedRow } from '../model/listing.ts';
import type { Tag } from '../model/tag.ts';
import { absenceByKey, anyOf, byKey } from './by-key.ts';
import { databaseTime, type Queryable, type Transaction } from './database.ts';
import type { KnownTeam } from './known-team.ts';
import { readLearned, writeLearned } from './learned.ts';
import type { RunOf } from './users-write.ts';

/** How many rows one statement publishes. */
const rowsPerStatement = 5000;

/** One listed resource in SQL: its table, its columns besides team and id, and how a row is staged. */
export interface ListedTable<Row> {
  readonly resource: ListedResource;
  readonly stage: (row: Row) => object;
  /** `id bigint, tag text, …` */
  readonly definition: RawBuilder<unknown>;
  /** The columns that follow the service. `raw` goes along with a change of one of them, and is none by itself. */
  readonly columns: readonly string[];
}

export const tagTable: ListedTable<Tag> = {
  resource: 'tags',
  stage: ({ id, tag, color, rev, created, updated, raw }) => ({ id, tag, color, rev, created, updated, raw }),
  definition: sql`id bigint, tag text, color text, rev bigint, created text, updated text, raw jsonb`,
  columns: ['tag', 'color', 'rev', 'created', 'updated'],
};

export const contactFieldTable: ListedTable<ContactField> = {
  resource: 'contact_fields',
  stage: ({ id, title, op, rev, tid, uid, raw }) => ({ id, title, op, rev, tid, uid, raw }),
  definition: sql`id bigint, title text, op text, rev bigint, tid bigint, uid bigint, raw jsonb`,
  columns: ['title', 'op', 'rev', 'tid', 'uid'],
};

function columnsOf(table: string, columns: readonly string[]) {
  return sql.join(columns.map((column) => sql.ref(`${table}.${column}`)));
}

/** The staged rows that are new or differ from table t; `is_new` tells which. */
function differing<Row>(of: ListedTable<Row>, teamId: Id, rows: readonly Row[]) {
  return sql`
    select s.*, t.id is null as is_new
    from jsonb_to_recordset(${toJson(rows.map(of.stage))}::jsonb) as s (${of.definition})
    left join lateral ${byKey(`mirror.${of.resource}`, teamId, sql`s.id`)} t on true
    where t.id is null or t.gone_at is not null
      or (${columnsOf('t', of.columns)}) is distinct from (${columnsOf('s', of.columns)})`;
}

function* slices<Row>(rows: readonly Row[]): Generator<readonly Row[]> {
  for (let from = 0; from < rows.length; from += rowsPerStatement)
    yield rows.slice(from, from + rowsPerStatement);
}

async function readAbsent<Row>(
  db: Queryable,
  of: ListedTable<Row>,
  teamId: Id,
  seen: readonly Id[],
): Promise<{ readonly absent: readonly AbsentRow[]; readonly present: number }> {
  // One row at least, whatever is absent: the number of those that are present is wanted in any case.
  const { rows } = await sql<{ id: bigint | null; missing_for_ms: number | null; present: bigint }>`
    with present as (select t.id from ${sql.table(`mirror.${of.resource}`)} t where t.team_id = ${teamId} and t.gone_at is null),
    absent as (select id from present except select unnest(${seen}::bigint[]))
    select b.id, (extract(epoch from clock_timestamp() - a.missing_since) * 1000)::float8 as missing_for_ms, c.present
    from (select count(*) as present from present) c
    left join absent b on true
    left join lateral ${absenceByKey(of.resource, teamId, sql`b.id`)} a on true
    order by b.id`.execute(db);
  const absent = rows.flatMap(({ id, missing_for_ms }) =>
    id === null ? [] : [{ id, missingForMs: missing_for_ms ?? undefined }],
  );
  return { absent, present: Number(rows[0]?.present ?? 0n) };
}

type Ided = { readonly id: Id };

/** What publishing these rows would do. */
export async function compareListing<Row extends Ided>(
  db: Queryable,
  of: ListedTable<Row>,
  teamId: Id,
  rows: readonly Row[],
): Promise<RefreshResult> {
  let added = 0;
  let changed = 0;
  for (const slice of slices(rows)) {
    const found = await sql<{ added: bigint; changed: bigint }>`
      select count(*) filter (where is_new) as added, count(*) filter (where not is_new) as changed
      from (${differing(of, teamId, slice)}) d`.execute(db);
    added += Number(found.rows[0]?.added ?? 0n);
    changed += Number(found.rows[0]?.changed ?? 0n);
  }
  const { absent, present } = await readAbsent(
    db,
    of,
    teamId,
    rows.map(({ id }) => id),
  );
  return { added, changed, absent, population: present };
}

/** Publishes these rows; whatever else is there stays, and is reported as absent. */
export async function publishListing<Row extends Ided>(
  tx: Transaction,
  of: ListedTable<Row>,
  { teamId }: RunOf,
  rows: readonly Row[],
): Promise<RefreshResult> {
  const seen = rows.map(({ id }) => id);
  const { absent, present } = await readAbsent(tx, of, teamId, seen);
  let added = 0;
  let changed = 0;
  const columns = [...of.columns, 'raw'];
  const set = sql.join(columns.map((column) => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`));
  for (const slice of slices(rows)) {
    const written = await sql<{ added: bigint; changed: bigint }>`
      with changes as materialized (${differing(of, teamId, slice)}),
      written as (
        insert into ${sql.table(`mirror.${of.resource}`)} (team_id, id, ${sql.join(columns.map((column) => sql.ref(column)))})
        select ${teamId}, c.id, ${columnsOf('c', columns)} from changes c
        on conflict (team_id, id) do update set ${set}, gone_at = null
      )
      select count(*) filter (where is_new) as added, count(*) filter (where not is_new) as changed from changes`.execute(
      tx,
    );
    added += Number(written.rows[0]?.added ?? 0n);
    changed += Number(written.rows[0]?.changed ?? 0n);
  }
  await tx
    .deleteFrom('sync.absences')
    .where((eb) => eb.and({ team_id: teamId, resource: of.resource }))
    .where('id', '=', anyOf(seen))
    .execute();
  return { added, changed, absent, population: present };
}

export const memoryTopic = (resource: ListedResource): string => `listing ${resource}`;

export function memoryOf({ learned }: Pick<KnownTeam, 'learned'>, resource: ListedResource): ListingMemory {
  return (learned.get(memoryTopic(resource))?.value as ListingMemory | undefined) ?? nothingLearned;
}

export async function readListingMemory(
  db: Queryable,
  teamId: Id,
  resource: ListedResource,
): Promise<ListingMemory> {
  const learned = await readLearned(db, teamId, memoryTopic(resource));
  return (learned?.value as ListingMemory | undefined) ?? nothingLearned;
}

export async function writeListingMemory(
  tx: Transaction,
  { teamId }: RunOf,
  resource: ListedResource,
  { firstPage, limit, pages, cursor }: ListingMemory,
): Promise<void> {
  const value: ListingMemory = { firstPage, limit, pages, cursor };
  await writeLearned(tx, teamId, [{ topic: memoryTopic(resource), value }], true);
}

export async function writeContactCounts(
  tx: Transaction,
  { teamId }: RunOf,
  counts: readonly ContactCount[],
): Promise<void> {
  if (counts.length === 0) return;
  await tx
    .insertInto('mirror.contact_counts')
    .values(
      counts.map(({ segment, count }) => ({ team_id: teamId, segment, count, counted_at: databaseTime })),
    )
    .execute();
}

/** Keeps the rejected rows of a resource's last pass, and those only. */
export async function writeRejectedRows(
  tx: Transaction,
  { teamId, runId }: RunOf,
  resource: string,
  rows: readonly RejectedRow[],
): Promise<void> {
  await tx
    .deleteFrom('sync.rejected_rows')
    .where((eb) => eb.and({ team_id: teamId, resource }))
    .execute();
  if (rows.length === 0) return;
  await sql`
    insert into sync.rejected_rows (team_id, run_id, resource, id, reason, excerpt)
    select ${teamId}, ${runId}, ${resource}, s.id, s.reason, s.excerpt
    from jsonb_to_recordset(${toJson(rows)}::jsonb) as s (id bigint, reason text, excerpt text)`.execute(tx);
}
