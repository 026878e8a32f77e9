/** The read-only listings. Each is published in one transaction, and only rows that changed are written. */
import { type RawBuilder, sql } from 'kysely';
import type { MirroredResource, RefreshResult } from '../../model/absence.ts';
import type { ContactCount } from '../../model/contact-count.ts';
import type { Id } from '../../model/id.ts';
import {
  type ColumnKind,
  columnNamesOf,
  isJson,
  isKept,
  type ListedResource,
  type ListedRow,
} from '../../model/listed-resource.ts';
import { listedResources } from '../../model/listed-resources.ts';
import { toJson } from '../../model/json.ts';
import { type ListingMemory, nothingLearned } from '../../model/listing.ts';
import type { RejectedRow } from '../../model/rejected-row.ts';
import { type Database, databaseTime, type Queryable, type Transaction } from '../db/database.ts';
import type { KnownTeam } from '../team/known-team.ts';
import { forgetLearned, type Learned, writeLearned } from '../team/learned.ts';
import { type Spool, type StageShape, toJsonField } from '../db/spool.ts';
import { type Staged, stage, withStaged } from '../db/stage.ts';
import type { RunOf } from '../users/users-write.ts';

/** One listed resource in SQL: its table, and the columns that follow the service. */
export interface ListedTable extends StageShape<ListedRow> {
  /** Columns that keep the known value if an answer lacks them. */
  readonly kept: ReadonlySet<string>;
  readonly byRow: ReadonlySet<string>;
}
export type ListingSpool = Spool<ListedRow, ListedTable>;

const typeOf = (kind: ColumnKind | undefined) =>
  isJson(kind) ? 'jsonb' : kind === 'integer' ? 'bigint' : kind === 'boolean' ? 'boolean' : 'text';

export function tableOf(resource: ListedResource): ListedTable {
  const columns = columnNamesOf(resource).map((name) => [name, typeOf(resource.columns[name])] as const);
  const toField = (type: ReturnType<typeof typeOf>, value: unknown) =>
    type === 'jsonb' && value !== null ? toJson(value) : (value as string | bigint | boolean | null);
  return {
    name: resource.name,
    columns: [['id', 'bigint'], ...columns, ['raw', 'text']],
    values: (row) => [
      row.id,
      ...columns.map(([name, type]) => toField(type, row[name])),
      toJsonField(row.raw),
    ],
    kept: new Set(columns.flatMap(([name]) => (isKept(resource, name) ? [name] : []))),
    byRow: new Set(resource.byRow),
  };
}

/** The column in the form to write. `raw` is parsed only here, because most rows are only compared, without `raw`. */
const writable = (row: string, column: string) =>
  column === 'raw' ? sql`${sql.ref(`${row}.raw`)}::jsonb` : sql.ref(`${row}.${column}`);

const namesOf = (table: ListedTable) => table.columns.map(([name]) => name);

/** True if the row t of the mirror differs from the staged row s. */
function isMoved(shape: ListedTable) {
  const compared = namesOf(shape).filter((column) => column !== 'id' && column !== 'raw');
  const there = compared.map((column) => sql.ref(`t.${column}`));
  const shown = compared.map((column) => {
    const now = sql.ref(`s.${column}`);
    return shape.kept.has(column) ? sql`coalesce(${now}, ${sql.ref(`t.${column}`)})` : now;
  });
  return sql`(${sql.join(there)}) is distinct from (${sql.join(shown)})`;
}

interface Compared extends Omit<RefreshResult, 'absent'> {
  readonly absent: readonly Id[];
}

/**
 * Compares staged rows with the mirror's rows, and finds new, changed and absent rows. With `written`, new and changed
 * rows are written. A difference in `raw` alone is not a change, but `raw` is written with a changed row.
 */
