import { describe, expect, it } from 'vitest';
import { type Field, fields } from '../../src/model/fields.ts';
import type { Hold } from '../../src/model/user-plan.ts';
import type { Id } from '../../src/model/id.ts';
import type { ServiceUser } from '../../src/model/user.ts';
import { createRunNotes, tell } from '../../src/reconcile/run-notes.ts';
import { schemaDrift } from '../../src/reconcile/guard/limits.ts';
import { planInLists } from './in-lists.ts';
import type { ConflictPolicy } from '../../src/reconcile/merge/merge-field.ts';
import { holdAll, base, makeState, member, row, shown, without } from './states.ts';
import { isFew, unreadNotes } from '../../src/reconcile/unread.ts';

const odd = { unreadable: '{"a":1}' };
const unreadable = (field: Field): ServiceUser => ({ ...shown, [field]: odd });
const edits = {
  name: { name: { first: 'Robin', last: 'Berg' } },
  email: { email: 'robin@example.com' },
  phone: { phone: '15550177' },
  roleId: { roleId: 9n },
} as const;

describe('an edit of a field that is not shown', () => {
  it.each(fields)('waits, and is not held, where %s cannot be read', (field) => {
    for (const policy of ['hold', 'service-wins', 'mirror-wins'] satisfies ConflictPolicy[]) {
      const state = makeState({ mirror: edits[field], service: unreadable(field) });
      const plan = planInLists(state, member, { ...holdAll, [field]: policy });
      expect(plan).toMatchObject({ moves: [], holds: [], releases: [], patch: {}, write: null });
    }
  });

  it.each(fields)('of %s is held where it may have been emptied, whatever the policy', (field) => {
    const mayBeEmpty = field === 'email' || field === 'phone';
    for (const policy of ['hold', 'service-wins', 'mirror-wins'] satisfies ConflictPolicy[]) {
      const state = { ...makeState({ mirror: edits[field] }), service: without(field) };
      const plan = planInLists(state, member, { ...holdAll, [field]: policy });
      expect(plan).toMatchObject({ moves: [], patch: {}, write: null });
      const values = { base: base[field], mirror: state.mirror?.[field], service: undefined };
      expect(plan.holds).toMatchObject(mayBeEmpty ? [{ field, reason: 'conflict', ...values }] : []);
    }
  });

  it('is sent again, and no longer held, once the service shows what it had', () => {
    const hidden = { ...makeState({ mirror: edits.phone }), service: without('phone') };
    const held = planInLists(hidden, member, holdAll).holds.map((hold): Hold => ({ ...hold, service: null }));
    expect(planInLists({ ...hidden, held }, member, holdAll)).toMatchObject({ holds: [], held: ['phone'] });
    expect(planInLists({ ...hidden, held, service: shown }, member, holdAll)).toMatchObject({
      releases: ['phone'],
      patch: { phone: '15550177' },
    });
  });

  it.each(['unreadable', 'left out'] as const)('keeps the hold that it has: %s', (why) => {
    const hold: Hold = {
      field: 'phone',
      reason: 'refused',
      detail: '',
      base: '1',
      mirror: '2',
      service: '3',
    };
    const service = why === 'unreadable' ? unreadable('phone') : without('phone');
    const state = { ...makeState({ mirror: edits.phone, held: [hold] }), service };
    expect(planInLists(state, member, holdAll)).toMatchObject({ held: ['phone'], holds: [], releases: [] });
  });

  it('costs the other fields nothing', () => {
    const service = { ...unreadable('phone'), email: 'moved@example.com' };
    const plan = planInLists(makeState({ mirror: edits.phone, service }), member, holdAll);
    expect(plan.moves).toMatchObject([{ kind: 'pull', field: 'email' }]);
    expect(plan.write).toMatchObject({ mirror: { phone: '15550177' }, base: { phone: base.phone } });
  });
});

