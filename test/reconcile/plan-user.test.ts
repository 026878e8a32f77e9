import { describe, expect, it } from 'vitest';
import { type Field, fields, type UserValues } from '../../src/model/fields.ts';
import { decideEach, type Hold, type HoldReason } from '../../src/model/user-plan.ts';
import type { UserState } from '../../src/model/user-state.ts';
import { planInLists } from './in-lists.ts';
import { holdAll, base, makeState, member, row, without } from './states.ts';
import { applyPlan } from './apply-plan.ts';

const merge = (state: UserState) => planInLists(state, member, holdAll);

const otherValues: UserValues = {
  name: { first: 'Robin', last: 'Doe' },
  email: 'robin@example.com',
  phone: '15550177',
  roleId: 9n,
};

describe('the split of a name', () => {
  it.each(['known', 'guessed'] as const)('stays %s if the service already shows the edited name', (split) => {
    const name = { first: 'Anne', last: 'Marie Berg' };
    const { write } = merge(makeState({ mirror: { name, split }, service: { name: 'Anne  Marie Berg' } }));
    expect(write?.mirror).toMatchObject({ name, split });
    expect(write?.base).toMatchObject({ name, joined: 'Anne  Marie Berg' });
  });

  it.each([
    ['known', 'restores the name from before the edit', base.name],
    ['guessed', 'pulls another name', { first: 'Eva', last: 'Dahl' }],
  ])('changes to %s if the policy "service-wins" %s', (split, _, name) => {
    const state = makeState({
      base: { joined: 'Anne Bergmann' },
      mirror: { name: otherValues.name },
      service: { name: `${name.first} ${name.last}` },
      edits: { name: { id: 1n, transaction: '1', split: 'known' } },
    });
    const { write } = planInLists(state, member, { ...holdAll, name: 'service-wins' });
    expect(write?.mirror).toMatchObject({ name, split });
  });
});

describe('a merge without a base', () => {
  it('lets every field wait if one field is unreadable', () => {
    const { fields: decided } = merge(makeState({ base: null, service: { email: { unreadable: '1' } } }));
    expect(decided).toEqual(decideEach(() => ({ kind: 'wait' })));
  });
});

it.each([{ hasOpenIntent: true }, { stale: true }])(
  'A plan changes nothing of a user with an open push or an older version on the service: %j',
  (more) => {
    const plan = merge({ ...makeState({ service: { phone: '15550199' } }), ...more });
    expect(plan).toMatchObject({ case: 'waiting', moves: [], write: null });
  },
);

describe('a user who left the team and came back', () => {
  it.each(fields)('holds an edit of %s from before the user left, and does not change base', (field) => {
    const state = makeState({ mirror: { gone: true, [field]: otherValues[field] } });
    const plan = merge(state);
    const detail = 'the user left the team and came back; the earlier edit waits';
    expect(plan.holds).toMatchObject([{ field, reason: 'returned', detail, mirror: otherValues[field] }]);
    expect(plan).toMatchObject({ moves: [] });
    expect(plan.write?.mirror[field]).toEqual(otherValues[field]);
    expect(plan.write?.base[field]).toEqual(base[field]);
    const next = merge(applyPlan(state, plan));
    expect(next).toMatchObject({ case: 'merge', held: [field], moves: [], write: null, releases: [] });
  });

  it('keeps the edited halves of a name if the service shows the same name by now', () => {
    const name = { first: 'Anne', last: 'Marie Berg' };
    const { write } = merge(
      makeState({ mirror: { gone: true, name }, service: { name: 'Anne Marie Berg' } }),
    );
    expect(write).toMatchObject({ mirror: { name }, base: { name } });
  });
});

