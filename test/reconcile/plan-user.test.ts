import { describe, expect, it } from 'vitest';
import { type Field, fields, type UserValues } from '../../src/model/fields.ts';
import { decideEach, type Hold, type HoldReason } from '../../src/model/user-plan.ts';
import type { UserState } from '../../src/model/user-state.ts';
import { planInLists } from './in-lists.ts';
import type { Policy } from '../../src/reconcile/merge/merge-field.ts';
import { takeValues } from '../../src/reconcile/merge/service-values.ts';
import { holdAll, base, makeState, member, row, shown, without } from './states.ts';
import { applyPlan } from './apply-plan.ts';

const mirrorWins: Policy = {
  name: 'mirror-wins',
  email: 'mirror-wins',
  phone: 'mirror-wins',
  roleId: 'mirror-wins',
};
const serviceWins: Policy = {
  name: 'service-wins',
  email: 'service-wins',
  phone: 'service-wins',
  roleId: 'service-wins',
};
const merge = (state: UserState, policy = holdAll) => planInLists(state, member, policy);

const otherValues: UserValues = {
  name: { first: 'Robin', last: 'Doe' },
  email: 'robin@example.com',
  phone: '15550177',
  roleId: 9n,
};
const otherShown = { name: 'Robin Doe', email: 'robin@example.com', phone: '15550177', roleId: 9n };

describe('a merge', () => {
  it('settles with the bytes of the service', () => {
    const { write, moves } = merge(
      makeState({ mirror: { email: 'robin@example.com' }, service: { email: 'Robin@Example.com' } }),
    );
    expect(moves).toMatchObject([{ kind: 'settle', field: 'email' }]);
    expect(write).toMatchObject({
      mirror: { email: 'Robin@Example.com' },
      base: { email: 'Robin@Example.com' },
    });
  });

  it('refreshes read-only values of the service beside a pending edit', () => {
    const state = makeState({ mirror: { email: otherValues.email, role: 'admin' }, observedDiffers: true });
    const { write, patch } = merge(state);
    expect(patch).toEqual({ email: 'robin@example.com' });
    expect(write).toMatchObject({
      mirror: { email: 'robin@example.com' },
      base: { email: 'anne@example.com' },
      observed: { role: 'agent', resolved: true },
    });
  });

  it.each(fields)('lets the policy decide over %s alone', (field) => {
    const said = field === 'name' ? 'Eva' : null;
    const both = makeState({ mirror: { ...otherValues }, service: { ...otherShown, [field]: said } });
    const wins = (policy: 'service-wins' | 'mirror-wins') => merge(both, { ...holdAll, [field]: policy });
    expect(wins('service-wins').moves.find((move) => move.field === field)?.kind).toBe('pull');
    expect(wins('mirror-wins').patch).toEqual({ [field]: otherValues[field] });
  });

  it('pulls a field of a user whose name the service has emptied', () => {
    const { holds, write } = merge(makeState({ service: { name: '', email: otherShown.email } }));
    expect(holds.map(({ field }) => field)).toEqual(['name']);
    expect(write?.mirror.email).toBe(otherShown.email);
  });

  it('sends a field that waited for the name once the name is sent as well', () => {
    const agreed = { name: { first: 'Anne Marie', last: 'Berg' }, joined: 'Anne Marie Berg' };
    const { name, email } = otherValues;
    const hold = { field: 'email', reason: 'unsupported', detail: '', mirror: email } as const;
    const state = makeState({
      base: agreed,
      mirror: { name, email },
      service: { name: agreed.joined },
      held: [{ ...hold, base: base.email, service: base.email }],
    });
    expect(merge(state)).toMatchObject({ patch: { name, email }, releases: ['email'] });
  });
});

