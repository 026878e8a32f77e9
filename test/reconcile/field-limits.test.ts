/** The limits on single fields, each by itself; `guard.test.ts` shows them together. */
import { describe, expect, it } from 'vitest';
import type { Id } from '../../src/model/id.ts';
import type { Intent } from '../../src/model/intent.ts';
import type { MirrorRow } from '../../src/model/user.ts';
import { holdField, isPush } from '../../src/model/user-plan.ts';
import {
  indexAddresses,
  type FieldLimit,
  joinLimits,
  lastAdministrators,
  type Population,
  sharedAddresses,
  tooManyRoles,
} from '../../src/reconcile/guard/field-limits.ts';
import { planUser } from '../../src/reconcile/merge/plan-user.ts';
import { holdAll, makeState, member, without } from './states.ts';

interface Person {
  readonly role?: Id;
  readonly to?: Partial<MirrorRow>;
  readonly reads?: 'all' | 'no role' | 'nothing';
  readonly listed?: boolean;
  readonly email?: string;
}

/** A team, with what each is edited to, as the limits see it. */
async function stage(
  people: Readonly<Record<number, Person>>,
  more: { readonly open?: readonly Pick<Intent, 'userId' | 'sent'>[]; readonly isWhole?: boolean } = {},
) {
  const all = Object.entries(people).map(([key, { role = 4n, to = {}, ...person }]) => {
    const id = BigInt(key);
    const values = { email: `user${id}@example.com`, phone: String(15550100n + id), roleId: role };
    const state = makeState({ base: values, mirror: { ...values, ...to }, service: values });
    const service = state.service && { ...state.service, id };
    return { id, values, person, state: { ...state, id, service }, service };
  });
  const read = all.flatMap(({ id, person: { reads = 'all' }, service }) =>
    service === undefined || reads === 'nothing'
      ? []
      : [[id, reads === 'all' ? service : without('roleId', service)] as const],
  );
  const listed = all.filter(({ person }) => person.listed !== false);
  const members = new Map(
    listed.map(({ id, person: { email = null } }) => [id, { ...member, id, email, phone: null }]),
  );
  const population: Population = {
    users: new Map(read),
    differing: all.map(({ id }) => id),
    isWhole: true,
    members,
    listed: await indexAddresses(members),
    present: all.map(({ id, values }) => ({ id, ...values })),
    open: [],
    ...more,
  };
  const plans = all.map(({ id, state }) => planUser(state, { ...member, id }, holdAll)).filter(isPush);
  return { plans, population };
}

const demoted = { role: 1n, to: { roleId: 4n } };
const promoted = { to: { roleId: 1n } };
const phone = { to: { phone: '15550177' } };
const administrator = { role: 1n };

/** By user, the run that a field waits for, or that it waits for a decision. */
const untilOf = (limits: readonly FieldLimit[]) =>
  Object.fromEntries(
    limits.map(({ id, decision }) => [id, decision.kind === 'wait' ? decision.until : 'a decision']),
  );

describe('lastAdministrators', () => {
  type More = Parameters<typeof stage>[1] & {
    readonly unsent?: Id;
    readonly resolved?: Id;
    readonly admins?: readonly Id[];
  };
  const none = {};
  it.each<
    [string, Readonly<Record<number, Person>>, More, readonly number[], Readonly<Record<number, string>>]
  >([
    ['missing', { 1: demoted, 2: {} }, none, [1], {}],
    ['there', { 1: demoted, 2: administrator }, none, [], {}],
    ['there, with an edited phone', { 1: demoted, 2: { ...phone, role: 1n } }, none, [], {}],
    [
      'there, with a phone in flight',
      { 1: demoted, 2: administrator },
      { open: [{ userId: 2n, sent: { phone: '15550177' } }] },
      [],
      {},
    ],
    [
      'there, with a demotion in flight',
      { 1: demoted, 2: administrator },
      { open: [{ userId: 2n, sent: { roleId: 4n } }] },
      [1],
      {},
    ],
    ['missing, while a phone is edited', { 1: demoted, 2: phone }, none, [1], {}],
    ['missing, while another user is promoted', { 1: demoted, 2: promoted }, none, [], { 1: 'next' }],
    [
      'missing, while an unlisted user is promoted',
      { 1: demoted, 2: { ...promoted, listed: false } },
      none,
      [1],
      {},
    ],
    ['missing, while a promotion waits', { 1: demoted, 2: promoted }, { unsent: 2n }, [1], {}],
    ['missing, but the demotion is not sent now', { 1: demoted, 2: promoted }, { unsent: 1n }, [], {}],
    ['missing, but a person resolved the demotion', { 1: demoted, 2: {} }, { resolved: 1n }, [], {}],
    [
      'missing, and a person resolved the demotion beside a promotion',
      { 1: demoted, 2: promoted },
      { resolved: 1n },
      [],
      { 1: 'next' },
    ],
    ['missing, and only some users were read', { 1: demoted, 2: {} }, { isWhole: false }, [], { 1: 'whole' }],
    [
      'missing, and a person resolved the demotion, and only some users were read',
      { 1: demoted, 2: {} },
      { isWhole: false, resolved: 1n },
      [],
      {},
    ],
    ['listed, but not read', { 1: demoted, 2: { ...administrator, reads: 'nothing' } }, none, [], {}],
    [
      'neither listed nor read',
      { 1: demoted, 2: { ...administrator, reads: 'nothing', listed: false }, 3: {} },
      none,
      [1],
      {},
    ],
    ['read, but not listed', { 1: demoted, 2: { ...administrator, listed: false } }, none, [1], {}],
    [
      'read, and the team lists nobody',
      { 1: { ...demoted, listed: false }, 2: { ...administrator, listed: false } },
      none,
      [],
      {},
    ],
    [
      'not read, and the team lists nobody',
      { 1: { ...demoted, listed: false }, 2: { ...administrator, reads: 'nothing', listed: false } },
      none,
      [1],
      {},
    ],
    ['missing, and there are two administrator roles', { 1: demoted, 2: {} }, { admins: [1n, 2n] }, [1], {}],
    ['read without a role', { 1: demoted, 2: { ...administrator, reads: 'no role' } }, none, [], {}],
    ['an administrator by another role', { 1: demoted, 2: { role: 2n } }, { admins: [1n, 2n] }, [], {}],
    [
      'missing, but the new role is an administrator role too',
      { 1: { role: 1n, to: { roleId: 2n } } },
      { admins: [1n, 2n] },
      [],
      {},
    ],
  ])(
    'holds or postpones a demotion unless another administrator remains: the second is %s',
    async (_, people, { unsent, resolved, admins = [1n], ...more }, held, postponed) => {
      const { plans, population } = await stage(people, more);
      const pushes = plans.map((plan) => ({
        plan,
        edits: {},
        chosen: [],
        resolved: plan.id === resolved ? (['roleId'] as const) : [],
      }));
      const limits = lastAdministrators(pushes, population, admins, ({ plan }) => plan.id !== unsent);
      // A person's decision passes the limit.
      expect(untilOf(limits)).toEqual({
        ...Object.fromEntries(held.map((id) => [id, 'a decision'])),
        ...postponed,
      });
    },
  );
});