describe('a hold that a person requested', () => {
  const asked = (field: Field, endsInMs: number): Hold => ({
    field,
    reason: 'asked',
    base: base[field],
    mirror: base[field],
    service: field === 'name' ? base.joined : base[field],
    detail: '',
    endsInMs,
  });

  it('ends once its time is over, even if the service leaves the field out', () => {
    const planned = (mirror: Partial<UserValues>, reason: HoldReason = 'asked') =>
      merge({
        ...makeState({ mirror, held: [{ ...asked('phone', 0), reason }] }),
        service: without('phone'),
      });
    expect(planned({})).toMatchObject({ releases: ['phone'], held: [] });
    expect(planned({ phone: '15550177' }).holds).toMatchObject([{ field: 'phone', reason: 'conflict' }]);
    expect(planned({}, 'conflict')).toMatchObject({ releases: [], held: ['phone'] });
  });

  it('stays if only the team listing shows the user again', () => {
    const mirror = { phone: '15550177', email: 'robin@example.com', gone: true };
    const plan = merge(makeState({ mirror, service: null, held: [asked('phone', 1)] }));
    expect(plan.holds.map(({ field }) => field)).toEqual(['email']);
  });

  it('keeps the name although the team listing shows another name', () => {
    const unknown = { email: null, phone: null, roleId: null };
    const state = makeState({ base: unknown, mirror: unknown, service: null, held: [asked('name', 1)] });
    const plan = planInLists(state, { ...member, name: 'Another Name' }, holdAll);
    expect(plan).toMatchObject({ moves: [], write: { base: { joined: base.joined } } });
  });
});

describe('a user without a row in the mirror', () => {
  it('restores a field of a lost row from base if the service leaves the field out (O4)', () => {
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

  it('writes an empty first and last name for a user without a name', () => {
    const { write } = merge(makeState({ base: null, mirror: null, service: { name: null } }));
    expect(write).toMatchObject({ mirror: { name: { first: '', last: '' } }, observed: { name: '' } });
  });
});

describe('a member whom only the team listing shows', () => {
  const unknown = makeState({ base: null, mirror: null, service: null });

  it('adds an unresolved user with the name and the role of the team listing', () => {
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

  it('keeps an edited name although the listing shows another name', () => {
    const first = applyPlan(unknown, planInLists(unknown, member, holdAll));
    const name = { first: 'Robin', last: 'Doe' };
    const edited = { ...first, mirror: { ...row, ...first.mirror, name } };
    const plan = planInLists(edited, { ...member, name: 'Another Name', role: 'admin' }, holdAll);
    expect(plan.write).toMatchObject({ mirror: { name }, base: { joined: 'Anne Berg' } });
  });

  it('pulls a new name and a new role from the listing, but keeps the name if it is empty in the listing', () => {
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
    expect(planInLists(seen, { ...member, name: '' }, holdAll)).toMatchObject({ moves: [], write: null });
    const same = planInLists(seen, member, holdAll);
    expect(same).toMatchObject({ fields: decideEach(() => ({ kind: 'wait' })), write: null });
    expect('role' in same).toBe(false);
  });

  it('changes neither mirror nor base of a known user even if the listing shows another name', () => {
    const state = makeState({ mirror: { ...otherValues, joined: 'Anne  Berg' }, service: null });
    const { write } = planInLists(state, { ...member, name: 'Another Name', role: null }, holdAll);
    expect(write).toMatchObject({
      base,
      mirror: otherValues,
      observed: { name: 'Anne  Berg', role: 'agent' },
    });
  });

  it('keeps the agreed name instead of the name of the listing if base has an address of the user', () => {
    const known = { phone: null, roleId: null };
    const state = makeState({ base: known, mirror: known, service: null });
    const plan = planInLists(state, { ...member, name: 'Another Name' }, holdAll);
    expect(plan).toMatchObject({ moves: [], write: { base: { joined: base.joined } } });
  });

  it('creates no base from the values of the mirror', () => {
    const state = makeState({ base: null, service: null, mirror: { email: 'robin@example.com' } });
    const { fields: decided, write } = planInLists(state, member, holdAll);
    expect([decided, write]).toEqual([decideEach(() => ({ kind: 'wait' })), null]);
  });
});

describe('a user whom neither the service nor the listing shows', () => {
  const state = makeState({ base: null, service: null });

  it('is held as unsupported if only the mirror has the user, and is not held again by a second plan', () => {
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
    ['waiting', { mirror: null, base: null }],
  ] as const)('gets no hold if base has the user or mirror lacks the user: case %s', (userCase, given) => {
    const plan = planInLists(makeState({ ...given, service: null }), undefined, holdAll);
    expect(plan).toMatchObject({ case: userCase, holds: [], write: null });
  });
});