async function compare(
  db: Queryable,
  { shape }: ListingSpool,
  teamId: Id,
  staged: Staged,
  written: RawBuilder<unknown> = sql``,
): Promise<Compared> {
  const rows = sql`select * from ${sql.table(`mirror.${shape.name}`)} where team_id = ${teamId}`;
  const found = await sql<Compared>`
    with found as materialized (
      select s.*, t.id as known from ${staged} full join (${rows}) t on t.id = s.id
      where case when s.id is null then t.gone_at is null
        else t.id is null or t.gone_at is not null
          or ${isMoved(shape)} end
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

/** New rows are inserted without `on conflict`, in half the time, because under the lease only this run adds rows. */
function writing({ shape }: ListingSpool, teamId: Id) {
  const columns = namesOf(shape);
  // The columns that are read row by row may become empty in a changed row, so that they are read again.
  const set = columns.slice(1).map((column) => {
    const [now, before] = [sql.ref(`excluded.${column}`), sql.ref(`t.${column}`)];
    const isLeft = shape.kept.has(column) && !shape.byRow.has(column);
    return sql`${sql.ref(column)} = ${isLeft ? sql`coalesce(${now}, ${before})` : now}`;
  });
  const insert = sql`
    insert into ${sql.table(`mirror.${shape.name}`)} as t (team_id, ${sql.join(columns.map((column) => sql.ref(column)))})
    select ${teamId}, ${sql.join(columns.map((column) => writable('f', column)))} from found f`;
  return sql`,
    added as (${insert} where f.known is null),
    changed as (${insert} where f.id is not null and f.known is not null
      on conflict (team_id, id) do update set ${sql.join(set)}, gone_at = null)`;
}

interface KnownAbsence {
  readonly id: Id;
  readonly missing_for_ms: number;
}

async function readAbsences(db: Queryable, resource: MirroredResource, teamId: Id) {
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

/** Returns what publishing these rows would do. */
export async function compareListing(db: Database, teamId: Id, spool: ListingSpool): Promise<RefreshResult> {
  const compared = await withStaged(db, spool, (tx, staged) => compare(tx, spool, teamId, staged));
  return resultOf(
    compared,
    compared.absent.length === 0 ? [] : await readAbsences(db.kysely, spool.shape.name, teamId),
  );
}

/**
 * Publishes these rows. All other rows of the mirror stay, and are reported as absent.
 * @param mayLack true if an earlier listing may have lacked rows, so that their absences must be ended now
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

/**
 * Reads staged rows that lack a column which is read row by row, if the mirror lacks this column too or has another
 * version of the row. Rows with an id above `after` come first.
 */
export async function readLackingRows(
  db: Database,
  teamId: Id,
  spool: ListingSpool,
  most: number,
  after: Id,
): Promise<readonly ListedRow[]> {
  const { shape } = spool;
  const columns = namesOf(shape).map((column) => sql`${writable('s', column)} as ${sql.ref(column)}`);
  const lacks = (row: string) =>
    sql.join(
      [...shape.byRow].map((column) => sql`${sql.ref(`${row}.${column}`)} is null`),
      sql` or `,
    );
  const { rows } = await withStaged(db, spool, (tx, staged) =>
    sql<ListedRow>`
      select ${sql.join(columns)} from ${staged}
      left join ${sql.table(`mirror.${shape.name}`)} t on t.team_id = ${teamId} and t.id = s.id
      where (${lacks('s')}) and (t.id is null or t.gone_at is not null or ${lacks('t')} or ${isMoved(shape)})
      order by s.id <= ${after}, s.id limit ${most}`.execute(tx),
  );
  return rows;
}

/** Ends the absences of rows that the listing shows again. */
async function endShown(
  tx: Transaction,
  resource: MirroredResource,
  teamId: Id,
  { known, staged }: { readonly known: readonly KnownAbsence[]; readonly staged: Staged },
): Promise<void> {
  const shown = sql`select unnest(${known.map(({ id }) => id)}::bigint[]) intersect select s.id from ${staged}`;
  await sql`
    delete from sync.absences
    where team_id = ${teamId} and resource = ${resource} and id = any (array(${shown}))`.execute(tx);
}

const memoryTopic = (resource: MirroredResource): string => `listing ${resource}`;

/** Returns, by the name of each listing, a digest of all its rows, which changes if a row changes. */
export async function digestRows(
  db: Queryable,
  teamId: Id,
  resources: readonly MirroredResource[],
): Promise<ReadonlyMap<string, string>> {
  const each = resources.map(
    (resource) => sql`
      select ${resource}::text as resource, concat_ws(' ', count(*), sum(hashtextextended(t::text, 0)::numeric)) as digest
      from ${sql.table(`mirror.${resource}`)} t where team_id = ${teamId}`,
  );
  const digests = sql<{ resource: string; digest: string }>`${sql.join(each, sql` union all `)}`;
  return new Map((await digests.execute(db)).rows.map(({ resource, digest }) => [resource, digest]));
}

/**
 * Returns a function that reads the memory of a listing, without `agreed` if the mirror's rows differ from then.
 * @param known the facts that the run read when it began; the rows of all listings in them are digested in one statement
 */
export function createListingMemory(db: Queryable, teamId: Id, known?: Pick<KnownTeam, 'learned'>) {
  const memoryOf = (name: MirroredResource) =>
    (known?.learned.get(memoryTopic(name))?.value ?? nothingLearned) as ListingMemory;
  const names = listedResources.map(({ name }) => name).filter((name) => memoryOf(name).agreed !== undefined);
  let digests: ReturnType<typeof digestRows> | undefined;
  return async (resource: MirroredResource): Promise<ListingMemory> => {
    const { agreed, ...memory } = memoryOf(resource);
    if (agreed === undefined) return memory;
    digests ??= digestRows(db, teamId, names);
    return agreed.rows === (await digests).get(resource) ? { ...memory, agreed } : memory;
  };
}

/** The memory of a listing, to be recorded when the run ends. */
export const learnedOfListing = (resource: MirroredResource, memory: ListingMemory): Learned => ({
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

/** The highest number of rejected rows that are stored from one listing. */
const mostRejected = 1000;

/** Stores the rejected rows of a resource's last listing in place of the rows rejected before. */
export async function writeRejectedRows(
  tx: Transaction,
  { teamId }: RunOf,
  resource: string,
  rows: readonly RejectedRow[],
): Promise<void> {
  const topic = `rejected ${resource}`;
  if (rows.length === 0) await forgetLearned(tx, teamId, topic);
  else await writeLearned(tx, teamId, [{ topic, value: rows.slice(0, mostRejected) }]);
}
