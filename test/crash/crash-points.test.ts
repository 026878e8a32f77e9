/**
 * Each command ends at points of its input and output (`end-at.ts`): killed, or with a connection cut. What is done after
 * that gives the same end as if nothing had happened, and doing it once more changes nothing.
 *
 * `npm test` plays some points, drawn by TEST_SEED; `npm run crash` plays all, or those that are named.
 */
import { readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT, temporaryFolder } from '../support/checkout.ts';
import { eventually } from '../support/eventually.ts';
import { spawnMusterd } from '../system/run-musterd.ts';
import { type Command, openTheatre, type Scene, scenes, type Theatre } from './scenes.ts';

const ways = ['kill', 'cut'] as const;
type Way = (typeof ways)[number];
/** What `npm run crash` is asked for. */
interface Asked {
  readonly command?: Command;
  readonly how?: Way;
  readonly from?: string;
  readonly to?: string;
  readonly every?: string;
}
const asked = process.env['CRASH'] === undefined ? undefined : (JSON.parse(process.env['CRASH']) as Asked);
/** Ms after which all points of a command have hung. */
const allHungAfterMs = 24 * 60 * 60_000;

describe('a command that is killed or loses a connection at any point', () => {
  const folder = temporaryFolder();
  const log = join(folder.path, 'points');
  let theatre: Theatre;
  let nonce = 0;
  beforeAll(async () => {
    theatre = await openTheatre(folder.path);
  });
  afterAll(async () => {
    await theatre.close();
    folder[Symbol.dispose]();
  });

  /** What a process had sent when it was killed may have its effect a little later. */
  const arrived = async (points: readonly string[]) => {
    const sent = points.filter((point) => /^\w+ \/v1\/users\/update/.test(point)).length;
    const { emulator } = theatre.stage;
    const isUpdate = ({ path }: { readonly path: string }) => path === '/v1/users/update';
    await eventually('what was sent arrives', () => emulator.requests.filter(isUpdate).length >= sent);
    await new Promise(setImmediate);
  };

  /** @returns the points that the process came to */
  const play = async (scene: Scene, how: Way, at: number): Promise<readonly string[]> => {
    nonce += 1;
    const call = await scene.prepare(nonce);
    writeFileSync(log, '');
    const ended = await spawnMusterd(call.args, {
      ...call.env,
      NODE_OPTIONS: `--import=${join(ROOT, 'test', 'crash', 'end-at.ts')}`,
      CRASH_AT: `${how}:${at}`,
      CRASH_LOG: log,
    });
    // A line each; what was written may have had nothing to name it by.
    const points = readFileSync(log, 'utf8').split('\n').slice(0, -1);
    await arrived(points);
    const isReached = at > 0 && points.length >= at;
    try {
      if (!isReached) expect(ended).toMatchObject({ code: 0 });
      else if (how === 'kill') expect(ended).toMatchObject({ signal: 'SIGKILL' });
      // Whatever a lost connection ends with has words of its own, and no stack.
      else expect(ended).toMatchObject({ signal: null, stderr: expect.not.stringMatching(/\n\s+at /) });
      await scene.again(call);
      const end = await scene.end();
      await scene.again(call);
      expect(await scene.end()).toEqual(end);
    } catch (cause) {
      throw new Error(`${how} ${at}, ${points[at - 1]}: ${String(cause)}`, { cause });
    }
    return points;
  };

  /** All of its points, or those from one to another, or every so many of these. */
  const playAll = async (command: Command, how: Way, { from = '1', to, every = '1' }: Asked) => {
    const scene = await scenes[command](theatre);
    const all = (await play(scene, how, 0)).length;
    const last = Math.min(all, Number(to ?? all));
    let [played, failed] = [0, 0];
    for (let at = Number(from); at <= last; at += Number(every)) {
      played += 1;
      await play(scene, how, at).catch((error: Error) => {
        failed += 1;
        writeSync(1, `${command}, ${error.message}\n`);
      });
      if (played % 50 === 0) writeSync(1, `${command}, ${how}: ${at} of ${all}\n`);
    }
    writeSync(
      1,
      `${command}, ${how}: ${played} points from ${from} to ${last} of ${all}, ${failed} failed\n`,
    );
    return failed;
  };

  if (asked === undefined)
    it.each(Object.keys(scenes) as Command[])(
      'leaves a state that the next run completes and one more run does not change: command %s (D1, R1)',
      async (command) => {
        const scene = await scenes[command](theatre);
        const writes = (await play(scene, 'kill', 0)).length;
        expect(writes).toBeGreaterThan(40);
        const draw = (most: number) => fc.sample(fc.integer({ min: 1, max: most }), 1);
        for (const at of draw(writes)) await play(scene, 'kill', at);
        // Each write has several messages, and answers.
        for (const at of draw(2 * writes)) await play(scene, 'cut', at);
      },
    );
  else
    it(
      'leaves a state that the next run completes, at each chosen point (npm run crash)',
      async () => {
        const { command, how, ...range } = asked;
        let failed = 0;
        for (const one of Object.keys(scenes) as Command[])
          for (const way of ways)
            if ([one, undefined].includes(command) && [way, undefined].includes(how))
              failed += await playAll(one, way, range);
        expect(failed).toBe(0);
      },
      allHungAfterMs,
    );
});
