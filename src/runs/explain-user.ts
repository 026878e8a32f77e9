/** Why a user stands as it does, field by field, and what happens next. Values in, values out. */
import type { FieldOutcomes, Hold, UserPlan, UserState } from '../model/change.ts';
import { type Field, fields, isUnreadable, type ServiceUser, serviceValue } from '../model/user.ts';
import { mergeField, type Verdict } from '../reconcile/merge/merge-field.ts';
import { standsByMirror } from '../reconcile/merge/plan-field.ts';
import type { Policy } from '../reconcile/merge/policy.ts';
import { isUnread } from '../reconcile/unread.ts';
import { columnOf } from '../model/field-values.ts';

/** What the next run does with one field. `wait`: the field, or the user as a whole, is neither pulled nor pushed. */
export type Decision =
  | 'nothing'
  | 'pull'
  | 'push'
  | 'settle'
  | 'hold'
  | 'held'
  | 'release'
  | 'adopt'
  | 'wait';

export interface FieldExplanation {
  readonly field: Field;
  readonly base: unknown;
  readonly mirror: unknown;
  /** `undefined`: the service said nothing of it, or was not asked. */
  readonly service: unknown;
  /** The row of the merge table; `null` where there are not two sides to merge. */
  readonly rule: Verdict | null;
  /** `null`: the service was not asked, so nobody can say. */
  readonly decision: Decision | null;
  readonly because: string | null;
}

export function decisionOf(plan: UserPlan, field: Field, isUnread: boolean): Decision {
  const move = plan.moves.find((candidate) => candidate.field === field);
  if (move !== undefined) return move.kind;
  if (plan.holds.some((hold) => hold.field === field)) return 'hold';
  if (plan.held.includes(field)) return 'held';
  if (plan.releases.includes(field)) return 'release';
  if (plan.presence === 'adopt' || plan.presence === 'return') return 'adopt';
  return plan.presence === 'merge' && !isUnread ? 'nothing' : 'wait';
}

function becauseOf(
  { field, rule, decision }: Pick<FieldExplanation, 'field' | 'rule' | 'decision'>,
  holds: readonly Hold[],
  policy: Policy,
  service: ServiceUser | undefined,
): string | null {
  const hold = holds.find((candidate) => candidate.field === field);
  if (hold !== undefined && decision !== 'release' && decision !== 'adopt') {
    return hold.detail === '' ? hold.reason : `${hold.reason}: ${hold.detail}`;
  }
  if (rule === 'unread') {
    const shown = service?.[field];
    return isUnreadable(shown)
      ? `the service shows what cannot be read: ${shown.unreadable}`
      : 'the service leaves it out, where it had a value before: emptied, or not shown';
  }
  if (rule === 'conflict' && (decision === 'pull' || decision === 'push'))
    return `policy.${field} is ${policy[field]}`;
  return null;
}

/** @param plan what `planUser` makes of the state; `undefined` where the service was not asked */
export function explainFields(
  state: UserState,
  plan: UserPlan | undefined,
  policy: Policy,
): readonly FieldExplanation[] {
  const { base, mirror, service } = state;
  return fields.map((field) => {
    const rule =
      mirror === undefined || service === undefined ? null : mergeField(field, base, mirror, service);
    const decision = plan === undefined ? null : decisionOf(plan, field, rule === 'unread');
    return {
      field,
      base: base?.[field],
      mirror: mirror?.[field],
      service: service === undefined ? undefined : serviceValue(service, field),
      rule,
      decision,
      because: becauseOf({ field, rule, decision }, [...(plan?.holds ?? []), ...state.held], policy, service),
    };
  });
}

/** What the sentence below is made of. */
export interface ExplainedFacts {
  /** `undefined`: the service was not asked. */
  readonly plan: UserPlan | undefined;
  readonly state: UserState;
  /** What a run would find out now about the open push, if there is one. */
  readonly open: FieldOutcomes | null;
  /** When an open push may be given up, in words. */
  readonly quietUntil: string;
  /** Ends of the holds that a person asked for, in words, by field. */
  readonly heldUntil: Readonly<Partial<Record<Field, string>>>;
  /** A refused plan that waits for a person, and which edits of this user are in it. */
  readonly refusedPlan: { readonly hash: string; readonly fields: readonly Field[] } | null;
  /** For how long a user must have been missing, in words. */
  readonly absence: string;
}