describe('the split of a name', () => {
  it('turns a known split into a guess if the service renames the user', () => {
    const { write } = merge(makeState({ mirror: { split: 'known' }, service: { name: 'Anne Marie Berg' } }));
    expect(write?.mirror).toMatchObject({ name: { first: 'Anne Marie', last: 'Berg' }, split: 'guessed' });
    expect(write?.base).toMatchObject({
      name: { first: 'Anne Marie', last: 'Berg' },
      joined: 'Anne Marie Berg',
    });
  });

  it.each(['known', 'guessed'] as const)('leaves a split %s when an edit is settled', (split) => {
    const name = { first: 'Anne', last: 'Marie Berg' };
    const { write } = merge(makeState({ mirror: { name, split }, service: { name: 'Anne  Marie Berg' } }));
    expect(write?.mirror).toMatchObject({ name, split });
    expect(write?.base).toMatchObject({ name, joined: 'Anne  Marie Berg' });
  });

  it('leaves a split a guess when mirror and service are equal without a base', () => {
    const { write } = merge(makeState({ base: null }));
    expect(write?.mirror.split).toBe('guessed');
  });

  it('leaves a split a guess after half an edit that the service agrees with', () => {
    const agreed = { joined: 'Anne Marie Berg', name: { first: 'Anne Marie', last: 'Berg' } };
    const half = { first: 'Anne Marie', last: 'Borg' };
    const state = makeState({ base: agreed, mirror: { name: half }, service: { name: 'Anne Marie Borg' } });
    const settled = applyPlan(state, merge(state));
    const again = {
      ...settled,
      mirror: { ...row, ...settled.mirror, name: { ...half, first: 'Anna Marie' } },
    };
    expect(merge(again).holds).toMatchObject([{ field: 'name', reason: 'unsupported' }]);
  });

  it('sends both halves of a name if one was edited', () => {
    const { patch } = merge(makeState({ mirror: { name: { first: 'Robin', last: 'Berg' } } }));
    expect(patch).toEqual({ name: { first: 'Robin', last: 'Berg' } });
  });
});

describe('a merge without a base', () => {
  const state = makeState({
    base: null,
    mirror: { email: 'Anne@Example.com', phone: '15550177', roleId: 5n },
    service: { roleId: 9n },
  });

  it('settles equal fields without a base, and holds different fields with both values', () => {
    const plan = merge(state);
    expect(plan.moves.map(({ kind, field }) => [kind, field])).toEqual([
      ['settle', 'name'],
      ['settle', 'email'],
    ]);
    expect(plan.holds).toMatchObject([
      { field: 'phone', base: undefined, mirror: '15550177', service: '15550100' },
      { field: 'roleId', base: undefined, mirror: 5n, service: 9n },
    ]);
    expect(plan.patch).toEqual({});
    expect(plan.write?.mirror).toMatchObject({ email: 'anne@example.com', phone: '15550177', roleId: 5n });
  });

  it('holds both values without a base in the next run, too', () => {
    const next = merge(applyPlan(state, merge(state)));
    expect(next).toMatchObject({ held: ['phone', 'roleId'], holds: [], moves: [], write: null });
  });

  it('holds half a guess of three words even if the mirror wins', () => {
    const named = makeState({
      base: null,
      mirror: { name: { first: 'Anne Marie', last: 'Borg' } },
      service: { name: 'Anne Marie Berg' },
    });
    const plan = merge(named, mirrorWins);
    expect(plan.patch).toEqual({});
    expect(plan.holds).toMatchObject([{ field: 'name', reason: 'unsupported' }]);
    expect(merge(applyPlan(named, plan), mirrorWins)).toMatchObject({ moves: [], held: ['name'] });
  });

  it('waits without a base if a field is unreadable', () => {
    const { fields: decided } = merge(makeState({ base: null, service: { email: { unreadable: '1' } } }));
    expect(decided).toEqual(decideEach(() => ({ kind: 'wait' })));
  });

  it('takes everything from the service if the service wins', () => {
    const plan = merge(state, serviceWins);
    expect(plan.write?.mirror).toMatchObject({ phone: '15550100', roleId: 9n });
    expect(plan.holds).toEqual([]);
  });
});

