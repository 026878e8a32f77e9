import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Field, fields, type FieldValue } from '../../src/model/fields.ts';
import { canonicalEmail, canonicalPhone } from '../../src/model/canonical.ts';
import type { Intent } from '../../src/model/intent.ts';
import { type Hold, holdsOf, isPush, type UserPlan } from '../../src/model/user-plan.ts';
import type { UserState } from '../../src/model/user-state.ts';
import type { Id } from '../../src/model/id.ts';
import type { GuardHistory } from '../../src/model/waiting.ts';
import type { MirrorUser, ServiceUser } from '../../src/model/user.ts';
import { type GuardVerdict, type GuardView, guard } from '../../src/reconcile/guard/guard.ts';
import { afterBatch } from '../../src/reconcile/guard/left-waiting.ts';
import { offerLimited } from '../../src/reconcile/guard/field-limits.ts';
import type { GuardSettings } from '../../src/reconcile/guard/limits.ts';
import { isStopped } from '../../src/reconcile/merge/held-field.ts';
import { planUser } from '../../src/reconcile/merge/plan-user.ts';
import { concernOf } from '../../src/reconcile/guard/concerned.ts';
import type { Policy } from '../../src/reconcile/merge/merge-field.ts';
import { holdAll, makeState, member, noAddresses, shown, guardLimits as settings } from './states.ts';
import { inLists } from './in-lists.ts';
import { splitName } from '../../src/model/name.ts';

const nobody: GuardHistory = { population: 0, pushedToday: new Set(), undone: [], waiting: [], isOld: false };
const mirrorWins: Policy = { ...holdAll, email: 'mirror-wins' };

interface Edits {
  readonly edits?: Readonly<Record<number, Partial<MirrorUser>>>;
  /** What the service shows otherwise, by user; `null`: it shows nobody. */
  readonly shows?: Readonly<Record<number, Partial<ServiceUser> | null>>;
  /** What is held of them before. */
  readonly held?: Readonly<Record<number, readonly Hold[]>>;
  readonly history?: Partial<GuardHistory>;
  readonly open?: readonly Pick<Intent, 'userId' | 'sent'>[];
  readonly policy?: Policy;
  /** Whom the team does not list; everybody: it lists nobody. */
  readonly unlisted?: readonly number[] | 'everybody';
  readonly isWhole?: boolean;
}

const emailOf = (id: Id) => `user${id}@example.com`;
const phoneOf = (id: Id) => String(15550100n + id);

function stateOf(id: Id, edit: Partial<MirrorUser>, says: Partial<ServiceUser> | null): UserState {
  const values = { email: emailOf(id), phone: phoneOf(id), roleId: id === 1n ? 1n : 4n };
  const state = makeState({
    base: values,
    mirror: { ...values, ...edit },
    service: says === null ? null : { ...values, ...says },
  });
  const service = state.service === undefined ? undefined : { ...state.service, id };
  return { ...state, id, service };
}

/** Forty users, the first of them the only administrator; all that differ from it is given. */
function viewOf(
  { edits = {}, shows = {}, held = {}, history = {}, open = [], ...given }: Edits,
  made: Readonly<Record<number, UserState['edits']>> = {},
): GuardView {
  const { policy = holdAll, unlisted = [], isWhole = true } = given;
  const ids = Array.from({ length: 40 }, (_, i) => BigInt(i + 1));
  const states = ids.map((id) => {
    const said = shows[Number(id)];
    const state = stateOf(id, edits[Number(id)] ?? {}, said === undefined ? {} : said);
    return { ...state, held: held[Number(id)] ?? [], edits: made[Number(id)] ?? {} };
  });
  const waiting = states.flatMap(({ id, held: of }) =>
    of
      .filter((hold) => isStopped(hold) && hold.decision === undefined)
      .map((hold) => ({ userId: id, name: '', hold })),
  );
  return {
    states,
    plans: states.map((state) => planUser(state, { ...member, id: state.id }, policy)),
    users: new Map(states.flatMap(({ id, service }) => (service === undefined ? [] : [[id, service]]))),
    differing: ids,
    isWhole,
    members: new Map(
      ids
        .filter((id) => unlisted !== 'everybody' && !unlisted.includes(Number(id)))
        .map((id) => [id, { ...member, id }]),
    ),
    listed: noAddresses,
    present: ids.map((id) => ({
      id,
      email: emailOf(id),
      phone: phoneOf(id),
      roleId: id === 1n ? 1n : 4n,
    })),
    open,
    offers: [],
    history: { ...nobody, population: ids.length, waiting, ...history },
  };
}

