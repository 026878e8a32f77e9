import { describe, expect, it } from 'vitest';
import { type Field, fields } from '../../src/model/fields.ts';
import type { Decision, Hold } from '../../src/model/user-plan.ts';
import type { MirrorRow, BaseUser, ServiceUser } from '../../src/model/user.ts';
import type { UserState } from '../../src/model/user-state.ts';
import { type NameSplit, splitName } from '../../src/model/name.ts';
import { unsendable, holdStands, planField } from '../../src/reconcile/merge/plan-field.ts';
import type { Policy } from '../../src/reconcile/merge/merge-field.ts';
import { holdAll, base, makeState, row, without } from './states.ts';
import { rowsOf } from './truth.ts';

/** What the state's own mirror and service come to. */
function plan(field: Field, state: UserState, policy: Policy = holdAll): Decision {
  if (state.mirror === undefined || state.service === undefined) throw new Error('nothing to merge');
  const { mirror, service } = state;
  return planField(field, { ...state, mirror, service }, policy);
}

/** The hold, where the field is held from now on. */
const holdIn = (decision: Decision): Hold | undefined =>
  decision.kind === 'hold' ? decision.hold : undefined;

describe('a name that cannot be sent', () => {
  type Halves = 'neither' | 'first' | 'last' | 'both';
  type Words = 'one word' | 'two words' | 'three words' | 'four words';
  type Fate = 'sent' | 'held';
  const edits: Record<Halves, Partial<BaseUser['name']>> = {
    neither: {},
    first: { first: 'Robin' },
    last: { last: 'Robin' },
    both: { first: 'Robin', last: 'Doe' },
  };
  const names: Record<Words, string> = {
    'one word': 'Cher',
    'two words': 'Anne Berg',
    'three words': 'Anne Marie Berg',
    'four words': 'Ludwig van der Rohe',
  };
  const table: Record<NameSplit, Record<Words, Record<Halves, Fate>>> = {
    known: {
      'one word': { neither: 'sent', first: 'sent', last: 'sent', both: 'sent' },
      'two words': { neither: 'sent', first: 'sent', last: 'sent', both: 'sent' },
      'three words': { neither: 'sent', first: 'sent', last: 'sent', both: 'sent' },
      'four words': { neither: 'sent', first: 'sent', last: 'sent', both: 'sent' },
    },
    guessed: {
      'one word': { neither: 'sent', first: 'sent', last: 'sent', both: 'sent' },
      'two words': { neither: 'sent', first: 'sent', last: 'sent', both: 'sent' },
      'three words': { neither: 'sent', first: 'held', last: 'held', both: 'sent' },
      'four words': { neither: 'sent', first: 'held', last: 'held', both: 'sent' },
    },
  };
  const cases = rowsOf(table).flatMap(([split, byWords]) =>
    rowsOf(byWords).flatMap(([words, byHalves]) =>
      rowsOf(byHalves).map(([halves, fate]) => ({ split, words, halves, fate })),
    ),
  );

  it.each(cases)(
    'sends or holds a name ($split split of $words, edited: $halves): $fate',
    ({ split, words, halves, fate }) => {
      const joined = names[words];
      const agreed = { ...base, joined, name: splitName(joined) };
      const mirror = { ...row, split, name: { ...agreed.name, ...edits[halves] } };
      const reason = unsendable('name', mirror, agreed);
      expect(reason === undefined).toBe(fate === 'sent');
      if (halves === 'neither') return;
      const state = makeState({ base: agreed, mirror, service: { name: joined } });
      const planned = plan('name', state);
      expect(planned.kind).toBe(fate === 'sent' ? 'push' : 'hold');
      expect(holdIn(planned)?.reason).toBe(fate === 'sent' ? undefined : 'unsupported');
    },
  );

  it('names the half that the editor must still set', () => {
    const agreed = { ...base, joined: 'Anne Marie Berg', name: { first: 'Anne Marie', last: 'Berg' } };
    const first = unsendable('name', { ...row, name: { ...agreed.name, first: 'Anne' } }, agreed);
    expect(first).toContain('set last_name too');
    const last = unsendable('name', { ...row, name: { ...agreed.name, last: 'Borg' } }, agreed);
    expect(last).toContain('set first_name too');
    expect(last).toContain('"Anne Marie Berg"');
  });

  it.each([
    ['the middle word, which stays in it', 'Marie', 'Anne Marie', 'Berg', true],
    ['no words', '', 'Anne Marie', 'Berg', true],
    ['other words', 'Robin Doe', 'Anne Marie', 'Berg', false],
    ['two of its words, and changes one half', 'Anne Berg', 'Anne Marie', 'Berg', false],
    ['one of its words, but is not the usual guess', 'Marie', 'Anne', 'Marie Berg', false],
    ['one word, and has two words', 'Anne', 'Marie', 'Anne', false],
  ])('holds a guessed split, or not, if the agreed name has %s', (_, joined, first, last, held) => {
    const agreed = { ...base, joined, name: splitName(joined) };
    const reason = unsendable('name', { ...row, name: { first, last } }, agreed);
    expect(reason).toBe(
      held
        ? `the split of "Anne Marie Berg" is a guess: set first_name and last_name, or name_split = 'known'`
        : undefined,
    );
    expect(unsendable('name', { ...row, split: 'known', name: { first, last } }, agreed)).toBeUndefined();
  });

  it('holds a name that consists of spaces only', () => {
    const mirror: MirrorRow = { ...row, split: 'known', name: { first: ' ', last: '\u00A0' } };
    expect(unsendable('name', mirror, base)).toBe('the service does not accept an empty name');
  });
});