describe('a user who is back', () => {
  const back = (given: Parameters<typeof makeState>[0]) =>
    makeState({ ...given, mirror: { gone: true, ...given?.mirror } });

  it('adopts a user who is back', () => {
    const { write, holds, case: userCase } = merge(back({ service: otherShown }));
    expect(userCase).toBe('return');
    expect(holds).toEqual([]);
    expect(write?.mirror).toMatchObject({ ...otherValues, split: 'guessed' });
    expect(write?.base).toMatchObject({ ...otherValues, joined: 'Robin Doe' });
  });

  it.each(fields)('holds an earlier edit of %s, neither pushed nor taken into base', (field) => {
    const state = back({ mirror: { [field]: otherValues[field] } });
    const plan = merge(state);
    const detail = 'the user had left the team and came back; the edit from before waits';
    expect(plan.holds).toMatchObject([{ field, reason: 'returned', detail, mirror: otherValues[field] }]);
    expect(plan).toMatchObject({ moves: [] });
    expect(plan.write?.mirror[field]).toEqual(otherValues[field]);
    expect(plan.write?.base[field]).toEqual(base[field]);
    const next = merge(applyPlan(state, plan));
    expect(next).toMatchObject({ case: 'merge', held: [field], moves: [], write: null, releases: [] });
  });

  it.each(fields)('holds an edit of %s, too, if the service leaves the field out', (field) => {
    const state = { ...back({ mirror: { [field]: otherValues[field] } }), service: without(field) };
    const plan = merge(state);
    expect(plan.holds).toMatchObject([{ field, reason: 'returned' }]);
    expect(plan.write?.mirror[field]).toEqual(otherValues[field]);
    expect(plan.write?.base[field]).toEqual(base[field]);
    expect(plan.write?.base.joined).toBe('Anne Berg');
    expect(merge(applyPlan(state, plan))).toMatchObject({ held: [field], moves: [], write: null });
  });

  it('adopts a user who is back even if the service leaves the name out', () => {
    const { holds, write } = merge({ ...back({}), service: without('name') });
    expect([holds, write?.base]).toEqual([[], base]);
  });

  it('keeps the halves of an edited name that the service has by now', () => {
    const name = { first: 'Anne', last: 'Marie Berg' };
    const { write } = merge(back({ mirror: { name }, service: { name: 'Anne Marie Berg' } }));
    expect(write).toMatchObject({ mirror: { name }, base: { name } });
  });

  it('keeps a new split of a user who is back on hold, and out of base', () => {
    const name = { first: 'Anne Marie', last: 'Berg' };
    const agreed = { name: { first: 'Anne', last: 'Marie Berg' }, joined: 'Anne Marie Berg' };
    const state = back({
      base: agreed,
      mirror: { name, split: 'known' },
      service: { name: 'Anne Marie Berg' },
    });
    const plan = merge(state);
    expect(plan.holds).toMatchObject([{ field: 'name', reason: 'returned', mirror: name }]);
    expect(plan.write).toMatchObject({ mirror: { name, split: 'known' }, base: agreed });
    const next = applyPlan(state, plan);
    expect(merge(next)).toMatchObject({ held: ['name'], moves: [] });
  });

  it('ends an edit of a user who is back if the service shows its very bytes', () => {
    const plan = merge(
      back({ mirror: { email: 'ANNE@example.com' }, service: { email: 'ANNE@example.com' } }),
    );
    expect(plan).toMatchObject({ holds: [], write: { base: { email: 'ANNE@example.com' } } });
  });

  it('keeps no hold on a name that both sides have emptied', () => {
    const plan = merge(back({ mirror: { name: { first: '', last: '' } }, service: { name: '' } }));
    expect(plan).toMatchObject({ holds: [], write: { base: { name: { first: '', last: '' }, joined: '' } } });
  });

  it('keeps the hold of a waiting edit of a user who is back, and ends each finished hold', () => {
    const hold = { reason: 'refused', base: null, mirror: null, service: null, detail: '' } as const;
    const state = back({ mirror: { email: otherValues.email } });
    const plan = merge({
      ...state,
      held: [
        { ...hold, field: 'email' },
        { ...hold, field: 'phone' },
      ],
    });
    expect(plan.holds).toMatchObject([{ field: 'email', reason: 'returned' }]);
    expect(plan.releases).toEqual(['phone']);
  });

  it('brings a user back unresolved if only the team lists them, with the edit held', () => {
    const state = back({ mirror: { email: otherValues.email }, service: null });
    const plan = merge(state);
    expect(plan).toMatchObject({
      case: 'unresolved',
      holds: [{ field: 'email', reason: 'returned' }],
      write: { mirror: { email: 'robin@example.com' }, base: { email: 'anne@example.com' } },
    });
    expect(merge(applyPlan(state, plan))).toMatchObject({ holds: [], write: null });
  });
});

