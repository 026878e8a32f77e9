/** The mirror port over a map of states: the users' half of it, as `src/mirror` does it in SQL. */
import type { Addresses } from '../../src/model/plan.ts';
import type { Field, UserValues } from '../../src/model/fields.ts';
import type {
  EarlierThan,
  Intent,
  IntentResult,
  NameSafety,
  OpenedIntents,
  PushTries,
} from '../../src/model/intent.ts';
import { decideEach, decisionsOf, pushOf, type UserPlan } from '../../src/model/user-plan.ts';
import type { UserState } from '../../src/model/user-state.ts';
import type { Id } from '../../src/model/id.ts';
import { type GatheredRows, nothingLearned } from '../../src/model/listing.ts';
import { canonicalName, joinName, splitName } from '../../src/model/name.ts';
import {
  canonicalValue,
  hasUnreadable,
  readable,
  type ServiceUser,
  sameBytes,
  type UserPatch,
} from '../../src/model/user.ts';
import { unknownUser } from '../../src/reconcile/look.ts';
import type { MirrorPort, MirrorWriter } from '../../src/reconcile/ports.ts';
import { patchedFields } from '../../src/reconcile/push/outcome.ts';
import { applyPlan, applyResult } from './apply-plan.ts';

export interface MirrorStandIn extends MirrorPort, MirrorWriter {
  readonly states: Map<Id, UserState>;
  readonly intents: Map<Id, Intent>;
  readonly results: IntentResult[];
  /** Whose earlier tries were counted. */
  readonly counted: Id[];
  lookups: { readonly emails: readonly string[]; readonly phones: readonly string[] };
  /** The number of users present; `null`: those whose states are known. */
  population: number | null;
  /** Somebody has an open transaction about them. */
  locked: ReadonlySet<Id>;
  /** What is known of updates that leave the name out. */
  nameSafety: NameSafety;
  /** What `markSent` asks. */
  checkLease: () => Promise<void>;
  /** An editor's statement. */
  edit(id: Id, values: Partial<NonNullable<UserState['mirror']>>): void;
  state(id: Id): UserState;
  /** These users beside what is known of them. */
  differing(users: ReadonlyMap<Id, ServiceUser>): Promise<readonly UserState[]>;
  /** The intents of the past grow older. */
  age(ms: number): void;
}

const notAsked = () => Promise.reject(new Error('nobody asks for this here'));

function stateOf(mirror: MirrorStandIn, id: Id, service: ServiceUser | undefined): UserState {
  const known = mirror.states.get(id);
  const hasOpenIntent = mirror.intents.has(id);
  if (known !== undefined) return { ...known, service, hasOpenIntent };
  return { ...unknownUser(id, service), hasOpenIntent };
}

const isNew = (mirror: MirrorStandIn, user: ServiceUser) =>
  !mirror.states.has(user.id) && !mirror.intents.has(user.id) && !hasUnreadable(user);

function addressesOf({ id, mirror, base }: UserState, intent: Intent | undefined): Addresses {
  const all = [base, mirror, intent?.sent];
  return {
    id,
    emails: all.flatMap((values) => values?.email || []),
    phones: all.flatMap((values) => values?.phone || []),
  };
}

/** Whether the row still holds what is about to be sent. */
function holdsAll({ mirror }: UserState, patch: UserPatch): boolean {
  return (
    mirror !== undefined && patchedFields(patch).every((f) => sameBytes(f, { ...mirror, ...patch }, mirror))
  );
}

/** What the service showed when this was planned; of a field that it left out, what was agreed on. */
function shownBefore(plan: UserPlan, base: UserValues): UserValues {
  let before = base;
  for (const [field, { values }] of decisionsOf(plan, 'push')) {
    const { service } = values;
    if (service === undefined) continue;
    if (field !== 'name') before = { ...before, [field]: service };
    else if (typeof service === 'string' && joinName(base.name) !== canonicalName(service))
      before = { ...before, name: splitName(service) };
  }
  return before;
}

