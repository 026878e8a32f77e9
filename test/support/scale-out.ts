/**
 * Several daemons on one database that share many teams, one of them killed in the middle: what the
 * emulator and the database saw of it.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEmulator } from '../../src/emulator/create-emulator.ts';
import type { Database } from '../../src/mirror/db/database.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { type Running, startMusterd } from '../system/run-musterd.ts';
import { eventually } from './eventually.ts';

export interface ScaleOutOptions {
  readonly teams: number;
  readonly users: number;
  readonly replicas: number;
  /** Cron of the users group, with seconds. */
  readonly schedule: string;
  /** How many runs of each team are watched after one replica was killed. */
  readonly intervals: number;
  readonly concurrency: number;
  readonly ratePerMinute: number;
}

export interface ScaleOutResult {
  /** Until every team had its first complete run. */
  readonly firstRoundMs: number;
  /** From the kill to the moment when each team had a run that began after it. */
  readonly takeOverMs: number;
  /** The longest time between the beginnings of two complete runs of a team, after the first round. */
  readonly longestGapMs: number;
  /** Runs of one team that lay over one another. */
  readonly overlaps: number;
  /** 429s that the emulator answered. */
  readonly throttled: number;
  /** The most requests of one team in any minute. */
  readonly mostPerMinute: number;
  /** Edits of the mirror, one per team: how often each was sent. */
  readonly edits: number;
  readonly sentTwice: number;
  readonly notSent: number;
  /** Runs by process, to see that they share the work. */
  readonly runs: number;
  /** Exit codes of the replicas that were asked to stop. */
  readonly exitCodes: readonly (number | null)[];
}

function mostInAMinute(times: readonly number[]): number {
  let from = 0;
  return times.reduce((most, at, index) => {
    while ((times[from] ?? at) <= at - 60_000) from += 1;
    return Math.max(most, index - from + 1);
  }, 0);
}

/** Settings of a daemon that shares these teams with others, in a file of this folder. @returns its path */
export function writeTeams(
  folder: string,
  environments: readonly Readonly<Record<string, string>>[],
  {
    schedule,
    concurrency,
    ratePerMinute,
  }: Pick<ScaleOutOptions, 'schedule' | 'concurrency' | 'ratePerMinute'>,
): string {
  const file = join(folder, 'teams.yaml');
  const entries = environments.map((environment, at) => [
    `team-${String(at + 1).padStart(4, '0')}`,
    {
      service: {
        secretId: environment['MUSTERD_SECRET_ID'],
        secretKey: environment['MUSTERD_SECRET_KEY'],
      },
    },
  ]);
  // JSON is YAML.
  writeFileSync(
    file,
    JSON.stringify({
      service: { baseUrl: environments[0]?.['MUSTERD_BASE_URL'] },
      schedule: { users: schedule, listings: '0 0 1 1 *', counts: '0 0 1 1 *' },
      daemon: { queue: 'postgres', concurrency },
      rate: { perMinute: ratePerMinute },
      log: { level: 'warn' },
      teams: Object.fromEntries(entries) as object,
    }),
    { mode: 0o600 },
  );
  return file;
}

