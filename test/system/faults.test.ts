import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseFaults } from '../../src/emulator/faults/faults.ts';
import { retryAtOnce } from '../support/retry-at-once.ts';
import { createStage, createStages, type Stage } from './stage.ts';

const stages = createStages();
afterAll(() => stages.close());

/** Faults that make a run partial or end it, and cost nothing. */
const endured = [
  'redirect,path=/v1/tags,times=always',
  'empty,path=/v1/tags,times=always',
  'wrong-team,path=/v1/users/get,times=always',
];

describe('a fault of the service', () => {
  let stage: Stage;
  beforeEach(retryAtOnce);
  afterEach(() => stage.close());
  const play = (...faults: readonly string[]) => {
    for (const one of parseFaults(faults)) stage.emulator.addFault(one);
  };
  /** One run, whatever becomes of it. */
  const runAnyhow = () =>
    stage.run().then(
      ({ outcome }) => outcome,
      (error: unknown) => (error instanceof Error ? error.name : 'unknown'),
    );

  it.each(endured)('keeps all rows and ends no run as complete with the fault %s (A1)', async (fault) => {
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

  it('keeps members whom the lookup no longer returns, and counts these members as unresolved', async () => {
    stage = await stages.open({ config: { absence: { confirmAfterMs: 0 } } });
    const before = await stage.mirrored();
    play('shrink,path=/v1/users/get,keep=10,times=always');
    for (const _ of [1, 2, 3]) expect((await stage.run()).counts.users_unresolved).toBeGreaterThan(0);
    expect(await stage.mirrored()).toEqual(before);
    stage.emulator.clearFaults();
    expect((await stage.run()).counts.users_unresolved).toBeUndefined();
    expect(await stage.sql('select count(*) from mirror.users where not resolved')).toEqual([['0']]);
  });

  it('mirrors all tags in the next run if tags were added while a run read the pages (A4)', async () => {
    stage = await createStage({ emulator: { tags: 60, variants: { 'limit-cap': 7 } } });
    play('drift,path=/v1/tags,action=add,at=3,times=2');
    await runAnyhow();
    expect(await stage.run()).toMatchObject({ outcome: 'complete' });
    expect(await stage.sql('select count(*) from mirror.tags')).toEqual([
      [String(stage.emulator.team.tags().length)],
    ]);
  });
});
