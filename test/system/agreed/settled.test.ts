import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { holdAll } from '../../reconcile/states.ts';
import { eventually } from '../../support/eventually.ts';
import { type DaemonHere, startDaemon } from '../daemon-here.ts';
import { ownFolder } from '../own-folder.ts';
import { createTeams, type Person, type Team } from './people.ts';

const teams = createTeams();
afterAll(() => teams.close());

const columns = 'user_id, field, state, detail, request_id, reason';

describe('sync.settled', () => {
  let team: Team;
  let id: number;
  afterEach(() => team.close());
  const open = async (options: Parameters<typeof teams.open>[0] = {}) => {
    team = await teams.open(options);
    [id = 0] = team.ids;
  };
  const guarded = { push: { approve: 'guarded', fourEyes: false } } as const;
  const settled = (person: Person, given = `timeout => '0'`) =>
    person.sql(`select ${columns} from sync.settled(${given})`);
  /** User, field and state. */
  const states = async (...given: Parameters<typeof settled>) =>
    (await settled(...given)).map((row) => row.slice(0, 3));
  const reconcile = () => team.run({ push: { ...team.config.push } });

  it('returns "confirmed" and the request id for each field that the service has stored', async () => {
    await open(guarded);
    await team.bob.edit(id, `phone = '15550100', email = 'ada@example.com'`);
    await reconcile();
    const requestId = expect.stringMatching(/./) as string;
    expect(await settled(team.bob)).toEqual([
      [BigInt(id), 'email', 'confirmed', null, requestId, null],
      [BigInt(id), 'phone', 'confirmed', null, requestId, null],
    ]);
    expect(await settled(team.bob, `timeout => '0', raise => true`)).toHaveLength(2);
  });

  it('returns "held" with reason and batch for a held edit, but raises an error if raise is true', async () => {
    await open();
    await team.bob.edit(id, `phone = '15550100'`);
    await reconcile();
    const batch = await team.batchOf(id, 'phone');
    expect(await settled(team.bob)).toEqual([
      [BigInt(id), 'phone', 'held', `a person must review it first (batch ${batch})`, null, 'review'],
    ]);
    await expect(settled(team.bob, `timeout => '0', raise => true`)).rejects.toThrow(
      `Some edits are not on the service: phone of user ${id}: held, review`,
    );
    expect(await team.carol.approve(batch)).toEqual(['approved']);
    expect(await states(team.bob)).toEqual([[BigInt(id), 'phone', 'waiting']]);
    await reconcile();
    expect(await states(team.bob)).toEqual([[BigInt(id), 'phone', 'confirmed']]);
  });

  it('returns "waiting" and no hold if the user of a held edit has left the team', async () => {
    await open();
    await team.bob.edit(id, `phone = '15550100'`);
    await reconcile();
    await team.sql(`begin; set local musterd.writing = 'on';
      update mirror.users set gone_at = now() where id = ${id}; commit`);
    expect(await settled(team.bob, `timeout => '1 h'`)).toEqual([
      [BigInt(id), 'phone', 'waiting', 'the user has left the team', null, null],
    ]);
    expect(await team.sql('select from report.held')).toEqual([]);
    expect(await team.sql('select state, detail from report.pending')).toEqual([
      ['waiting', 'the user has left the team'],
    ]);
  });

  it('returns "waiting" and says that nothing is sent if the mirror is a declared copy', async () => {
    await open(guarded);
    await team.bob.edit(id, `phone = '15550100'`);
    const copy = ['adopt', '--as-copy', '--reason', 'staging', '--yes', '--as', 'Dora'];
    expect(await team.musterd(...copy)).toMatchObject({ code: 0 });
    const [row] = await settled(team.bob);
    expect(row?.slice(2, 4)).toEqual(['waiting', 'nothing is sent from here: this mirror is a copy']);
  });

  it('returns "held" with the answer and the request id if the service refused the edit', async () => {
    await open(guarded);
    await team.bob.edit(id, `phone = '15550100'`);
    team.emulator.addFault({ kind: 'status', code: 400, path: '/v1/users/update', times: 'always' });
    await reconcile();
    expect(await settled(team.bob)).toEqual([
      [
        BigInt(id),
        'phone',
        'held',
        expect.stringContaining('the service answered 400') as string,
        expect.stringMatching(/./) as string,
        'refused',
      ],
    ]);
    team.emulator.team.editUser(id, { phone: '15550100' });
    await reconcile();
    expect(await settled(team.bob)).toEqual([[BigInt(id), 'phone', 'confirmed', null, null, null]]);
  });

  it('returns "ended" if the edit was taken back or replaced by a later edit', async () => {
    await open(guarded);
    const [[before] = []] = await team.bob.sql(`select phone from mirror.users where id = ${id}`);
    await team.bob.edit(id, `phone = '15550100', email = 'ada@example.com'`);
    await team.mallory.edit(id, `phone = '${String(before)}', email = 'eva@example.com'`);
    expect(await settled(team.bob)).toEqual([
      [BigInt(id), 'email', 'ended', 'somebody has edited the field again', null, null],
      [BigInt(id), 'phone', 'ended', 'it was taken back here', null, null],
    ]);
    expect(await states(team.mallory)).toEqual([
      [BigInt(id), 'email', 'waiting'],
      [BigInt(id), 'phone', 'ended'],
    ]);
  });

  it('returns "ended" after a pull replaced the edited value', async () => {
    await open({ ...guarded, config: { policy: { ...holdAll, phone: 'service-wins' } } });
    await team.bob.edit(id, `phone = '15550100', email = 'ada@example.com'`);
    team.emulator.team.editUser(id, { phone: '15550123' });
    await reconcile();
    expect(await settled(team.bob)).toEqual([
      [BigInt(id), 'email', 'confirmed', null, expect.stringMatching(/./) as string, null],
      [BigInt(id), 'phone', 'ended', 'the value of the service was taken in its place', null, null],
    ]);
  });

  it.each([
    ['still has the old value', undefined],
    ['has a newer value', { phone: '15550123' }],
  ])('returns "ended" after musterd resolve --take service if the service %s', async (_, moved) => {
    await open();
    await team.bob.edit(id, `phone = '15550100'`);
    if (moved !== undefined) team.emulator.team.editUser(id, moved);
    await reconcile();
    const take = ['resolve', String(id), 'phone', '--take', 'service', '--if', '15550100', '--as', 'Dora'];
    expect(await team.musterd(...take)).toMatchObject({ code: 0 });
    expect(await states(team.bob)).toEqual([[BigInt(id), 'phone', 'ended']]);
    expect(await team.sql('select from sync.edits where ended_at is null')).toEqual([]);
  });

  it('returns "waiting" and a reason before the run, and "unknown" after a push without an answer', async () => {
    await open(guarded);
    await team.bob.edit(id, `phone = '15550100'`);
    expect(await settled(team.bob)).toEqual([
      [BigInt(id), 'phone', 'waiting', 'no daemon serves this team: the next run handles it', null, null],
    ]);
    team.emulator.addFault({ kind: 'reset-after', path: '/v1/users/update', times: 1 });
    team.emulator.before({ path: '/v1/users/update' }, () => {
      team.emulator.addFault({ kind: 'empty', path: '/v1/users/get', times: 'always' });
    });
    await reconcile();
    expect(await states(team.bob)).toEqual([[BigInt(id), 'phone', 'unknown']]);
  });

  it('returns the edits of the last transaction of the session, or of the transaction that xid names', async () => {
    await open(guarded);
    expect(await settled(team.bob)).toEqual([]);
    await team.bob.edit(id, `phone = '15550100'`);
    const [[xid] = []] = await team.sql('select max(xid)::text from sync.edits');
    await team.bob.edit(id, `email = 'ada@example.com'`);
    expect(await states(team.bob)).toEqual([[BigInt(id), 'email', 'waiting']]);
    expect(await states(team.carol, `timeout => '0', xid => '${xid}'`)).toEqual([
      [BigInt(id), 'phone', 'waiting'],
    ]);
    expect(await settled(team.carol)).toEqual([]);
  });

  it.each([
    ['refused by the mirror', `update mirror.users set email = 'x'`, 'not an email'],
    ['impossible on the service', 'insert into mirror.users (team_id, id) values (1, 1)', 'is not possible'],
    ['rolled back', `begin; update mirror.users set email = 'a@example.com'; select 1 / 0`, 'division'],
  ])('raises an error if the last statement of the session was %s', async (_, statement, words) => {
    await open(guarded);
    await expect(settled(team.carol, 'raise => true')).rejects.toThrow('so it made no edits');
    await team.bob.edit(id, `phone = '15550100'`);
    await expect(team.bob.sql(statement)).rejects.toThrow(words);
    await team.bob.sql('rollback');
    await expect(settled(team.bob)).rejects.toThrow('failed or was rolled back, so it made no edits');
    await team.bob.sql(`update mirror.users set phone = '15550100' where id = ${id}`);
    expect(await settled(team.bob)).toEqual([]);
    const unchanged = `update mirror.users set phone = phone where id = ${id}`;
    expect((await team.musterd('sql', '--write', '--wait', '1', unchanged)).stderr).toMatch(
      /^NOTICE: {2}Transaction \d+ has not edited any user$/m,
    );
    await team.bob.edit(id, `phone = ' 15550101\u00a0', email = E'\tada@example.com '`);
    expect(await team.bob.sql(`select phone, email from mirror.users where id = ${id}`)).toEqual([
      ['15550101', 'ada@example.com'],
    ]);
    expect(await states(team.bob)).toHaveLength(2);
  });

  it('raises an error if xid names an open, a rolled back or a future transaction', async () => {
    await open(guarded);
    await team.mallory.sql(`begin; update mirror.users set phone = '15550100' where id = ${id}`);
    const [[xid] = []] = await team.mallory.sql('select pg_current_xact_id()::text');
    const ask = () => settled(team.carol, `timeout => '0.2 s', xid => '${String(xid)}'`);
    await expect(ask()).rejects.toThrow('is not committed yet');
    await team.mallory.sql('rollback');
    await expect(ask()).rejects.toThrow('was rolled back');
    await expect(settled(team.carol, `xid => '99999999999'`)).rejects.toThrow('in the future');
  });

  it('raises an error inside the transaction of the edit, and in a repeatable-read transaction', async () => {
    await open(guarded);
    const edit = `update mirror.users set phone = '15550100' where id = ${id}`;
    await expect(team.bob.sql(`begin; ${edit}; select * from sync.settled()`)).rejects.toThrow(
      'These edits are not committed yet',
    );
    await team.bob.sql(`rollback; ${edit}`);
    await expect(
      team.bob.sql(`begin isolation level repeatable read; select * from sync.settled()`),
    ).rejects.toThrow('cannot see');
    await team.bob.sql('rollback');
  });

  describe('while a daemon runs', () => {
    const folder = ownFolder();
    let daemon: DaemonHere;
    beforeEach(async () => {
      await open(guarded);
      daemon = startDaemon(team.environment());
      const isDone = `command = 'daemon' and outcome = 'complete'`;
      await eventually('its first run is over', async () => (await team.runs(isDone)) > 0);
    });
    afterEach(() => daemon.stop());

    it('waits until the service has stored the edit, then returns "confirmed"', async () => {
      await team.bob.edit(id, `phone = '15550100'`);
      expect(await states(team.bob, `timeout => '2 min'`)).toEqual([[BigInt(id), 'phone', 'confirmed']]);
    });

    it('`sql --write --wait` and `import --wait` print "confirmed" for the edit', async () => {
      const edit = `update mirror.users set phone = '15550100' where id = ${id}`;
      const written = await team.musterd('sql', '--write', '--wait', '120', edit);
      expect(written).toMatchObject({ code: 0 });
      expect(written.stdout).toMatch(new RegExp(`${id}\\tphone\\tconfirmed\\t\\t\\S`));
      const file = join(folder, 'people.csv');
      writeFileSync(file, `id,email\n${id},ada@example.com\n`);
      const imported = await team.musterd('import', file, '--yes', '--wait', '120', '--json');
      expect(imported).toMatchObject({ code: 0 });
      expect(JSON.parse(imported.stdout)).toMatchObject({
        settled: [{ user_id: id, field: 'email', state: 'confirmed' }],
      });
    });
  });
});