describe('a requested hold', () => {
  const asked = (field: Field, endsInMs: number): Hold => ({
    field,
    reason: 'asked',
    base: base[field],
    mirror: base[field],
    service: field === 'name' ? base.joined : base[field],
    detail: '',
    endsInMs,
  });

  it.each(fields)('a requested hold on %s lasts for a user who is back, and keeps both sides', (field) => {
    const held = [asked(field, 1)];
    for (const mirror of [{}, { [field]: otherValues[field] }]) {
      const plan = merge(makeState({ mirror: { ...mirror, gone: true }, service: otherShown, held }));
      expect(plan).toMatchObject({ case: 'return', holds: [], releases: [], held: [field] });
      expect(plan.write?.mirror[field]).toEqual({ ...base, ...mirror }[field]);
      for (const other of fields)
        expect(plan.write?.base[other]).toEqual(other === field ? base[other] : otherValues[other]);
      expect(plan.write?.base.joined).toBe(field === 'name' ? base.joined : otherShown.name);
    }
  });

  it('a requested hold ends with the return once its time is over', () => {
    const held = [asked('phone', 0)];
    const plan = merge(makeState({ mirror: { gone: true }, service: otherShown, held }));
    expect(plan).toMatchObject({ releases: ['phone'], held: [], write: { mirror: { phone: '15550177' } } });
  });

  it('a requested hold ends once its time is over, although the service leaves the field out', () => {
    const planned = (mirror: Partial<UserValues>, reason: HoldReason = 'asked') =>
      merge({
        ...makeState({ mirror, held: [{ ...asked('phone', 0), reason }] }),
        service: without('phone'),
      });
    expect(planned({})).toMatchObject({ releases: ['phone'], held: [] });
    expect(planned({ phone: '15550177' }).holds).toMatchObject([{ field: 'phone', reason: 'conflict' }]);
    expect(planned({}, 'conflict')).toMatchObject({ releases: [], held: ['phone'] });
  });

  it('a requested hold stays if the user is only listed again', () => {
    const mirror = { phone: '15550177', email: 'robin@example.com', gone: true };
    const plan = merge(makeState({ mirror, service: null, held: [asked('phone', 1)] }));
    expect(plan.holds.map(({ field }) => field)).toEqual(['email']);
  });

  it('a requested hold on the name outweighs the listing for a member without a lookup', () => {
    const unknown = { email: null, phone: null, roleId: null };
    const state = makeState({ base: unknown, mirror: unknown, service: null, held: [asked('name', 1)] });
    const plan = planInLists(state, { ...member, name: 'Another Name' }, holdAll);
    expect(plan).toMatchObject({ moves: [], write: { base: { joined: base.joined } } });
  });

  it.each(fields)('a requested hold on %s of a lost row keeps the agreed value', (field) => {
    const plan = merge(makeState({ mirror: null, service: otherShown, held: [asked(field, 1)] }));
    expect(plan).toMatchObject({ case: 'adopt', releases: [], held: [field] });
    for (const other of fields)
      expect(plan.write?.mirror[other]).toEqual(other === field ? base[other] : otherValues[other]);
  });
});