describe('a user with a field that nobody can read', () => {
  it('without a base is left alone: nothing is agreed on by halves', () => {
    const state = makeState({ base: null, service: unreadable('phone'), observedDiffers: true });
    expect(planInLists(state, member, holdAll)).toMatchObject({ case: 'merge', moves: [], write: null });
  });

  it('is adopted without it, and pulled once it can be read', () => {
    const { write } = planInLists(
      makeState({ base: null, mirror: null, service: unreadable('phone') }),
      member,
      holdAll,
    );
    expect(write).toMatchObject({ mirror: { phone: null }, base: { phone: null, email: base.email } });
    const next = makeState({ base: write?.base ?? null, mirror: { ...row, ...write?.mirror } });
    expect(planInLists(next, member, holdAll).moves).toMatchObject([{ kind: 'pull', field: 'phone' }]);
  });

  it('who comes back keeps the edit from before, held', () => {
    const state = makeState({ mirror: { ...edits.phone, gone: true }, service: unreadable('phone') });
    const { holds, write } = planInLists(state, member, holdAll);
    expect(holds).toMatchObject([{ field: 'phone', reason: 'gone', mirror: '15550177' }]);
    expect(write).toMatchObject({ mirror: { phone: '15550177' }, base: { phone: base.phone } });
  });
});

describe('what a run says', () => {
  it.each([
    // users, of so many, maxDrift, few
    [0, 1, 0.2, true],
    [1, 1, 0.2, false],
    [1, 2, 0.2, true],
    [2, 2, 0.2, false],
    [2, 4, 0.2, true],
    [3, 6, 0.2, true],
    [3, 5, 0.2, false],
    [4, 19, 0.2, false],
    [4, 20, 0.2, true],
    [5, 20, 0.2, false],
    [20, 20, 1, true],
    [2, 2, 1, true],
  ])('%i of %i users, at %d, are few: %s', (users, population, maxDrift, few) => {
    expect(isFew(users, population, maxDrift)).toBe(few);
  });

  const stateOf = (of: Id, service: ServiceUser) => ({ ...makeState(), id: of, service });

  it('names field, cause and users, and counts a user once', () => {
    const both = { ...unreadable('phone'), roleId: odd };
    const states = [
      ...[1n, 2n, 3n, 4n, 5n].map((of) => stateOf(of, both)),
      stateOf(6n, without('email')),
      stateOf(7n, shown),
    ];
    const notes = createRunNotes();
    tell(notes, unreadNotes(states, { population: 30, maxDrift: 0.2 }, []));
    expect(notes.reasons).toEqual([]);
    expect(notes.warnings).toEqual([
      "the email of 1 users, who had one, is left out of the service's answers, and stays as it is on both sides: 6",
      "the phone of 5 users cannot be read in the service's answers, and stays as it is on both sides: 1, 2, 3 and 2 more",
      "the role_id of 5 users cannot be read in the service's answers, and stays as it is on both sides: 1, 2, 3 and 2 more",
    ]);
    tell(notes, unreadNotes(states, { population: 29, maxDrift: 0.2 }, []));
    expect(notes.reasons).toEqual(notes.warnings);
    const agreed = createRunNotes();
    tell(agreed, unreadNotes(states, { population: 29, maxDrift: 0.2 }, ['phone', 'roleId']));
    expect([agreed.warnings, agreed.reasons]).toEqual([notes.warnings, []]);
    const partly = createRunNotes();
    tell(partly, unreadNotes(states, { population: 24, maxDrift: 0.2 }, ['phone', 'email']));
    expect(partly.reasons).toEqual([expect.stringContaining('role_id of 5')]);
  });

  it('is nothing where all is shown, or was never there', () => {
    const notes = createRunNotes();
    const never = { ...makeState({ base: { phone: null } }), service: without('phone') };
    const none = [makeState(), never, makeState({ service: null })];
    tell(notes, unreadNotes(none, { population: 1, maxDrift: 0 }, []));
    expect([...notes.warnings, ...notes.reasons]).toEqual([]);
  });

  it('is that the plan is refused, where too many cannot be read', () => {
    const states = Array.from({ length: 5 }, (_, at) => stateOf(BigInt(at), unreadable('phone')));
    const limits = { maxDrift: 0.2, minPopulation: 20 } as Parameters<typeof schemaDrift>[1];
    expect(schemaDrift({ states, shown: 20 }, limits)).toEqual([{ field: 'phone', count: 5 }]);
    expect(schemaDrift({ states: states.slice(1), shown: 20 }, limits)).toEqual([]);
    expect(schemaDrift({ states, shown: 25 }, limits)).toEqual([]);
    expect(schemaDrift({ states, shown: 19 }, limits)).toEqual([]);
  });
});
