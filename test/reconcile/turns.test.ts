/** What is made of a long listing lets others have their turn meanwhile. */
import { expect, it } from 'vitest';
import { indexAddresses } from '../../src/reconcile/guard/field-limits.ts';
import { holdAll, makeState, noLimits as lenient, teamOf } from './states.ts';
import { type Look, look } from '../../src/reconcile/look.ts';
import { noteLook, planUsers } from '../../src/reconcile/plan-users.ts';
import { membersOf } from '../../src/reconcile/read/members.ts';
import { createRunNotes } from '../../src/reconcile/run-notes.ts';
import { countTurns, turnsAtEachLook, turnsDuring } from '../support/turns.ts';
import type { TeamMember } from '../../src/model/team-member.ts';
import { createMirrorStandIn } from './mirror-stand-in.ts';
import { createServiceStandIn } from './service-stand-in.ts';

const members = Array.from(
  { length: 3_000 },
  (_, at): TeamMember => ({
    id: BigInt(at + 1),
    name: null,
    role: null,
    email: `a${at}@example.com`,
    phone: null,
  }),
);

it('A run yields to the event loop while it indexes 3,000 members and counts unlisted users', async () => {
  expect(await turnsAtEachLook(() => membersOf({ members }))).toBeGreaterThan(1);
  const listed = await membersOf({ members });
  expect([listed.size, listed.get(7n)]).toEqual([members.length, members[6]]);
  expect(await turnsDuring(() => membersOf({ members }))).toBe(0);
  expect(await turnsAtEachLook(() => indexAddresses(listed))).toBeGreaterThan(1);
  const roster = {
    users: listed,
    members: listed,
    rejected: [],
    repeated: new Map(),
    unresolved: [],
    refusedLookups: 0,
  };
  expect(
    await turnsAtEachLook(() =>
      noteLook(
        { isWhole: true, roster } as unknown as Look,
        createRunNotes(() => undefined),
      ),
    ),
  ).toBeGreaterThan(1);
});

it('A run yields to the event loop while it plans 1,000 users', async () => {
  const states = Array.from({ length: 1_000 }, (_, at) => ({
    ...makeState({ mirror: { phone: `1777${at}` } }),
    id: BigInt(at + 1),
  }));
  const mirror = createMirrorStandIn([]);
  const turns = countTurns();
  const seen: number[] = [];
  mirror.compareUsers = () => {
    seen.push(turns.soFar());
    return Promise.resolve({ differing: states, unknown: [], unseen: [] });
  };
  // Asked for right after the last user is planned.
  mirror.readPresentUsers = () => {
    seen.push(turns.soFar());
    return Promise.resolve([]);
  };
  const places = { service: createServiceStandIn([]), mirror, notes: createRunNotes(), monotonicMs: () => 0 };
  await turnsAtEachLook(async () => {
    const { plans } = await planUsers(places, await look(places, teamOf([]), 'everybody'), {
      policy: holdAll,
      guard: lenient,
    });
    expect(plans).toHaveLength(states.length);
  });
  turns.end();
  const [before = 0, after = 0] = seen;
  expect(after - before).toBeGreaterThan(1);
});
