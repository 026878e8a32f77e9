/** What is made of a long listing lets others have their turn meanwhile. */
import { expect, it } from 'vitest';
import type { TeamMember } from '../../src/model/team.ts';
import { indexAddresses } from '../../src/reconcile/guard/field-limits.ts';
import { noteRoster } from '../../src/reconcile/plan-users.ts';
import { indexMembers, membersOf } from '../../src/reconcile/read/members.ts';
import type { Roster } from '../../src/reconcile/read/roster.ts';
import { createRunNotes } from '../../src/reconcile/run-notes.ts';

/** How many turns others have had until this is done. */
async function turnsDuring(work: () => Promise<void>): Promise<number> {
  let turns = 0;
  let next: NodeJS.Immediate;
  const take = () => {
    turns += 1;
    next = setImmediate(take);
  };
  next = setImmediate(take);
  await work();
  clearImmediate(next);
  return turns;
}

const members = Array.from(
  { length: 300_000 },
  (_, at): TeamMember => ({
    id: BigInt(at + 1),
    name: null,
    role: null,
    email: `a${at}@example.com`,
    phone: null,
  }),
);

it('the index of the members, of their addresses, and the count of those whom nobody lists', async () => {
  expect(await turnsDuring(() => indexMembers({ members }))).toBeGreaterThan(1);
  const listed = membersOf({ members });
  expect([listed.size, listed.get(7n)]).toEqual([members.length, members[6]]);
  expect(await turnsDuring(() => indexMembers({ members }))).toBe(0);
  expect(await turnsDuring(() => indexAddresses(listed))).toBeGreaterThan(1);
  const roster = { users: listed, members: listed, rejected: [], unresolved: [] } as unknown as Roster;
  expect(
    await turnsDuring(() =>
      noteRoster(
        roster,
        createRunNotes(() => undefined),
      ),
    ),
  ).toBeGreaterThan(1);
});
