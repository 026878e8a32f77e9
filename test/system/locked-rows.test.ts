import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLog } from '../../src/log.ts';
import { createDatabase } from '../../src/mirror/db/database.ts';
import { runReconcile } from '../../src/runs/reconcile-team.ts';
import { servers } from '../support/servers.ts';
import { createStage, type Stage } from './stage.ts';

const log = createLog({ level: 'silent' });

describe.each(servers())('a run on $name', (server) => {
  const editor = `test_editor_${randomBytes(4).toString('hex')}`;
  let stage: Stage;
  let ids: readonly number[];
  const sessions: pg.Client[] = [];
  const connect = async (user?: string) => {
    const url = new URL(stage.url);
    if (user !== undefined) [url.username, url.password] = [user, 'secret'];
    const session = new pg.Client({ connectionString: url.href });
    sessions.push(session);
    await session.connect();
    return session;
  };
  /** A run whose reads wait longer for a lock, three times 0.4 s, than its lease of 1 s lasts if it is not renewed. */
  const run = async () => {
    const db = createDatabase({ url: stage.url, address: stage.db.address, lockTimeoutMs: 400 });
    try {
      return await runReconcile(db, { ...stage.config, lease: { ttlMs: 1_000 } }, 'reconcile', { log });
    } finally {
      await db.close();
    }
  };
  beforeEach(async () => {
    stage = await createStage({
      server,
      emulator: { users: 40, tags: 5, fields: 2 },
      config: { absence: { confirmAfterMs: 0 } },
    });
    await stage.run();
    await stage.run();
    ids = stage.emulator.team.users().flatMap(({ id, email }) => (email === null ? [] : [id]));
    await stage.sql(`create role ${editor} login password 'secret' in role musterd_editor`);
  });
  afterEach(async () => {
    for (const session of sessions.splice(0)) await session.end();
    await stage.sql(`drop role ${editor}`);
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

  it.each([
    ['row lock', (locked: string) => `select from mirror.users where id in (${locked}) for update`],
    [
      'change in an open transaction',
      (locked: string) => `update mirror.users set first_name = 'Open' where id in (${locked})`,
    ],
  ])('makes a user wait, and no other, while an editor has a %s on it', async (_, lock) => {
    const locked = await changeAll();
    const session = await connect(editor);
    await session.query('begin');
    await session.query(lock(locked));
    expect(await run()).toMatchObject({ outcome: 'partial' });
    expect(await done()).toEqual({
      pulled: [false, true],
      pushed: [false, true],
      gone: [false, true],
      tag: ['1'],
    });
    await session.query('rollback');
    expect(await run()).toMatchObject({ outcome: 'complete' });
    expect(await done()).toEqual(all);
  });

  it('records the request id of a push whose user an editor locks before the answer arrives', async () => {
    const [, id] = [await changeAll(), ids[2]];
    const session = await connect(editor);
    stage.emulator.before({ path: '/v1/users/update', times: 1 }, async () => {
      await session.query('begin');
      await session.query('select from mirror.users where id = $1 for update', [id]);
    });
    expect(await run()).toMatchObject({ outcome: 'partial' });
    const sent = stage.emulator.requests.filter(({ path }) => path === '/v1/users/update');
    const ledger = () =>
      stage.sql(
        `select state, outcome ->> 'email', request_id from sync.changes where kind = 'push' and user_id = ${id}`,
      );
    expect(await ledger()).toEqual([['open', '', sent[0]?.requestId]]);
    expect(await done()).toEqual({ ...all, pushed: [true, true] });
    await session.query('rollback');
    expect(await run()).toMatchObject({ outcome: 'complete' });
    expect(await ledger()).toEqual([['closed', 'confirmed', sent[0]?.requestId]]);
    expect(stage.emulator.requests.filter(({ path }) => path === '/v1/users/update')).toHaveLength(
      sent.length,
    );
  });

  const none = { pulled: [false, false], pushed: [false, false], gone: [false, false] };
  it.each([
    ['mirror.users', 'share row exclusive', { ...all, ...none }, /^users: .* lock timeout$/],
    ['mirror.users', 'access exclusive', { ...all, ...none }, /^users: .* lock timeout$/],
    ['mirror.tags', 'share row exclusive', { ...all, tag: ['0'] }, /^tags: .* lock timeout$/],
    ['mirror.tags', 'access exclusive', { ...all, tag: ['0'] }, /^tags: .* lock timeout$/],
  ])(
    'does what does not need %s while its owner has it locked in %s mode',
    async (table, mode, others, reason) => {
      await changeAll();
      const session = await connect();
      stage.emulator.before({ path: '/v1/team', times: 1 }, async () => {
        await session.query(`begin; lock table ${table} in ${mode} mode`);
      });
      expect(await run()).toMatchObject({
        outcome: 'partial',
        reasons: expect.arrayContaining([expect.stringMatching(reason)]),
      });
      await session.query('rollback');
      expect(await done()).toEqual(others);
      expect(await run()).toMatchObject({ outcome: 'complete' });
      expect(await done()).toEqual(all);
    },
  );
});
