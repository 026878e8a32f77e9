import { describe, expect, it } from 'vitest';
import { splitName } from '../../src/model/name.ts';
import type { UserState } from '../../src/model/user-state.ts';
import { type Decision, type Hold, holdField } from '../../src/model/user-plan.ts';
import { holdAll, base as agreed, id, makeState, member, row, shown } from './states.ts';
import { nameToCarry } from '../../src/reconcile/merge/name-to-carry.ts';
import { planUser } from '../../src/reconcile/merge/plan-user.ts';
import { isNameHeld, isNameless, nameAlong } from '../../src/reconcile/push/carry-name.ts';
import { isYes, rowsOf, type YesNo } from './truth.ts';

const names = {
  none: '',
  'one word': 'Cher',
  'two words': 'Anne Berg',
  'three words': 'Anne Marie Berg',
} as const;
const other = { first: 'Anne', last: 'Marie Berg' };
type Halves = 'as guessed' | 'as somebody sent them';

/** A user whose email is edited, and whose name has not moved. */
function stateOf(
  joined: string,
  split: 'known' | 'guessed',
  halves: Halves = 'as guessed',
  held: readonly Hold[] = [],
) {
  const name = halves === 'as guessed' ? splitName(joined) : other;
  const base = { ...agreed, name, joined };
  return makeState({
    base,
    mirror: { name, joined, split, email: 'new@example.com' },
    service: { name: joined, email: agreed.email },
    held: [...held],
  });
}

/** Whether an editor says that the split is known, whether splits are approved, and what goes along. */
type Row = readonly [YesNo, YesNo, 'none' | 'its halves' | 'nobody knows'];
const of = (along: Row[2]): readonly Row[] =>
  (['yes', 'no'] as const).flatMap((said) => (['yes', 'no'] as const).map((one): Row => [said, one, along]));
/** The table of `name-to-carry.ts`. */
const table: Readonly<Record<keyof typeof names, Readonly<Partial<Record<Halves, readonly Row[]>>>>> = {
  none: { 'as guessed': of('none') },
  'one word': { 'as guessed': of('its halves') },
  'two words': { 'as guessed': of('its halves') },
  'three words': {
    'as guessed': [
      ['yes', 'no', 'its halves'],
      ['yes', 'yes', 'nobody knows'],
      ['no', 'no', 'nobody knows'],
      ['no', 'yes', 'nobody knows'],
    ],
    'as somebody sent them': [
      ['yes', 'no', 'its halves'],
      ['yes', 'yes', 'its halves'],
      ['no', 'no', 'nobody knows'],
      ['no', 'yes', 'nobody knows'],
    ],
  },
};

describe('nameToCarry', () => {
  const cases = rowsOf(table).flatMap(([name, byHalves]) =>
    (Object.entries(byHalves) as [Halves, readonly Row[]][]).flatMap(([halves, rows]) =>
      rows.map((row) => [name, halves, ...row] as const),
    ),
  );
  it.each(cases)(
    'returns the halves of the name to send with an edited email, or null if uncertain: %s, %s, known %s, approval %s: %s',
    (name, halves, ...row) => {
      const [said, approves, along] = row;
      const state = stateOf(names[name], isYes(said) ? 'known' : 'guessed', halves);
      const { base, mirror, service } = state;
      if (base === undefined || mirror === undefined) throw new Error('both are there');
      const policy = { ...holdAll, approvesSplits: isYes(approves) };
      const expected = { none: undefined, 'its halves': base.name, 'nobody knows': null }[along];
      expect(nameToCarry(base, mirror, service, policy)).toEqual(expected);
      // Whoever holds the email for it and who keeps that hold decide alike.
      const planned = planUser(state, member, policy);
      const [held] = nameAlong([planned], new Map([[id, state]]), policy, 'clears').plans;
      expect(held?.fields.email.kind).toBe(along === 'nobody knows' ? 'hold' : 'push');
      if (held?.fields.email.kind !== 'hold') return;
      const again = { ...state, held: [held.fields.email.hold] };
      expect(planUser(again, member, policy).fields.email.kind).toBe('held');
    },
  );

  it('sends the halves of the name with an edited email once a person has approved these halves (A16)', () => {
    const policy = { ...holdAll, approvesSplits: true };
    const along = (joined: string, more: Partial<Hold>, before = names['three words']) => {
      const state = stateOf(joined, 'known');
      const [first] = nameAlong(
        [planUser(stateOf(before, 'known'), member, policy)],
        new Map([[id, stateOf(before, 'known')]]),
        policy,
        'clears',
      ).plans;
      const { email } = first?.fields ?? {};
      if (email?.kind !== 'hold') throw new Error('it is held');
      expect(email.hold).toMatchObject({
        reason: 'unsupported',
        detail: expect.stringContaining(`"${before}" is "Anne Marie" and "Berg"`) as string,
      });
      const held: Hold = { ...email.hold, decision: 'approved', ...more };
      const decided = { ...state, held: [held] };
      const planned = planUser(decided, member, policy);
      const { plans, along: sent } = nameAlong([planned], new Map([[id, decided]]), policy, 'clears');
      return [plans[0]?.fields.email.kind, sent.get(id)];
    };
    const halves = { first: 'Anne Marie', last: 'Berg' };
    expect(along('Anne Marie Berg', {})).toEqual(['push', halves]);
    expect(along('Anne Marie Berg', { decision: 'resolved' })).toEqual(['push', halves]);
    // Not decided about, or decided about for another reason, other words, or another field.
    expect(along('Anne Marie Berg', { reason: 'limit', batch: 'abc' })).toEqual(['hold', undefined]);
    expect(along('Anne Marie Berg', { detail: 'it cannot be sent' })).toEqual(['hold', undefined]);
    expect(along('Anne Marie Lind', {})).toEqual(['hold', undefined]);
    expect(along('Anne Marie Berg', { field: 'phone', base: agreed.phone, mirror: agreed.phone })).toEqual([
      'hold',
      undefined,
    ]);
  });
});

