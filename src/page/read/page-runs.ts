/** Reads runs for the status page. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import type { ScheduledGroup } from '../../model/run-group.ts';
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

export interface Lane {
  readonly teamId: Id;
  readonly lane: ScheduledGroup | 'edits';
  readonly next: Date | null;
  readonly last: Date | null;
  readonly staleSince: Date | null;
  readonly completeAt: Date | null;
  readonly failures: number;
  readonly runs: number;
  /** For each step of the day: the weight of its worst run, from 0 (best) to 3, and the number of changes of its runs. */
  readonly ticks: readonly (readonly [step: number, weight: number, moved: number])[];
}

export const runColumns = sql`
  run_id as "runId", team, team_id as "teamId", command, started_at as "startedAt", finished_at as "finishedAt", outcome,
  reasons, counts, waiting, requests, groups`;

export interface OpenRun extends PageRun {
  readonly requestIds: readonly string[];
  readonly endpoints: Readonly<
    Record<string, Readonly<Record<'requests' | 'throttled' | 'failed' | 'slowest_ms', number>>>
  >;
  readonly moves: readonly ChangeRow[];
}

const movesShown = 50;

export async function readOneRun(
  reader: PageReader,
  { params }: { readonly params: Readonly<Record<string, string>> },
): Promise<OpenRun | null> {
  const id = /^\d{1,18}$/.exec(params['id'] ?? '')?.[0];
  if (id === undefined) return null;
  const { rows } = await sql<Omit<OpenRun, 'moves'>>`
    select ${runColumns}, request_ids as "requestIds", coalesce(endpoints, '{}') as endpoints
    from report.runs where run_id = ${id}::bigint and team = any (${reader.teams.map(({ team }) => team)}::text[])`.execute(
    reader.db,
  );
  const [run] = rows;
  if (run === undefined) return null;
  const ofRun = sql`run_id = ${run.runId} and team_id = ${run.teamId} and user_id is not null`;
  return { ...run, moves: await readMoves(reader, ofRun, movesShown) };
}
