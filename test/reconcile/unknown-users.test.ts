import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Id } from '../../src/model/id.ts';
import { hasUnreadable, type ServiceUser } from '../../src/model/user.ts';
import { decideEach, type UserPlan, type UserWrite } from '../../src/model/user-plan.ts';
import { applyPulls, takeNew, type WritingContext } from '../../src/reconcile/apply-users.ts';
import { holdAll, anyService, makeState, member, shown, guardLimits, teamOf } from './states.ts';
import { planUser } from '../../src/reconcile/merge/plan-user.ts';
import { look, unknownUser } from '../../src/reconcile/look.ts';
import { planUnknown, planUsers, type UsersPlan } from '../../src/reconcile/plan-users.ts';
import { createRunNotes, type RunEvent } from '../../src/reconcile/run-notes.ts';
import { createMirrorStandIn } from './mirror-stand-in.ts';
import { createServiceStandIn } from './service-stand-in.ts';

describe('a user who is new to the mirror', () => {
  it('takeNew writes the same values as planUser for a new user', () => {
    const readableUser = anyService.filter((user) => !hasUnreadable(user));
    fc.assert(
      fc.property(readableUser, fc.constantFrom('agent', null, undefined), (user, role) => {
        const listed = role === undefined ? undefined : { ...member, role };
        const plan = planUser(unknownUser(user.id, user), listed, holdAll);
        expect(plan).toEqual({
          id: user.id,
          case: 'adopt',
          fields: decideEach(() => ({ kind: 'adopt', ends: false })),
          write: takeNew(user, role ?? null),
        });
      }),
      { numRuns: 500 },
    );
  });
});

it('The guard holds an edited phone if a user who is new to the mirror has this phone', async () => {
  const [edited, fresh]: readonly ServiceUser[] = [
    shown,
    { ...shown, id: 8n, email: null, phone: '15550999' },
  ];
  const service = createServiceStandIn([]);
  service.users = () =>
    Promise.resolve({ users: [edited, fresh].flatMap((user) => user ?? []), rejected: [], requestId: null });
  const mirror = createMirrorStandIn([makeState({ mirror: { phone: '15550999' } })]);
  const members = [member, { ...member, id: 8n }];
  const team = teamOf(members);
  const places = { service, mirror, notes: createRunNotes(), monotonicMs: () => 0 };
  const guard = { ...guardLimits, maxRows: 25, maxShare: 1, adminRoleIds: [] };
  const seen = await look(places, team, 'everybody');
  const { unknown, roles } = seen;
  const { plans } = await planUsers(places, seen, { policy: holdAll, guard });
  expect(unknown).toEqual([8n]);
  expect([8n, 9n].map((of) => roles.get(of))).toEqual(['agent', undefined]);
  expect(plans.map(({ fields: { phone } }) => phone)).toMatchObject([
    { kind: 'hold', hold: { reason: 'limit' } },
  ]);
});

const count = 12_000;
const idsFrom = (first: number, many: number): readonly Id[] =>
  Array.from({ length: many }, (_, index) => BigInt(first + index));

/** A plan of a few pulls, and of many users of whom nothing is known. */
function planOf(pulled: number, unknown: number): UsersPlan {
  const ids = [...idsFrom(1, pulled), ...idsFrom(pulled + 1, unknown)];
  const users = new Map(ids.map((id): [Id, ServiceUser] => [id, { id, name: `Robin Reed${id}`, raw: {} }]));
  const members = new Map(ids.map((id) => [id, { ...member, id }]));
  const plans = idsFrom(1, pulled).map((id): UserPlan => {
    const state = makeState({ service: { phone: '15550999' } });
    return planUser({ ...state, id }, { ...member, id }, holdAll);
  });
  return {
    look: {
      isWhole: true,
      roster: {
        users,
        members,
        rejected: [],
        repeated: new Map(),
        unresolved: [],
        refusedLookups: 0,
        unproven: new Set(),
      },
      roles: new Map(ids.map((id) => [id, 'agent'])),
      states: [],
      unknown: idsFrom(pulled + 1, unknown),
      readAtMs: 0,
      requests: 1,
    },
    plans,
    absent: [],
    verdict: {} as UsersPlan['verdict'],
  };
}

