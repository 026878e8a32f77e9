/**
 * What becomes of an edit: the tables of [the guide](guide.md) as a program. It shares only types with musterd;
 * `test/reconcile/specification.test.ts` compares its answers with those of musterd in 200,000 states.
 */
import type { Field, UserValues } from '../src/model/fields.ts';
import type { Decision, HoldReason } from '../src/model/user-plan.ts';
import type { UserState } from '../src/model/user-state.ts';
import type { GuardSettings } from '../src/reconcile/guard/limits.ts';
import type { ConflictPolicy } from '../src/reconcile/merge/merge-field.ts';

type Value = UserValues[Field] | undefined | { readonly unreadable: string };

const wordsOf = (text: string) => text.normalize('NFC').split(/\s+/u).filter(Boolean);
/** In this form anything is compared with the service: case of emails, punctuation of phones, spaces do not count. */
const forms: Readonly<Record<Field, (text: string) => string>> = {
  name: (text) => wordsOf(text).join(' '),
  email: (text) => text.trim().replace(/[A-Z]/g, (letter) => letter.toLowerCase()),
  phone: (text) => text.replace(/[^0-9]/g, ''),
  roleId: (text) => text,
};
export function canonical(field: Field, value: Value): string {
  if (typeof value !== 'object' || value === null) return forms[field](String(value ?? ''));
  return 'first' in value ? forms[field](`${value.first} ${value.last}`) : value.unreadable;
}
/** The mirror is compared with the base byte by byte: every edit counts. */
const bytes = (value: Value) =>
  typeof value === 'object' && value && 'first' in value ? `${value.first}\n${value.last}` : (value ?? null);

/** A name goes as two halves. Half a guess is not sent, and nothing that the service could not take or remove. */
function isSendable(field: Field, { base, mirror }: UserState): boolean {
  if (mirror === undefined) return false;
  if (field === 'phone') return mirror.phone === null || /[0-9]/.test(mirror.phone);
  if (canonical(field, mirror[field]) === '') return false;
  if (field !== 'name' || mirror.split === 'known' || base === undefined) return true;
  const { first, last } = mirror.name;
  const [whole, before] = [wordsOf(`${first} ${last}`), wordsOf(base.joined)];
  const changed = Number(first !== base.name.first) + Number(last !== base.name.last);
  if (changed === 1) return before.length < 3;
  const isGuess = whole.length > 2 && last === whole.at(-1) && first === whole.slice(0, -1).join(' ');
  const isLonger = before.length < whole.length && before.every((word) => whole.includes(word));
  return changed === 0 || !(isGuess && isLonger);
}

/** What is known of one field. `carries`: the halves of the name are known, for an update that has to carry them. */
export function factsOf(field: Field, state: UserState, policy: ConflictPolicy, carries: boolean) {
  const { base, mirror, service, edits } = state;
  const [said, mine] = [service?.[field], mirror?.[field]];
  const agreed = field === 'name' ? base?.joined : base?.[field];
  const hold = state.held.find((one) => one.field === field);
  const [isShown, isOdd] = [said !== undefined, typeof said === 'object' && said !== null];
  const unknown = isOdd || (!isShown && base !== undefined && canonical(field, agreed) !== '');
  const edited = mirror !== undefined && (base === undefined || bytes(mine) !== bytes(base[field]));
  const isMoved = base === undefined || canonical(field, said) !== canonical(field, agreed);
  const moved = isShown && isMoved && !unknown;
  const settles = edited && moved && canonical(field, said) === canonical(field, mine);
  const emptied = field === 'name' && isShown && canonical(field, said) === '';
  const sameEdit = hold !== undefined && hold.edit === edits[field]?.id;
  const sameValue = sameEdit && bytes(hold.mirror) === bytes(mine);
  const shown = (value: Value, old: Value) => canonical(field, value === undefined ? old : value);
  const isSameService = shown(hold?.service, hold?.base) === shown(said, base?.[field]);
  const byEdit = hold?.reason === 'returned' || hold?.reason === 'rejected';
  const isWhere = !isShown || byEdit || canonical(field, said) === canonical(field, hold?.service);
  const sendable = isSendable(field, state);
  const mayGo = hold?.reason === 'unsupported' && sendable && (field === 'name' || carries);
  const isVery = field !== 'name' && isShown && bytes(said === '' ? null : said) === bytes(mine);
  const found = { hold, policy, unknown, edited, settles, sameEdit, sameValue, sendable };
  return {
    ...found,
    isNew: mirror === undefined,
    /** The user left and came back: what was edited before waits. */
    back: mirror?.gone === true,
    waits: edited && (isShown || base !== undefined) && !settles && !isVery,
    asked: hold?.reason === 'asked' && (hold.endsInMs ?? 0) > 0,
    over: hold?.reason === 'asked' && (hold.endsInMs ?? 0) <= 0,
    /** An empty name never replaces a full one. */
    lost: emptied && base?.joined !== '' && base !== undefined && (!mirror || canonical(field, mine) !== ''),
    blank: emptied && canonical(field, mine) !== '',
    mayBeCleared: edited && base !== undefined && !isShown && (field === 'email' || field === 'phone'),
    nothing: (!edited && !moved) || (base === undefined && !isShown),
    decided: hold?.decision !== undefined,
    asSeen: sameValue && bytes(hold.base) === bytes(base?.[field]) && isSameService,
    batched: hold?.isAlone !== true && (hold?.reason === 'limit' || hold?.reason === 'review'),
    stands: hold?.reason !== 'asked' && sameValue && isWhere && !mayGo,
    wins: edited && moved ? policy : edited ? 'mirror-wins' : 'service-wins',
  };
}

