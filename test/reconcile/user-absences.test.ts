import { describe, expect, it } from 'vitest';
import type { AbsenceDecision } from '../../src/model/absence.ts';
import type { Id } from '../../src/model/id.ts';
import { readEverybody } from '../../src/reconcile/read/ask.ts';
import { applyUserAbsences } from '../../src/reconcile/apply-users.ts';
import { createRunNotes } from '../../src/reconcile/run-notes.ts';
import type { UsersPlan } from '../../src/reconcile/plan-users.ts';
import { readRoster } from '../../src/reconcile/read/roster.ts';
import { createMirrorStandIn } from './mirror-stand-in.ts';
import { createServiceStandIn } from './service-stand-in.ts';
import { makeState, shown, teamOf } from './states.ts';

const ids = Array.from({ length: 20 }, (_, i) => BigInt(i + 1));
const valuesOf = (id: Id) => ({ email: `user${id}@example.com`, phone: `1555010${id}` });
const team = teamOf([]);

/** Users 1 and 2 are missing, and the service does not take these addresses. @returns what is said of them */
async function judge(refused: readonly string[]) {
  const known = ids.map((id) => ({
    ...makeState({ base: valuesOf(id), mirror: valuesOf(id), service: null }),
    id,
  }));
  const service = createServiceStandIn(ids.slice(2).map((id) => ({ ...shown, ...valuesOf(id), id })));
  service.refusesAddress = (address) => refused.includes(address);
  const decisions: AbsenceDecision[] = [];
  const mirror = Object.assign(createMirrorStandIn(known), {
    population: ids.length,
    applyAbsences: (_: string, decision: AbsenceDecision) => {
      decisions.push(decision);
      return Promise.resolve([]);
    },
  });
  const notes = createRunNotes();
  const { roster } = await readRoster(service, mirror, team, await readEverybody(service));
  const absent = [1n, 2n].map((id) => ({ id, missingForMs: 3_600_000 }));
  await applyUserAbsences(
    { service, mirror, notes, monotonicMs: () => 0 },
    { look: { roster }, absent } as unknown as UsersPlan,
    { confirmAfterMs: 600_000 },
  );
  return { gone: decisions.flatMap(({ gone }) => gone), roster, warnings: notes.warnings };
}

describe('applyUserAbsences', () => {
  it('marks a missing user as gone if the service refuses only addresses of another user', async () => {
    const { gone, roster, warnings } = await judge(['user1@example.com']);
    expect(roster).toMatchObject({ refusedLookups: 1, unproven: new Set([1n]) });
    expect(gone).toEqual([2n]);
    expect(warnings).toEqual([
      '1 users are missing, but not marked as gone: the service does not accept one of their addresses',
    ]);
  });

  it.each([
    ['the email of the user', ['user1@example.com', 'user2@example.com']],
    ['the phone of the user', ['15550101', '15550102']],
    ['all addresses', ['user1@example.com', 'user2@example.com', '15550101', '15550102']],
  ])('does not mark a user as gone while the service refuses %s (A2)', async (_, refused) => {
    const { gone, warnings } = await judge(refused);
    expect(gone).toEqual([]);
    expect(warnings).toEqual([
      '2 users are missing, but not marked as gone: the service does not accept one of their addresses',
    ]);
  });
});