const judge = (given: Edits) => {
  const verdict = guard(viewOf(given), settings);
  return { ...verdict, plans: verdict.plans.map(inLists) };
};
const planOf = <P extends UserPlan>(plans: readonly P[], id: Id) => plans.find((plan) => plan.id === id);
/** New emails for so many users, from the 11th on. */
const many = (count: number): Record<number, Partial<MirrorUser>> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [i + 11, { email: `new${i}@example.com` }]));
/** The email of user 3 for as many. */
const sharing = (count: number) =>
  Object.fromEntries(Object.keys(many(count)).map((id) => [id, { email: emailOf(3n) }]));
/** A field of user 2 or another as it is held in a batch. */
const holdOf = (id: Id, mirror: FieldValue, more: Partial<Hold> = {}): Hold => {
  const field = more.field ?? 'email';
  const own = { email: emailOf(id), phone: phoneOf(id), roleId: id === 1n ? 1n : 4n };
  const agreed = field === 'name' ? undefined : own[field];
  return { field, reason: 'limit', base: agreed, mirror, service: agreed, detail: '', batch: 'abc', ...more };
};
const approved = { decision: 'approved' } as const;
const resolved = { decision: 'resolved' } as const;
/** What the guard held of that view, as the next run finds it. */
const heldBy = (verdict: Pick<GuardVerdict, 'waiting'>): NonNullable<Edits['held']> =>
  Object.fromEntries(
    verdict.waiting.map(({ userId, hold }) => [Number(userId), [{ ...hold, shown: hold.service }]]),
  );

it('The guard makes the same decisions if it gets only the changed users and the users that their edits concern', () => {
  const number = fc.integer({ min: 1, max: 12 });
  const values = fc.record(
    {
      email: number.map((of) => emailOf(BigInt(of)).toUpperCase()),
      phone: number.map((of) => phoneOf(BigInt(of))),
      roleId: fc.constantFrom(1n, 4n),
    },
    { requiredKeys: [] },
  );
  const of = <T>(what: fc.Arbitrary<T>) => fc.dictionary(number.map(String), what, { maxKeys: 4 });
  const open = fc.array(fc.record({ userId: number.map(BigInt), sent: values }), { maxLength: 2 });
  const unlisted = fc.oneof(fc.array(number), fc.constant('everybody' as const));
  fc.assert(
    fc.property(
      fc.record({ edits: of(values), shows: of(fc.option(values)), open, unlisted, isWhole: fc.boolean() }),
      (given) => {
        const view = viewOf(given);
        const isAtRest = ({ service, base }: UserState) =>
          service !== undefined &&
          fields.every((field) => field === 'name' || service[field] === base?.[field]);
        const changed = Object.keys(given.edits).map(BigInt);
        const differing = view.states
          .filter((state) => changed.includes(state.id) || !isAtRest(state))
          .map(({ id }) => id);
        const { emails, phones, roleIds } = concernOf(view.plans, settings.adminRoleIds);
        const present = view.present.filter(
          ({ email, phone, roleId }) =>
            emails.includes(canonicalEmail(email)) ||
            phones.includes(canonicalPhone(phone)) ||
            roleIds.some((admin) => admin === roleId),
        );
        const { plans, refused } = guard({ ...view, differing, present }, settings);
        const all = guard(view, settings);
        const kindsIn = (of: typeof plans) =>
          of.map((plan) => fields.map((field) => plan.fields[field].kind));
        expect([kindsIn(plans), refused]).toEqual([kindsIn(all.plans), all.refused]);
      },
    ),
    { numRuns: 300 },
  );
});

describe('a field that a run would push', () => {
  it('sends an approved field while the guard holds another field of the same user', () => {
    const verdict = judge({
      edits: { 2: { email: 'new@example.com', phone: '15550999' }, ...many(9) },
      held: { 2: [holdOf(2n, 'new@example.com', approved)] },
    });
    expect(planOf(verdict.plans, 2n)?.patch).toEqual({ email: 'new@example.com' });
    expect(verdict.waiting.filter(({ userId }) => userId === 2n).map(({ hold }) => hold.mirror)).toEqual([
      '15550999',
    ]);
    expect(verdict.approved.get(2n)).toEqual(['email']);
  });
});

describe('a review of each push', () => {
  const reviewed = (given: Edits) => guard(viewOf(given), { ...settings, isReviewed: true });
  const email = (id: number) => ({ email: `new${id}@example.com` });

  it('reports separate numbers of users in an earlier batch and under review, and sets isNews to false', () => {
    const held = { 2: [holdOf(2n, email(2).email)] };
    const verdict = reviewed({ edits: { 2: email(2), ...many(20) }, held, shows: { 2: null } });
    expect(verdict.refused).toEqual(['1 users of an earlier batch wait for a decision']);
    expect(verdict.reviewed).toEqual(['20 users wait for a person to review it']);
    expect(verdict).toMatchObject({ stopped: false, isNews: false });
  });
});

