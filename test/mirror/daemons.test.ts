import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { createPresence } from '../../src/daemon/presence.ts';
import { noteDaemon, readDaemons } from '../../src/mirror/team/known-daemons.ts';
import type { DaemonEnd } from '../../src/model/daemons.ts';
import type { TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { oldestServer } from '../support/servers.ts';
import { useDatabase } from '../support/use-database.ts';

const log = { warn: () => {} };

describe.each([oldestServer()])('records of running daemons on $name', (server) => {
  const database = useDatabase({ server });
  const { rows: run } = database;
  beforeAll(() => run(`insert into sync.teams (team, team_id) values ('north', 41), ('south', 42)`));

  const note = (end: DaemonEnd | null, ...teams: readonly string[]) =>
    noteDaemon(database.db, { teams, bySystemd: true, end });
  const known = async () =>
    (await readDaemons(database.db.kysely))
      .map(({ team, pid, how, endedAt, bySystemd }) => [team, Number(pid), how, endedAt !== null, bySystemd])
      .toSorted((a, b) => String(a).localeCompare(String(b)));
  const mine = process.pid;

  const of = async (team: string) =>
    (await readDaemons(database.db.kysely)).find((one) => one.team === team && one.pid === BigInt(mine));

  it('noteDaemon records for each team when the daemon started, when it was last seen and how it ended', async () => {
    await note(null, 'south', 'north');
    expect(await known()).toEqual([
      ['north', mine, null, false, true],
      ['south', mine, null, false, true],
    ]);
    const first = await of('south');
    // A Date has no part of a millisecond.
    const again = await eventually('it was seen later', async () => {
      await note(null, 'north', 'south');
      const one = await of('south');
      return (one?.seenAt ?? 0) > (first?.seenAt ?? 0) && one;
    });
    expect(again.startedAt).toEqual(first?.startedAt);
    await note('asked', 'south');
    expect(await of('north')).toMatchObject({ how: null, endedAt: null });
    const end = await of('south');
    expect(end).toMatchObject({ how: 'asked', startedAt: first?.startedAt, endedAt: end?.seenAt });
  });

  it('noteDaemon keeps records of running daemons, and deletes records of daemons that ended or were last seen an hour ago', async () => {
    await run(`update sync.learned set value = value || jsonb_build_object(
        'b', jsonb_build_object('pid', 7, 'host', 'b', 'by_systemd', false, 'seen_at', clock_timestamp(), 'started_at', clock_timestamp()),
        'c', jsonb_build_object('pid', 8, 'host', 'c', 'by_systemd', false, 'seen_at', now() - interval '1 hour', 'started_at', now() - interval '1 day'),
        'd', jsonb_build_object('pid', 9, 'host', 'd', 'by_systemd', false, 'seen_at', now(), 'ended_at', now(), 'how', 'asked'))
      where topic = 'daemon' and team = 'north'`);
    const pids = async () =>
      new Set((await known()).filter(([team]) => team === 'north').map(([, pid]) => pid));
    expect(await pids()).toEqual(new Set([mine, 7, 8, 9]));
    await note('failed', 'north');
    expect(await pids()).toEqual(new Set([mine, 7]));
    expect(await of('north')).toMatchObject({ how: 'failed' });
    await run(`delete from sync.learned`);
  });

  it('readDaemons returns the daemons of a team only to roles that may see the team', async () => {
    await note(null, 'north', 'south');
    const asked = async (role: string) =>
      await database.db.transaction(async (tx) => {
        await sql.raw(`set local session authorization ${role}`).execute(tx);
        return (await readDaemons(tx)).map(({ team }) => team);
      });
    await run(
      `delete from mirror.team_roles; insert into mirror.team_roles (role_name, team_id) values ('musterd_reader', 42)`,
    );
    expect(await asked('musterd_reader')).toEqual(['south']);
    expect(await asked('musterd_approver')).toEqual([]);
    await run(
      `insert into mirror.team_roles (role_name, all_teams) values ('public', true); delete from sync.learned`,
    );
  });

  it('createPresence updates the daemon’s record of each team until close(), and marks the record of a dropped team as ended', async () => {
    let teams = ['north', 'south'];
    const presence = await createPresence({
      db: database.db,
      teams: () => teams,
      bySystemd: false,
      log,
      everyMs: 1,
    });
    const [first] = await readDaemons(database.db.kysely);
    await eventually('it says so again', async () => {
      const [one] = await readDaemons(database.db.kysely);
      return (one?.seenAt.getTime() ?? 0) > (first?.seenAt.getTime() ?? 0);
    });
    teams = ['north'];
    await eventually('the other team is left', async () =>
      (await known()).some(([team, , how]) => team === 'south' && how === 'asked'),
    );
    await presence.close('failed');
    expect(await known()).toEqual([
      ['north', mine, 'failed', true, false],
      ['south', mine, 'asked', true, false],
    ]);
  });

  it('createPresence and close() log two warnings, and do not fail, if the database cannot be reached', async () => {
    const warnings: string[] = [];
    const away = { transaction: () => Promise.reject(new Error('away')) } as unknown as TestDatabase['db'];
    const presence = await createPresence({
      db: away,
      teams: () => ['north'],
      bySystemd: false,
      log: { warn: (_: object, text: string) => void warnings.push(text) } as typeof log,
    });
    await presence.close('asked');
    expect(warnings.length).toBe(2);
  });
});
