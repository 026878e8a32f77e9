import { describe, expect, it } from 'vitest';
import type { MirrorRow } from '../../src/model/user.ts';
import type { Hold, HoldReason, Values } from '../../src/model/user-plan.ts';
import type { UserState } from '../../src/model/user-state.ts';
import { type GuardView, guard } from '../../src/reconcile/guard/guard.ts';
import { offerLimited } from '../../src/reconcile/guard/field-limits.ts';
import { voidDetail } from '../../src/reconcile/merge/held-field.ts';
import type { ConflictPolicy } from '../../src/reconcile/merge/merge-field.ts';
import { holdAll, base, id, makeState, member, noAddresses, guardLimits } from './states.ts';
import { planUser } from '../../src/reconcile/merge/plan-user.ts';
import { rowsOf } from './truth.ts';

/** A held email, by what holds it. */
type Kind = Exclude<HoldReason, 'limit'> | 'limit on a run' | 'limit alone';
type Event =
  | 'nothing'
  | 'edited again'
  | 'edit withdrawn'
  | 'service moved'
  | 'approved'
  | 'limit lifted'
  | 'user leaves and comes back';
type Fate =
  | 'stays'
  | 'ends'
  | 'held anew'
  | 'sent'
  | 'pulled'
  | 'conflict'
  | 'unsupported'
  | 'returned'
  | 'rejected';

const agreed = base.email ?? '';

function stateOf(kind: Kind): UserState {
  const [reason] = kind.split(' ') as [HoldReason];
  const mirror = reason === 'unsupported' ? '' : 'new@example.com';
  const service = reason === 'conflict' ? 'web@example.com' : agreed;
  const hold: Hold = {
    field: 'email',
    reason,
    base: agreed,
    mirror,
    service,
    shown: service,
    detail: '',
    ...(kind === 'limit alone' ? { isAlone: true } : {}),
    ...(reason === 'asked' ? { endsInMs: 1_000 } : {}),
  };
  return makeState({ mirror: { email: mirror }, service: { email: service }, held: [hold] });
}

const edit = (state: UserState, values: Partial<MirrorRow>): UserState =>
  state.mirror === undefined ? state : { ...state, mirror: { ...state.mirror, ...values } };
const change: Readonly<Record<Event, (state: UserState) => UserState>> = {
  nothing: (state) => state,
  'limit lifted': (state) => state,
  'edited again': (state) => edit(state, { email: 'other@example.com' }),
  'edit withdrawn': (state) => edit(state, { email: agreed }),
  'service moved': (state) => ({
    ...state,
    service: { id, raw: {}, ...state.service, email: 'later@example.com' },
  }),
  approved: (state) => ({ ...state, held: state.held.map((hold) => ({ ...hold, decision: 'approved' })) }),
  'user leaves and comes back': (state) => edit(state, { gone: true }),
};

const settings = { ...guardLimits, maxRows: 25, adminRoleIds: [] };

/** Somebody else has the address that is held. */
const other = { id: 99n, email: 'new@example.com', phone: null, roleId: null };

/** What a run decides about the email: the merge first, then the guard. */
function decisionOn(
  state: UserState,
  maxRows: number,
  policy: ConflictPolicy,
  present: GuardView['present'] = [],
) {
  const plan = planUser(state, member, { ...holdAll, email: policy });
  const { plans } = guard(
    {
      states: [state],
      plans: [plan],
      users: new Map(state.service === undefined ? [] : [[id, state.service]]),
      differing: [id],
      isWhole: true,
      members: new Map([[id, member]]),
      listed: noAddresses,
      present,
      open: [],
      offers: offerLimited([plan], [state]),
      history: {
        population: 100,
        pushedToday: new Set(),
        undone: [],
        waiting: [],
        isOld: false,
      },
    },
    { ...settings, maxRows },
  );
  return plans[0]?.fields.email;
}