describe('a name that an update by musterd has cleared', () => {
  const whole = { first: 'Anne Marie', last: 'Berg' };
  /** Pushes to so many users, and to one whose name was cleared but for this; perhaps with an edit of their own. */
  const judgeCleared = (left: string, count: number, edit: Partial<MirrorUser> = {}) => {
    const view = viewOf({ edits: many(count) });
    const states = view.states.map((state): UserState => {
      if (state.id !== 40n) return state;
      const service = { ...state.service, id: state.id, name: left, raw: {} };
      const mirror = { name: whole, split: 'known', joined: left, ...edit } as const;
      const row = makeState({ base: { name: splitName(left), joined: left }, mirror });
      return { ...row, id: state.id, service };
    });
    const made = states.map((state) => planUser(state, { ...member, id: state.id }, mirrorWins));
    const users = new Map(view.users).set(40n, { ...shown, id: 40n, name: left });
    const { plans, stopped, refused } = guard({ ...view, states, plans: made, users }, settings);
    const sent = plans.filter(isPush).map((plan) => [plan.id, inLists(plan).patch]);
    return { sent, stopped, refused: refused.length };
  };
  const restored = { sent: [[40n, { name: whole }]], stopped: false, refused: 1 };

  it.each(['', 'Anne', 'Berg'])(
    'restores the name although a limit stops all other pushes (remaining part: "%s") (A16)',
    (left) => {
      expect(judgeCleared(left, 9)).toEqual(restored);
    },
  );

  it('counts a user with a restored name for the limit if another field is edited, and holds the edited field', () => {
    expect(judgeCleared('', 8)).toMatchObject({ refused: 0 });
    expect(judgeCleared('', 8, { email: 'new@example.com' })).toEqual(restored);
  });
});

