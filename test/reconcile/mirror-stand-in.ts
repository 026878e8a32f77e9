/** The mirror port over a map of states: the users' half of it, as `src/mirror` does it in SQL. */
import type { Intent, IntentResult, Tries, UserState } from '../../src/model/change.ts';
import type { Id } from '../../src/model/id.ts';
import {
  type Addresses,
  canonicalValue,
  type Field,
  type ServiceUser,
  sameBytes,
  type UserPatch,
} from '../../src/model/user.ts';
import type { MirrorPort, MirrorWriter } from '../../src/reconcile/ports.ts';
import { patchedFields } from '../../src/reconcile/verdict.ts';
import { applyPlan, applyResult } from './apply-plan.ts';

export interface MirrorStandIn extends MirrorPort, MirrorWriter {
  readonly states: Map<Id, UserState>;
  readonly intents: Map<Id, Intent>;
  readonly results: IntentResult[];
  lookups: { readonly emails: readonly string[]; readonly phones: readonly string[] };
  /** Whose rows an editor holds when the outcome of a push is written. */
  locked: ReadonlySet<Id>;
  /** Called right before intents are opened. */
  beforeIntents: () => void;
  checkLease: () => Promise<void>;
  /** An editor's statement. */
  edit(id: Id, values: Partial<NonNullable<UserState['mirror']>>): void;
  state(id: Id): UserState;
  /** The intents of the past grow older. */
  age(ms: number): void;
}

const notAsked = () => Promise.reject(new Error('nobody asks for this here'));

function stateOf(mirror: MirrorStandIn, id: Id, service: ServiceUser | undefined): UserState {
  const known = mirror.states.get(id);
  const hasOpenIntent = mirror.intents.has(id);
  if (known !== undefined) return { ...known, service, hasOpenIntent };
  return {
    id,
    service,
    base: undefined,
    mirror: undefined,
    held: [],
    hasOpenIntent,
    missingForMs: undefined,
    observedDiffers: true,
  };
}

function addressesOf({ id, mirror, base }: UserState, intent: Intent | undefined): Addresses {
  const all = [mirror, base, intent?.sent];
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

function openIntents(
  mirror: MirrorStandIn,
  plans: readonly { readonly id: Id; readonly patch: UserPatch }[],
) {
  mirror.beforeIntents();
  return plans.flatMap(({ id, patch }): readonly Intent[] => {
    const state = mirror.state(id);
    if (mirror.intents.has(id) || state.base === undefined || !holdsAll(state, patch)) return [];
    const changeId = BigInt(mirror.results.length + 1);
    const intent: Intent = { changeId, userId: id, sent: patch, base: state.base, ageMs: 0 };
    mirror.intents.set(id, intent);
    return [intent];
  });
}

function applyResults(mirror: MirrorStandIn, results: readonly IntentResult[]): readonly Id[] {
  const free = results.filter(({ intent }) => !mirror.locked.has(intent.userId));
  for (const result of free) {
    const { intent, outcomes } = result;
    const state = applyResult(mirror.state(intent.userId), result);
    mirror.states.set(intent.userId, state);
    mirror.results.push(result);
    if (result.closed) mirror.intents.delete(intent.userId);
    else {
      const open = patchedFields(intent.sent).filter((field) => outcomes[field] === 'unknown');
      const sent = Object.fromEntries(open.map((field) => [field, intent.sent[field]]));
      if (state.base !== undefined) mirror.intents.set(intent.userId, { ...intent, sent, base: state.base });
    }
  }
  return results.map(({ intent }) => intent.userId).filter((id) => mirror.locked.has(id));
}

function countIneffective(mirror: MirrorStandIn, { userId, sent }: Intent): Tries {
  const tries: Partial<Record<Field, number>> = {};
  for (const field of patchedFields(sent)) {
    tries[field] = mirror.results.filter(
      ({ intent, outcomes }) =>
        intent.userId === userId &&
        (outcomes[field] === 'ineffective' || outcomes[field] === 'missing') &&
        canonicalValue(field, { ...intent.base, ...intent.sent }) ===
          canonicalValue(field, { ...intent.base, ...sent }),
    ).length;
  }
  return tries;
}

export function createMirrorStandIn(states: readonly UserState[]): MirrorStandIn {
  const mirror: MirrorStandIn = {
    states: new Map(states.map((state) => [state.id, state])),
    intents: new Map(),
    results: [],
    lookups: { emails: [], phones: [] },
    locked: new Set(),
    beforeIntents: () => undefined,
    state: (id) => stateOf(mirror, id, undefined),
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
    readGuardHistory: () => Promise.resolve({ pushedToday: new Set(), approved: [], isWaiting: false }),
    readOverlap: () => Promise.resolve({ known: 0, population: 0 }),
    applyRefusedPlan: () => Promise.resolve(),
    readDifferingUsers: (users) => Promise.resolve(users.map((user) => stateOf(mirror, user.id, user))),
    readUnseenUsers: (seen, listed) =>
      Promise.resolve(
        [...mirror.states.keys()]
          .filter((id) => !seen.includes(id))
          .map((id) => stateOf(mirror, id, undefined))
          .filter((state) => state.mirror?.gone !== true || listed.includes(state.id)),
      ),
    readAddresses: (ids) =>
      Promise.resolve(ids.map((id) => addressesOf(mirror.state(id), mirror.intents.get(id)))),
    readLookups: () => Promise.resolve(mirror.lookups),
    readIntents: () => Promise.resolve([...mirror.intents.values()]),
    countIneffective: (intents) =>
      Promise.resolve(new Map(intents.map((intent) => [intent.userId, countIneffective(mirror, intent)]))),
    applyUsers: (plans) => {
      for (const plan of plans) mirror.states.set(plan.id, applyPlan(mirror.state(plan.id), plan));
      return Promise.resolve([]);
    },
    openIntents: (plans) => Promise.resolve(openIntents(mirror, plans)),
    applyResults: (results) => Promise.resolve(applyResults(mirror, results)),
    countPresentUsers: notAsked,
    readListingMemory: notAsked,
    compareTags: notAsked,
    compareContactFields: notAsked,
    countHeldFields: notAsked,
    applyTeam: notAsked,
    applyAbsences: notAsked,
    forgetUsers: notAsked,
    applyTags: notAsked,
    applyContactFields: notAsked,
    applyContactCounts: notAsked,
    applyListingMemory: notAsked,
    applyRejectedRows: notAsked,
  };
  return mirror;
}
