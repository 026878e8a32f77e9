/** The parts of a push by themselves: what guards a request, what its outcome costs, and who is refused alone. */
import { describe, expect, it } from 'vitest';
import type { FieldOutcomes } from '../../src/model/intent.ts';
import type { Id } from '../../src/model/id.ts';
import type { ServiceUser } from '../../src/model/user.ts';
import { planUser } from '../../src/reconcile/merge/plan-user.ts';
import { takePlanned } from '../../src/reconcile/push/prepare.ts';
import { createPushContext, readBackIntents, record } from '../../src/reconcile/push/record.ts';
import { settleIntents } from '../../src/reconcile/push/settle-intents.ts';
import { guardSend } from '../../src/reconcile/push/send-guard.ts';
import { createRunNotes } from '../../src/reconcile/run-notes.ts';
import { makeIntent } from './apply-plan.ts';
import { createMirrorStandIn } from './mirror-stand-in.ts';
import { createServiceStandIn } from './service-stand-in.ts';
import { holdAll, makeState, shown, teamOf } from './states.ts';

const settings = {
  batchSize: 25,
  quietPeriodMs: 600_000,
  sendDeadlineMs: 5_000,
  placeMs: 0,
  updatesAtOnce: 12,
  policy: holdAll,
  maxTries: 3,
};

/** So many users, whose new roles are written down and not sent yet. */
function createParts(users: number) {
  const ids = Array.from({ length: users }, (_, at) => BigInt(at + 1));
  const own = (id: Id) => ({ email: `user${id}@example.com`, phone: `1555010${id}` });
  const service = createServiceStandIn(ids.map((id) => ({ ...shown, id, ...own(id) })));
  const states = ids.map((id) => ({
    ...makeState({ base: own(id), mirror: { ...own(id), roleId: 5n }, service: null }),
    id,
  }));
  const mirror = createMirrorStandIn(states);
  const intents = states.map((state) => makeIntent(state, { roleId: 5n }));
  for (const intent of intents) mirror.intents.set(intent.userId, intent);
  const notes = createRunNotes(() => undefined);
  const places = {
    ...createPushContext({ service, mirror, notes, monotonicMs: () => 0, sendBlock: undefined }, teamOf([])),
    sendByMs: 0,
  };
  return { ids, service, mirror, intents, notes, places };
}

describe('guardSend of a request with updates', () => {
  const deadline = {
    mirror: { markSent: () => Promise.resolve([]), requireLease: () => undefined },
    sendByMs: 100,
    breaker: { open: false },
  };

  it('sends a request exactly at its deadline, and rejects the request 1 ms later', async () => {
    const leave = async (now: number) => {
      const options = guardSend({ ...deadline, monotonicMs: () => now }, [1n]);
      await options.beforeSend?.();
      options.atStart?.();
    };
    await leave(100);
    await expect(leave(101)).rejects.toThrow('it had waited for too long since it was prepared');
  });

  it('rejects the request if an edit was taken back, and names the user in the error', async () => {
    const mirror = { ...deadline.mirror, markSent: () => Promise.resolve([2n, 3n]) };
    const { beforeSend } = guardSend({ ...deadline, mirror, monotonicMs: () => 0 }, [1n, 2n, 3n]);
    await expect(beforeSend?.()).rejects.toThrow(
      'was not sent: an edit of user 2 was taken back, replaced or rejected meanwhile',
    );
  });
});

describe('the outcome of a push', () => {
  it('makes the mirror count earlier tries only of a user whose push had no visible effect', async () => {
    const { intents, mirror, places } = createParts(4);
    const all: readonly FieldOutcomes[] = [
      { roleId: 'confirmed' },
      { roleId: 'unsent' },
      { roleId: 'confirmed', phone: 'missing' },
      { roleId: 'unsent', email: 'confirmed' },
    ];
    const answered = intents.map((intent, at) => ({
      intent,
      seen: null,
      outcomes: all[at] ?? {},
      requestId: null,
    }));
    await record(places, settings, answered);
    expect(mirror.counted).toEqual([3n]);
    await record(places, settings, answered.slice(0, 2));
    expect(mirror.counted).toEqual([3n]);
  });
});