/** What the mirror is told to write, and what the run says of itself. */
async function apply(plan: UsersPlan, there: ReadonlySet<Id>) {
  const written: UserWrite[] = [];
  const events: RunEvent[] = [];
  const notes = createRunNotes((event) => events.push(event));
  const mirror = createMirrorStandIn([]);
  mirror.applyUsers = (plans) => {
    for (const { id, write } of plans) if (write !== null && !there.has(id)) written.push(write);
    return Promise.resolve(plans.map(({ id }) => id).filter((id) => there.has(id)));
  };
  mirror.takeUsers = (writes) => {
    const all = [...writes];
    written.push(...all.filter(({ id }) => !there.has(id)));
    return Promise.resolve(new Set(all.map(({ id }) => id).filter((id) => there.has(id))));
  };
  const places: WritingContext = { service: createServiceStandIn([]), mirror, notes, monotonicMs: () => 0 };
  const deferred = await applyPulls(places, plan.look, plan.plans);
  written.sort((a, b) => (a.id < b.id ? -1 : 1));
  return { written, events, counts: notes.counts, reasons: notes.reasons, deferred };
}

describe('users who are new to the mirror', () => {
  /** Takes them in parts whose ends are in the hands of the test. */
  function takeByHand() {
    const ends: PromiseWithResolvers<ReadonlySet<Id>>[] = [];
    const mirror = createMirrorStandIn([]);
    mirror.takeUsers = () => {
      const end = Promise.withResolvers<ReadonlySet<Id>>();
      ends.push(end);
      return end.promise;
    };
    const notes = createRunNotes();
    const places: WritingContext = { service: createServiceStandIn([]), mirror, notes, monotonicMs: () => 0 };
    return { ends, notes, applied: applyPulls(places, planOf(0, count).look, []) };
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  it('writes at most two parts of the new users at a time', async () => {
    const { ends, notes, applied } = takeByHand();
    await turn();
    expect(ends.length).toBe(2);
    ends[1]?.resolve(new Set([5001n]));
    await turn();
    expect(ends.length).toBe(2);
    ends[0]?.resolve(new Set([1n]));
    await turn();
    expect(ends.length).toBe(3);
    ends[2]?.resolve(new Set());
    expect(await applied).toEqual(new Set([5001n, 1n]));
    expect(notes.counts['adopted']).toBe(count - 2);
  });

  it('writes new users in the order of their ids, however the service lists them', async () => {
    const parts: (readonly Id[])[] = [];
    const mirror = createMirrorStandIn([]);
    mirror.takeUsers = (writes) => {
      parts.push(Array.from(writes, ({ id }) => id));
      return Promise.resolve(new Set());
    };
    const { look: seen } = planOf(0, count);
    const places = {
      service: createServiceStandIn([]),
      mirror,
      notes: createRunNotes(),
      monotonicMs: () => 0,
    };
    const mixed = seen.unknown.toSorted(
      (a, b) => Number((a * 7919n) % 12_007n) - Number((b * 7919n) % 12_007n),
    );
    expect(mixed).not.toEqual(seen.unknown);
    await applyPulls(places, { ...seen, unknown: mixed }, []);
    expect(parts.flat()).toEqual(seen.unknown);
  });

  it('writes no further part after a failure, and throws the error of the earliest part', async () => {
    const { ends, applied } = takeByHand();
    const failed = applied.catch((error: unknown) => error);
    await turn();
    ends[1]?.reject(new Error('the second'));
    await turn();
    ends[0]?.reject(new Error('the first'));
    expect(await failed).toEqual(new Error('the first'));
    expect(ends.length).toBe(2);
  });

  it('waits for a part that is being written before it throws the error of an earlier part', async () => {
    const { ends, applied } = takeByHand();
    let isOver = false;
    const failed = applied.catch((error: unknown) => error).finally(() => (isOver = true));
    await turn();
    ends[0]?.reject(new Error('the first'));
    await turn();
    expect(isOver).toBe(false);
    ends[1]?.resolve(new Set());
    expect(await failed).toEqual(new Error('the first'));
  });

  it.each<readonly [string, number, readonly Id[]]>([
    ['new users only', 0, []],
    ['new users and pulls', 5000, []],
    ['new users and pulls, of whom some exist by now', 5000, [3n, 5001n, 9999n]],
  ])('writes and counts new users as if each had a plan of its own: %s', async (_, pulled, there) => {
    const plan = planOf(pulled, count);
    const decided = { ...plan, plans: planUnknown(plan, holdAll), look: { ...plan.look, unknown: [] } };
    expect(await apply(plan, new Set(there))).toEqual(await apply(decided, new Set(there)));
  });
});
