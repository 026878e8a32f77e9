/** Explains the state of a user, field by field, and what happens next. */
import type { HeldRow } from '../../mirror/users/held.ts';
import { columnOf, type Field, fields } from '../../model/fields.ts';
import { seconds } from '../../model/in-words.ts';
import type { FieldOutcomes } from '../../model/intent.ts';
import { type DecisionWord, sayHold, shownHold, wordOf } from '../../model/user-changes.ts';
import { type Hold, holdsOf, type UserPlan } from '../../model/user-plan.ts';
import type { UserState } from '../../model/user-state.ts';
import { isUnreadable, type ServiceUser, serviceValue } from '../../model/user.ts';
import { showTime } from '../../model/zone-time.ts';
import { mergeField, type Verdict } from '../../reconcile/merge/merge-field.ts';
import { isStopped } from '../../reconcile/merge/held-field.ts';
import { standsByMirror } from '../../reconcile/merge/plan-field.ts';
import type { Policy } from '../../reconcile/merge/merge-field.ts';

export interface FieldExplanation {
  readonly field: Field;
  readonly base: unknown;
  readonly mirror: unknown;
  /** `undefined` if the service did not return the field, or was not asked. */
  readonly service: unknown;
  /** The verdict of the merge table; `null` if the mirror or the service does not have the user. */
  readonly rule: Verdict | null;
  /** `null` if it is unknown, because the service was not asked. */
  readonly decision: DecisionWord | null;
  readonly because: string | null;
}

function becauseOf(
  { field, rule, decision }: Pick<FieldExplanation, 'field' | 'rule' | 'decision'>,
  holds: readonly Hold[],
  policy: Policy,
  service: ServiceUser | undefined,
): string | null {
  const hold = holds.find((candidate) => candidate.field === field);
  if (hold !== undefined && decision !== 'release' && decision !== 'adopt') {
    return sayHold(shownHold(hold));
  }
  if (rule === 'unread') {
    const shown = service?.[field];
    return isUnreadable(shown)
      ? `the service shows an unreadable value: ${shown.unreadable}`
      : 'the service now leaves it out: it was emptied there, or is not shown';
  }
  if (rule === 'conflict' && (decision === 'pull' || decision === 'push'))
    return `policy.${field} is ${policy[field]}`;
  return null;
}

/** @param plan the result of `planUser`; `undefined` if the service was not asked */
export function explainFields(
  state: UserState,
  plan: UserPlan | undefined,
  policy: Policy,
): readonly FieldExplanation[] {
  const { base, mirror, service } = state;
  const holds = [...(plan === undefined ? [] : holdsOf(plan)), ...state.held];
  return fields.map((field) => {
    const rule =
      mirror === undefined || service === undefined ? null : mergeField(field, base, mirror, service);
    const decision = plan === undefined ? null : wordOf(plan.fields[field]);
    return {
      field,
      base: base?.[field],
      mirror: mirror?.[field],
      service: service === undefined ? undefined : serviceValue(service, field),
      rule,
      decision,
      because: becauseOf({ field, rule, decision }, holds, policy, service),
    };
  });
}

/** The facts from which `adviceFor` makes a sentence. */
export interface ExplainedFacts {
  /** `undefined` if the service was not asked. */
  readonly plan: UserPlan | undefined;
  readonly state: UserState;
  /** The outcome that a run would find now for the open push; `null` if no push is open. */
  readonly open: FieldOutcomes | null;
  /** The time from which an open push can be given up, as text. */
  readonly quietUntil: string;
  /** The held fields. Only a hold that a person asked for has an end. */
  readonly held: readonly Pick<HeldRow, 'field' | 'until'>[];
  /** How long a user must be missing before it is marked as gone. */
  readonly absenceMs: number;
}