describe('a batch', () => {
  it('holds a mass change as a batch, and a field that breaks a single-field limit outside the batch', () => {
    const first = judge({ edits: { 2: { email: emailOf(3n) }, ...many(8) } });
    expect(first).toMatchObject({
      stopped: true,
      refused: [expect.stringContaining('9 of 40'), expect.stringContaining('email of 2')],
    });
    expect(first.waiting.length).toBe(8);
    // A run that ends here holds all of it, so that what one person did is one batch.
    expect(first.writes.holds.map(({ id, hold }) => [id, hold.isAlone])).toEqual([
      ...first.waiting.map(({ userId }) => [userId, undefined]),
      [2n, true],
    ]);
    const { waiting, stopped, writes } = judge({ edits: sharing(9) });
    expect([waiting, stopped]).toEqual([[], true]);
    expect(writes.holds.map(({ id, hold }) => [id, hold.field, hold.isAlone])).toEqual(
      Object.keys(sharing(9)).map((id) => [BigInt(id), 'email', true]),
    );
    const later = judge({ edits: many(8), held: heldBy(first) });
    expect(later).toMatchObject({
      stopped: false,
      refused: ['8 users of an earlier batch wait for a decision'],
      writes: { holds: [] },
    });
  });

  type Told = 'no' | 'yes, and the run ends' | 'yes, and the run goes on';
  const another = { 30: { email: 'a@example.com' } };
  it.each<readonly [string, NonNullable<Edits['edits']>, boolean, Edits['edits'], Told, number]>([
    ['nothing waited, and 8 users are within the limit', {}, false, many(8), 'no', 0],
    ['nothing waited, and 9 are over it', {}, false, many(9), 'yes, and the run ends', 9],
    ['the same users wait', many(9), false, many(9), 'no', 9],
    ['the same users wait for a day', many(9), true, many(9), 'yes, and the run goes on', 9],
    ['two of nine waited, and seven are within the limit', many(2), false, many(9), 'no', 2],
    ['another user waits too', another, false, { ...another, ...many(9) }, 'yes, and the run goes on', 10],
    ['another user waited before', another, false, many(9), 'yes, and the run goes on', 9],
    ['another user waits; a limit holds each edit', another, false, { ...another, ...sharing(9) }, 'no', 1],
    ['all waiting edits were taken back', many(9), true, {}, 'no', 0],
  ])('reports a batch if new, growing or a day old: %s (O1)', (_, before, isOld, edits = {}, told, waits) => {
    const held = heldBy(guard(viewOf({ edits: before }), { ...settings, maxRows: 0, maxShare: 0 }));
    const verdict = judge({ edits, held, history: { isOld } });
    const said: Told = !verdict.isNews
      ? 'no'
      : verdict.stopped
        ? 'yes, and the run ends'
        : 'yes, and the run goes on';
    expect({ told: said, waits: verdict.waiting.length }).toEqual({ told, waits });
    expect(verdict.stopped && !verdict.isNews).toBe(false);
  });

  it('afterBatch leaves only the hold of a conflict in the plans, and no hold of the batch', () => {
    const edits = { 2: { email: 'new@example.com' }, ...many(9) };
    const { plans } = guard(viewOf({ edits, shows: { 2: { email: 'web@example.com' } } }), settings);
    const after = afterBatch(plans).map(inLists);
    expect(after.flatMap(({ id, holds }) => holds.map(({ reason }) => [id, reason]))).toEqual([
      [2n, 'conflict'],
    ]);
  });

  it('still reports 9 users of a waiting batch if the service changes one of these users and 9 more are edited', () => {
    const held = heldBy(judge({ edits: many(9) }));
    const more = Object.fromEntries(
      Object.keys(many(9)).map((id) => [Number(id) + 10, { email: `more${id}@example.com` }]),
    );
    const web = { 11: { email: 'web@example.com' } };
    const later = judge({ edits: { ...many(9), ...more }, shows: web, held, policy: mirrorWins });
    expect(later.refused).toEqual([
      '9 of 40 users would be pushed within a day, more than the limit of 8',
      '9 users of an earlier batch wait for a decision',
    ]);
  });

  it('reports the reason, but does not stop the run, if new edits beside a waiting batch exceed the limit of the day', () => {
    const first = judge({ edits: many(9) });
    const pushedToday = new Set(Array.from({ length: 19 }, (_, at) => BigInt(at + 20)));
    const fresh = Object.fromEntries([2, 3, 4, 5, 6, 7, 8, 9].map((id) => [id, { phone: `1555020${id}` }]));
    const later = judge({ edits: { ...many(9), ...fresh }, held: heldBy(first), history: { pushedToday } });
    expect(later).toMatchObject({ stopped: false, isNews: false });
    expect(later.refused).toEqual([
      '27 of 40 users would be pushed within a day, more than the limit of 8',
      '9 users of an earlier batch wait for a decision',
    ]);
  });

  it('reports news if new edits of the users in a waiting batch exceed the limit on a run', () => {
    const held = heldBy(judge({ edits: many(9) }));
    const both = Object.entries(many(9)).map(([id, mail]) => [id, { ...mail, phone: `155503${id}` }]);
    const shows = Object.fromEntries(both.map(([id]) => [id, { email: 'web@example.com' }]));
    const later = judge({ edits: Object.fromEntries(both), shows, held, policy: mirrorWins });
    expect(later).toMatchObject({ stopped: false, isNews: true });
  });

  it('writes no hold of a returning user if it stops the run', () => {
    const left = { gone: true, email: 'kept@example.com' };
    const { stopped, plans, writes } = judge({ edits: { ...many(9), 2: left } });
    expect([stopped, planOf(plans, 2n)?.holds.length]).toEqual([true, 1]);
    expect(writes.holds.map(({ id }) => id)).not.toContain(2n);
  });

  it('returns the names of the waiting users, and states in a hold that a later change voided its approval', () => {
    const edits = { 2: { email: 'new@example.com' } };
    const web = { name: 'Anne Berg', email: 'moved@example.com' };
    const hold = holdOf(2n, 'new@example.com', approved);
    const plain = judge({ edits: many(9) }).waiting.map(({ hold: { detail } }) => detail);
    expect(new Set(plain)).toEqual(
      new Set(['9 of 40 users would be pushed within a day, more than the limit of 8']),
    );
    const verdict = judge({ edits, shows: { 2: web }, held: { 2: [hold] }, policy: mirrorWins });
    const again = { edits: { ...edits, ...many(8) }, shows: { 2: web }, held: { 2: [hold] } };
    expect(judge({ ...again, policy: mirrorWins }).refused[0]).toContain('9 of 40');
    expect(verdict.waiting).toMatchObject([
      {
        userId: 2n,
        name: 'Anne Berg',
        hold: {
          detail: expect.stringMatching(
            /^.+; edited again, or changed on the service, since it was held$/,
          ) as string,
        },
      },
    ]);
  });
});

it('The guard holds an edit as a conflict if the service has undone the edit three times', () => {
  const undone = holdOf(2n, 'new@example.com', { reason: 'conflict', detail: 'changed back 3 times' });
  const { plans } = judge({
    edits: { 2: { email: 'new@example.com' } },
    history: { undone: [{ id: 2n, hold: undone }] },
  });
  expect(planOf(plans, 2n)).toMatchObject({
    holds: [{ field: 'email', reason: 'conflict', detail: undone.detail }],
  });
});

