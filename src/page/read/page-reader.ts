/** The page's database access: one short read-only transaction per request. */
import { sql } from 'kysely';
import { type SeenDaemon, silentAfterMs, stoppedOf } from '../../model/daemons.ts';
import type { Id } from '../../model/id.ts';
import type { NamedRoles } from '../../model/named-roles.ts';
import type { Placing } from '../../model/place.ts';
import { idArray } from '../../mirror/db/by-key.ts';
import { readDaemons } from '../../mirror/team/known-daemons.ts';
import type { Database, Queryable } from '../../mirror/db/database.ts';
import { readPlacing } from '../../mirror/team/known-place.ts';
import { pendingOf, readNotAtRest } from '../../mirror/users/not-at-rest.ts';
import { heldNow, waits } from '../../mirror/users/holds.ts';

export interface SeenTeam {
  /** The team's name in the settings and in `?team=`. */
  readonly team: string;
  readonly teamId: Id;
  /** The team's name on the service. */
  readonly name: string | null;
}

/** The database access of a view, with the rights of the connected role. */
export interface PageReader {
  readonly db: Queryable;
  readonly teams: readonly SeenTeam[];
  readonly teamIds: readonly Id[];
  readonly now: Date;
  /** The approver, and the teams in which another person must approve the approver's edits; `null` for other viewers. */
  readonly decider: { readonly actor: string; readonly fourEyes: ReadonlySet<string> } | null;
}

export interface HeaderStanding {
  /** Fields and missing rows that wait for a person. */
  readonly waiting: number;
  readonly staleSince: Date | null;
  /** The end of the last complete run of the group `users`. */
  readonly completeAt: Date | null;
}

export interface PageFrame {
  readonly now: Date;
  readonly seen: readonly SeenTeam[];
  readonly reader: PageReader;
  readonly standings: ReadonlyMap<Id, HeaderStanding>;
  readonly waiting: number;
  readonly placing: Placing;
  readonly roleNames: NamedRoles;
  /** For each requested team without a running daemon: its last daemon, by the team's name. */
  readonly stopped: ReadonlyMap<string, SeenDaemon>;
  /** The number of edits of the requested teams that are not sent: this mirror is a copy, or a daemon is stopped. */
  readonly waitingEdits: number;
}

export const pageName = 'musterd page';

const patienceMs = 4_000;

async function readSeenTeams(db: Queryable): Promise<{ now: Date; teams: readonly SeenTeam[] }> {
  const { rows } = await sql<{ now: Date; team: string | null; teamId: Id; name: string | null }>`
    select clock_timestamp() as now, t.* from (select) one
    left join (
      select d.team, d.team_id as "teamId", m.name from (
        select distinct team, team_id from report.freshness where team_id is not null) d
      left join mirror.teams m on m.team_id = d.team_id
    ) t on true
    order by t.team`.execute(db);
  const teams = rows.flatMap(({ team, teamId, name }) => (team === null ? [] : [{ team, teamId, name }]));
  return { now: rows[0]?.now ?? new Date(), teams };
}

async function readStandings(
  db: Queryable,
  teams: readonly SeenTeam[],
): Promise<ReadonlyMap<Id, HeaderStanding>> {
  const { rows } = await sql<HeaderStanding & { readonly teamId: Id }>`
    select t.id as "teamId", (select min(stale_since) from report.freshness f where f.team_id = t.id) as "staleSince",
      (select max(last_success) from report.freshness f where f.team_id = t.id and f.run_group = 'users') as "completeAt",
      ((select count(*) from ${heldNow} h where h.team_id = t.id and ${waits})
        + (select count(*) from report.missing m where m.team_id = t.id))::int as waiting
    from unnest(${teams.map(({ teamId }) => teamId)}::bigint[]) t (id)`.execute(db);
  return new Map(rows.map(({ teamId, ...standing }) => [teamId, standing]));
}

async function countWaitingEdits(db: Queryable, teamIds: readonly Id[]): Promise<number> {
  let sum = 0;
  for (const { teamId, edited } of await readNotAtRest(db, teamIds)) {
    const pending = pendingOf(teamId, sql`select unnest(${idArray(edited)})`);
    const { rows } = await sql<{ edits: number }>`
      select count(*)::int as edits from ${pending} join mirror.users u on u.team_id = p.team_id and u.id = p.user_id and u.gone_at is null`.execute(
      db,
    );
    sum += rows[0]?.edits ?? 0;
  }
  return sum;
}

async function readRoleNames(db: Queryable, teamIds: readonly Id[]): Promise<NamedRoles> {
  const { rows } = await sql<{ readonly of: string; readonly name: string }>`
    select team_id || ' ' || role_id as of, name from mirror.roles where team_id = any (${idArray(teamIds)}) and name is not null`.execute(
    db,
  );
  return new Map(rows.map(({ of, name }) => [of, name]));
}

/**
 * Reads one page in a short read-only transaction: the data of the frame around each view, and all that `work` reads.
 * @param team from `?team=`; a team that the role cannot see counts as unknown
 */
export async function readPageFrame<Result>(
  db: Database,
  team: string | null,
  work: (frame: PageFrame) => Promise<Result>,
  decider: PageReader['decider'] = null,
): Promise<Result> {
  return await db.transaction(
    async (tx) => {
      const { now, teams: seen } = await readSeenTeams(tx);
      const teams = team === null ? seen : seen.filter((candidate) => candidate.team === team);
      const teamIds = teams.map(({ teamId }) => teamId);
      const standings = await readStandings(tx, seen);
      const placing = await readPlacing(db, tx);
      const daemons = await readDaemons(tx);
      const stopped = new Map(
        teams.flatMap((team) => {
          const last = stoppedOf(daemons, team.team, now);
          return last === undefined ? [] : [[team.team, last] as const];
        }),
      );
      const isSent = placing.verdict !== 'elsewhere' && stopped.size === 0;
      const waitingEdits = isSent ? 0 : await countWaitingEdits(tx, teamIds);
      return await work({
        now,
        seen,
        standings,
        waiting: teamIds.reduce((sum, id) => sum + (standings.get(id)?.waiting ?? 0), 0),
        placing,
        roleNames: await readRoleNames(tx, teamIds),
        stopped,
        waitingEdits,
        reader: { db: tx, teams, teamIds, now, decider },
      });
    },
    { isolationLevel: 'repeatable read', statementTimeoutMs: patienceMs, isReadOnly: true },
  );
}

/** Reads a text that differs from the last one if a run or a person has changed anything that the page shows. */
export async function readPulse(db: Database): Promise<string> {
  const { rows } = await sql<{ pulse: string }>`
    select concat_ws(' ', (select max(run_id) from report.runs),
      (select max(finished_at) from report.runs where started_at > now() - interval '1 hour'),
      (select count(*) from report.held), (select count(*) from mirror.daemons() d
        where d.ended_at is null and d.seen_at > clock_timestamp() - ${silentAfterMs} * interval '1 ms'), (select hashtextextended(mirror.known_place() ->> 'place', 0))) as pulse`.execute(
    db.kysely,
  );
  return rows[0]?.pulse ?? '';
}
