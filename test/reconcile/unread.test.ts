import { describe, expect, it } from 'vitest';
import { type Field, fields } from '../../src/model/fields.ts';
import type { Id } from '../../src/model/id.ts';
import type { ServiceUser } from '../../src/model/user.ts';
import { createRunNotes } from '../../src/reconcile/run-notes.ts';
import { planInLists } from './in-lists.ts';
import type { ConflictPolicy } from '../../src/reconcile/merge/merge-field.ts';
import { holdAll, base, makeState, member, row, shown, without } from './states.ts';
import { noteUnread } from '../../src/reconcile/unread.ts';

const odd = { unreadable: '{"a":1}' };
const unreadable = (field: Field): ServiceUser => ({ ...shown, [field]: odd });
const edits = {
  name: { name: { first: 'Robin', last: 'Berg' } },
  email: { email: 'robin@example.com' },
  phone: { phone: '15550177' },
  roleId: { roleId: 9n },
} as const;

describe('a plan for an edited field that the service does not show', () => {
  it.each(fields)('lets the edit wait without a hold if %s is unreadable', (field) => {
    for (const policy of ['hold', 'service-wins', 'mirror-wins'] satisfies ConflictPolicy[]) {
      const state = makeState({ mirror: edits[field], service: unreadable(field) });
      const plan = planInLists(state, member, { ...holdAll, [field]: policy });
      expect(plan).toMatchObject({ moves: [], holds: [], releases: [], patch: {}, write: null });
    }
  });

  it.each(fields)('holds a left-out email or phone, and lets a left-out name or role wait: %s', (field) => {
    const mayBeEmpty = field === 'email' || field === 'phone';
    for (const policy of ['hold', 'service-wins', 'mirror-wins'] satisfies ConflictPolicy[]) {
      const state = { ...makeState({ mirror: edits[field] }), service: without(field) };
      const plan = planInLists(state, member, { ...holdAll, [field]: policy });
      expect(plan).toMatchObject({ moves: [], patch: {}, write: null });
      const values = { base: base[field], mirror: state.mirror?.[field], service: undefined };
      const detail = 'edited here, but the service now leaves it out: it was emptied there, or is not shown';
      expect(plan.holds).toMatchObject(mayBeEmpty ? [{ field, reason: 'conflict', detail, ...values }] : []);
    }
  });
});

describe('a user with an unreadable field', () => {
  it('makes a run store all other values of a new user, and pull the field once it is readable', () => {
    const { write } = planInLists(
      makeState({ base: null, mirror: null, service: unreadable('phone') }),
      member,
      holdAll,
    );
    expect(write).toMatchObject({ mirror: { phone: null }, base: { phone: null, email: base.email } });
    const next = makeState({ base: write?.base ?? null, mirror: { ...row, ...write?.mirror } });
    expect(planInLists(next, member, holdAll).moves).toMatchObject([{ kind: 'pull', field: 'phone' }]);
  });
});

describe('noteUnread', () => {
  const stateOf = (of: Id, service: ServiceUser) => ({ ...makeState(), id: of, service });
  const told = (states: Parameters<typeof noteUnread>[1], shownUsers = states.length) => {
    const notes = createRunNotes();
    noteUnread(notes, states, shownUsers);
    return [notes.warnings, notes.reasons];
  };

  it('warns with field, cause and users, and makes the run partial if over half cannot be read (A10)', () => {
    const both = { ...unreadable('phone'), roleId: odd };
    const states = [
      ...[1n, 2n, 3n, 4n, 5n].map((of) => stateOf(of, both)),
      ...[6n, 7n, 8n, 9n, 10n, 11n].map((of) => stateOf(of, without('email'))),
      stateOf(12n, shown),
    ];
    const email =
      "the email of 6 users, who had one, is left out of the service's answers, and stays as it is on both sides: 6, 7, 8, …";
    const unread = ['phone', 'role_id'].map(
      (column) =>
        `the ${column} of 5 users cannot be read in the service's answers, and stays as it is on both sides: 1, 2, 3, …`,
    );
    expect(told(states, 10)).toEqual([[email, ...unread], []]);
    expect(told(states, 9)).toEqual([[email], unread]);
  });
});