describe('a limit on single fields', () => {
  const held = (given: Edits): readonly (readonly [number, Field])[] =>
    judge(given).plans.flatMap(({ id, holds }) => holds.map(({ field }) => [Number(id), field] as const));
  const demoted = { roleId: 4n };

  it('holds the demotion of an administrator if the demotion of the only other administrator is in flight (O6)', () => {
    const two = { shows: { 2: { roleId: 1n } } };
    const agreed = (view: GuardView): GuardView => ({
      ...view,
      present: view.present.map((user) => (user.id === 2n ? { ...user, roleId: 1n } : user)),
    });
    const run = (given: Edits) =>
      guard(agreed(viewOf({ ...two, ...given })), settings).plans.map((plan) => holdsOf(plan).length);
    expect(run({ edits: { 1: demoted } }).includes(1)).toBe(false);
    expect(run({ edits: { 1: demoted }, open: [{ userId: 2n, sent: demoted }] }).includes(1)).toBe(true);
  });

  it.each<readonly [string, Edits, readonly (readonly [number, Field])[]]>([
    ['another has it in capitals', { edits: { 2: { email: emailOf(3n).toUpperCase() } } }, [[2, 'email']]],
    [
      'another user has it on the service only',
      { edits: { 2: { email: 'moved@example.com' } }, shows: { 3: { email: 'moved@example.com' } } },
      [[2, 'email']],
    ],
    [
      'another user has given it away on the service',
      { edits: { 2: { email: emailOf(3n) } }, shows: { 3: { email: 'moved@example.com' } } },
      [],
    ],
    [
      'a user has it whom the service does not show',
      { edits: { 2: { email: emailOf(3n) } }, shows: { 3: null } },
      [[2, 'email']],
    ],
    [
      'a push of it to another user is in flight',
      { edits: { 2: { email: 'x@example.com' } }, open: [{ userId: 3n, sent: { email: 'x@example.com' } }] },
      [[2, 'email']],
    ],
    [
      'another user has it, and a person approved its batch',
      { edits: { 2: { email: emailOf(3n) } }, held: { 2: [holdOf(2n, emailOf(3n), approved)] } },
      [[2, 'email']],
    ],
  ])('holds an address if another user has or will get it, else not: %s (O2)', (_, given, expected) => {
    expect(held(given)).toEqual(expected);
  });
});

it('A hold by a limit records the edit of the mirror, and the base that the run writes', () => {
  const view = viewOf(
    { edits: { 11: { email: emailOf(12n) } } },
    { 11: { email: { id: 8n, transaction: '5' } } },
  );
  const states = view.states.map((state) => (state.id === 11n ? { ...state, base: undefined } : state));
  const made = states.map((state) => planUser(state, { ...member, id: state.id }, mirrorWins));
  const [hold] = holdsOf(guard({ ...view, states, plans: made }, settings).plans[10] as UserPlan);
  expect(hold).toMatchObject({ field: 'email', base: emailOf(11n) });
});

describe('an email that another user has', () => {
  const to = (user: number) => ({ email: `user${user}@example.com` });
  const crossed = { 2: { email: 'new@example.com', phone: phoneOf(3n) }, 3: { ...to(2), phone: '15550998' } };
  const other = { id: 8n, transaction: '6' };
  const passed = { ...resolved, edit: 8n };
  const made = { 2: { email: other, phone: other }, 3: { email: other, phone: other } };
  it.each<readonly [string, Edits, Readonly<Record<number, string>>]>([
    [
      'waits for the next run if this run gives the other user another email',
      { edits: { 2: to(3), 3: to(99) } },
      { 2: 'next' },
    ],
    [
      'is held if the new email of the other user is held as a batch',
      { edits: { 2: to(3), 3: to(99), ...many(9) } },
      { 2: 'alone', 3: 'batch' },
    ],
    [
      'is held if both users exchange their emails',
      { edits: { 2: to(3), 3: to(2) } },
      { 2: 'alone', 3: 'alone' },
    ],
    [
      'is held if the other user waits, too',
      { edits: { 2: to(3), 3: to(4), 4: to(99) } },
      { 2: 'alone', 3: 'next' },
    ],
    [
      'waits for the other user even if a person let the email pass',
      { edits: { 2: to(3), 3: to(99) }, held: { 2: [holdOf(2n, to(3).email, passed)] } },
      { 2: 'next' },
    ],
    [
      'is sent if a person let both users exchange their emails',
      {
        edits: { 2: to(3), 3: to(2) },
        held: { 2: [holdOf(2n, to(3).email, passed)], 3: [holdOf(3n, to(2).email, passed)] },
      },
      {},
    ],
    [
      'is held if the other user takes the same email, which a person let pass',
      { edits: { 2: to(99), 3: to(99) }, held: { 3: [holdOf(3n, to(99).email, passed)] } },
      { 2: 'alone' },
    ],
    [
      'is held if the other user waits for this user because of another field',
      { edits: crossed },
      { 2: 'alone', 3: 'alone' },
    ],
  ])('waits if the owner gives it up, and is held otherwise: it %s', (_, given, expected) => {
    const { plans } = guard(viewOf(given, made), settings);
    const found = plans.slice(0, 4).flatMap(({ id, fields: { email } }) => {
      if (email.kind === 'wait' && email.until !== undefined) return [[Number(id), email.until]];
      return email.kind === 'hold' ? [[Number(id), email.hold.isAlone === true ? 'alone' : 'batch']] : [];
    });
    expect(Object.fromEntries(found)).toEqual(expected);
  });
});