/** `a`, `a and b`, `a, b and c`. */
function list(words: readonly string[]): string {
  return words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

/** Says what happens next, in one sentence. */
export function adviceFor(facts: ExplainedFacts): string {
  const { plan, open } = facts;
  if (plan === undefined) return 'What happens next is unknown until the service answers.';
  if (open !== null) return afterOpenPush(open, facts.quietUntil);
  switch (plan.case) {
    case 'merge':
      return afterMerge(plan, facts);
    case 'adopt':
      return facts.state.service === undefined
        ? 'The next run takes the name and role from the team listing; no lookup finds the member.'
        : 'The next run adopts the user from the service.';
    case 'return':
      return holdsOf(plan).length === 0
        ? "The user is back: the next run adopts the service's values again."
        : `The user is back: the next run adopts the service's values again and holds the earlier edit of ${list(holdsOf(plan).map(({ field }) => columnOf(field)))}.`;
    case 'unresolved':
      return 'The team lists the member, but no lookup finds the user. Nothing is pulled or pushed until mirror.user_lookups has an address that finds the user.';
    case 'missing':
      return `Neither the team listing nor a lookup shows the user, who is marked as gone once complete runs ${seconds(facts.absenceMs)} apart have missed them, within the limits of absence.`;
    case 'stranger':
      return 'Only the mirror has this user, and the interface gives no way to create one: the row waits for a person.';
    case 'forget':
      return 'Only the bookkeeping still has this user. The next run removes it there.';
    case 'waiting':
      if (facts.state.stale === true)
        return 'The service shows an older version of the user, perhaps from a stale cache or replica. Nothing is pulled or pushed until it shows a newer row, or the same row in three runs over half an hour.';
      return facts.state.mirror === undefined
        ? 'Nothing happens: only the ledger knows this user.'
        : 'The user has left the team: the row stays as it is unless they come back.';
    default:
      return plan.case satisfies never;
  }
}

/** Says how long these fields stay held, for fields that are not held on a person's request. */
function stayHeld(held: readonly Field[], { state }: ExplainedFacts): readonly string[] {
  const byMirror = held.filter((field) =>
    state.held.some((hold) => hold.field === field && standsByMirror(hold)),
  );
  const limited = held.filter((field) =>
    state.held.some((hold) => hold.field === field && shownHold(hold).reason === 'limit'),
  );
  const others = held.filter((field) => !byMirror.includes(field) && !limited.includes(field));
  const say = (of: readonly Field[], until: string) =>
    of.length === 0 ? [] : [`${list(of.map(columnOf))} stays held until ${until} or somebody decides`];
  return [
    ...say(others, 'one of the two values changes'),
    ...say(byMirror, "the mirror's value changes"),
    ...say(limited, 'the limit no longer applies, one of the two values changes,'),
  ];
}

function afterMerge(plan: UserPlan, facts: ExplainedFacts): string {
  const decided = (word: DecisionWord) => fields.filter((field) => wordOf(plan.fields[field]) === word);
  const columns = (word: DecisionWord) => decided(word).map(columnOf);
  const does = (verb: string, names: readonly string[]) =>
    names.length === 0 ? [] : [`${verb} ${list(names)}`];
  const pushes = columns('push');
  const acts = [
    ...does('pulls', columns('pull')),
    ...does('settles', columns('settle')),
    ...does('holds', columns('hold')),
    ...does('ends the hold of', columns('release')),
    // Pushes come last, so that the words "unless a guard stops it" refer only to them.
    ...does('pushes', pushes),
  ];
  const held = decided('held');
  const endOf = (field: Field) => facts.held.find((hold) => hold.field === columnOf(field))?.until ?? null;
  const requested = held.filter((field) => endOf(field) !== null);
  const waiting = facts.state.held.map(shownHold).filter((one) => isStopped(one) && held.includes(one.field));
  const others = held.filter(
    (field) => !requested.includes(field) && waiting.every((hold) => hold.field !== field),
  );
  const unread = columns('wait');
  const parts = [
    ...(acts.length === 0
      ? []
      : [`the next run ${list(acts)}${pushes.length > 0 ? ', unless a guard stops it' : ''}`]),
    ...[...Map.groupBy(waiting, ({ batch }) => batch)].map(
      ([batch, of]) =>
        `the push of ${list(of.map(({ field }) => columnOf(field)))} waits for an approval${batch === undefined ? '' : ` of batch ${batch}`}`,
    ),
    ...requested.map((field) => `${columnOf(field)} stays held until ${showTime(endOf(field))}`),
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
  const fieldsDecided = (...words: readonly string[]) =>
    fields.filter((field) => words.includes(outcomes[field] ?? '')).map(columnOf);
  const does = (verb: string, names: readonly string[], rest = '') =>
    names.length === 0 ? [] : [`${verb} ${list(names)}${rest}`];
  const acts = [
    ...does('confirms the push of', fieldsDecided('confirmed')),
    ...does(
      'waits for a sign of',
      fieldsDecided('unknown'),
      `, which is given up as not applied after ${quietUntil}`,
    ),
    ...does(
      'gives up the push of',
      fieldsDecided('unsent', 'unanswered'),
      ' as not applied and merges again',
    ),
    ...does(
      'records that the service does not show what was sent as',
      fieldsDecided('changed', 'missing', 'ineffective'),
    ),
  ];
  return `The outcome of a push is not known: the next run reads the user back and ${list(acts)}.`;
}