function fateOf(
  state: UserState,
  maxRows: number,
  policy: ConflictPolicy = 'hold',
  present: GuardView['present'] = [],
): Fate | undefined {
  const decision = decisionOn(state, maxRows, policy, present);
  if (decision?.kind === 'held') return 'stays';
  if (decision?.kind === 'push') return 'sent';
  if (decision?.kind === 'pull') return decision.ends ? 'pulled' : undefined;
  if (decision?.kind === 'same') return decision.ends ? 'ends' : undefined;
  if (decision?.kind !== 'hold') return undefined;
  const { hold } = decision;
  if (hold.reason !== 'limit') return hold.reason as Fate;
  return hold.isAlone === true ? 'stays' : 'held anew';
}

/** The table of `held-field.ts`. What an approval does to a field that no limit holds, `sync.approve()` keeps from it. */
const stopped = {
  nothing: 'stays',
  'edited again': 'held anew',
  'edit withdrawn': 'ends',
  'service moved': 'stays',
  approved: 'sent',
  'limit lifted': 'stays',
  'user leaves and comes back': 'returned',
} as const;
const alone = {
  nothing: 'stays',
  'edited again': 'sent',
  'edit withdrawn': 'ends',
  'service moved': 'conflict',
  'limit lifted': 'stays',
  'user leaves and comes back': 'returned',
} as const;
const byMirror = { ...alone, 'service moved': 'stays' } as const;
const table: Readonly<Record<Kind, Readonly<Partial<Record<Event, Fate>>>>> = {
  'limit on a run': stopped,
  review: stopped,
  'limit alone': { ...alone, 'limit lifted': 'sent' },
  conflict: { ...alone, 'edited again': 'conflict', 'edit withdrawn': 'pulled' },
  refused: alone,
  ineffective: alone,
  unsupported: { ...alone, approved: 'unsupported' },
  rejected: { ...byMirror, 'user leaves and comes back': 'rejected' },
  returned: byMirror,
  asked: {
    nothing: 'stays',
    'edited again': 'stays',
    'edit withdrawn': 'stays',
    'service moved': 'stays',
    'limit lifted': 'stays',
    'user leaves and comes back': 'stays',
  },
};

it('The push of an approved edit does not end the hold of the edit', () => {
  const decision = decisionOn(change.approved(stateOf('review')), settings.maxRows, 'hold');
  expect(decision).toMatchObject({ kind: 'push', ends: false });
});