it('The guard holds the demotion of the last administrator if the promotion of another user waits in an earlier batch', () => {
  const held = { 3: [holdOf(3n, 5n, { field: 'roleId' })] };
  const { plans } = judge({ edits: { 1: { roleId: 4n }, 3: { roleId: 1n } }, held });
  expect(plans.flatMap(({ id, holds }) => holds.map(({ isAlone }) => [id, isAlone]))).toEqual([
    [1n, true],
    [3n, undefined],
  ]);
});

it('The guard writes no new hold for two held fields if the limit and the reason are unchanged', () => {
  const both = { email: { id: 8n, transaction: '5' }, phone: { id: 9n, transaction: '5' } };
  const words = 'user 12 has or will get the same email';
  const phone = {
    field: 'phone',
    edit: 9n,
    isAlone: true,
    detail: `edited together with email: ${words}`,
  } as const;
  const held = {
    11: [
      holdOf(11n, emailOf(12n), { edit: 8n, isAlone: true, detail: words }),
      holdOf(11n, '15550999', phone),
    ],
  };
  const view = viewOf({ edits: { 11: { email: emailOf(12n), phone: '15550999' } }, held }, { 11: both });
  const { plans } = guard({ ...view, offers: offerLimited(view.plans, view.states) }, settings);
  expect(plans.flatMap(holdsOf)).toEqual([]);
});