describe('a service that clears a name that an update leaves out', () => {
  const { name: _, ...nameless } = shown;
  const whole = { first: 'Anne Berg', last: '' };
  it.each([
    ['not shown', nameless, agreed.name],
    ['unreadable', { ...shown, name: { unreadable: '[1]' } }, agreed.name],
    ['null, so none is sent', { ...shown, name: null }, undefined],
    ['unknown, since the service does not show the user', undefined, agreed.name],
    ['another name of two words', { ...shown, name: 'Eva Dahl' }, { first: 'Eva', last: 'Dahl' }],
  ] as const)('sends the shown name along, or the agreed name if hidden: %s', (_what, service, along) => {
    expect(nameToCarry(agreed, { ...row, split: 'guessed' }, service, holdAll)).toEqual(along);
  });

  it('sends the agreed halves of a two-word name along even if the split is marked as guessed (A15)', () => {
    const base = { ...agreed, name: whole };
    expect(nameToCarry(base, { ...row, name: whole, split: 'guessed' }, shown, holdAll)).toEqual(whole);
  });

  const carried = (state: UserState, approvesSplits: boolean) => {
    const policy = { ...holdAll, approvesSplits };
    return nameAlong([planUser(state, member, policy)], new Map([[id, state]]), policy, 'clears');
  };
  const wordsOf = (state: UserState, approvesSplits: boolean) => {
    const decision = carried(state, approvesSplits).plans[0]?.fields.email;
    return decision?.kind === 'hold' ? decision.hold.detail : decision?.kind;
  };
  const cleared = 'an update without the name clears it on this service, and';

  it('holds an edited email if the halves of the name are not approved, and names the halves and the command', () => {
    const approve = (name: string, first: string, last: string) =>
      `${cleared} nobody has approved that "${name}" is "${first}" and "${last}": ` +
      '"musterd resolve" with --take mirror sends these along, or edit the name';
    const guessed = stateOf(names['three words'], 'known');
    expect(wordsOf(guessed, true)).toBe(approve('Anne Marie Berg', 'Anne Marie', 'Berg'));
    // Somebody sent these halves; nobody says that they are right.
    const sentSo = stateOf(names['three words'], 'guessed', 'as somebody sent them');
    expect(wordsOf(sentSo, true)).toBe(approve('Anne Marie Berg', 'Anne', 'Marie Berg'));
    const moved = { ...guessed, service: { ...shown, name: 'Eva Maria Borg' } };
    const renamed = { ...moved, mirror: { ...row, name: other, email: 'new@example.com' } };
    expect(wordsOf(renamed, true)).toBe(approve('Eva Maria Borg', 'Eva Maria', 'Borg'));
    const guess = (name: string) =>
      `${cleared} the split of "${name}" is a guess: set first_name and last_name`;
    expect(wordsOf(guessed, false)).toBe('push');
    expect(wordsOf(renamed, false)).toBe(guess('Eva Maria Borg'));
    expect(wordsOf(sentSo, false)).toBe(`${guess('Anne Marie Berg')}, or name_split = 'known'`);
  });

  it('holds the email again if an editor changes the held email, and sends no name along', () => {
    const state = stateOf(names['three words'], 'known');
    const detail = wordsOf(state, true) ?? '';
    const before = { field: 'email', reason: 'unsupported', detail, base: agreed.email } as const;
    const held: Hold = { ...before, mirror: 'earlier@example.com', service: agreed.email };
    const { plans, along } = carried({ ...state, held: [held] }, true);
    expect([plans[0]?.fields.email.kind, along.size]).toEqual(['hold', 0]);
  });

  it('postpones the edit and counts a waiting user if the name on the service is unreadable', () => {
    const state = { ...stateOf('Anne Berg', 'known'), service: { ...shown, name: { unreadable: '[1]' } } };
    const { plans, waiting } = carried(state, false);
    expect(plans[0]?.fields.email).toEqual({ kind: 'wait' });
    expect(waiting).toBe(1);
  });

  it.each<[Decision, boolean]>([
    [{ kind: 'held', shown: null }, true],
    [holdField('name', 'conflict', '', { base: null, mirror: null, service: null }), true],
    [{ kind: 'same', ends: false }, false],
    [{ kind: 'wait' }, false],
  ])('isNameHeld returns true only for a held or newly held name: %j', (name, waits) => {
    const { fields } = planUser(makeState(), member, holdAll);
    expect(isNameHeld({ fields: { ...fields, name } })).toBe(waits);
  });

  it.each([
    [{}, false],
    [{ phone: '1' }, true],
    [{ phone: '1', name: agreed.name }, false],
  ])('isNameless returns true only for an update with fields but without a name: %j', (patch, lacks) => {
    expect(isNameless(patch)).toBe(lacks);
  });
});
