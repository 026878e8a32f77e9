/** Reads all rows of one kind in one snapshot, and passes them on page by page. */
import { type RawBuilder, sql } from 'kysely';
import { MusterdError } from '../../errors.ts';
import type { Id } from '../../model/id.ts';
import { exportNameOf, shownColumnsOf } from '../../model/listed-resource.ts';
import { listedResources } from '../../model/listed-resources.ts';
import type { Database, Transaction } from '../db/database.ts';

interface Listing {
  readonly columns: readonly string[];
  readonly from: string | RawBuilder<unknown>;
  readonly team?: string;
  /** True to leave out rows that are marked as gone. */
  readonly presentOnly: boolean;
  readonly order: readonly string[];
  /** Makes a query of the rows at a past time; absent if the past of this kind is not recorded. */
  readonly asOf?: (at: string) => RawBuilder<unknown>;
}

const listings: Readonly<Record<string, Listing>> = {
  users: {
    columns: [
      'id',
      'name',
      'first_name',
      'last_name',
      'email',
      'phone',
      'role',
      'role_id',
      'role_arrived',
      'resolved',
      'created_at',
      'updated_at',
    ],
    from: sql`(
      select u.team_id, u.id, u.name, u.first_name, u.last_name, u.email, u.phone,
        case when u.role_id is null then u.role else r.name end as role, u.role_id,
        b.id is null or u.role_id is not distinct from b.role_id as role_arrived, u.resolved, u.created_at, u.updated_at
      from mirror.users u
      left join mirror.roles r on r.team_id = u.team_id and r.role_id = u.role_id
      left join sync.user_base b on b.team_id = u.team_id and b.id = u.id
      where u.gone_at is null) r`,
    presentOnly: false,
    order: ['id'],
    asOf: (at) => sql`(select r.*, r.user_id as id from report.roster_as_of(${at}::timestamptz) r) r`,
  },
  ...Object.fromEntries(
    listedResources.map((resource) => [
      exportNameOf(resource),
      {
        columns: ['id', ...shownColumnsOf(resource), 'first_seen_at'],
        from: `mirror.${resource.name}`,
        presentOnly: true,
        order: ['id'],
      },
    ]),
  ),
  'contact-counts': {
    columns: ['segment', 'counted_at', 'count'],
    from: 'mirror.contact_counts',
    presentOnly: false,
    order: ['counted_at', 'segment'],
    asOf: (at) => sql`(select * from mirror.contact_counts where counted_at <= ${at}::timestamptz) r`,
  },
  changes: {
    columns: [
      'change_id',
      'opened_at',
      'closed_at',
      'kind',
      'user_id',
      'name',
      'field',
      'base_value',
      'old_value',
      'new_value',
      'outcome',
      'run_id',
      'request_id',
      'decided_by',
      'decided_why',
      'edited_by',
    ],
    // Each change is looked up by its key, because until the tables are analysed, Postgres would plan a quadratic join.
    from: sql`(select team_id as team, change_id as number from sync.changes) c
      cross join lateral (
        select * from report.changes where team_id = c.team and change_id = c.number offset 0
      ) r`,
    team: 'c.team',
    presentOnly: false,
    order: ['c.number', 'field'],
  },
};

export const exportable = Object.keys(listings);
/** True for a kind of rows whose past is recorded. */
export const isKnownAsOf = (what: string): boolean => listings[what]?.asOf !== undefined;
export const exportColumns = (what: string): readonly string[] => listingOf(what).columns;

function listingOf(what: string): Listing {
  const listing = listings[what];
  if (listing === undefined) throw new Error(`no export is called ${what}`);
  return listing;
}

export type ExportRow = Readonly<Record<string, unknown>>;

/** Rows per page: few enough to fit in memory, and enough to make round trips rare. */
const rowsPerPage = 1000;
/** How long the reader of the rows may pause, such as a person who reads the output page by page. */
const patience = '15min';

/**
 * Passes on all rows in one snapshot. A page is read once the previous one has been taken.
 * @throws the error of `take`. The work is repeated only if `take` was not called before.
 */
export async function readPages(
  db: Database,
  teamId: Id,
  what: string,
  take: (page: readonly ExportRow[]) => Promise<void>,
  asOf?: string,
): Promise<void> {
  let hasBegun = false;
  const read = async (tx: Transaction) => {
    await sql`select set_config('idle_in_transaction_session_timeout', ${patience}, true)`.execute(tx);
    await openCursor(tx, teamId, listingOf(what), asOf);
    for (;;) {
      const { rows } = await sql<ExportRow>`fetch ${sql.lit(rowsPerPage)} from exported`.execute(tx);
      if (rows.length === 0) return;
      hasBegun = true;
      await take(rows);
    }
  };
  // After a page was passed on, the work is not repeated, because those rows cannot be taken back.
  const once = (tx: Transaction) =>
    read(tx).catch((error: unknown) => {
      if (!hasBegun || error instanceof MusterdError) throw error;
      const words = error instanceof Error ? error.message : String(error);
      throw new MusterdError('mirror', `The export ended early: ${words}`, { cause: error });
    });
  await db.transaction(once, { isolationLevel: 'repeatable read' });
}

async function openCursor(tx: Transaction, teamId: Id, listing: Listing, asOf?: string): Promise<void> {
  const { columns, from, team = 'team_id', presentOnly, order } = listing;
  const now = typeof from === 'string' ? sql.table(from) : from;
  const rows = (asOf === undefined ? undefined : listing.asOf?.(asOf)) ?? now;
  const names = (all: readonly string[]) => sql.join(all.map((name) => sql.ref(name)));
  await sql`
    declare exported no scroll cursor for
    select ${names(columns)} from ${rows}
    where ${sql.ref(team)} = ${teamId} ${presentOnly ? sql`and gone_at is null` : sql``}
    order by ${names(order)}`.execute(tx);
}

/** True if the roster of that time is not fully known, because the mirror is older than its recorded history. */
export async function isBeforeRecord(db: Database, asOf: string): Promise<boolean> {
  const { rows } = await sql<{ is: boolean }>`
    select ${asOf}::timestamptz < (select timestamp::timestamptz from sync.migrations where name = '0001_baseline')
      and exists (select from sync.user_periods where side is null) as is`.execute(db.kysely);
  return rows[0]?.is === true;
}