describe('a second edited field of the same user', () => {
  const phone = '15550999';
  const roles = { 12: { roleId: 5n }, 13: { roleId: 5n }, 14: { roleId: 5n } };
  const changed = { base: emailOf(11n), mirror: 'new@example.com', service: emailOf(11n) };
  const undone = { field: 'email', reason: 'conflict', detail: 'changed back', ...changed } as const;
  const put = { 11: { email: 'new@example.com', phone } };
  const demoted = { roleId: 4n, phone };
  const limited = [`edited together with email: user 12 has or will get the same email`];
  it.each<readonly [string, Id, Field, Edits, readonly string[] | 'next' | 'whole' | 'push']>([
    ['another user has the email', 11n, 'email', { edits: { 11: { email: emailOf(12n), phone } } }, limited],
    [
      'too many roles would change',
      11n,
      'roleId',
      { edits: { ...roles, 11: { roleId: 5n, phone } } },
      ['edited together with role_id: 4 roles would change in one run, more than 3'],
    ],
    [
      'no administrator would be left',
      1n,
      'roleId',
      { edits: { 1: demoted } },
      ['edited together with role_id: no administrator would be left'],
    ],
    [
      'the demotion waits for a promotion',
      1n,
      'roleId',
      { edits: { 1: demoted, 3: { roleId: 1n } } },
      'next',
    ],
    [
      'the demotion waits for a run over all users',
      1n,
      'roleId',
      { edits: { 1: demoted }, isWhole: false },
      'whole',
    ],
    [
      'the service put the email back',
      11n,
      'email',
      { edits: put, history: { undone: [{ id: 11n, hold: undone }] } },
      'push',
    ],
  ])(
    'waits with a field that a limit holds if one transaction edited both, else is sent: %s (O6, S70)',
    (_, id, field, given, expected) => {
      const phoneOfEdits = (made: UserState['edits']) => {
        const { plans } = guard(viewOf(given, { [Number(id)]: made }), settings);
        const plan = plans.find((one) => one.id === id);
        expect(plan?.fields[field].kind).not.toBe('push');
        const decision = plan?.fields.phone;
        if (decision?.kind === 'wait') return decision.until;
        return decision?.kind === 'hold' ? [decision.hold.detail] : decision?.kind;
      };
      const [edit, other] = [
        { id: 8n, transaction: '5' },
        { id: 9n, transaction: '6' },
      ];
      expect(phoneOfEdits({ [field]: edit, phone: edit })).toEqual(expected);
      for (const edits of [{ [field]: edit, phone: other }, { [field]: edit }, { phone: edit }, {}])
        expect(phoneOfEdits(edits)).toBe('push');
    },
  );

  it('stays in the batch of the run if a limit on the run stops it as well', () => {
    const both = { email: { id: 8n, transaction: '5' }, phone: { id: 9n, transaction: '5' } };
    const view = viewOf(
      { edits: { 11: { email: emailOf(12n), phone }, 13: { phone: '15550998' } } },
      { 11: both },
    );
    const { plans } = guard(view, { ...settings, maxRows: 0, maxShare: 0 });
    const held = plans.filter(({ id }) => id === 11n).flatMap(holdsOf);
    expect(held.map(({ field, isAlone = false }) => [field, isAlone])).toEqual([
      ['email', true],
      ['phone', false],
    ]);
  });

  it('passes if a person resolved its hold, and keeps its own reason if limits hold both fields', () => {
    const edits = { 11: { email: emailOf(12n), phone: phoneOf(12n) } };
    const both = { email: { id: 8n, transaction: '5' }, phone: { id: 9n, transaction: '5' } };
    const phoneAfter = (held: readonly Hold[]) => {
      const { plans } = guard(viewOf({ edits, held: { 11: held } }, { 11: both }), settings);
      const decision = plans.find(({ id }) => id === 11n)?.fields.phone;
      return decision?.kind === 'hold' ? decision.hold.detail : decision?.kind;
    };
    expect(phoneAfter([])).toBe('user 12 has or will get the same phone');
    const passed = holdOf(11n, phoneOf(12n), { ...resolved, field: 'phone', edit: 9n });
    expect(phoneAfter([passed])).toBe('push');
  });

  it.each<readonly [string, Partial<Hold>, Partial<Edits>, boolean]>([
    ['is held while a limit holds the first field since an earlier run', {}, {}, true],
    [
      'is held while a person holds the first field, which a limit would hold',
      { reason: 'asked', endsInMs: 9 },
      {},
      true,
    ],
    ['is sent if a person rejected the first field', { reason: 'rejected' }, {}, false],
    [
      'is held if the service changes the first field, which is held again',
      {},
      { shows: { 11: { email: 'moved@example.com' } }, policy: mirrorWins },
      true,
    ],
  ])('waits with a held first field, but not with a rejected first one: it %s', (_, more, given, isHeld) => {
    const edits = { 11: { email: emailOf(12n), phone } };
    const both = { email: { id: 8n, transaction: '5' }, phone: { id: 9n, transaction: '5' } };
    const email = holdOf(11n, emailOf(12n), { isAlone: true, edit: 8n, detail: 'why', ...more });
    const earlier = holdOf(11n, phone, {
      ...email,
      field: 'phone',
      base: phoneOf(11n),
      mirror: phone,
      service: phoneOf(11n),
      edit: 9n,
      reason: 'limit',
      detail: 'edited together with email: why',
    });
    for (const held of [[email], [email, earlier]]) {
      const view = viewOf({ edits, held: { 11: held }, ...given }, { 11: both });
      const { plans } = guard({ ...view, offers: offerLimited(view.plans, view.states) }, settings);
      const decision = plans.find(({ id }) => id === 11n)?.fields.phone;
      expect([decision?.kind === 'push', decision?.kind]).toEqual([!isHeld, expect.anything()]);
    }
  });

  const free = 'free@example.com';
  it.each<readonly [string, string, readonly Partial<Hold>[], string, string]>([
    [
      'is sent while a limit holds the first field only together with a third field',
      free,
      [{ detail: 'edited together with role_id: why' }],
      'push',
      'push',
    ],
    [
      'is sent if a later edit of the first field waits on request',
      free,
      [{ edit: 1n, reason: 'asked', endsInMs: 9 }],
      'held',
      'push',
    ],
    [
      'waits with the first field until the next run, if the limit on the first field ends in this run',
      free,
      [{ detail: 'why' }],
      'held',
      'hold',
    ],
    [
      'is held although a person approved the second field, for example by an import',
      emailOf(12n),
      [{ detail: 'user 12 has or will get the same email' }, { decision: 'approved' }],
      'held',
      'hold',
    ],
    [
      'is sent if a person resolved a conflict of the second field',
      emailOf(12n),
      [{ detail: 'user 12 has or will get the same email' }, { reason: 'conflict', decision: 'approved' }],
      'held',
      'push',
    ],
  ])('waits if a limit holds the first field in its own right: it %s', (_, value, holds, first, second) => {
    const both = { email: { id: 8n, transaction: '5' }, phone: { id: 9n, transaction: '5' } };
    const held = holds.map((hold, at) =>
      at === 0
        ? holdOf(11n, value, { isAlone: true, edit: 8n, ...hold })
        : holdOf(11n, phone, { field: 'phone', edit: 9n, ...hold }),
    );
    const view = viewOf({ edits: { 11: { email: value, phone } }, held: { 11: held } }, { 11: both });
    const { plans } = guard({ ...view, offers: offerLimited(view.plans, view.states) }, settings);
    const fate = plans.find(({ id }) => id === 11n)?.fields;
    expect([fate?.email.kind, fate?.phone.kind]).toEqual([first, second]);
  });

  it('makes the promotion of the same transaction wait if held, so the last administrator is not demoted', () => {
    const edits = { 1: { roleId: 4n }, 11: { roleId: 1n, phone: phoneOf(12n) } };
    const both = { roleId: { id: 8n, transaction: '5' }, phone: { id: 9n, transaction: '5' } };
    const { plans } = guard(viewOf({ edits }, { 11: both }), settings);
    const kinds = [1n, 11n].map((id) => plans.find((plan) => plan.id === id)?.fields.roleId.kind);
    expect(kinds).toEqual(['hold', 'hold']);
  });
});

