/** Undoes one run: writes the inverse of its changes as edits, which the next run pushes through all guards. */
import type { Config } from '../config/config.ts';
import { MusterdError } from '../errors.ts';
import { approveEdits, type Confirmation } from '../mirror/approve-edits.ts';
import type { Database, Transaction } from '../mirror/database.ts';
import { editUsers, type UserEdit } from '../mirror/edits.ts';
import { type LeaseOptions, underLease } from '../mirror/lease.ts';
import { hasRun, type MovedField, readMovedFields } from '../mirror/moved-fields.ts';
import { readTeamId } from '../mirror/pinned-teams.ts';
import type { Id } from '../model/id.ts';
import { canonicalName, countWords, joinName, type NamePair, samePair, splitName } from '../model/name.ts';
import { canonicalValue, type Field, sameBytes, type UserValues } from '../model/user.ts';
import type { FieldValue } from '../model/user-plan.ts';
import { hashOf } from '../reconcile/guard/batch-hash.ts';
import { decideFor, waitsFor } from './four-eyes.ts';

export interface Inverse {
  readonly userId: Id;
  readonly name: string;
  readonly field: Field;
  readonly from: FieldValue;
  readonly to: FieldValue;
}

/** A field that the run changed and that is not undone. */
export interface LeftAlone {
  readonly userId: Id;
  readonly name: string;
  readonly field: Field;
  readonly reason: string;
}

export interface UndoPlan {
  readonly runId: bigint;
  readonly changes: readonly Inverse[];
  readonly left: readonly LeftAlone[];
}

/** Whether two values of a field are equal in canonical form; a name half by half. */
function same(field: Field, a: FieldValue, b: FieldValue): boolean {
  if (field === 'name') {
    const [one, two] = [a as NamePair, b as NamePair];
    return (['first', 'last'] as const).every(
      (half) => canonicalName(one[half]) === canonicalName(two[half]),
    );
  }
  const form = (value: FieldValue) =>
    canonicalValue(field, { email: null, phone: null, roleId: null, [field]: value } as Omit<
      UserValues,
      'name'
    >);
  return form(a) === form(b);
}

/** Why the old value cannot be written back, as text. The trigger on the mirror checks again. */
function unwritable(field: Field, value: FieldValue): string | undefined {
  switch (field) {
    case 'name':
      return value === null || joinName(value as NamePair) === '' ? 'there was no name before' : undefined;
    case 'email':
      return typeof value === 'string' && /^\S+@\S+$/.test(value)
        ? undefined
        : 'unsupported: there was no email before, and the service gives no way to remove one';
    case 'phone':
      return value === null || (typeof value === 'string' && /^\+?[1-9][0-9]{1,14}$/.test(value))
        ? undefined
        : 'unsupported: the old phone number is not in E.164 form';
    case 'roleId':
      return value === null
        ? 'unsupported: there was no role before, and the service gives no way to remove one'
        : undefined;
    default:
      return field satisfies never;
  }
}

/** Whether the split of the old name was only guessed by musterd. */
function isGuess({ field, old, oldWasWritten }: MovedField): boolean {
  if (field !== 'name' || old === null || oldWasWritten) return false;
  const joined = joinName(old as NamePair);
  return countWords(joined) > 2 && samePair(old as NamePair, splitName(joined));
}

/** Why a change is left as it is; `undefined`: it can be undone. */
export function reasonToLeave(moved: MovedField): string | undefined {
  const { field, kind, now, heldBecause, hasOpenIntent, movedLater } = moved;
  if (now === undefined) return 'the user has gone';
  if (kind === 'settle') return 'both sides had moved there by themselves';
  if (heldBecause !== null) return `held: ${heldBecause}`;
  if (hasOpenIntent) return 'the outcome of a push is not known yet';
  if (!sameBytes(field, now.mirror, now.base)) return 'edited since';
  const isService = movedLater === 'pull' || movedLater === 'return';
  if (!same(field, now.base[field], moved.new))
    return isService ? 'changed on the service since' : 'edited since';
  // Somebody has set the same value again since, and wants it to stay.
  if (movedLater !== null) return isService ? 'set again on the service since' : 'set again since';
  if (isGuess(moved)) return 'where its first name ends is a guess: set first_name and last_name by hand';
  return unwritable(field, moved.old);
}

/** What undoing this run would do. Reads only the mirror. @throws MusterdError `usage` if the team has no such run */
export async function planUndo(
  db: Pick<Database, 'kysely'>,
  { team }: { readonly team: string },
  runId: bigint,
): Promise<UndoPlan & { readonly edits: readonly UserEdit[]; readonly teamId: Id }> {
  const teamId = await readTeamId(db.kysely, team);
  if (teamId === null || !(await hasRun(db.kysely, team, runId))) {
    throw new MusterdError('usage', `There is no run ${runId} of team "${team}"`, {
      hint: 'report.runs lists them; "musterd changes" shows what each one moved.',
    });
  }
  const changes: Inverse[] = [];
  const left: LeftAlone[] = [];
  const edits = new Map<Id, UserEdit>();
  for (const moved of await readMovedFields(db.kysely, teamId, runId)) {
    const { userId, name, field, now, old } = moved;
    const reason = reasonToLeave(moved);
    if (reason !== undefined || now === undefined) {
      left.push({ userId, name, field, reason: reason ?? '' });
      continue;
    }
    changes.push({ userId, name, field, from: now.mirror[field], to: old });
    const values = { ...edits.get(userId)?.values, [field]: old };
    edits.set(userId, { id: userId, expected: now.mirror, values });
  }
  return { runId, changes, left, edits: [...edits.values()], teamId };
}

/** Lets the undone fields pass the limits once; fields that were left alone are not among them. */
async function approveInverse(
  tx: Transaction,
  teamId: Id,
  changes: readonly Inverse[],
  confirmed: { readonly why: string; readonly reason: 'limit' | 'review' },
): Promise<void> {
  // Only values that both sides agree on are undone, so the edit starts from the base.
  const rows = changes.map(({ userId, field, from, to }) => ({ userId, field, to, base: from }));
  const batch = hashOf(
    rows.map(({ userId, field, to, base }) => ({
      userId,
      field,
      values: { base, mirror: to, service: undefined },
    })),
  );
  await approveEdits(tx, teamId, { batch, rows, ...confirmed });
}

/**
 * Writes the inverse into the mirror, under the lease and in one transaction, as an edit in the caller's name.
 * @returns what was done; users edited in between are listed as left alone
 */
export async function applyUndo(
  db: Database,
  of: { readonly team: string; readonly lease: LeaseOptions; readonly push: Config['push'] },
  runId: bigint,
  { actor, why }: Confirmation,
): Promise<UndoPlan> {
  return underLease(db, of, async (tx) => {
    const { edits, teamId, ...plan } = await planUndo({ kysely: tx }, of, runId);
    await decideFor(tx, of, actor);
    const edited = await editUsers(tx, teamId, edits);
    if (why !== undefined) await approveInverse(tx, teamId, plan.changes, { why, reason: waitsFor(of) });
    const missed = plan.changes.filter(({ userId }) => !edited.has(userId));
    return {
      runId,
      changes: plan.changes.filter(({ userId }) => edited.has(userId)),
      left: [
        ...plan.left,
        ...missed.map(({ userId, name, field }) => ({ userId, name, field, reason: 'being edited' })),
      ],
    };
  });
}
