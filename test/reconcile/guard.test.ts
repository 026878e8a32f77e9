import { describe, expect, it } from 'vitest';
import type { Intent, UserPlan, UserState } from '../../src/model/change.ts';
import type { Id } from '../../src/model/id.ts';
import type { GuardHistory, PlannedPush } from '../../src/model/plan.ts';
import type { Field, MirrorUser, ServiceUser, UserPatch } from '../../src/model/user.ts';
import { type GuardSettings, type GuardView, guard } from '../../src/reconcile/guard.ts';
import { planUser } from '../../src/reconcile/plan-user.ts';
import { hashOf, onlyGuarded, plannedPush, shownIn } from '../../src/reconcile/planned-push.ts';
import { holdAll, type Policy } from '../../src/reconcile/policy.ts';
import { makeState, member, shown } from './states.ts';
import { isYes, rowsOf, type YesNo } from './truth.ts';

const settings: GuardSettings = {
  maxRows: 5,
  maxShare: 0.2,
  maxSharePerDay: 0.5,
  minPopulation: 20,
  maxRoleChanges: 3,
  maxDrift: 0.2,
  adminRoleIds: [1n],
};

const nobody: GuardHistory = { pushedToday: new Set(), approved: [], resolved: [], waiting: null };
const mirrorWins: Policy = { ...holdAll, email: 'mirror-wins' };

interface Edits {
  readonly edits?: Readonly<Record<number, Partial<MirrorUser>>>;
  /** What the service shows otherwise, by user; `null`: it shows nobody. */
  readonly shows?: Readonly<Record<number, Partial<ServiceUser> | null>>;
  readonly history?: Partial<GuardHistory>;
  readonly open?: readonly Pick<Intent, 'userId' | 'sent'>[];
  readonly policy?: Policy;
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
function viewOf({ edits = {}, shows = {}, history = {}, open = [], policy = holdAll }: Edits): GuardView {
  const ids = Array.from({ length: 40 }, (_, i) => BigInt(i + 1));
  const states = ids.map((id) => {
    const said = shows[Number(id)];
    return stateOf(id, edits[Number(id)] ?? {}, said === undefined ? {} : said);
  });
  return {
    states,
    plans: states.map((state) => planUser(state, { ...member, id: state.id }, policy)),
    users: new Map(states.flatMap(({ id, service }) => (service === undefined ? [] : [[id, service]]))),
    members: new Map(ids.map((id) => [id, { ...member, id }])),
    present: ids.map((id) => ({
      id,
      email: emailOf(id),
      phone: phoneOf(id),
      roleId: id === 1n ? 1n : 4n,
    })),
    open,
    population: ids.length,
    history: { ...nobody, ...history },
  };
}

const judge = (given: Edits) => guard(viewOf(given), settings);
const planOf = (plans: readonly UserPlan[], id: Id) => plans.find((plan) => plan.id === id);
/** New emails for so many users, from the 11th on. */
const many = (count: number): Record<number, Partial<MirrorUser>> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [i + 11, { email: `new${i}@example.com` }]));
/** The row of one email as a plan holds it. */
const rowOf = (id: Id, email: string, more: Partial<PlannedPush> = {}): PlannedPush => ({
  userId: id,
  name: '',
  base: { email: emailOf(id) },
  patch: { email },
  ...more,
});