type Facts = ReturnType<typeof factsOf>;
/** The first row that is so. A reason: the field is held for it from now on. */
const rows: readonly (readonly [Decision['kind'] | HoldReason, (is: Facts) => boolean])[] = [
  ['held', (is) => is.asked],
  ['conflict', (is) => (is.isNew || (is.back && !is.waits)) && is.lost],
  ['rejected', (is) => is.back && is.waits && is.hold?.reason === 'rejected' && is.sameValue],
  ['returned', (is) => is.back && is.waits],
  ['adopt', (is) => is.isNew || is.back],
  ['held', (is) => is.unknown && is.hold !== undefined && !is.over && (is.sameEdit || !is.mayBeCleared)],
  ['conflict', (is) => is.unknown && is.mayBeCleared],
  ['same', (is) => is.unknown && is.over],
  ['wait', (is) => is.unknown],
  ['same', (is) => is.nothing],
  ['settle', (is) => is.settles],
  ['push', (is) => is.decided && is.asSeen && is.sendable],
  ['held', (is) => !is.decided && (is.batched ? is.asSeen : is.stands)],
  ['held', (is) => is.wins === 'hold' && is.batched && is.sameValue],
  ['conflict', (is) => is.wins === 'hold' || (is.wins === 'service-wins' && is.blank)],
  ['pull', (is) => is.wins === 'service-wins'],
  ['review', (is) => is.decided && is.sameValue && !is.asSeen && !is.batched && is.policy !== 'mirror-wins'],
  ['unsupported', (is) => !is.sendable],
  ['push', () => true],
];

/** What becomes of a field of a user whom the service shows. */
export function fateOf(field: Field, state: UserState, policy: ConflictPolicy, carries: boolean) {
  if (state.hasOpenIntent || state.stale === true) return 'wait';
  const is = factsOf(field, state, policy, carries);
  return rows.find(([, applies]) => applies(is))?.[0] ?? 'wait';
}

/** `again`: was in a batch. `fresh`: counts. `others` have or get the address. `beside`: a companion is held already. */
export type Push = { readonly user: bigint; readonly field: Field; readonly others: readonly bigint[] } & {
  readonly transaction: string | undefined;
} & Readonly<Record<'approved' | 'resolved' | 'chosen' | 'fresh' | 'again' | 'beside', boolean>>;
/** The guard looks at all pushes of a run together: what is sent, held in a batch, held alone, or left to the next run. */
export function guardFate(all: readonly Push[], people: number, today: Set<bigint>, set: GuardSettings) {
  const users = new Set(all.filter(({ fresh }) => fresh).map(({ user }) => user));
  const most = Math.max(set.maxRows, Math.floor(people * set.maxShare));
  const isTooMuch = users.size > 0 && users.union(today).size > most;
  const isStopped = ({ approved, again }: Push) => !approved && (set.isReviewed || isTooMuch || again);
  const roles = all.filter(({ field }) => field === 'roleId');
  const undecided = roles.filter(({ resolved }) => !resolved);
  const isLimited = ({ field, others }: Push, changes: readonly Push[]) =>
    field === 'roleId' ? changes.length > set.maxRoleChanges : others.length > 0;
  /** What one transaction edited of a user goes together, but for a value that a person chose. */
  const withIt = ({ user, transaction, chosen }: Push) =>
    all.filter((one) => !chosen && transaction && one.user === user && one.transaction === transaction);
  /** The only other owner of the address gives it up in this run. */
  const comesFree = ({ field, others: [other, another] }: Push) => {
    const given = all.find((one) => one.user === other && one.field === field);
    if (another !== undefined || !given || isStopped(given) || given.beside) return false;
    return ![given, ...withIt(given)].some((one) => isLimited(one, roles));
  };
  const isOver = (push: Push) => !push.resolved && isLimited(push, undecided) && !comesFree(push);
  return (push: Push): 'push' | 'batch' | 'alone' | 'wait' => {
    if (isOver(push)) return 'alone';
    if (isStopped(push)) return 'batch';
    if (!push.resolved && (push.beside || withIt(push).some(isOver))) return 'alone';
    return [push, ...withIt(push)].some(comesFree) ? 'wait' : 'push';
  };
}
