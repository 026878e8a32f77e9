import { describe, expect, it } from 'vitest';
import { type Field, fields } from '../../src/model/fields.ts';
import type { BaseUser } from '../../src/model/user.ts';
import type { Hold } from '../../src/model/user-plan.ts';
import type { UserState } from '../../src/model/user-state.ts';
import { holdAll, base, makeState, member, row, shown } from './states.ts';
import { planResyncOf } from '../../src/reconcile/merge/plan-resync.ts';
import { applyPlan } from './apply-plan.ts';
import { inLists } from './in-lists.ts';

const there = { name: 'Robin Doe', email: 'there@example.com', phone: '15550177', roleId: 9n };
const taken: Omit<BaseUser, 'joined'> = { ...there, name: { first: 'Robin', last: 'Doe' } };
const here = {
  name: { first: 'Eva', last: 'Dahl' },
  email: 'here@example.com',
  phone: '15550200',
  roleId: 5n,
} as const;
const serviceOf = (field: Field) => (field === 'name' ? base.joined : base[field]);
const holdOf = (field: Field, more: Partial<Hold> = {}): Hold => ({
  field,
  reason: 'refused',
  detail: '',
  base: base[field],
  mirror: here[field],
  service: serviceOf(field),
  ...more,
});

describe('a resync', () => {
  const resync = (state: UserState, of: typeof member | null = member) =>
    inLists(planResyncOf(state, of ?? undefined, holdAll));

  it.each(fields)('pulls a new service value of %s, and ends the hold on the field', (field) => {
    const plan = resync(makeState({ service: { [field]: there[field] }, held: [holdOf(field)] }));
    expect(plan).toMatchObject({
      case: 'merge',
      moves: [{ kind: 'pull', field }],
      holds: [],
      releases: [field],
    });
    expect(plan.write?.mirror[field]).toEqual(taken[field]);
    expect(plan.write?.base[field]).toEqual(taken[field]);
  });

  it.each(fields)('holds an edit of %s for review, or as a conflict if the service changed too', (field) => {
    for (const service of [shown[field], there[field]]) {
      const state = makeState({ mirror: { [field]: here[field] }, service: { [field]: service } });
      const plan = resync(state);
      const reason = service === shown[field] ? 'review' : 'conflict';
      const hold = { field, reason, base: base[field], mirror: here[field], service };
      expect(plan).toMatchObject({ moves: [], holds: [hold], patch: {} });
      const after = applyPlan(state, plan);
      expect(after.mirror?.[field]).toEqual(here[field]);
      expect(after.base?.[field]).toEqual(service === shown[field] ? base[field] : taken[field]);
    }
  });

  it('holds an edited email for review, and updates base if the service shows the old email in another case', () => {
    const state = makeState({ mirror: { email: here.email }, service: { email: 'ANNE@example.com' } });
    const plan = resync(state);
    expect(plan.holds).toMatchObject([{ reason: 'review', base: 'ANNE@example.com' }]);
    expect(applyPlan(state, plan).base?.email).toBe('ANNE@example.com');
  });

  it.each(fields)('keeps an earlier hold on %s, and changes neither mirror nor base', (field) => {
    for (const hold of [holdOf(field), holdOf(field, { reason: 'asked', endsInMs: 1, mirror: null })]) {
      const state = makeState({
        mirror: { [field]: here[field], split: 'known' },
        held: [hold],
        observedDiffers: true,
      });
      const { write, ...plan } = resync(state);
      expect(plan).toMatchObject({ moves: [], holds: [], releases: [], held: [field] });
      expect(write?.mirror).toMatchObject({ [field]: here[field], split: 'known' });
      expect(write?.base).toMatchObject({ [field]: base[field], joined: base.joined });
    }
  });

  it.each(fields)('holds an edit of %s for review again although a person had decided on it', (field) => {
    for (const decision of ['approved', 'resolved'] as const) {
      const state = makeState({ mirror: { [field]: here[field] }, held: [holdOf(field, { decision })] });
      const { holds } = resync(state);
      expect(holds).toMatchObject([{ field, reason: 'review', mirror: here[field] }]);
      expect(holds[0]?.decision).toBeUndefined();
    }
  });

  it('settles a user without a base, and restores a user whose mirror row was lost', () => {
    const settled = resync(makeState({ base: null }));
    expect(settled.moves.map(({ kind }) => kind)).toEqual(fields.map(() => 'settle'));
    expect(resync(makeState({ mirror: null }))).toMatchObject({ case: 'adopt', holds: [], moves: [] });
  });

  it('pulls a phone even if the service shows an older version of the user than before (A27)', () => {
    const state = { ...makeState({ service: { phone: there.phone } }), stale: true };
    expect(resync(state)).toMatchObject({ case: 'merge', moves: [{ kind: 'pull', field: 'phone' }] });
  });

  it('holds the edits of a user who is not read or has an open push for review, except fields already on hold', () => {
    const edited = makeState({
      mirror: { email: here.email, phone: here.phone },
      service: null,
      held: [holdOf('phone')],
    });
    for (const plan of [
      resync(edited),
      resync({ ...edited, hasOpenIntent: true, service: shown }),
      resync(edited, null),
    ])
      expect(plan).toMatchObject({
        holds: [
          { field: 'email', reason: 'review', base: base.email, mirror: here.email, service: base.email },
        ],
        moves: [],
        patch: {},
      });
    expect(resync({ ...edited, base: undefined }).holds).toEqual([]);
    const gone = { ...edited, mirror: { ...row, email: here.email, gone: true } };
    expect(resync(gone, null).holds).toEqual([]);
  });
});