describe('an adoption', () => {
  it('adopts mirror and base from the service together', () => {
    const { write } = merge(makeState({ base: null, mirror: null, service: { phone: '' } }));
    expect(write).toMatchObject({
      expected: null,
      mirror: { name: base.name, email: base.email, phone: null, roleId: 3n, split: 'guessed' },
      base: { ...base, phone: null },
      observed: { name: 'Anne Berg', role: 'agent', resolved: true },
    });
  });

  it('keeps the agreed values of a lost row if the service leaves fields out', () => {
    const hold = {
      field: 'email',
      reason: 'refused',
      base: null,
      mirror: null,
      service: null,
      detail: '',
    } as const;
    const agreed = { name: { first: '', last: 'Anne  Berg' }, joined: 'Anne  Berg', phone: '15550188' };
    const state = makeState({ base: agreed, mirror: null, held: [hold] });
    for (const field of ['name', 'phone'] as const) {
      const { write, releases } = merge({ ...state, service: without(field) });
      expect(write?.mirror[field]).toEqual(agreed[field]);
      expect(write?.base[field]).toEqual(agreed[field]);
      if (field === 'name') expect(write?.base.joined).toBe('Anne  Berg');
      expect(releases).toEqual(['email']);
    }
  });

  it('adopts a nameless user', () => {
    for (const name of [null, '', ' ']) {
      const { write } = merge(makeState({ base: null, mirror: null, service: { name } }));
      expect(write?.mirror.name).toEqual({ first: '', last: '' });
      expect(write?.observed.name).toBe(name ?? '');
    }
    expect(takeValues({ ...shown, name: null }, base).name).toEqual({ first: '', last: '' });
  });
});

describe('a member whom no lookup answers', () => {
  const unknown = makeState({ base: null, mirror: null, service: null });

  it('adds a member without a lookup with the values of the team listing', () => {
    const plan = planInLists(unknown, { ...member, name: 'Anne Marie Berg' }, holdAll);
    const values = { name: { first: 'Anne Marie', last: 'Berg' }, email: null, phone: null, roleId: null };
    expect(plan).toMatchObject({
      case: 'adopt',
      write: {
        expected: null,
        mirror: { ...values, split: 'guessed' },
        base: { ...values, joined: 'Anne Marie Berg' },
        observed: { name: 'Anne Marie Berg', role: 'agent', resolved: false, details: null },
      },
    });
    expect(plan.fields).toEqual(decideEach(() => ({ kind: 'adopt', ends: false })));
    const next = applyPlan(unknown, plan);
    expect(planInLists(next, { ...member, name: 'Anne Marie Berg' }, holdAll).write).toBeNull();
  });

  it('renames a member without a lookup by the listing, and keeps a pair that joins to the new name', () => {
    const first = applyPlan(unknown, planInLists(unknown, member, holdAll));
    const renamed = planInLists(first, { ...member, name: 'Robin van Doe', role: 'admin' }, holdAll);
    expect(renamed.write).toMatchObject({
      mirror: { name: { first: 'Robin van', last: 'Doe' }, split: 'guessed' },
      base: { joined: 'Robin van Doe' },
      observed: { name: 'Robin van Doe', role: 'admin' },
    });
    const known = { ...first, mirror: { ...row, ...first.mirror, split: 'known' as const } };
    const spaced = planInLists(known, { ...member, name: 'Anne  Berg' }, holdAll);
    expect(spaced.write).toMatchObject({
      mirror: { name: base.name, split: 'known' },
      base: { name: base.name, joined: 'Anne  Berg' },
    });
  });

  it('keeps an edit of the name over the name in the listing', () => {
    const first = applyPlan(unknown, planInLists(unknown, member, holdAll));
    const name = { first: 'Robin', last: 'Doe' };
    const edited = { ...first, mirror: { ...row, ...first.mirror, name } };
    const plan = planInLists(edited, { ...member, name: 'Another Name', role: 'admin' }, holdAll);
    expect(plan.write).toMatchObject({ mirror: { name }, base: { joined: 'Anne Berg' } });
  });

  it('pulls name and role from the listing for a member without a lookup', () => {
    const first = planInLists(makeState({ base: null, mirror: null, service: null }), member, holdAll).write;
    const seen = makeState({
      base: first?.base ?? null,
      mirror: { ...row, ...first?.mirror, role: 'agent', resolved: false },
      service: null,
    });
    const renamed = planInLists(seen, { ...member, name: 'Anna Berg', role: 'admin' }, holdAll);
    expect(renamed.moves).toEqual([
      {
        kind: 'pull',
        field: 'name',
        base: { first: 'Anne', last: 'Berg' },
        mirror: { first: 'Anne', last: 'Berg' },
        service: 'Anna Berg',
      },
    ]);
    expect(renamed.releases).toEqual([]);
    expect(renamed.role).toEqual({ old: 'agent', new: 'admin' });
    const spaced = planInLists(seen, { ...member, name: 'Anne  Berg' }, holdAll);
    expect(spaced).toMatchObject({ moves: [], releases: [], write: { base: { joined: 'Anne  Berg' } } });
    expect('role' in spaced).toBe(false);
    const same = planInLists(seen, member, holdAll);
    expect(same).toMatchObject({ fields: decideEach(() => ({ kind: 'wait' })), write: null });
    expect('role' in same).toBe(false);
  });

  it('leaves both sides of a member without a lookup, and keeps their edits', () => {
    const state = makeState({ mirror: { ...otherValues, joined: 'Anne  Berg' }, service: null });
    const plan = planInLists(state, { ...member, name: 'Another Name', role: null }, holdAll);
    expect(plan).toMatchObject({ case: 'unresolved', moves: [], holds: [] });
    expect(plan.write?.base).toMatchObject(base);
    expect(plan.write?.mirror).toMatchObject(otherValues);
    expect(plan.write?.observed).toMatchObject({ name: 'Anne  Berg', role: 'agent', resolved: false });
    expect(planInLists(applyPlan(state, plan), member, holdAll).write).toBeNull();
  });

  it('keeps the name of an unresolved member if more than the name was agreed on', () => {
    const known = { phone: null, roleId: null };
    const state = makeState({ base: known, mirror: known, service: null });
    const plan = planInLists(state, { ...member, name: 'Another Name' }, holdAll);
    expect(plan).toMatchObject({ moves: [], write: { base: { joined: base.joined } } });
  });

  it('merges a member again as soon as a lookup answers', () => {
    const state = makeState({ mirror: { email: 'robin@example.com' }, service: null });
    const unresolved = applyPlan(state, planInLists(state, member, holdAll));
    expect(merge({ ...unresolved, service: shown }).patch).toEqual({ email: 'robin@example.com' });
  });

  it('gives an unresolved member no base out of the mirror', () => {
    const state = makeState({ base: null, service: null, mirror: { email: 'robin@example.com' } });
    const { fields: decided, write } = planInLists(state, member, holdAll);
    expect([decided, write]).toEqual([decideEach(() => ({ kind: 'wait' })), null]);
  });

  it('keeps the addresses of base for an unresolved member whose row was lost', () => {
    const state = makeState({ mirror: null, service: null });
    expect(planInLists(state, { ...member, role: null }, holdAll)).toMatchObject({
      case: 'adopt',
      write: { mirror: { email: 'anne@example.com' }, base, observed: { role: null, resolved: false } },
    });
  });
});

