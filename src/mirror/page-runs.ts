/** Runs as the page shows them. */
import { sql } from 'kysely';
import type { Id } from '../model/id.ts';
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

/** More than this of one team in a day is not looked at: a run every 30 s. */
const mostOfTeam = 3_000;

/** The runs that began in the last hours, the newest first. */
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