function openIntents(mirror: MirrorStandIn, plans: readonly UserPlan[]): OpenedIntents {
  const busy = plans.map(({ id }) => id).filter((id) => mirror.locked.has(id));
  const intents = plans.flatMap((plan): readonly Intent[] => {
    const { id } = plan;
    if (busy.includes(id)) return [];
    const patch = pushOf(plan);
    const state = mirror.state(id);
    if (mirror.intents.has(id) || state.base === undefined || !holdsAll(state, patch)) return [];
    const changeId = BigInt(mirror.results.length + 1);
    const intent: Intent = {
      changeId,
      userId: id,
      sent: patch,
      base: state.base,
      before: shownBefore(plan, state.base),
      decided: [],
      hasLeft: false,
      ageMs: 0,
    };
    mirror.intents.set(id, intent);
    return [intent];
  });
  return { intents, busy };
}

/** A name that is harmed is known to be cleared from then on; one that is seen after an update without it is kept. */
function learn(mirror: MirrorStandIn, { intent, outcomes, seen, harmed }: IntentResult) {
  const isNameless = intent.sent.name === undefined && intent.along === undefined;
  const showsName = canonicalName(readable(seen?.name) ?? '') !== '';
  const hadEffect = Object.values(outcomes).includes('confirmed');
  if (harmed) mirror.nameSafety = 'clears';
  else if (mirror.nameSafety === 'unknown' && isNameless && showsName && hadEffect)
    mirror.nameSafety = 'keeps';
}

function applyResults(mirror: MirrorStandIn, results: readonly IntentResult[]): readonly Id[] {
  const free = results.filter(({ intent }) => !mirror.locked.has(intent.userId));
  for (const result of free) {
    const { intent, outcomes } = result;
    const state = applyResult(mirror.state(intent.userId), result);
    mirror.states.set(intent.userId, state);
    mirror.results.push(result);
    learn(mirror, result);
    if (result.closed) mirror.intents.delete(intent.userId);
    else {
      const open = patchedFields(intent.sent).filter((field) => outcomes[field] === 'unknown');
      const sent = Object.fromEntries(open.map((field) => [field, intent.sent[field]]));
      const hasLeft = mirror.intents.get(intent.userId)?.hasLeft ?? false;
      if (state.base !== undefined)
        mirror.intents.set(intent.userId, { ...intent, sent, base: state.base, hasLeft });
    }
  }
  return results.map(({ intent }) => intent.userId).filter((id) => mirror.locked.has(id));
}

function countIneffective(mirror: MirrorStandIn, { userId, sent }: EarlierThan): PushTries {
  const tries: Partial<Record<Field, number>> = {};
  const mine = mirror.results.filter(({ intent }) => intent.userId === userId);
  for (const field of patchedFields(sent)) {
    const confirmed = mine.findLastIndex(({ outcomes }) => outcomes[field] === 'confirmed');
    tries[field] = mine
      .slice(confirmed + 1)
      .filter(
        ({ intent, outcomes, hasLeft }) =>
          (['ineffective', 'missing', 'unanswered'].includes(outcomes[field] ?? '') ||
            (outcomes[field] === 'unsent' && hasLeft)) &&
          canonicalValue(field, { ...intent.base, ...intent.sent }) ===
            canonicalValue(field, { ...intent.base, ...sent }),
      ).length;
  }
  return tries;
}

/** Those whose last push was sent and never answered for. */
function readUnanswered(mirror: MirrorStandIn, ids: readonly Id[]): ReadonlySet<Id> {
  const last = new Map(mirror.results.map(({ intent, outcomes }) => [intent.userId, outcomes]));
  return new Set(ids.filter((id) => Object.values(last.get(id) ?? {}).includes('unanswered')));
}

/** Rows go nowhere. */
export function createGathered(): GatheredRows<unknown> {
  const nothing = () => undefined;
  return { clear: nothing, add: nothing, replace: nothing, differing: () => [], close: nothing };
}

