import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseFaults } from '../../src/emulator/faults/faults.ts';
import { retryAtOnce } from '../support/retry-at-once.ts';
import { createStage, createStages, onService, type Stage } from './stage.ts';

const stages = createStages();
afterAll(() => stages.close());

/** Faults that a read survives by asking again: one at each endpoint. What the client does is in `test/service/faults.test.ts`. */
const survived = [
  [
    'status,code=503,path=/v1/tags,times=1',
    'status,code=500,path=/v1/users/get,times=1',
    'reset-before,path=/v1/team,times=1',
    'reset-after,path=/v1/contact-fields,times=1',
  ],
  [
    'reset-in,path=/v1/tags,times=1',
    'truncate,path=/v1/users/get,times=1',
    'too-many-requests,retry-after=1,path=/v1/contact-fields,times=1',
  ],
  ['repeat,path=/v1/tags,times=always'],
];

/** Faults that make a run partial or end it, and cost nothing. */
const endured = [
  'redirect,path=/v1/tags,times=always',
  'empty,path=/v1/tags,times=always',
  'wrong-team,path=/v1/users/get,times=always',
];

/** Faults of an update. Whatever they do, the edits end on both sides, and nothing is sent twice for nothing. The others are in `test/reconcile/push.test.ts`. */
const ofUpdates = [
  'reset-after,path=/v1/users/update,times=1',
  'partial-apply,skip=email,path=/v1/users/update,times=1',
];

describe('faults of the service', () => {
  let stage: Stage;
  beforeEach(retryAtOnce);
  afterEach(() => stage.close());
  const play = (...faults: readonly string[]) => {
    for (const one of parseFaults(faults)) stage.emulator.addFault(one);
  };
  const values = async () => {
    const joined = (of: ReadonlyMap<number, readonly string[]>) =>
      new Map(
        [...of].map(([id, [first, last, ...rest]]) => [
          id,
          [`${first} ${last}`.replace(/\s+/g, ' ').trim().normalize('NFC'), ...rest].join('|'),
        ]),
      );
    return { mirror: joined(await stage.mirrored()), service: joined(onService(stage)) };
  };
  const expectEqual = async () => {
    const { mirror, service } = await values();
    expect([...mirror].toSorted(([a], [b]) => a - b)).toEqual([...service].toSorted(([a], [b]) => a - b));
  };
  /** One run, whatever becomes of it. */
  const runAnyhow = () =>
    stage.run().then(
      ({ outcome }) => outcome,
      (error: unknown) => (error instanceof Error ? error.name : 'unknown'),
    );

  it.each(survived)('survives %s in one run', async (...faults) => {
    stage = await createStage();
    play(...faults);
    expect(await stage.run()).toMatchObject({
      outcome: 'complete',
      counts: { adopted: 30, tags_added: 25, contact_fields_added: 12 },
    });
    await expectEqual();
  });

  it.each(endured)('loses nothing to %s, and does not call it a success', async (fault) => {
    stage = await stages.open({ config: { absence: { confirmAfterMs: 0 } } });
    const rows = () =>
      stage.sql(`select (select count(*) from mirror.users where gone_at is null) as u, (select count(*) from mirror.tags where gone_at is null) as t,
        (select count(*) from mirror.contact_fields where gone_at is null) as f`);
    const before = await rows();
    play(fault);
    for (const _ of [1, 2, 3]) expect(await runAnyhow()).not.toBe('complete');
    expect(await rows()).toEqual(before);
    stage.emulator.clearFaults();
    await stage.run();
    expect(await stage.run()).toMatchObject({ outcome: 'complete' });
    expect(await rows()).toEqual(before);
  });

  it.each(ofUpdates)('carries every edit over %s', async (fault) => {
    stage = await stages.open();
    const users = stage.people().slice(0, 6);
    for (const { id } of users) {
      await stage.sql(
        `update mirror.users set first_name = 'Edited${id}', email = 'edited${id}@example.com' where id = ${id}`,
      );
    }
    play(fault);
    await runAnyhow();
    stage.emulator.applyLateWrites();
    for (const _ of [1, 2]) await runAnyhow();
    for (const { id, last } of users) {
      expect(stage.emulator.team.user(id)).toMatchObject({
        first: `Edited${id}`,
        last,
        email: `edited${id}@example.com`,
      });
    }
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0 });
    await expectEqual();
    expect(await stage.sql(`select count(*) from sync.changes where state = 'open'`)).toEqual([['0']]);
    stage.emulator.clearRequests();
    await stage.run();
    expect(stage.updates()).toEqual([]);
  });

  it('keeps members whom users/get no longer answers, as unresolved', async () => {
    stage = await stages.open({ config: { absence: { confirmAfterMs: 0 } } });
    const before = await stage.mirrored();
    play('shrink,path=/v1/users/get,keep=10,times=always');
    for (const _ of [1, 2, 3]) expect((await stage.run()).counts.users_unresolved).toBeGreaterThan(0);
    expect(await stage.mirrored()).toEqual(before);
    stage.emulator.clearFaults();
    expect((await stage.run()).counts.users_unresolved).toBeUndefined();
    expect(await stage.sql('select count(*) from mirror.users where not resolved')).toEqual([['0']]);
  });

  it('takes a listing whose pages drift while it is read', async () => {
    stage = await createStage({ emulator: { tags: 60, variants: { 'limit-cap': 7 } } });
    play('drift,path=/v1/tags,action=add,at=3,times=2');
    await runAnyhow();
    expect(await stage.run()).toMatchObject({ outcome: 'complete' });
    expect(await stage.sql('select count(*) from mirror.tags')).toEqual([
      [String(stage.emulator.team.tags().length)],
    ]);
  });
});