describe('a held field', () => {
  const cases = rowsOf(table).flatMap(([kind, fates]) =>
    (Object.entries(fates) as [Event, Fate][]).map(([event, fate]) => [kind, event, fate] as const),
  );
  it.each(cases)('keeps, ends or renews the hold "%s" after the event "%s": %s', (kind, event, fate) => {
    const maxRows = event === 'limit lifted' ? 1_000 : settings.maxRows;
    const present = kind === 'limit alone' && event !== 'limit lifted' ? [other] : [];
    expect(fateOf(change[event](stateOf(kind)), maxRows, 'hold', present)).toBe(fate);
  });

  describe('after a decision', () => {
    type Decision = 'none' | 'approved' | 'resolved' | 'rejected';
    type Fates = Readonly<Record<Decision, Fate>>;
    const all = (fate: Fate): Fates => ({ none: fate, approved: fate, resolved: fate, rejected: fate });
    const kinds = {
      none: 'limit on a run',
      approved: 'limit on a run',
      resolved: 'limit alone',
      rejected: 'rejected',
    } as const satisfies Readonly<Record<Decision, Kind>>;
    const lasting = (edit: bigint) => ({ email: { id: edit, transaction: '1' } });
    const fatesOfEdit = {
      'is unchanged': (state: UserState) => ({ ...state, edits: lasting(1n) }),
      'was withdrawn': (state: UserState) => change['edit withdrawn']({ ...state, edits: {} }),
      'was replaced': (state: UserState) => change['edited again']({ ...state, edits: lasting(2n) }),
      'was withdrawn and set to the same value again': (state: UserState) => ({
        ...state,
        edits: lasting(2n),
      }),
      'was made with triggers off': (state: UserState) => ({ ...state, edits: {} }),
    };
    const movesOfService = {
      'is unchanged': (state: UserState) => state,
      'has another value': change['service moved'],
    };
    const stands: Fates = { none: 'stays', approved: 'sent', resolved: 'sent', rejected: 'stays' };
    const anew: Fates = { none: 'held anew', approved: 'held anew', resolved: 'sent', rejected: 'sent' };
    const another = {
      'is unchanged': anew,
      'has another value': all('conflict'),
    };
    /** The second table of `held-field.ts`. */
    const decided: Readonly<
      Record<keyof typeof fatesOfEdit, Readonly<Record<keyof typeof movesOfService, Fates>>>
    > = {
      'is unchanged': {
        'is unchanged': stands,
        'has another value': { none: 'stays', approved: 'stays', resolved: 'conflict', rejected: 'stays' },
      },
      'was withdrawn': {
        'is unchanged': all('ends'),
        'has another value': all('pulled'),
      },
      'was replaced': another,
      'was withdrawn and set to the same value again': another,
      'was made with triggers off': another,
    };
    const table = rowsOf(decided).flatMap(([edit, moves]) =>
      rowsOf(moves).flatMap(([service, fates]) =>
        rowsOf(fates).map(([decision, fate]) => [decision, edit, service, fate] as const),
      ),
    );
    it.each(table)(
      'obeys the decision "%s" while edit and service are unchanged, else decides anew (edit %s; service %s): %s',
      (decision, edit, service, fate) => {
        const state = stateOf(kinds[decision]);
        const held = state.held.map((hold): Hold => {
          const seen = { ...hold, edit: 1n };
          return decision === 'approved' || decision === 'resolved' ? { ...seen, decision } : seen;
        });
        expect(fateOf(movesOfService[service](fatesOfEdit[edit]({ ...state, held })), settings.maxRows)).toBe(
          fate,
        );
      },
    );
  });

  it.each([
    ['limit on a run', 'approved', 'limit'],
    ['limit alone', 'resolved', 'review'],
  ] as const)(
    'holds a field again if a new service value voided the decision, and the hold states it: %s, %s: %s (O8)',
    (kind, decision, reason) => {
      const seen = stateOf(kind);
      const held = seen.held.map(
        (hold): Hold => ({ ...hold, edit: 1n, decision, service: 'earlier@example.com' }),
      );
      const state = { ...seen, held, edits: { email: { id: 1n, transaction: '1' } } };
      const since = 'the service no longer has the value that it was based on';
      const detail = expect.stringContaining(`the decision about this edit is void: ${since}`) as string;
      expect(decisionOn(state, settings.maxRows, 'hold')).toMatchObject({ hold: { reason, detail } });
    },
  );

  it.each([
    ['pulls', 'service-wins', 'pulled'],
    ['sends', 'mirror-wins', 'sent'],
  ] as const)('%s a resolved field with a new service value if the policy is "%s"', (_, policy, fate) => {
    const state = stateOf('limit alone');
    const held = state.held.map((hold): Hold => ({ ...hold, decision: 'resolved' }));
    const moved = change['service moved']({ ...state, held });
    expect(fateOf(moved, settings.maxRows, policy)).toBe(fate);
  });
});

describe('the values of a hold', () => {
  const values: Values = { base: 'a@example.com', mirror: 'b@example.com', service: 'a@example.com' };
  const undecided: Hold = { field: 'email', reason: 'limit', detail: '', edit: 5n, ...values };
  const hold: Hold = { ...undecided, decision: 'approved' };
  const edits = { email: { id: 5n } } as unknown as UserState['edits'];

  const since =
    'the decision about this edit is void: the service no longer has the value that it was based on';
  const moved = { ...values, service: 'c@example.com' };
  it.each<[string, Hold | undefined, Values, string | undefined]>([
    ['no hold', undefined, moved, undefined],
    ['no decision', undecided, moved, undefined],
    ['another edit', { ...hold, edit: 4n }, moved, undefined],
    ['no change since', hold, values, undefined],
    ['another value of the service', hold, moved, since],
    ['another value of both sides', hold, { ...moved, mirror: 'd@example.com' }, undefined],
  ])('voidDetail gives a reason if only the service changed since a decision: %s', (_, given, now, words) => {
    expect(voidDetail(given, now, { edits })).toBe(words);
  });
});