export function createMirrorStandIn(states: readonly UserState[]): MirrorStandIn {
  const mirror: MirrorStandIn = {
    states: new Map(states.map((state) => [state.id, state])),
    intents: new Map(),
    results: [],
    counted: [],
    lookups: { emails: [], phones: [] },
    population: null,
    locked: new Set(),
    nameSafety: 'keeps',
    state: (id) => stateOf(mirror, id, undefined),
    differing: async (users) =>
      (await mirror.compareUsers({ users, roles: new Map(), leftOut: null })).differing,
    edit: (id, values) => {
      const state = mirror.state(id);
      if (state.mirror !== undefined)
        mirror.states.set(id, { ...state, mirror: { ...state.mirror, ...values } });
    },
    age: (ms) => {
      for (const [id, intent] of mirror.intents)
        mirror.intents.set(id, { ...intent, ageMs: intent.ageMs + ms });
    },
    checkLease: () => Promise.resolve(),
    requireLease: () => undefined,
    markSent: async (ids) => {
      await mirror.checkLease();
      for (const id of ids) {
        const intent = mirror.intents.get(id);
        if (intent === undefined) throw new Error(`what is sent to user ${id} was not written down`);
        mirror.intents.set(id, { ...intent, hasLeft: true, ageMs: 0 });
      }
      return [];
    },
    readEarlier: (pushes) => {
      if (pushes.length === 0) throw new Error('a statement about nobody');
      const inVain = pushes.filter(({ changeId }) => changeId !== 0n);
      mirror.counted.push(...inVain.map(({ userId }) => userId));
      return Promise.resolve({
        unanswered: readUnanswered(
          mirror,
          pushes.map(({ userId }) => userId),
        ),
        tries: new Map(inVain.map((push) => [push.userId, countIneffective(mirror, push)])),
      });
    },
    readListingMemory: () => Promise.resolve(nothingLearned),
    gatherListing: createGathered,
    readLackingRows: () => Promise.resolve([]),
    readNameSafety: () => Promise.resolve(mirror.nameSafety),
    readGuardHistory: () =>
      Promise.resolve({
        population: mirror.population ?? mirror.states.size,
        pushedToday: new Set(),
        undone: [],
        waiting: [],
        isOld: false,
        open: [...mirror.intents.values()],
      }),
    readHeldEdits: () => Promise.resolve([]),
    readPresentUsers: () => Promise.resolve([]),
    readAbsenceVerdicts: () => Promise.resolve(new Map()),
    applyStopped: () => Promise.resolve(),
    compareUsers: ({ users, leftOut }) => {
      const all = [...users.values()];
      const [shown, unknown] = [false, true].map((is) =>
        all.filter((user) => (leftOut !== null && isNew(mirror, user)) === is),
      ) as [ServiceUser[], ServiceUser[]];
      const unseen = [...mirror.states.keys()]
        .filter((id) => !users.has(id))
        .map((id) => stateOf(mirror, id, undefined))
        .filter((state) => state.mirror?.gone !== true || leftOut?.includes(state.id));
      return Promise.resolve({
        differing: shown.map((user) => stateOf(mirror, user.id, user)),
        unknown: unknown.map(({ id }) => id),
        unseen: leftOut === null ? [] : unseen,
      });
    },
    readAddresses: (whose) => {
      const ids = whose === 'edited' ? [...mirror.states.keys()] : whose;
      const known = ids.map((id) => addressesOf(mirror.state(id), mirror.intents.get(id)));
      return Promise.resolve({
        ofUsers: known.map((user) => ({ ...user, resolved: true })),
        others: () => Promise.resolve(mirror.lookups),
      });
    },
    readIntents: () => Promise.resolve([...mirror.intents.values()]),
    applyUsers: (plans) => {
      for (const plan of plans) mirror.states.set(plan.id, applyPlan(mirror.state(plan.id), plan));
      return Promise.resolve([]);
    },
    takeUsers: (writes) => {
      const fields = decideEach(() => ({ kind: 'adopt', ends: false }));
      for (const write of writes)
        mirror.states.set(write.id, applyPlan(mirror.state(write.id), { id: write.id, fields, write }));
      return Promise.resolve(new Set<Id>());
    },
    openIntents: (plans) => Promise.resolve(openIntents(mirror, plans)),
    applyResults: (results) => {
      if (results.length === 0) throw new Error('a transaction about nobody');
      return Promise.resolve(applyResults(mirror, results));
    },
    compareListing: notAsked,
    applyAbsences: notAsked,
    learnRoles: () => Promise.resolve(),
    applyOddities: notAsked,
    applyListing: notAsked,
    applyContactCounts: notAsked,
  };
  return mirror;
}
