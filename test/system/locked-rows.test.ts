import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLog } from '../../src/log.ts';
import { createDatabase } from '../../src/mirror/db/database.ts';
import { runReconcile } from '../../src/runs/sync/reconcile-team.ts';
import { oldestServer } from '../support/servers.ts';
import { createStages, loginAt, type Stage } from './stage.ts';

const log = createLog({ level: 'silent' });

describe.each([oldestServer()])('a lock of another session, on $name', (server) => {
  const [editor, approver] = ['editor', 'approver'].map(
    (name) => `test_${name}_${randomBytes(4).toString('hex')}`,
  ) as [string, string];
  const stages = createStages();
  afterAll(() => stages.close());
  let stage: Stage;
  let ids: readonly number[];
  const sessions: pg.Client[] = [];
  const connect = async (user?: string) => {
    const connectionString = user === undefined ? stage.url : loginAt(stage.url, user);
    const session = new pg.Client({ connectionString });
    sessions.push(session);
    await session.connect();
    return session;
  };
  /** A run that waits three times for a lock, under the shortest lease that the settings allow. */
  const run = async () => {
    const db = createDatabase({ url: stage.url, address: stage.db.address, lockTimeoutMs: 100 });
    try {
      return await runReconcile(db, { ...stage.config, lease: { ttlMs: 1_000 } }, 'reconcile', { log });
    } finally {
      await db.close();
    }
  };
  beforeEach(async () => {
    stage = await stages.open({
      server,
      emulator: { users: 40, tags: 5, fields: 2 },
      config: { absence: { confirmAfterMs: 0 } },
    });
    await stage.run();
    ids = stage.emulator.team.users().flatMap(({ id, email }) => (email === null ? [] : [id]));
    await stage.sql(`create role ${editor} login password 'secret' in role musterd_editor;
      create role ${approver} login password 'secret' in role musterd_approver`);
  });
  afterEach(async () => {
    for (const session of sessions.splice(0)) await session.end();
    await stage.sql(`drop role ${editor}, ${approver}`);
    await stage.close();
  });

  /** Of each kind of change one for the first users, and one for others. */
  const changeAll = async () => {
    const { team } = stage.emulator;
    const [pulls, pushes, leaves] = [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4, 6)];
    for (const id of leaves) team.showUser(id, { listed: false, answered: false });
    await stage.run();
    for (const id of pulls) team.editUser(id, { phone: `1555017${id}`, roleId: 2 });
    await stage.sql(
      `update mirror.users set email = 'new' || id || '@example.com' where id in (${pushes.join()})`,
    );
    team.editTag(team.tags()[0]?.id ?? 0, { tag: 'Renamed' });
    return [pulls[0], pushes[0], leaves[0]].join();
  };
  /** What has been done of that, by number of the user. */
  const done = async () => {
    const rows = await stage.sql(
      `select id, phone like '1555017%' as phone, role_id = 2 as role, gone_at is not null as gone from mirror.users where id in (${ids.slice(0, 6).join()}) order by id`,
    );
    const seen = new Map(rows.map(([id, ...cells]) => [Number(id), cells]));
    return {
      pulled: ids.slice(0, 2).map((id) =>
        seen
          .get(id)
          ?.slice(0, 2)
          .every((cell) => cell === 'true'),
      ),
      pushed: ids.slice(2, 4).map((id) => stage.emulator.team.user(id).email === `new${id}@example.com`),
      gone: ids.slice(4, 6).map((id) => seen.get(id)?.[2] === 'true'),
      tag: (await stage.sql(`select count(*) from mirror.tags where tag = 'Renamed'`))[0],
    };
  };
  const all = { pulled: [true, true], pushed: [true, true], gone: [true, true], tag: ['1'] };

  it('delays only the users whose rows an editor has locked by an open update (D12, D18)', async () => {
    const locked = await changeAll();
    const session = await connect(editor);
    await session.query('begin');
    await session.query(`update mirror.users set first_name = 'Open' where id in (${locked})`);
    expect(await run()).toMatchObject({ outcome: 'partial' });
    expect(await done()).toEqual({
      pulled: [false, true],
      pushed: [false, true],
      gone: [false, true],
      tag: ['1'],
    });
    await session.query('rollback');
    await finishes();
  });

  const hold = (user: number) => `
    update mirror.users set email = 'held@example.com' where id = ${user};
    insert into sync.held_fields (team_id, user_id, field, edit_id, reason, base_value, mirror_value, service_value, shown_value, batch)
    select team_id, user_id, field, edit_id, 'limit', old_value, new_value, old_value, old_value, 'aaaaaaaaaaaa'
    from sync.edits where user_id = ${user} and ended_at is null`;
  /** Also a user whom the run sees again. */
  const withhold = (user: number) => `
    insert into sync.absences (team_id, resource, id, missing_since, passes) select team_id, 'users', ${user}, now(), 1 from sync.teams;
    update sync.absences set batch = 'aaaaaaaaaaaa', detail = 'few', withheld_at = now()`;

  it.each([
    ['a field', hold, all, { deferred: 1 }],
    ['users who left', withhold, { ...all, gone: [false, false] }, {}],
  ] as const)(
    'delays only the users that an uncommitted approval of %s concerns',
    async (_, wait, expected, counts) => {
      await changeAll();
      const user = ids[6] ?? 0;
      await stage.sql(wait(user));
      stage.emulator.team.editUser(user, { email: 'third@example.com', phone: '15550190' });
      const session = await connect(approver);
      await session.query('begin');
      const { rows } = await session.query(
        `select distinct outcome from sync.approve('aaaaaaaaaaaa', reason => 'seen')`,
      );
      expect(rows).toEqual([{ outcome: 'approved' }]);
      expect(await run()).toMatchObject({ outcome: 'partial', counts });
      expect(await done()).toEqual(expected);
      await session.query('rollback');
      await run();
      expect(await done()).toEqual(all);
    },
  );

  /** Runs while the owner of the table has it locked, from the moment when the run asks for the team. */
  const runBesideOwner = async (table: string, mode: string) => {
    await changeAll();
    const session = await connect();
    stage.emulator.before({ path: '/v1/team' }, async () => {
      await session.query(`begin; lock table ${table} in ${mode} mode`);
    });
    const report = await run();
    await session.query('rollback');
    return report;
  };
  const finishes = async () => {
    expect(await run()).toMatchObject({ outcome: 'complete' });
    expect(await done()).toEqual(all);
  };
  const none = { ...all, pulled: [false, false], pushed: [false, false], gone: [false, false] };

  it.each([
    // While users can be read, the listings are published.
    ['mirror.users', 'access exclusive', 'partial', none],
    ['mirror.user_lookups', 'access exclusive', 'complete', all],
    ['mirror.tags', 'access exclusive', 'partial', { ...all, tag: ['0'] }],
  ] as const)(
    'a run does all work that does not need the table %s, locked in %s mode, and ends as %s',
    async (table, mode, outcome, expected) => {
      expect(await runBesideOwner(table, mode)).toMatchObject({ outcome });
      expect(await stage.sql('select outcome from sync.runs order by run_id desc limit 1')).toEqual([
        [outcome],
      ]);
      expect(await done()).toEqual(expected);
      await finishes();
    },
  );
});