/** `a`, `a and b`, `a, b and c`. */
function list(words: readonly string[]): string {
  return words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

/** What happens next, in one sentence. */
export function adviceFor(facts: ExplainedFacts): string {
  const { plan, open } = facts;
  if (plan === undefined) return 'Nobody can say what happens next before the service answers.';
  if (open !== null) return afterOpenPush(open, facts.quietUntil);
  switch (plan.presence) {
    case 'merge':
      return afterMerge(plan, facts);
    case 'adopt':
      return facts.state.service === undefined
        ? 'The next run takes the name and role from the team listing; no lookup answers for the member.'
        : 'The next run adopts the user from the service.';
    case 'return':
      return plan.holds.length === 0
        ? "The user is back: the next run adopts the service's values again."
        : `The user is back: the next run adopts the service's values again and holds the earlier edit of ${list(plan.holds.map(({ field }) => columnOf(field)))}.`;
    case 'unresolved':
      return 'The team lists the member and no lookup answers, so nothing is pulled or pushed until "musterd lookups add" gives an address that does.';
    case 'missing':
      return `Neither the team listing nor a lookup shows the user, who is called gone once complete runs ${facts.absence} apart have missed them, within the limits of absence.`;
    case 'stranger':
      return 'Only the mirror has this user, and the interface gives no way to create one: the row waits for a person.';
    case 'forget':
      return 'Nobody has this user any more but the bookkeeping, which the next run forgets.';
    case 'waiting':
      if (facts.state.stale === true)
        return 'The service shows the user older than before, as a cache or a replica that lags does: nothing is pulled or pushed until it shows a newer row, or has shown this one in three runs over half an hour.';
      return facts.state.mirror === undefined
        ? 'Nothing happens: only the ledger knows this user.'
        : 'The user has left the team: the row stays as it is unless they come back.';
    default:
      return plan.presence satisfies never;
  }
}

/** How long fields stay held that nobody asked to hold. */
function stayHeld(held: readonly Field[], { state }: ExplainedFacts): readonly string[] {
  const byMirror = held.filter((field) =>
    state.held.some((hold) => hold.field === field && standsByMirror(hold)),
  );
  const others = held.filter((field) => !byMirror.includes(field));
  const say = (of: readonly Field[], until: string) =>
    of.length === 0 ? [] : [`${list(of.map(columnOf))} stays held until ${until} or somebody decides`];
  return [...say(others, 'one of the two values changes'), ...say(byMirror, "the mirror's value changes")];
}

function afterMerge({ moves, holds, held, releases }: UserPlan, facts: ExplainedFacts): string {
  const moved = (kind: string) =>
    moves.filter((move) => move.kind === kind).map(({ field }) => columnOf(field));
  const does = (verb: string, names: readonly string[]) =>
    names.length === 0 ? [] : [`${verb} ${list(names)}`];
  const { refusedPlan } = facts;
  const refused = (refusedPlan?.fields ?? []).map(columnOf);
  const pushes = moved('push').filter((column) => !refused.includes(column));
  const waiting = moved('push').filter((column) => refused.includes(column));
  const acts = [
    ...does('pulls', moved('pull')),
    ...does('settles', moved('settle')),
    ...does(
      'holds',
      holds.map(({ field }) => columnOf(field)),
    ),
    ...does(
      'ends the hold of',
      releases.filter((field) => moves.every((move) => move.field !== field)).map(columnOf),
    ),
    // Last, so that the sentence can say of it alone that a guard may stop it.
    ...does('pushes', pushes),
  ];
  const asked = held.filter((field) => facts.heldUntil[field] !== undefined);
  const others = held.filter((field) => !asked.includes(field));
  const unread = fields
    .filter((field) => isUnread(field, facts.state) && !held.includes(field))
    .filter((field) => holds.every((hold) => hold.field !== field))
    .map(columnOf);
  const parts = [
    ...(acts.length === 0
      ? []
      : [`the next run ${list(acts)}${pushes.length > 0 ? ', unless a guard stops it' : ''}`]),
    ...(waiting.length === 0
      ? []
      : [`the push of ${list(waiting)} waits for "musterd approve ${refusedPlan?.hash}"`]),
    ...asked.map((field) => `${columnOf(field)} stays held until ${facts.heldUntil[field]}`),
    ...stayHeld(others, facts),
    ...(unread.length === 0
      ? []
      : [`${list(unread)} waits until the service shows a value that can be read`]),
  ];
  if (parts.length === 0) return 'Nothing: both sides agree.';
  const sentence = parts.join('; ');
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`;
}

function afterOpenPush(outcomes: FieldOutcomes, quietUntil: string): string {
  const of = (...words: readonly string[]) =>
    fields.filter((field) => words.includes(outcomes[field] ?? '')).map(columnOf);
  const does = (verb: string, names: readonly string[], rest = '') =>
    names.length === 0 ? [] : [`${verb} ${list(names)}${rest}`];
  const acts = [
    ...does('confirms the push of', of('confirmed')),
    ...does('waits for a sign of', of('unknown'), `, which is given up as not applied after ${quietUntil}`),
    ...does('gives up the push of', of('unsent', 'unanswered'), ' as not applied and merges again'),
    ...does(
      'records that the service does not show what was sent as',
      of('changed', 'missing', 'ineffective'),
    ),
  ];
  return `The outcome of a push is not known: the next run reads the user back and ${list(acts)}.`;
}