/** @param database empty but for the schema @param say told of each step, for who watches */
export async function playScaleOut(
  options: ScaleOutOptions,
  database: { readonly url: string; readonly db: Database },
  say: (text: string) => void = () => {},
): Promise<ScaleOutResult> {
  const { teams, users, replicas, intervals, ratePerMinute } = options;
  const folder = mkdtempSync(join(tmpdir(), 'musterd-scale-'));
  const emulator = await createEmulator({
    http: true,
    users,
    tags: 3,
    fields: 2,
    ratePerMinute,
    teams: Array.from({ length: teams - 1 }, (_, at) => ({ seed: at + 2 })),
  });
  const daemons: Running[] = [];
  const sql = async (text: string) =>
    (await runSqlText(database.db, text)).rows.map((row) => row.map(String));
  const number = async (text: string) => Number((await sql(text))[0]?.[0] ?? 0);
  try {
    const environments = emulator.teams.map(({ environment }) => environment);
    const file = writeTeams(folder, environments, options);
    const startedMs = performance.now();
    for (let i = 0; i < replicas; i += 1)
      daemons.push(startMusterd(['daemon', '--config', file], { DATABASE_URL: database.url }));
    await eventually(
      'every team has had a complete run',
      async () =>
        (await number(
          `select count(*) from sync.due where run_group = 'users' and complete_at is not null`,
        )) === teams,
    );
    const firstRoundMs = performance.now() - startedMs;
    say(`first round: ${Math.round(firstRoundMs)} ms`);

    emulator.clearRequests();
    const [[steadyFrom = '0'] = []] = await sql('select max(run_id) from sync.runs');
    await sql(
      `update mirror.users u set email = 'moved' || u.team_id || '@example.com'
       from (select team_id, min(id) as id from mirror.users where email is not null group by team_id) m
       where u.team_id = m.team_id and u.id = m.id`,
    );
    daemons[0]?.process.kill('SIGKILL');
    const killedMs = performance.now();
    const [[killedAt = ''] = []] = await sql('select clock_timestamp()::text');
    await eventually(
      'every team has a run that began after the kill',
      async () =>
        (await number(
          `select count(distinct team) from sync.runs where started_at > '${killedAt}' and outcome = 'complete' and 'users' = any (groups)`,
        )) === teams,
    );
    const takeOverMs = performance.now() - killedMs;
    say(`taken over: ${Math.round(takeOverMs)} ms`);
    await eventually(
      'every team has had a run in each of the intervals',
      async () =>
        (await number(
          `select count(*) from (select from sync.runs
             where started_at > '${killedAt}' and outcome = 'complete' and 'users' = any (groups)
             group by team having count(*) >= ${intervals}) t`,
        )) === teams,
    );
    const rest = daemons.slice(1);
    for (const { process } of rest) process.kill('SIGTERM');
    const exitCodes = (await Promise.all(rest.map(({ ended }) => ended))).map(({ code }) => code);
    say('stopped');

    const longestGapMs = await number(
      `select max(gap) * 1000 from (
         select extract(epoch from started_at - lag(started_at) over (partition by team order by started_at)) as gap
         from sync.runs where 'users' = any (groups) and outcome = 'complete' and run_id > ${steadyFrom}) g`,
    );
    const overlaps = await number(
      `select count(*) from sync.runs a join sync.runs b on a.team = b.team and a.run_id < b.run_id
       and b.started_at < a.finished_at and a.outcome <> 'failed'`,
    );
    const { requests } = emulator;
    const byTeam = Map.groupBy(requests, ({ team }) => team);
    const sent = requests.filter(({ path }) => path === '/v1/users/update').length;
    const pushed = await number(`select count(*) from sync.changes where kind = 'push'`);
    const perTeam = [...byTeam.values()].map(
      (of) => of.filter(({ path }) => path === '/v1/users/update').length,
    );
    say(`${sent} updates for ${pushed} pushes`);
    return {
      firstRoundMs,
      takeOverMs,
      longestGapMs,
      overlaps,
      throttled: requests.filter(({ status }) => status === 429).length,
      mostPerMinute: Math.max(...[...byTeam.values()].map((of) => mostInAMinute(of.map(({ atMs }) => atMs)))),
      edits: teams,
      sentTwice: perTeam.filter((count) => count > 1).length,
      notSent: emulator.teams.filter(
        (team) => !team.users().some(({ email }) => email?.startsWith('moved') === true),
      ).length,
      runs: await number('select count(*) from sync.runs'),
      exitCodes,
    };
  } finally {
    for (const { process } of daemons) process.kill('SIGKILL');
    await Promise.all(daemons.map(({ ended }) => ended));
    await emulator.close();
    rmSync(folder, { recursive: true });
  }
}
