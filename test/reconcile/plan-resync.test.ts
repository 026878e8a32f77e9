import { describe, expect, it } from 'vitest';
import { type Field, fields } from '../../src/model/fields.ts';
import type { BaseUser } from '../../src/model/user.ts';
import type { Hold } from '../../src/model/user-plan.ts';
import type { UserState } from '../../src/model/user-state.ts';
import { holdAll, base, makeState, member, row, shown } from './states.ts';
import { planResolved, planResyncOf } from '../../src/reconcile/merge/plan-resync.ts';
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

describe('taking everything from the service', () => {
  const resync = (state: UserState, of: typeof member | null = member) =>
    inLists(planResyncOf(state, of ?? undefined, holdAll));

  it.each(fields)('pulls %s', (field) => {
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

  it.each(fields)('settles %s where the mirror has it already', (field) => {
    const plan = resync(makeState({ mirror: { [field]: taken[field] }, service: { [field]: there[field] } }));
    expect(plan).toMatchObject({ moves: [{ kind: 'settle', field }], holds: [] });
    expect(plan.write?.base[field]).toEqual(taken[field]);
  });

  it.each(fields)('holds an edit of %s as a conflict, and base takes what the service has', (field) => {
    for (const service of [shown[field], there[field]]) {
      const state = makeState({ mirror: { [field]: here[field] }, service: { [field]: service } });
      const plan = resync(state);
      const hold = { field, reason: 'conflict', base: base[field], mirror: here[field], service };
      expect(plan).toMatchObject({ moves: [], holds: [hold], patch: {} });
      const after = applyPlan(state, plan);
      expect(after.mirror?.[field]).toEqual(here[field]);
      expect(after.base?.[field]).toEqual(service === shown[field] ? base[field] : taken[field]);
    }
  });

  it.each(fields)('leaves a field alone that waits already: %s', (field) => {
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

  it.each(fields)('holds an edit of %s anew that a person let pass before', (field) => {
    for (const decision of ['approved', 'resolved'] as const) {
      const state = makeState({ mirror: { [field]: here[field] }, held: [holdOf(field, { decision })] });
      const { holds } = resync(state);
      expect(holds).toMatchObject([{ field, reason: 'conflict', mirror: here[field] }]);
      expect(holds[0]?.decision).toBeUndefined();
    }
  });

  it.each(fields)('ends a hold of %s that was asked for and is over', (field) => {
    const held = [holdOf(field, { reason: 'asked', endsInMs: 0 })];
    expect(resync(makeState({ held }))).toMatchObject({
      moves: [],
      holds: [],
      releases: [field],
      write: null,
    });
  });

  it('settles all fields of a user without a base, and adopts whose row was lost', () => {
    const settled = resync(makeState({ base: null }));
    expect(settled.moves.map(({ kind }) => kind)).toEqual(fields.map(() => 'settle'));
    expect(resync(makeState({ mirror: null }))).toMatchObject({ case: 'adopt', holds: [], moves: [] });
  });

  it('believes an older version', () => {
    const state = { ...makeState({ service: { phone: there.phone } }), stale: true };
    expect(resync(state)).toMatchObject({ case: 'merge', moves: [{ kind: 'pull', field: 'phone' }] });
  });

  it('holds the edits of users of whom nothing can be taken, but for what waits already', () => {
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
          { field: 'email', reason: 'conflict', base: base.email, mirror: here.email, service: base.email },
        ],
        moves: [],
        patch: {},
      });
    expect(resync({ ...edited, base: undefined }).holds).toEqual([]);
    const gone = { ...edited, mirror: { ...row, email: here.email, gone: true } };
    expect(resync(gone, null).holds).toEqual([]);
  });

  it('holds an edited name over the one that was agreed on', () => {
    const { holds } = resync(makeState({ mirror: { name: here.name }, service: null }));
    expect(holds).toMatchObject([
      { field: 'name', base: base.name, mirror: here.name, service: base.joined },
    ]);
  });
});

describe('a held field that a person decided', () => {
  const state = (field: Field) => ({
    ...makeState({ service: null }),
    mirror: { ...row, [field]: here[field], joined: 'As Shown', split: 'known' as const },
    base,
  });
  const conflict = (field: Field, more: Partial<Hold> = {}) =>
    holdOf(field, { reason: 'conflict', service: there[field], ...more });

  it.each(fields)('is taken from the service: %s', (field) => {
    const { id, fields: decided, write } = planResolved(state(field), conflict(field), 'service');
    const values = { base: base[field], mirror: here[field], service: there[field] };
    expect([id, decided[field]]).toEqual([7n, { kind: 'pull', values, ends: true }]);
    expect(write.mirror[field]).toEqual(taken[field]);
    expect(write.base).toEqual({
      ...base,
      [field]: taken[field],
      joined: field === 'name' ? 'Robin Doe' : base.joined,
    });
    expect(write.mirror.split).toBe(field === 'name' ? 'guessed' : 'known');
    const { role, resolved } = row;
    const name = field === 'name' ? 'Robin Doe' : 'As Shown';
    expect(write.observed).toEqual({ name, role, resolved, details: null });
    for (const other of fields.filter((one) => one !== field))
      expect(decided[other]).toEqual({ kind: 'wait' });
  });

  it.each(fields)('stays as the mirror has it, over the value of the service: %s', (field) => {
    const { fields: decided, write } = planResolved(state(field), conflict(field), 'mirror');
    expect(decided[field]).toMatchObject({ kind: 'push', ends: true });
    expect(write.expected).toMatchObject({ [field]: here[field] });
    expect(write.mirror).toMatchObject({ [field]: here[field], split: 'known' });
    expect(write.base[field]).toEqual(taken[field]);
    expect(write.observed.name).toBe('As Shown');
  });

  it('goes by what the service has shown since', () => {
    const hold = conflict('email', { shown: 'since@example.com' });
    for (const take of ['mirror', 'service'] as const)
      expect(planResolved(state('email'), hold, take).write.base.email).toBe('since@example.com');
  });

  it('has an empty value where both sides changed it, and what was agreed on where nothing was said', () => {
    const baseAfter = (reason: Hold['reason']) =>
      planResolved(state('phone'), conflict('phone', { reason, service: null }), 'service').write.base.phone;
    expect([baseAfter('conflict'), baseAfter('refused'), baseAfter('returned')]).toEqual([
      null,
      base.phone,
      base.phone,
    ]);
    const refused = conflict('phone', { reason: 'refused' });
    expect(planResolved(state('phone'), refused, 'service').write.base.phone).toBe(there.phone);
  });

  it('drops another split of the same name', () => {
    const agreed = { ...base, name: { first: 'Anne', last: 'Marie Berg' }, joined: 'Anne Marie Berg' };
    const name = { first: 'Anne Marie', last: 'Berg' };
    const cut = { ...state('name'), base: agreed, mirror: { ...row, name, split: 'known' as const } };
    const hold = conflict('name', { mirror: name, service: 'Anne Marie Berg' });
    const { write } = planResolved(cut, hold, 'service');
    expect(write).toMatchObject({ mirror: { name: agreed.name, split: 'guessed' }, base: agreed });
    // The earlier halves come back with what was known of them, and another name is a guess.
    const known = { ...cut, edits: { name: { id: 1n, isSince: true, madeMs: 0, split: 'known' as const } } };
    expect(planResolved(known, hold, 'service').write.mirror.split).toBe('known');
    const renamed = { ...hold, service: there.name };
    expect(planResolved(known, renamed, 'service').write.mirror.split).toBe('guessed');
    expect(planResolved(cut, hold, 'mirror').write).toMatchObject({
      mirror: { name, split: 'known' },
      base: agreed,
    });
  });
});
