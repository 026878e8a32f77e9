import pLimit from 'p-limit';
import { describe, expect, it } from 'vitest';
import type { Id } from '../../src/model/id.ts';
import { isPush } from '../../src/model/user-plan.ts';
import { holdAll, makeState } from './states.ts';
import { planUser } from '../../src/reconcile/merge/plan-user.ts';
import { pushEdits } from '../../src/reconcile/push/push.ts';
import { createPushContext } from '../../src/reconcile/push/record.ts';
import { createRunNotes } from '../../src/reconcile/run-notes.ts';
import { createRate, defaultRateSettings } from '../../src/service/rate-limiter.ts';
import { mostIn } from '../service/rate-world.ts';
import { type Arrived, useOfLimit } from '../support/use-of-limit.ts';
import { createVirtualClock } from '../service/virtual-clock.ts';
import { createMirrorStandIn } from './mirror-stand-in.ts';
import { createServiceStandIn } from './service-stand-in.ts';

/** Sends 5,000 edits by a clock in which that takes no time. @param transactionMs each write of the mirror */
async function drain(latencyMs: number, transactionMs: number) {
  const clock = createVirtualClock();
  const rate = createRate(defaultRateSettings, clock, { random: () => 0 });
  const ids = Array.from({ length: 5_000 }, (_, i) => BigInt(i + 1));
  const address = (id: Id) => ({ email: `user${id}@example.com`, phone: String(15550100n + id) });
  const service = createServiceStandIn(
    ids.map((id) => ({ id, name: 'Anne Berg', ...address(id), roleId: 3n, raw: {} })),
  );
  const mirror = createMirrorStandIn(
    ids.map((id) => ({ ...makeState({ base: address(id), mirror: address(id), service: null }), id })),
  );
  const inTurn = pLimit(1);
  const slowly =
    <A extends unknown[], R>(write: (...args: A) => Promise<R>) =>
    (...args: A) =>
      inTurn(async () => {
        await clock.sleep(transactionMs);
        return await write(...args);
      });
  const writes = { ...mirror };
  Object.assign(mirror, {
    applyUsers: slowly((...args: Parameters<typeof writes.applyUsers>) => writes.applyUsers(...args)),
    openIntents: slowly((...args: Parameters<typeof writes.openIntents>) => writes.openIntents(...args)),
    markSent: slowly((...args: Parameters<typeof writes.markSent>) => writes.markSent(...args)),
    applyResults: slowly((...args: Parameters<typeof writes.applyResults>) => writes.applyResults(...args)),
  });
  const arrivals: Arrived[] = [];
  const inFlight = pLimit(8);
  const call = <R>(path: string, before: () => Promise<void>, work: () => Promise<R>): Promise<R> =>
    inFlight(async () => {
      const slot = await rate.acquire();
      await before();
      await clock.sleep(latencyMs / 2);
      arrivals.push({ path, atMs: clock.now() });
      const answer = await work();
      await clock.sleep(latencyMs / 2);
      rate.accepted(slot);
      return answer;
    });
  const asked = { ...service };
  service.users = (filter) =>
    call(
      '/v1/users/get',
      () => Promise.resolve(),
      () => asked.users(filter),
    );
  service.updateUsers = (patches, options) =>
    call(
      '/v1/users/update',
      async () => await options?.beforeSend?.(),
      () => asked.updateUsers(patches),
    );
  for (const id of ids) mirror.edit(id, { name: { first: 'Robin', last: String(id) } });
  const notes = createRunNotes();
  const monotonicMs = () => clock.monotonicMs();
  const context = createPushContext({ service, mirror, notes, monotonicMs }, {
    id: 1n,
    name: null,
    members: [],
    rejected: [],
  } as never);
  const states = await mirror.differing(service.held);
  const plans = states.map((state) => planUser(state, undefined, holdAll)).filter(isPush);
  const settings = {
    batchSize: 25,
    quietPeriodMs: 600_000,
    policy: holdAll,
    maxTries: 3,
    sendDeadlineMs: 5_000,
    placeMs: 120,
  };
  await clock.run(pushEdits({ ...context, users: new Map(service.held) }, settings, plans));
  return { arrivals, notes };
}

describe('many edits', () => {
  it('uses 95 % of the rate limit for 5,000 edits if a request takes 150 ms and a transaction 4 ms', async () => {
    const { arrivals, notes } = await drain(150, 4);
    expect(notes).toMatchObject({ counts: { pushed: 5_000 }, reasons: [] });
    expect(arrivals).toHaveLength(200 + 200);
    expect(useOfLimit(arrivals, 500)).toBeGreaterThanOrEqual(0.95);
    const times = arrivals.map(({ atMs }) => atMs);
    expect(mostIn(60_000, times)).toBeLessThanOrEqual(500);
  });
});
