/** Runs for the status page. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import { type ChangeRow, readMoves } from './page-changes.ts';
import type { PageReader } from './page-reader.ts';

export interface PageRun {
  readonly runId: bigint;
  readonly team: string;
  readonly teamId: Id | null;
  readonly command: string;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
  readonly outcome: string;
  readonly reasons: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
  readonly waiting: number;
  readonly requests: number;
  readonly groups: readonly string[];
}

const columns = sql`
  run_id as "runId", team, team_id as "teamId", command, started_at as "startedAt", finished_at as "finishedAt", outcome,
  reasons, counts, waiting, requests, groups`;

/** Most runs per team and day to read: one every 30 s. */
const mostOfTeam = 3_000;

/** The runs that began in the last hours, newest first. */
export async function readRecentRuns(
  { db, teams }: Pick<PageReader, 'db' | 'teams'>,
  hours: number,
): Promise<readonly PageRun[]> {
  const names = teams.map(({ team }) => team);
  const { rows } = await sql<PageRun>`
    select r.* from unnest(${names}::text[]) t (name)
    cross join lateral (
      select ${columns} from report.runs where team = t.name order by run_id desc limit ${mostOfTeam}
    ) r
    where r."startedAt" > now() - ${hours} * interval '1 hour'
    order by r."runId" desc`.execute(db);
  return rows;
}

export interface EndpointUse {
  readonly endpoint: string;
  readonly requests: number;
  readonly throttled: number;
  readonly failed: number;
  readonly slowestMs: number;
}

export interface OpenRun extends PageRun {
  readonly requestIds: readonly string[];
  readonly endpoints: readonly EndpointUse[];
  /** The newest rows of what it moved of users. */
  readonly moves: readonly ChangeRow[];
}

export interface RunsRead {
  /** The newest first. */
  readonly runs: readonly PageRun[];
  readonly open: OpenRun | null;
  /** Whether the list covers the last 24 hours, not older runs. */
  readonly isRecent: boolean;
}

const runsShown = 400;
const movesShown = 50;

async function readOlderRuns({ db, teams }: PageReader, before: bigint): Promise<readonly PageRun[]> {
  const names = teams.map(({ team }) => team);
  const { rows } = await sql<PageRun>`
    select ${columns} from report.runs where team = any (${names}::text[]) and run_id < ${before}
    order by run_id desc limit ${runsShown}`.execute(db);
  return rows;
}

/** One run with all details. */
async function readOpenRun(reader: PageReader, runId: bigint): Promise<OpenRun | null> {
  const { db, teams } = reader;
  const names = teams.map(({ team }) => team);
  const { rows } = await sql<Omit<OpenRun, 'moves'>>`
    select ${columns}, request_ids as "requestIds", (
      select coalesce(jsonb_agg(jsonb_build_object('endpoint', e.key, 'requests', e.value -> 'requests',
        'throttled', e.value -> 'throttled', 'failed', e.value -> 'failed', 'slowestMs', e.value -> 'slowest_ms') order by e.key), '[]')
      from jsonb_each(endpoints) e) as endpoints
    from report.runs where run_id = ${runId} and team = any (${names}::text[])`.execute(db);
  const [run] = rows;
  if (run === undefined) return null;
  const ofRun = sql`run_id = ${runId} and team_id = ${run.teamId} and user_id is not null`;
  return { ...run, moves: await readMoves(reader, ofRun, movesShown) };
}

const idOf = (text: string | null | undefined): bigint | null =>
  text !== null && text !== undefined && /^\d{1,18}$/.test(text) ? BigInt(text) : null;

/** Reads the list, and the run that `?open=` names. */
export async function readRuns(
  reader: PageReader,
  { query }: { readonly query: URLSearchParams },
): Promise<RunsRead> {
  const before = idOf(query.get('before'));
  const open = idOf(query.get('open'));
  return {
    runs: before === null ? await readRecentRuns(reader, 24) : await readOlderRuns(reader, before),
    open: open === null ? null : await readOpenRun(reader, open),
    isRecent: before === null,
  };
}

export async function readOneRun(
  reader: PageReader,
  { params }: { readonly params: Readonly<Record<string, string>> },
): Promise<OpenRun | null> {
  const id = idOf(params['id']);
  return id === null ? null : await readOpenRun(reader, id);
}
