/** Plans how to restore values that a run changed, except in fields that have changed since. */
import type { UserEdit } from '../../mirror/users/edits.ts';
import type { MovedField } from '../../mirror/users/moved-fields.ts';
import { columnOf, type Field, type FieldValue, single } from '../../model/fields.ts';
import { isEmailAddress } from '../../model/canonical.ts';
import type { Id } from '../../model/id.ts';
import { printable } from '../../model/in-words.ts';
import { canonicalName, countWords, joinName, type NamePair, samePair, splitName } from '../../model/name.ts';
import { sameBytes, canonicalOf } from '../../model/user.ts';

export interface Inverse {
  readonly userId: Id;
  readonly name: string;
  readonly field: Field;
  /** The mirror's value now, and the value before the run. `null` can also mean that it is not known. */
  readonly from: FieldValue;
  readonly to: FieldValue;
}

/** A field that the run changed, but that is not undone. */
export interface FieldLeftAlone extends Inverse {
  readonly reason: string;
  /** SQL that a person can run to restore the old value anyway; `null` if that is not possible now. */
  readonly offer: string | null;
}

export interface UndoPlan {
  readonly changes: readonly Inverse[];
  readonly edits: readonly UserEdit[];
  readonly left: readonly FieldLeftAlone[];
}

/** True if two values of a field are equal in canonical form. A name is compared half by half. */
function same(field: Field, a: FieldValue, b: FieldValue): boolean {
  if (field === 'name') {
    const [left, right] = [a as NamePair, b as NamePair];
    return (['first', 'last'] as const).every(
      (half) => canonicalName(left[half]) === canonicalName(right[half]),
    );
  }
  return canonicalOf(field, a) === canonicalOf(field, b);
}

/** The reason why the old value cannot be written. The mirror's trigger makes the same check when it is written. */
function unwritable(field: Field, value: FieldValue): string | undefined {
  if (field === 'name')
    return value === null || joinName(value as NamePair) === '' ? 'there was no name before' : undefined;
  const { noun, canBeEmptied } = single(field);
  const text = typeof value === 'string' ? value : undefined;
  if ((value === null && !canBeEmptied) || (field === 'email' && !isEmailAddress(text ?? '')))
    return `unsupported: there was no ${noun} before, and the service gives no way to remove one`;
  return field === 'phone' && text !== undefined && !/^\+?[1-9][0-9]{1,14}$/.test(text)
    ? 'unsupported: the old phone number is not in E.164 form'
    : undefined;
}

/** True if musterd only guessed how to split the old name into halves. */
function isGuess({ field, old, oldWasWritten }: MovedField): boolean {
  if (field !== 'name' || old === null || oldWasWritten) return false;
  const joined = joinName(old as NamePair);
  return countWords(joined) > 2 && samePair(old as NamePair, splitName(joined));
}

/** The reason why a change is not undone, or `undefined` if it can be undone. */
function reasonToLeave(moved: MovedField): string | undefined {
  const { field, kind, now, heldBecause, hasOpenIntent, movedLater } = moved;
  if (now === undefined) return 'the user has gone';
  if (kind === 'settle') return 'both sides were changed to the same value';
  if (heldBecause !== null) return `held: ${heldBecause}`;
  if (hasOpenIntent) return 'the outcome of a push is not known yet';
  if (!sameBytes(field, now.mirror, now.base)) return 'edited since';
  const isService = movedLater === 'pull' || movedLater === 'return';
  if (!same(field, now.base[field], moved.new))
    return isService ? 'changed on the service since' : 'edited since';
  // The run's value was set once more after the run, so it is meant to stay.
  if (movedLater !== null) return isService ? 'set again on the service since' : 'set again since';
  if (isGuess(moved)) return 'the split of the old name is a guess: set first_name and last_name by hand';
  return unwritable(field, moved.old);
}

const quoted = (value: string | Id | null) =>
  value === null ? 'null' : `'${String(value).replaceAll("'", "''")}'`;

/** The SQL that sets a field back. A person can read and change it before running it. */
function offerOf(teamId: Id, moved: MovedField): string | null {
  const { userId, field, old, now, hasOpenIntent, kind } = moved;
  if (now === undefined || hasOpenIntent || kind === 'settle' || unwritable(field, old) !== undefined)
    return null;
  if (same(field, now.mirror[field], old)) return null;
  const isPair = typeof old === 'object' && old !== null;
  const columns = isPair ? { first_name: old.first, last_name: old.last } : { [columnOf(field)]: old };
  const sets = Object.entries(columns).map(([column, value]) => `${column} = ${quoted(value)}`);
  const text = `update mirror.users set ${sets.join(', ')} where team_id = ${teamId} and id = ${userId};`;
  return printable(text) === text ? text : null;
}

/** Plans how to restore the old values of these fields. Fields that have changed since the run are left alone. */
export function inverseOf(teamId: Id, fields: readonly MovedField[]): UndoPlan {
  const changes: Inverse[] = [];
  const left: FieldLeftAlone[] = [];
  const edits = new Map<Id, UserEdit>();
  for (const moved of fields) {
    const { userId, name, field, now, old } = moved;
    const reason = reasonToLeave(moved);
    if (reason !== undefined || now === undefined) {
      const from = now?.mirror[field] ?? null;
      left.push({ userId, name, field, from, to: old, reason: reason ?? '', offer: offerOf(teamId, moved) });
      continue;
    }
    changes.push({ userId, name, field, from: now.mirror[field], to: old });
    const values = { ...edits.get(userId)?.values, [field]: old };
    edits.set(userId, { id: userId, expected: now.mirror, values });
  }
  return { changes, left, edits: [...edits.values()] };
}

/** The plan as it was carried out. The changes of users that another session was editing are moved to `left`. */
export function withoutMissed<P extends UndoPlan>(plan: P, edited: ReadonlySet<Id>): P {
  const missed = plan.changes.filter(({ userId }) => !edited.has(userId));
  return {
    ...plan,
    changes: plan.changes.filter(({ userId }) => edited.has(userId)),
    left: [...plan.left, ...missed.map((change) => ({ ...change, reason: 'being edited', offer: null }))],
  };
}
