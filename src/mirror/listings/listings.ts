/** The read-only listings: published in one transaction, and only the rows that changed are written. */
import { type RawBuilder, sql } from 'kysely';
import type { ListedResource, RefreshResult } from '../../model/absence.ts';
import type { ContactCount } from '../../model/contact-count.ts';
import type { ContactField } from '../../model/contact-field.ts';
import type { Id } from '../../model/id.ts';
import { toJson } from '../../model/json.ts';
import { type ListingMemory, nothingLearned } from '../../model/listing.ts';
import type { RejectedRow } from '../../model/rejected-row.ts';
import type { Tag } from '../../model/tag.ts';
import { type Database, databaseTime, type Queryable, type Transaction } from '../db/database.ts';
import type { KnownTeam } from '../team/known-team.ts';
import { type Learned, readLearned } from '../team/learned.ts';
import { type StageShape, toJsonField } from '../db/spool.ts';
import { type SpoolOf, type Staged, stage, withStaged } from '../db/stage.ts';
import type { RunOf } from '../users/users-write.ts';

/** One listed resource in SQL: its table, and the columns that follow the service. */
export type ListedTable<Row> = StageShape<Row, ListedResource>;
type ListingSpool = SpoolOf<ListedResource>;

export const tagTable: ListedTable<Tag> = {
  name: 'tags',
  columns: [
    ['id', 'bigint'],
    ['tag', 'text'],
    ['color', 'text'],
    ['rev', 'bigint'],
    ['created', 'text'],
    ['updated', 'text'],
    ['raw', 'text'],
  ],
  values: ({ id, tag, color, rev, created, updated, raw }) => [
    id,
    tag,
    color,
    rev,
    created,
    updated,
    toJsonField(raw),
  ],
};

export const contactFieldTable: ListedTable<ContactField> = {
  name: 'contact_fields',
  columns: [
    ['id', 'bigint'],
    ['title', 'text'],
    ['op', 'text'],
    ['rev', 'bigint'],
    ['tid', 'bigint'],
    ['uid', 'bigint'],
    ['raw', 'text'],
  ],
  values: ({ id, title, op, rev, tid, uid, raw }) => [id, title, op, rev, tid, uid, toJsonField(raw)],
};

/** `raw` is read as JSON only where it is written: most rows are staged to be compared, and it counts for nothing there. */
const writable = (column: string) => (column === 'raw' ? sql`f.raw::jsonb` : sql.ref(`f.${column}`));

const columnsOf = (of: ListingSpool['shape']) => of.columns.map(([name]) => name);

const refs = (table: string, columns: readonly string[]) =>
  sql.join(columns.map((column) => sql.ref(`${table}.${column}`)));

interface Compared extends Omit<RefreshResult, 'absent'> {
  readonly absent: readonly Id[];
}

/**
 * Staged rows beside those of the mirror: which are new, changed and absent; with `written`, the first two are written.
 * `raw` goes along with a change, and is none by itself.
 */
async function compare(
  db: Queryable,
  { shape }: ListingSpool,
  teamId: Id,
  staged: Staged,
  written: RawBuilder<unknown> = sql``,
): Promise<Compared> {
  const compared = columnsOf(shape).filter((column) => column !== 'id' && column !== 'raw');
  const rows = sql`select * from ${sql.table(`mirror.${shape.name}`)} where team_id = ${teamId}`;
  const found = await sql<Compared>`
    with found as materialized (
      select s.*, t.id as known from ${staged} full join (${rows}) t on t.id = s.id
      where case when s.id is null then t.gone_at is null
        else t.id is null or t.gone_at is not null
          or (${refs('t', compared)}) is distinct from (${refs('s', compared)}) end
    ) ${written}
    select count(*) filter (where known is null)::int as added,
      count(*) filter (where known is not null and id is not null)::int as changed,
      coalesce(array_agg(known) filter (where id is null), '{}') as absent,
      (select count(*)::int from (${rows} and gone_at is null) p) as population
    from found`.execute(db);
  const [result] = found.rows;
  if (result === undefined) throw new Error('an aggregate returned no row');
  return result;
}

/** Nobody else adds rows under the lease, and without a word about conflicts Postgres takes half the time. */
function writing({ shape }: ListingSpool, teamId: Id) {
  const columns = columnsOf(shape);
  const set = columns.slice(1).map((column) => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`);
  const insert = sql`
    insert into ${sql.table(`mirror.${shape.name}`)} (team_id, ${sql.join(columns.map((column) => sql.ref(column)))})
    select ${teamId}, ${sql.join(columns.map(writable))} from found f`;
  return sql`,
    added as (${insert} where f.known is null),
    changed as (${insert} where f.id is not null and f.known is not null
      on conflict (team_id, id) do update set ${sql.join(set)}, gone_at = null)`;
}

interface KnownAbsence {
  readonly id: Id;
  readonly missing_for_ms: number;
}

async function readAbsences(db: Queryable, resource: ListedResource, teamId: Id) {
  const { rows } = await sql<KnownAbsence>`
    select id, (extract(epoch from clock_timestamp() - missing_since) * 1000)::float8 as missing_for_ms
    from sync.absences where team_id = ${teamId} and resource = ${resource}`.execute(db);
  return rows;
}

function resultOf({ absent, ...counts }: Compared, known: readonly KnownAbsence[]): RefreshResult {
  const sinceMs = new Map(known.map(({ id, missing_for_ms }) => [id, missing_for_ms]));
  const inOrder = absent.toSorted((a, b) => (a < b ? -1 : 1));
  return { ...counts, absent: inOrder.map((id) => ({ id, missingForMs: sinceMs.get(id) })) };
}

/** What publishing these rows would do. */
export async function compareListing(db: Database, teamId: Id, spool: ListingSpool): Promise<RefreshResult> {
  const compared = await withStaged(db, spool, (one, staged) => compare(one, spool, teamId, staged));
  return resultOf(
    compared,
    compared.absent.length === 0 ? [] : await readAbsences(db.kysely, spool.shape.name, teamId),
  );
}

/**
 * Publishes these rows; whatever else is there stays, and is reported as absent.
 * @param mayLack whether rows can have been missing before
 */
export async function publishListing(
  tx: Transaction,
  { teamId }: RunOf,
  spool: ListingSpool,
  mayLack = true,
): Promise<RefreshResult> {
  const { shape } = spool;
  const staged = await stage(tx, spool);
  const compared = await compare(tx, spool, teamId, staged, writing(spool, teamId));
  const known = mayLack ? await readAbsences(tx, shape.name, teamId) : [];
  if (known.length > 0) await endShown(tx, shape.name, teamId, { known, staged });
  return resultOf(compared, known);
}

/** Rows that were missing and are shown are not missing any more. */
async function endShown(
  tx: Transaction,
  resource: ListedResource,
  teamId: Id,
  { known, staged }: { readonly known: readonly KnownAbsence[]; readonly staged: Staged },
): Promise<void> {
  const shown = sql`select unnest(${known.map(({ id }) => id)}::bigint[]) intersect select s.id from ${staged}`;
  await sql`
    delete from sync.absences
    where team_id = ${teamId} and resource = ${resource} and id = any (array(${shown}))`.execute(tx);
}

const memoryTopic = (resource: ListedResource): string => `listing ${resource}`;

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

/** To be kept with the end of the run. */
export const learnedOfListing = (resource: ListedResource, memory: ListingMemory): Learned => ({
  topic: memoryTopic(resource),
  value: memory,
});

export async function writeContactCounts(
  tx: Transaction,
  { teamId }: RunOf,
  counts: readonly ContactCount[],
): Promise<void> {
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