describe('an open push of an earlier run', () => {
  const [sent, before] = [{ phone: '15550177', roleId: 5n }, { phone: '15550101' }];
  it.each<readonly [string, FieldOutcomes, Partial<ServiceUser>, FieldOutcomes, boolean]>([
    ['no answer is known', {}, before, { phone: 'unanswered', roleId: 'unanswered' }, true],
    [
      'one field was confirmed, and the service shows another value by now',
      { phone: 'confirmed' },
      { phone: '15550199' },
      { phone: 'confirmed', roleId: 'unknown' },
      false,
    ],
    [
      'one field was confirmed, and the service shows its value',
      { phone: 'confirmed' },
      { phone: '15550177' },
      { phone: 'confirmed', roleId: 'unanswered' },
      true,
    ],
    [
      'one field was refused, and the service does not show its value',
      { phone: 'refused' },
      before,
      { phone: 'refused', roleId: 'unanswered' },
      true,
    ],
    [
      'all fields were refused, and the service shows their values',
      { phone: 'refused', roleId: 'refused' },
      sent,
      { phone: 'confirmed', roleId: 'confirmed' },
      true,
    ],
  ])('confirms shown values, and else keeps known outcomes: %s', async (_, known, says, outcomes, isSeen) => {
    const { service, mirror, intents, places } = createParts(1);
    for (const intent of intents)
      mirror.intents.set(1n, { ...intent, sent, ageMs: settings.quietPeriodMs, known });
    service.held.set(1n, { ...shown, id: 1n, email: 'user1@example.com', ...before, ...says });
    await settleIntents(places, settings);
    expect(mirror.results).toMatchObject([{ outcomes, seen: isSeen ? { id: 1n } : null }]);
  });
});

describe('the read after a push', () => {
  it('looks a user up by every known address: shown, agreed, from before, sent and listed', async () => {
    const { intents, places, service } = createParts(1);
    const addresses = (at: number) => ({ email: `a${at}@example.com`, phone: `1555020${at}` });
    const listed = { id: 1n, name: 'Anne Berg', role: null, ...addresses(5) };
    const asked = {
      ...places,
      users: new Map([[1n, { ...shown, id: 1n, ...addresses(1) }]]),
      team: { ...places.team, members: [listed] },
    };
    const sent = intents.map((intent) => ({
      ...intent,
      base: { ...intent.base, ...addresses(2) },
      before: { ...intent.before, ...addresses(3) },
      sent: addresses(4),
    }));
    await readBackIntents(asked, sent);
    const all = [1, 2, 3, 4, 5].map(addresses);
    expect(service.filters.slice(0, 2)).toEqual([
      { emails: all.map(({ email }) => email), phones: [] },
      { emails: [], phones: all.map(({ phone }) => phone) },
    ]);
  });
});

describe('the read of a plan', () => {
  const planned = async (readAgoMs: number, keepsNames: boolean, missing: readonly Id[]) => {
    const { ids, service, mirror, places } = createParts(2);
    mirror.intents.clear();
    const states = await mirror.differing(service.held);
    const plans = states.map((state) => planUser(state, undefined, holdAll));
    const users = new Map([...service.held].filter(([id]) => !missing.includes(id)));
    mirror.readNameSafety = () => Promise.resolve(keepsNames ? 'keeps' : 'clears');
    const taken = await takePlanned({ ...places, users, plannedAtMs: -readAgoMs }, plans);
    expect([...mirror.intents.keys()]).toEqual(taken === undefined ? [] : ids);
    return taken?.readAtMs;
  };

  it('replaces a second read before the push if it is at most one second old', async () => {
    expect([await planned(1_000, true, []), await planned(1_001, true, [])]).toEqual([-1_000, undefined]);
  });

  it('does not replace a second read if a name must be sent along, or if the plan did not read all users', async () => {
    expect(await planned(0, false, [])).toBeUndefined();
    for (const missing of [[1n], [2n], [1n, 2n]]) expect(await planned(0, true, missing)).toBeUndefined();
  });
});