describe('an edited value', () => {
  it.each([
    ['phone', 'none', 'the phone number has no digits'],
    ['email', null, 'the service gives no way to remove an email'],
    ['roleId', null, 'the service gives no way to remove a role'],
  ] as const)('gives the reason why it cannot be sent: %s, %s', (field, value, why) => {
    expect(unsendable(field, { ...row, [field]: value }, base)).toBe(why);
  });
});

it('A plan lets a field that the service leaves out wait, or holds the field for a person if it was edited', () => {
  const leftOut = (mirror: Partial<MirrorRow>) => ({ ...makeState({ mirror }), service: without('email') });
  expect(plan('email', leftOut({}))).toEqual({ kind: 'wait' });
  expect(holdIn(plan('email', leftOut({ email: 'anna@example.com' })))?.detail).toContain(
    'edited here, but the service now leaves it out',
  );
});

const edited: Record<Field, { mirror: Partial<MirrorRow>; service: Partial<ServiceUser> }> = {
  name: { mirror: { name: { first: 'Anna', last: 'Berg' } }, service: { name: 'Anne Borg' } },
  email: { mirror: { email: 'anna@example.com' }, service: { email: 'borg@example.com' } },
  phone: { mirror: { phone: '15550177' }, service: { phone: '15550199' } },
  roleId: { mirror: { roleId: 5n }, service: { roleId: 9n } },
};

function conflictOf(field: Field): { readonly state: UserState; readonly hold: Hold } {
  const state = makeState(edited[field]);
  const hold = holdIn(plan(field, state));
  if (hold === undefined) throw new Error(`no conflict in ${field}`);
  return { state: { ...state, held: [hold] }, hold };
}

describe('a hold', () => {
  it.each(fields)('records base, mirror and service in the hold of a conflict in %s', (field) => {
    const { state, hold } = conflictOf(field);
    expect(hold).toMatchObject({
      reason: 'conflict',
      detail: 'both sides changed it since they last agreed',
      base: base[field],
      mirror: state.mirror?.[field],
      service: state.service?.[field],
    });
  });

  it.each(fields)('lasts until its end on %s if a person requested the hold, for all values', (field) => {
    const { state } = conflictOf(field);
    const asked = (endsInMs: number) =>
      state.held.map((hold) => ({ ...hold, reason: 'asked' as const, endsInMs }));
    const settled = makeState({});
    for (const values of [state, settled, makeState(edited[field])]) {
      expect(plan(field, { ...values, held: asked(1) })).toMatchObject({ kind: 'held' });
      expect(plan(field, { ...values, held: asked(0) })).not.toMatchObject({ kind: 'held' });
    }
    expect(plan(field, { ...settled, held: asked(0) })).toEqual({ kind: 'same', ends: true });
  });

  it.each(fields)('stays on %s if the service leaves the field out', (field) => {
    const { state, hold } = conflictOf(field);
    expect(holdStands(hold, { ...row, ...edited[field].mirror }, without(field))).toBe(true);
    expect(plan(field, { ...state, service: without(field) })).toMatchObject({ kind: 'held' });
  });
});

describe('an edit of one half of a guessed name', () => {
  const agreed = { joined: 'Anne Marie Berg', name: { first: 'Anne Marie', last: 'Berg' } };
  const half = makeState({
    base: agreed,
    mirror: { name: { first: 'Anne Marie', last: 'Borg' } },
    service: { name: 'Anne Marie Berg' },
  });
  const hold = holdIn(plan('name', half));
  const held = hold === undefined ? [] : [hold];
  const withMirror = (mirror: Partial<MirrorRow>): UserState => ({
    ...half,
    held,
    mirror: { ...row, ...half.mirror, ...mirror },
  });

  it('sends the held half once an editor marks the split as known', () => {
    expect(plan('name', withMirror({ split: 'known' }))).toMatchObject({
      kind: 'push',
      ends: true,
      values: { mirror: { first: 'Anne Marie', last: 'Borg' } },
    });
  });
});