describe('a field that would be pushed', () => {
  type Said = 'nothing' | 'approved' | 'resolved' | 'left';
  type Fate = 'sent' | 'waits' | 'held';
  const table: Record<Said, Record<`braked ${YesNo}`, Record<`refused ${YesNo}`, Fate>>> = {
    nothing: {
      'braked no': { 'refused no': 'sent', 'refused yes': 'waits' },
      'braked yes': { 'refused no': 'held', 'refused yes': 'held' },
    },
    approved: {
      'braked no': { 'refused no': 'sent', 'refused yes': 'sent' },
      'braked yes': { 'refused no': 'held', 'refused yes': 'held' },
    },
    resolved: {
      'braked no': { 'refused no': 'sent', 'refused yes': 'sent' },
      'braked yes': { 'refused no': 'sent', 'refused yes': 'sent' },
    },
    left: {
      'braked no': { 'refused no': 'waits', 'refused yes': 'waits' },
      'braked yes': { 'refused no': 'held', 'refused yes': 'held' },
    },
  };
  const cases = rowsOf(table).flatMap(([said, byBrake]) =>
    rowsOf(byBrake).flatMap(([braked, byRefusal]) =>
      rowsOf(byRefusal).map(([refused, fate]) => ({ said, braked, refused, fate })),
    ),
  );
  const word = (text: string) => isYes(text.split(' ')[1] ?? '');

  it.each(cases)('$said, $braked, $refused → $fate', ({ said, braked, refused, fate }) => {
    const email = word(braked) ? emailOf(3n) : 'new@example.com';
    const row = rowOf(2n, email);
    const verdict = judge({
      edits: { 2: { email }, ...(word(refused) ? many(9) : {}) },
      history: {
        approved: said === 'approved' ? [row] : [],
        resolved: said === 'resolved' ? [row] : [],
        waiting: said === 'left' ? [{ ...row, left: ['email'] }] : null,
      },
    });
    const plan = planOf(verdict.plans, 2n);
    const is: Record<Fate, boolean> = {
      sent: plan?.patch.email === email,
      waits: verdict.waiting.some(({ userId }) => userId === 2n),
      held: plan?.holds.some(({ reason }) => reason === 'brake') === true,
    };
    const found = rowsOf(is).flatMap(([one, yes]) => (yes ? [one] : []));
    expect(found).toEqual([fate]);
  });

  it('that is held again ends no hold: the new one takes the place of the old', () => {
    const view = viewOf({ edits: { 2: { email: emailOf(3n), phone: '15550999' } } });
    const plans = view.plans.map((plan) => ({
      ...plan,
      releases: plan.id === 2n ? (['email'] as const) : [],
    }));
    const plan = planOf(guard({ ...view, plans }, settings).plans, 2n);
    expect(plan).toMatchObject({ releases: [], holds: [{ field: 'email' }], patch: { phone: '15550999' } });
  });

  it('passes by itself where the user has another field that does not', () => {
    const row = rowOf(2n, 'new@example.com');
    const verdict = judge({
      edits: { 2: { email: 'new@example.com', phone: '15550999' }, ...many(9) },
      history: { approved: [row] },
    });
    expect(planOf(verdict.plans, 2n)?.patch).toEqual({ email: 'new@example.com' });
    expect(verdict.waiting.find(({ userId }) => userId === 2n)?.patch).toEqual({ phone: '15550999' });
    expect(verdict.approved.get(2n)).toEqual(['email']);
  });
});

describe('what was approved', () => {
  const approved = rowOf(2n, 'new@example.com', { service: { email: 'web@example.com' } });
  it.each([
    ['the same', {}, true],
    ['another value of the service', { service: { email: 'later@example.com' } }, false],
    ['the service as it was last agreed on', { service: {} }, false],
    ['another base', { base: { email: 'other@example.com' } }, false],
    ['another value', { patch: { email: 'other@example.com' } }, false],
  ] as const)('with %s passes: %s', (_, other: Partial<PlannedPush>, passes) => {
    const verdict = judge({
      edits: { 2: { email: 'new@example.com' }, ...many(9) },
      shows: { 2: { email: 'web@example.com' } },
      policy: mirrorWins,
      history: { approved: [{ ...approved, ...other }] },
    });
    expect(planOf(verdict.plans, 2n)?.patch.email !== undefined).toBe(passes);
  });

  it('is told by a hash that knows the value of the service', () => {
    const same = { ...approved, service: { email: emailOf(2n) } };
    expect(hashOf([same])).toBe(hashOf([rowOf(2n, 'new@example.com')]));
    expect(hashOf([approved])).not.toBe(hashOf([same]));
    expect(shownIn(approved, 'email')).toBe('web@example.com');
    expect(shownIn(rowOf(2n, 'new@example.com'), 'email')).toBe(emailOf(2n));
  });
});

