import { describe, expect, it } from 'vitest';
import { canonicalPhone } from '../../src/model/canonical.ts';
import type { Id } from '../../src/model/id.ts';
import type { ServiceUser } from '../../src/model/user.ts';
import { judgeAbsences } from '../../src/reconcile/missing-rows.ts';
import { createRunNotes } from '../../src/reconcile/run-notes.ts';
import { look } from '../../src/reconcile/look.ts';
import { planUsers, type RunContext } from '../../src/reconcile/plan-users.ts';
import { holdAll, makeState, noLimits as guard, teamOf } from './states.ts';
import { findSharedAddresses } from '../../src/verify/compare-users.ts';
import { countVisits } from '../support/count-visits.ts';
import { createMirrorStandIn } from './mirror-stand-in.ts';
import { createServiceStandIn } from './service-stand-in.ts';

const idsUpTo = (count: number) => Array.from({ length: count }, (_, index) => BigInt(index + 1));
const agreed = (id: Id) => ({ email: `user${id}@example.com`, phone: `1555${id}`, roleId: 4n });
const member = (id: Id) => ({ id, name: 'Anne Berg', role: 'agent', email: null, phone: null });

/** Two sides that look everything up by key, of a team that shows its users by address alone. */
function placesOf(count: number, edited: number, phone: (id: Id) => string) {
  const ids = idsUpTo(count);
  const users = ids.map((id): ServiceUser => ({ id, name: 'Anne Berg', raw: {}, ...agreed(id) }));
  const byAddress = new Map(
    users.flatMap((user) => [[user.email, user] as const, [user.phone, user] as const]),
  );
  const service = createServiceStandIn([]);
  service.users = ({ emails, phones }) => {
    const found = [...emails, ...phones.map(canonicalPhone)].flatMap(
      (address) => byAddress.get(address) ?? [],
    );
    return Promise.resolve({ users: found, rejected: [], requestId: null });
  };
  const states = ids.map((id) => ({
    ...makeState({
      base: agreed(id),
      mirror: { ...agreed(id), ...(id <= edited ? { phone: phone(id) } : {}) },
    }),
    id,
  }));
  const mirror = createMirrorStandIn(states);
  const addressesOf = mirror.readAddresses.bind(mirror);
  mirror.readAddresses = (whose) => addressesOf(whose === 'edited' ? ids.slice(0, edited) : whose);
  mirror.readPresentUsers = () => Promise.resolve(ids.map((id) => ({ id, ...agreed(id) })));
  const places: RunContext = { service, mirror, notes: createRunNotes(), monotonicMs: () => 0 };
  return { places, team: teamOf(ids.map(member)) };
}

const plans = (whom: 'everybody' | 'edited', phone: (id: Id) => string) => (count: number) => {
  const { places, team } = placesOf(count, count / 2, phone);
  return async () => {
    const seen = await look(
      places,
      team,
      whom === 'edited' ? (await places.mirror.readAddresses('edited')).ofUsers : whom,
    );
    const { plans: made } = await planUsers(places, seen, { policy: holdAll, guard });
    expect(made.length).toBeGreaterThanOrEqual(count / 2);
  };
};

/** Twice as many rows cost twice as much, and not four times. */
describe('a large team', () => {
  it.each<readonly [string, (count: number) => () => unknown]>([
    ['edits of half of a team', plans('edited', (id) => `1777${id}`)],
    ['the same phone for half of a team', plans('edited', () => '15550100')],
    ['a whole team, half of it edited', plans('everybody', (id) => `1777${id}`)],
    ['a whole team, half of it given the same phone', plans('everybody', () => '15550100')],
    [
      'missing rows',
      (count) => () => {
        const absent = idsUpTo(count).map((id) => ({ id, missingForMs: 1 }));
        const decided = new Map(idsUpTo(count).map((id) => [id, 'found' as const]));
        const settings = { confirmAfterMs: 1 };
        judgeAbsences('tags', { absent, population: count }, settings, decided);
      },
    ],
    [
      'notes',
      (count) => () => {
        const notes = createRunNotes();
        for (const id of idsUpTo(count)) {
          notes.partial(`user ${id}`);
          notes.partial(`user ${id}`);
          notes.warn(`user ${id}`);
          notes.warn(`user ${id}`);
        }
        expect([notes.reasons.length, notes.warnings.length]).toEqual([count, count]);
      },
    ],
    [
      'an address that everybody has',
      (count) => () => {
        const users = idsUpTo(count).map((id) => ({ id, email: 'a@example.com', phone: '1' }));
        expect(findSharedAddresses('mirror', users).map(({ ids }) => ids.length)).toEqual([count, count]);
      },
    ],
  ])('makes a run look at no more than 2.5 times the elements for twice the rows: %s', async (_, workOn) => {
    const [some, twice] = [await countVisits(workOn(600)), await countVisits(workOn(1200))];
    expect(twice / Math.max(some, 1)).toBeLessThan(2.5);
  });
});