describe('a row that only the mirror has', () => {
  const state = makeState({ base: null, service: null });

  it('holds a row that only the mirror has once, since the interface cannot create users', () => {
    const plan = planInLists(state, undefined, holdAll);
    expect(plan).toMatchObject({
      case: 'stranger',
      holds: [
        {
          field: 'name',
          reason: 'unsupported',
          detail: 'the interface gives no way to create users',
          mirror: base.name,
        },
      ],
      moves: [],
      write: null,
    });
    expect(planInLists(applyPlan(state, plan), undefined, holdAll).holds).toEqual([]);
  });

  it.each([
    ['missing', {}],
    ['waiting', { mirror: { gone: true } }],
    ['forget', { mirror: null }],
  ] as const)('tells a row that only the mirror has from a row with a base: %s', (userCase, given) => {
    const plan = planInLists(makeState({ ...given, service: null }), undefined, holdAll);
    expect(plan).toMatchObject({ case: userCase, holds: [], write: null });
  });

  it('merges a row that only the mirror had once the service has the user', () => {
    const held = applyPlan(state, planInLists(state, undefined, holdAll));
    expect(merge({ ...held, service: shown })).toMatchObject({
      case: 'merge',
      releases: ['name'],
      holds: [],
    });
  });
});

describe('a user with an open push', () => {
  it.each(fields)('makes a user with an open push wait, whatever happens to %s', (field: Field) => {
    const state = makeState({
      mirror: { [field]: otherValues[field] },
      service: { ...otherShown, [field]: null },
      hasOpenIntent: true,
      observedDiffers: true,
    });
    expect(merge(state)).toMatchObject({ case: 'waiting', moves: [], holds: [], write: null });
  });
});