describe('a hold by a limit on one field', () => {
  const look = (given: Edits, more: Partial<GuardSettings>) => {
    const view = viewOf(given);
    const verdict = guard(
      { ...view, offers: offerLimited(view.plans, view.states) },
      { ...settings, ...more },
    );
    const of = (kind: 'push' | 'held' | 'hold') =>
      verdict.plans
        .filter(({ fields }) => Object.values(fields).some((field) => field.kind === kind))
        .map(({ id }) => Number(id));
    return { verdict, sent: of('push'), stays: of('held'), renewed: of('hold') };
  };

  it('ends if the service shows the field and otherwise stays, while the user’s phone is sent in both cases', () => {
    const edited = { email: 'held@example.com', phone: '15550999' };
    const sendsWith = (more: Partial<Hold>, says: Partial<ServiceUser>) => {
      const held = { 11: [holdOf(11n, edited.email, { isAlone: true, ...more })] };
      const { verdict } = look({ edits: { 11: edited }, held, shows: { 11: says } }, {});
      const { patch, releases } = planOf(verdict.plans.map(inLists), 11n) ?? {};
      return { patch, releases, approved: verdict.approved };
    };
    const approved = new Map([[11n, []]]);
    expect(sendsWith({}, {})).toEqual({ patch: edited, releases: ['email'], approved });
    const sent = { patch: { phone: edited.phone }, releases: [], approved };
    for (const more of [resolved, {}]) expect(sendsWith(more, { email: undefined as never })).toEqual(sent);
  });

  it('ends with its limit, although the demotion of the same user stays held until another is promoted', () => {
    const phone = '15550999';
    const held = {
      1: [
        holdOf(1n, 4n, { field: 'roleId', isAlone: true }),
        holdOf(1n, phone, { field: 'phone', isAlone: true }),
      ],
    };
    const { verdict } = look({ edits: { 1: { roleId: 4n, phone }, 2: { roleId: 1n } }, held }, {});
    expect(planOf(verdict.plans.map(inLists), 1n)).toMatchObject({ patch: { phone }, held: ['roleId'] });
  });

  const today = (count: number) => new Set(Array.from({ length: count }, (_, at) => BigInt(at + 101)));
  const tooMany = 'too many users would be pushed within a day; no other limit holds the field now';
  const day = { reason: 'limit', isAlone: true, detail: tooMany };
  it.each<readonly [string, number, Edits, Partial<GuardSettings>, object | null]>([
    [
      'stays as a review if a person reviews each push',
      1,
      {},
      { isReviewed: true },
      { reason: 'review', detail: 'a person must review it first' },
    ],
    [
      'stays if earlier runs used up the limit of the day',
      1,
      { history: { pushedToday: today(8) } },
      {},
      day,
    ],
    ['stays if this run uses up the limit', 1, { edits: many(8) }, {}, day],
    ['ends if this run is one push below the limit', 1, { edits: many(7) }, {}, null],
    ['stays for two users if only one more may be pushed to', 2, { edits: many(7) }, {}, day],
    ['ends if limits hold the other pushes', 1, { edits: sharing(8) }, {}, null],
  ])('ends if the limits of the run allow the push, else stays: it %s', (_, count, given, more, waits) => {
    const ids = Array.from({ length: count }, (__, at) => at + 31);
    const mine = Object.fromEntries(ids.map((id) => [id, { email: `held${id}@example.com` }]));
    const held = Object.fromEntries(
      ids.map((id) => [id, [holdOf(BigInt(id), `held${id}@example.com`, { isAlone: true })]]),
    );
    const again = (holds: NonNullable<Edits['held']>) =>
      look({ ...given, edits: { ...given.edits, ...mine }, held: holds }, more);
    const { verdict, sent } = again(held);
    expect(ids.filter((id) => sent.includes(id))).toEqual(waits === null ? ids : []);
    const now = ids.map((id) => planOf(verdict.plans.map(inLists), BigInt(id))?.holds ?? []);
    expect(now).toMatchObject(ids.map(() => (waits === null ? [] : [waits])));
    // What waits from now on as any other is written with it.
    const isReview = waits !== null && 'reason' in waits && waits.reason === 'review';
    expect(verdict.writes.holds.map(({ id }) => Number(id))).toEqual(isReview ? ids : []);
    // It is said once.
    const said = Object.fromEntries(
      ids.map((id, at) => [id, now[at]?.map((hold) => ({ ...held[id]?.[0], ...hold })) ?? []]),
    );
    if (waits !== null)
      expect(again(said as NonNullable<Edits['held']>)).toMatchObject({ stays: ids, renewed: [] });
  });
});
