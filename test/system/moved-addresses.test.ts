import { afterEach, describe, expect, it } from 'vitest';
import { runReconcile } from '../../src/runs/sync/reconcile-team.ts';
import { parseFaults } from '../../src/emulator/faults/faults.ts';
import type { TeamControl } from '../../src/emulator/control/team-control.ts';
import { createLog } from '../../src/log.ts';
import { configFor, createStage, type Stage } from './stage.ts';

let stage: Stage;
afterEach(() => stage.close());

/** A28 */
describe('an email that moves to another user', () => {
  /** Two users with an email each, and no phone by which they could be found as well. */
  const openPair = async (quietPeriodMs = 0) => {
    stage = await createStage({ config: { push: { quietPeriodMs } } });
    const [a, b] = stage.emulator.team.users().filter(({ email }) => email !== null);
    if (a?.email == null || b?.email == null) throw new Error('no such users');
    for (const { id } of [a, b]) stage.emulator.team.editUser(id, { phone: null });
    await stage.run();
    stage.emulator.clearRequests();
    return { a: { id: a.id, email: a.email }, b: { id: b.id, email: b.email } };
  };
  const emails = async (...ids: readonly number[]) => {
    const rows = await stage.sql(`select id, email from mirror.users where id in (${ids.join(',')})`);
    return new Map(rows.map(([id, email]) => [Number(id), email]));
  };

  it('musterd pulls the right email for each id if two users swap emails on the service (A28)', async () => {
    const { a, b } = await openPair();
    stage.emulator.team.editUser(a.id, { email: b.email, phone: '15550101' });
    stage.emulator.team.editUser(b.id, { email: a.email, phone: '15550102' });
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0, counts: { pulled: 4 } });
    expect(
      await stage.sql(`select id, email, phone from mirror.users where id in (${a.id}, ${b.id}) order by id`),
    ).toEqual([
      [String(a.id), b.email, '15550101'],
      [String(b.id), a.email, '15550102'],
    ]);
    expect((await stage.run()).counts).not.toHaveProperty('pulled');
    expect(stage.updates()).toEqual([]);
  });

  it('musterd leaves a push unconfirmed if only another user has the pushed email now (A28)', async () => {
    const { a, b } = await openPair(600_000);
    await stage.sql(`update mirror.users set email = 'new@example.com' where id = ${a.id}`);
    for (const fault of parseFaults(['status,code=502,effect=none,path=/v1/users/update,times=1']))
      stage.emulator.addFault(fault);
    // Right before the update is read back, when neither address leads to its user any more.
    stage.emulator.before({ path: '/v1/users/get', at: 3 }, () => {
      stage.emulator.team.editUser(a.id, { email: 'elsewhere@example.com' });
      stage.emulator.team.editUser(b.id, { email: 'new@example.com' });
    });
    expect(await stage.run()).toMatchObject({ outcome: 'partial' });
    expect(await stage.sql(`select state, outcome from sync.changes where kind = 'push'`)).toEqual([
      ['open', '{"email":"unknown"}'],
    ]);
    // Nothing can arrive late any more.
    expect(await stage.run({ push: { quietPeriodMs: 0 } })).toMatchObject({
      outcome: 'complete',
      waiting: 1,
    });
    expect(
      await stage.sql('select user_id, reason, mirror_value, service_value from sync.held_fields'),
    ).toEqual([[String(a.id), 'conflict', 'new@example.com', 'elsewhere@example.com']]);
    expect(await emails(b.id)).toEqual(new Map([[b.id, 'new@example.com']]));
    expect(stage.updates()).toHaveLength(1);
  });
});

/** A29 */
describe('one person in two teams of one mirror database', () => {
  const person = 777_000_001;
  const silent = createLog({ level: 'silent' });

  const teamAt = (index: number): TeamControl => {
    const team = stage.emulator.teams[index];
    if (team === undefined) throw new Error('no such team');
    return team;
  };
  const runTeam = (index: number) =>
    runReconcile(
      stage.db,
      configFor(teamAt(index).environment, { team: `team ${teamAt(index).id}` }),
      'reconcile',
      { log: silent },
    );
  const edit = (index: number, email: string) =>
    stage.sql(
      `update mirror.users set email = '${email}' where team_id = ${teamAt(index).id} and id = ${person}`,
    );
  const inMirror = () =>
    stage.sql(`select team_id, email from mirror.users where id = ${person} order by team_id`);
  const onService = () => [0, 1].map((index) => teamAt(index).user(person).email);

  /** The service keeps one person: what a team's update sets is seen in the other team as well. */
  const openTeams = async () => {
    stage = await createStage({
      emulator: { users: 25, tags: 2, fields: 1, teams: [{ teamId: 42, seed: 2 }] },
    });
    const shared = { id: person, first: 'Robin', last: 'Doe', email: 'robin@example.com', phone: '15550133' };
    for (const from of [0, 1]) {
      teamAt(from).addUser(shared);
      stage.emulator.after({ path: '/v1/users/update', team: teamAt(from).id, times: 'always' }, () => {
        const { first, last, email, phone } = teamAt(from).user(person);
        teamAt(1 - from).editUser(person, { first, last, email, phone });
      });
    }
    for (const index of [0, 1]) expect(await runTeam(index)).toMatchObject({ outcome: 'complete' });
    stage.emulator.clearRequests();
  };
  const rows = () => stage.versions('mirror.users', 'sync.user_base');

  it('musterd pulls into one team the email that the other team pushed, and sends it only once (A29)', async () => {
    await openTeams();
    await edit(0, 'first@example.com');
    expect(await runTeam(0)).toMatchObject({ outcome: 'complete', counts: { pushed: 1 } });
    expect(onService()).toEqual(['first@example.com', 'first@example.com']);
    expect(await runTeam(1)).toMatchObject({ outcome: 'complete', waiting: 0, counts: { pulled: 1 } });
    expect(await inMirror()).toEqual([
      ['41', 'first@example.com'],
      ['42', 'first@example.com'],
    ]);
    await edit(1, 'second@example.com');
    for (const index of [1, 0]) expect(await runTeam(index)).toMatchObject({ outcome: 'complete' });
    expect(await inMirror()).toEqual([
      ['41', 'second@example.com'],
      ['42', 'second@example.com'],
    ]);
    expect(stage.updates().map(({ email }) => email)).toEqual(['first@example.com', 'second@example.com']);

    const before = await rows();
    for (const index of [0, 1, 0, 1]) expect(await runTeam(index)).toMatchObject({ outcome: 'complete' });
    expect(await rows()).toEqual(before);
    expect(stage.updates()).toHaveLength(2);
  });
});
