/** Takes a decision back: what still waits becomes undecided again, and what has not moved since is edited back. */
import { MusterdError } from '../errors.ts';
import { valueFromJson } from '../mirror/db/field-sql.ts';
import type { Queryable } from '../mirror/db/database.ts';
import {
  type DecidedEdit,
  readDecision,
  type UndecidedEdit,
  undecide,
} from '../mirror/users/decision-read.ts';
import { ofDecision, readMovedFields } from '../mirror/users/moved-fields.ts';
import { readTeamId } from '../mirror/team/pinned-teams.ts';
import { editStates } from '../model/edit-state.ts';
import { fieldOf, columnOf, type Field } from '../model/fields.ts';
import type { Id } from '../model/id.ts';
import { inverseOf, type UndoPlan } from './inverse.ts';

/** @param column the field's name in SQL; `null` for the user as a whole */
const keyOf = (userId: Id, column: string | null) => `${userId} ${column ?? ''}`;
const keyOfField = ({ userId, field }: { readonly userId: Id; readonly field: Field | null }) =>
  keyOf(userId, field === null ? null : columnOf(field));
const keyOfRow = ({ userId, field }: UndecidedEdit) => keyOf(userId, field);

function whyLeft(
  { outcome }: UndecidedEdit,
  now: Pick<DecidedEdit, 'state' | 'reason' | 'detail'> | undefined,
): string {
  if (outcome === 'on its way') return 'being sent, or of unknown outcome';
  if (outcome === 'arrived') return 'both sides had moved there by themselves';
  const { state = null, reason, detail } = now ?? {};
  return [state === null ? 'of an edit that nobody knows' : editStates[state], reason, detail]
    .filter(Boolean)
    .join(': ');
}

/** @throws MusterdError `usage` if the team has no such decision */
export async function undoDecision(
  db: Queryable,
  { team }: { readonly team: string },
  decision: bigint,
  how: { readonly why: string | undefined; readonly isShown: boolean },
): Promise<UndoPlan & { readonly teamId: Id }> {
  const teamId = await readTeamId(db, team);
  const before = teamId === null ? [] : await readDecision(db, teamId, decision);
  if (teamId === null || before.length === 0)
    throw new MusterdError('usage', `There is no decision ${decision} of team "${team}"`, {
      hint: 'report.decisions has those that were made.',
    });
  const { rows, number } = await undecide(db, decision, how);
  const moved = await readMovedFields(db, teamId, ofDecision(teamId, decision));
  const outcomes = new Map(rows.map((row) => [keyOfRow(row), row.outcome]));
  const inverse = inverseOf(
    teamId,
    moved.filter((change) => ['arrived', 'given back'].includes(outcomes.get(keyOfField(change)) ?? '')),
  );
  const isTold = new Set([...inverse.changes, ...inverse.left].map(keyOfField));
  const movedBefore = new Map(before.map((change) => [keyOf(change.userId, change.field), change]));
  const named = (row: UndecidedEdit): UndoPlan['undecided'][number] => {
    const { name, value } = movedBefore.get(keyOfRow(row)) ?? {};
    const field = row.field === null ? null : fieldOf(row.field);
    const from = field === null ? null : valueFromJson(field, value);
    return { userId: row.userId, name: name ?? '', field, from };
  };
  return {
    ...inverse,
    teamId,
    number,
    undecided: rows.filter(({ outcome }) => outcome === 'undecided').map(named),
    approvable: inverse.changes.filter((change) => outcomes.get(keyOfField(change)) === 'arrived'),
    left: [
      ...inverse.left,
      ...rows
        .filter((row) => row.outcome !== 'undecided' && !isTold.has(keyOfRow(row)))
        .map((row) => ({
          ...named(row),
          from: null,
          to: null,
          reason: whyLeft(row, movedBefore.get(keyOfRow(row))),
          offer: null,
        })),
    ],
  };
}
