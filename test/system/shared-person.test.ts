import { afterEach, describe, expect, it } from 'vitest';
import { runReconcile } from '../../src/runs/sync/reconcile-team.ts';
import type { TeamControl } from '../../src/emulator/control/team-control.ts';
import { createLog } from '../../src/log.ts';
import { configFor, createStage, type Stage } from './stage.ts';

let stage: Stage;
afterEach(() => stage.close());

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

  it('musterd pulls into one team the email that the other team pushed, and sends the email only once (A29)', async () => {
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
