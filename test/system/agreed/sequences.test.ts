/**
 * Random sequences of what people, the service and accidents do: everything that the service is sent has to be an edit
 * that lasts, and that somebody agreed to who may, by a model that knows nothing of the program.
 *
 * AGREED_SEQUENCES=10000 plays so many; TEST_SEED=<number> plays others. A failure prints its seed and path, and what happened; AGREED_WHOLE=1 spares the search for a shorter one.
 */
import fc from 'fast-check';
import { afterAll, describe, it } from 'vitest';
import { createPlay, type Play } from './play.ts';
import { sequences, type Settings, type Step } from './steps.ts';

const asked = process.env['AGREED_SEQUENCES'];
/** Ms after which thousands have hung. */
const manyHungAfterMs = 24 * 60 * 60_000;

const reviewed: Settings = { isReviewed: true };
const calm = { kind: 'run', fault: 'none', number: 0, aims: [] } as const;
const agree = {
  kind: 'decide',
  verb: 'approve',
  who: 'carol',
  isStale: false,
  pick: 0,
  only: 'all',
  mask: 0,
  isReverted: false,
} as const;
const email = { kind: 'edit', who: 0, at: 0, field: 'email', value: 1 } as const;

/** What went wrong once, and has no test beside this one that tells it. */
const known: readonly (readonly [string, Settings, readonly Step[]])[] = [
  [
    'sends only approved edits if a value of the service changes and changes back before the approval',
    reviewed,
    [
      email,
      calm,
      { kind: 'there and back', at: 0, field: 'email', isLookedAt: false },
      { ...calm, aims: [{ path: '/v1/users/get', at: 1, when: 'after', act: agree }] },
    ],
  ],
  [
    'sends only approved edits if the database, after it was restored, gives a new edit the number of an old one',
    reviewed,
    [
      { kind: 'keep' },
      { ...email, field: 'role_id' },
      calm,
      { kind: 'put back', isWhole: true },
      { ...email, at: 1, field: 'role_id', value: 2 },
      calm,
    ],
  ],
  [
    'sends only approved edits if a second edit is approved during the run and the update gets no answer',
    reviewed,
    [
      email,
      { ...email, field: 'role_id' },
      calm,
      agree,
      { ...calm, fault: 'lost after', aims: [{ path: '/v1/users/get', at: 2, when: 'before', act: agree }] },
      calm,
    ],
  ],
];

/** So many play at once, each in a team of its own: what they wait for is mostly the database. */
const atOnce = 4;

describe('musterd in random and chosen sequences of steps', () => {
  const open: Promise<Play>[] = [];
  afterAll(async () => {
    for (const play of open) await (await play).close();
  });
  const playAt = async (place: number) => {
    open[place] ??= createPlay();
    return await open[place];
  };
  /** Each draws by a seed of its own, which a failure names. */
  const check = async (numRuns: number) => {
    const places = [...Array(Math.min(atOnce, Math.ceil(numRuns / 50))).keys()];
    const { seed = 0 } = fc.readConfigureGlobal();
    await Promise.all(
      places.map(async (place) => {
        const { play } = await playAt(place);
        await fc.assert(
          fc.asyncProperty(sequences(14), ([settings, steps]) => play(settings, steps)),
          {
            seed: seed + place,
            numRuns: Math.ceil(numRuns / places.length),
            endOnFailure: process.env['AGREED_WHOLE'] !== undefined,
          },
        );
      }),
    );
  };

  it.each(known)('%s', async (_, settings, steps) => await (await playAt(0)).play(settings, steps));
  it('sends only approved edits (O8)', async () => await check(Number(asked ?? 2)), manyHungAfterMs);
});