describe('a refused plan', () => {
  it('counts what is held, names it, and keeps the rest waiting', () => {
    const first = judge({ edits: { 2: { email: emailOf(3n) }, ...many(8) } });
    expect(first).toMatchObject({
      stopped: true,
      refused: [expect.stringContaining('9 of 40'), expect.stringContaining('email of 2')],
    });
    expect(first.waiting.length).toBe(8);
    // The held field is no push any more, and eight are below the limit by themselves.
    const later = judge({ edits: many(8), history: { waiting: first.waiting } });
    expect(later).toMatchObject({
      stopped: false,
      refused: ['8 users of an earlier plan wait for a decision'],
    });
    expect(hashOf(later.waiting)).toBe(hashOf(first.waiting));
  });

  it.each([
    ['nothing waited before', null, true],
    ['the same waits', many(9), false],
    ['some of it waits', many(2), false],
    ['other users wait', { 30: { email: 'a@example.com' } }, true],
  ] as const)('stops the run if %s: %s', (_, before, stops) => {
    const waiting = before === null ? null : rowsOfPlans(viewOf({ edits: before }).plans);
    expect(judge({ edits: many(9), history: { waiting } }).stopped).toBe(stops);
  });

  it('keeps a left row of a user who is not answered, and drops it once the edit is taken back', () => {
    const waiting = [rowOf(2n, 'new@example.com', { left: ['email'] })];
    expect(judge({ shows: { 2: null }, history: { waiting } }).waiting).toMatchObject(waiting);
    expect(judge({ history: { waiting } })).toMatchObject({ waiting: [], refused: [] });
  });
});

function rowsOfPlans(plans: readonly UserPlan[]): readonly PlannedPush[] {
  return plans.filter(({ patch }) => patch.email !== undefined).map((plan) => plannedPush(plan, ''));
}

