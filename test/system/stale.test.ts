import { afterEach, describe, expect, it } from 'vitest';
import { parseFaults } from '../../src/emulator/faults/faults.ts';
import { createStage, type Stage } from './stage.ts';

/** A proxy that answers out of its cache, or a replica that lags. */
describe('an older version of a user from a cache', () => {
  let stage: Stage;
  afterEach(() => stage.close());

  /** A user whose email was old@… when the cache was filled first, and new@… after that; both were mirrored. */
  const openStale = async () => {
    stage = await createStage();
    const id = stage.emulator.team.users().find(({ email }) => email !== null)?.id ?? 0;
    stage.emulator.team.editUser(id, { email: 'old@example.com' });
    const bodies: string[] = [];
    const unhook = stage.emulator.rewrite({ path: '/v1/users/get', times: 'always' }, (body) => {
      bodies.push(body);
      return body;
    });
    await stage.run();
    stage.emulator.team.editUser(id, { email: 'new@example.com' });
    await stage.run();
    unhook();
    const replay = (from: number, of: 'old' | 'new' = 'old') => {
      let reads = 0;
      return stage.emulator.rewrite({ path: '/v1/users/get', times: 'always' }, (body) => {
        reads += 1;
        return reads < from ? body : (bodies.at(of === 'old' ? 0 : -1) ?? body);
      });
    };
    return { id, replay };
  };
  const email = async (id: number) =>
    (await stage.sql(`select email, updated_at from mirror.users where id = ${id}`))[0];
  const older = () => stage.sql('select id, older_passes from sync.user_base where older_since is not null');

  it('changes nothing in the mirror, and the run warns, until the current version is back (N25, A26)', async () => {
    const { id, replay } = await openStale();
    const before = await email(id);
    const unhook = replay(1);
    expect(await stage.run()).toMatchObject({ outcome: 'complete', counts: { stale: 1 } });
    const second = await stage.run();
    expect(second.counts).not.toHaveProperty('pulled');
    expect(second.warnings).toEqual([
      'the service shows 1 users with older versions than before: they are left as they are for now',
    ]);
    expect(await email(id)).toEqual(before);
    expect(await older()).toEqual([[String(id), '2']]);
    expect((await stage.musterd('why', String(id))).stdout).toContain('shown older than before');
    const { stdout } = await stage.musterd('why', String(id), '--json');
    expect(JSON.parse(stdout)).toMatchObject({ presence: 'waiting', service: { older: true } });
    unhook();
    expect((await stage.run()).counts).not.toHaveProperty('stale');
    expect(await older()).toEqual([]);
    expect(await email(id)).toEqual(before);
  });

  it('does not confirm a push, although the older version has the pushed value (N25)', async () => {
    const { id, replay } = await openStale();
    await stage.sql(`update mirror.users set email = 'old@example.com' where id = ${id}`);
    const [lost] = parseFaults(['reset-before,path=/v1/users/update,times=1']);
    if (lost !== undefined) stage.emulator.addFault(lost);
    const unhook = replay(3);
    const { counts } = await stage.run({ push: { quietPeriodMs: 60_000 } });
    expect([counts['unknown'], counts['pushed']]).toEqual([1, undefined]);
    unhook();
    await stage.run();
    expect(stage.updates()).toEqual(Array(2).fill({ id, email: 'old@example.com' }));
    expect(stage.emulator.team.users().find((user) => user.id === id)?.email).toBe('old@example.com');
    expect((await email(id))?.[0]).toBe('old@example.com');
  });

  it('does not end a conflict, although the older version has the values of the base (N25)', async () => {
    const { id, replay } = await openStale();
    stage.emulator.team.editUser(id, { email: 'theirs@example.com' });
    await stage.sql(`update mirror.users set email = 'ours@example.com' where id = ${id}`);
    await stage.run();
    replay(1, 'new');
    await stage.run();
    await stage.run();
    expect(stage.updates()).toEqual([]);
  });
});