describe('tooManyRoles', () => {
  const roles = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [at + 1, { to: { roleId: 5n } }]));
  it.each([
    [3, []],
    [4, [1, 2, 3, 4]],
  ])('holds role changes if a run has more than 3, and no phone: %i changes (S12)', async (count, held) => {
    const { plans } = await stage({ ...roles(count), 8: phone, 9: phone });
    const limits = tooManyRoles(
      plans.map((plan) => ({ plan, edits: {}, chosen: [], resolved: [] })),
      3,
    );
    expect(limits.map(({ id }) => Number(id))).toEqual(held);
    // A role that a person let pass does not count.
    const passed = plans.map((plan, at) => ({
      plan,
      edits: {},
      chosen: [],
      resolved: at > 0 ? [] : (['roleId'] as const),
    }));
    expect(tooManyRoles(passed, 3)).toEqual([]);
    const words = limits.map(({ decision }) => decision.kind === 'hold' && decision.hold.detail);
    expect(new Set(words)).toEqual(new Set(held.map(() => '4 roles would change in one run, more than 3')));
  });
});

describe('sharedAddresses', () => {
  const both = { email: 'both@example.com' };
  const [listed, taking] = [
    { 2: both, 3: both },
    { ...both, to: both },
  ];
  const third = { 2: { to: { email: 'user3@example.com' } }, 3: phone };
  it.each<[string, Readonly<Record<number, Person>>, boolean, boolean, Record<number, string>]>([
    ['user 2 takes a listed address', { ...listed, 2: taking }, true, false, { 2: 'a decision' }],
    ['user 3 takes a listed address', { ...listed, 3: taking }, true, false, { 3: 'a decision' }],
    [
      'only the list shows the address, not the lookup of its owner, so it is sent',
      { 2: { to: both }, 3: both },
      false,
      false,
      {},
    ],
    ['its owner keeps the address', third, true, false, { 2: 'a decision' }],
    ['its only owner gives up the address', third, true, true, { 2: 'next' }],
    [
      'two other users have the address',
      { ...third, 4: { to: { email: 'user3@example.com' } } },
      true,
      true,
      { 2: 'a decision', 4: 'a decision' },
    ],
  ])(
    'holds an address that another user keeps, and postpones an address that its owner gives up: %s',
    async (_, people, isWhole, isGiven, expected) => {
      const { plans, population } = await stage(people, { isWhole });
      const pushes = plans.map((plan) => ({ plan, edits: {}, chosen: [], resolved: [] }));
      expect(untilOf(sharedAddresses(pushes, population, () => isGiven))).toEqual(expected);
    },
  );
});

it('joinLimits returns the first hold of each field, or a wait if the field has no hold', () => {
  const values = { base: null, mirror: null, service: null };
  const hold = (field: 'email' | 'phone', detail: string) => holdField(field, 'limit', detail, values);
  const [first, second, other] = [hold('email', 'a'), hold('email', 'b'), hold('phone', 'c')];
  const email = { id: 1n, field: 'email' } as const;
  const wait = { kind: 'wait', until: 'next' } as const;
  const joined = joinLimits([
    { ...email, decision: wait },
    { ...email, decision: first },
    { ...email, decision: second },
    { ...email, field: 'phone', decision: other },
    { ...email, field: 'phone', decision: wait },
    { ...email, id: 2n, decision: wait },
  ]);
  expect(joined).toEqual(
    new Map([
      [1n, { email: first, phone: other }],
      [2n, { email: wait }],
    ]),
  );
});