describe('the brakes', () => {
  const held = (given: Edits): readonly (readonly [number, Field])[] =>
    judge(given).plans.flatMap(({ id, holds }) => holds.map(({ field }) => [Number(id), field] as const));
  const resolved = (userId: Id, base: UserPatch, patch: UserPatch): PlannedPush => ({
    userId,
    name: '',
    base,
    patch,
  });
  const isAdmin = (ids: readonly number[]): Record<number, Partial<ServiceUser>> =>
    Object.fromEntries(ids.map((id) => [id, { roleId: 1n }]));
  const demoted = { roleId: 4n };

  it.each<readonly [string, Edits, readonly (readonly [number, Field])[]]>([
    ['the only administrator', { edits: { 1: demoted } }, [[1, 'roleId']]],
    [
      'whose role the service leaves out',
      { edits: { 1: demoted }, shows: { 1: { roleId: undefined as never } } },
      [[1, 'roleId']],
    ],
    ['while another is promoted', { edits: { 1: demoted, 2: { roleId: 1n } } }, []],
    [
      'while a promotion is on its way, which may fail',
      { edits: { 1: demoted }, open: [{ userId: 2n, sent: { roleId: 1n } }] },
      [[1, 'roleId']],
    ],
    [
      'while another’s promotion waits in a plan',
      {
        edits: { 1: demoted, 2: { roleId: 1n } },
        history: {
          waiting: [{ userId: 2n, name: '', base: { roleId: 4n }, patch: { roleId: 1n }, left: ['roleId'] }],
        },
      },
      [[1, 'roleId']],
    ],
    [
      'that a person resolved',
      { edits: { 1: demoted }, history: { resolved: [resolved(1n, { roleId: 1n }, demoted)] } },
      [],
    ],
  ])('on the role of %s', (_, given, expected) => {
    expect(held(given)).toEqual(expected);
  });

  it('count a demotion that is on its way as done', () => {
    const two = { shows: isAdmin([2]) };
    const agreed = (view: GuardView): GuardView => ({
      ...view,
      present: view.present.map((user) => (user.id === 2n ? { ...user, roleId: 1n } : user)),
    });
    const run = (given: Edits) =>
      guard(agreed(viewOf({ ...two, ...given })), settings).plans.flatMap(({ holds }) => holds.length);
    expect(run({ edits: { 1: demoted } }).includes(1)).toBe(false);
    expect(run({ edits: { 1: demoted }, open: [{ userId: 2n, sent: demoted }] }).includes(1)).toBe(true);
  });

  it.each<readonly [string, Edits, readonly (readonly [number, Field])[]]>([
    ['that another user has', { edits: { 2: { email: emailOf(3n) } } }, [[2, 'email']]],
    ['in another case', { edits: { 2: { email: emailOf(3n).toUpperCase() } } }, [[2, 'email']]],
    ['that nobody has', { edits: { 2: { email: 'new@example.com' } } }, []],
    [
      'that two are to get',
      { edits: { 2: { phone: '15550999' }, 3: { phone: '15550999' } } },
      [
        [2, 'phone'],
        [3, 'phone'],
      ],
    ],
    [
      'of somebody whom the service does not answer',
      { edits: { 2: { email: emailOf(3n) } }, shows: { 3: null } },
      [[2, 'email']],
    ],
    [
      'that is on its way to another',
      { edits: { 2: { email: 'x@example.com' } }, open: [{ userId: 3n, sent: { email: 'x@example.com' } }] },
      [[2, 'email']],
    ],
    [
      'that another is to get by a decision',
      {
        edits: { 2: { email: 'x@example.com' }, 3: { email: 'x@example.com' } },
        history: { resolved: [resolved(3n, { email: emailOf(3n) }, { email: 'x@example.com' })] },
      },
      [[2, 'email']],
    ],
  ])('on an address %s', (_, given, expected) => {
    expect(held(given)).toEqual(expected);
  });

  it('on roles leave out of the count what a person resolved', () => {
    const roles = (ids: readonly number[]) => Object.fromEntries(ids.map((id) => [id, { roleId: 9n }]));
    expect(held({ edits: roles([2, 3, 4]) })).toEqual([]);
    expect(held({ edits: roles([2, 3, 4, 5]) }).length).toBe(4);
    const one = resolved(2n, { roleId: 4n }, { roleId: 9n });
    expect(held({ edits: roles([2, 3, 4, 5]), history: { resolved: [one] } })).toEqual([]);
  });
});

describe('a plan that is made anew before it is sent', () => {
  const edited = { email: 'new@example.com' };
  const plan = (
    edit: Partial<MirrorUser>,
    says: Partial<ServiceUser> = {},
    agreed: Omit<UserPatch, 'name'> = {},
  ) => {
    const state = makeState({
      mirror: { ...agreed, ...edit },
      base: agreed,
      service: { ...agreed, ...says },
    });
    return planUser(state, member, mirrorWins);
  };
  it.each<readonly [string, UserPlan, UserPatch]>([
    ['unchanged', plan(edited), edited],
    ['with another value', plan({ email: 'other@example.com' }), {}],
    ['with another field too', plan({ ...edited, phone: '15550999' }), edited],
    ['on another base', plan(edited, {}, { email: 'base@example.com' }), {}],
    ['over another value of the service', plan(edited, { email: 'web@example.com' }), {}],
    [
      'with a value of the service in another case',
      plan(edited, { email: shown.email?.toUpperCase() ?? '' }),
      edited,
    ],
  ])('%s sends only what the guard saw', (_, anew, sent) => {
    const kept = onlyGuarded({ ...anew, releases: ['email', 'phone'] }, plan(edited));
    expect(kept.patch).toEqual(sent);
    expect(kept.moves.map(({ field }) => field)).toEqual(Object.keys(sent));
    // What is not sent keeps its hold.
    expect(kept.releases.includes('email')).toBe('email' in sent);
  });
});
