/** A person decides about edits, whatever they were asked by: `sync.decide_edits()` has one answer for each of them. */
import { sql } from 'kysely';
import { columnOf, type Field, fieldOf, type FieldValue } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import { toJson } from '../../model/json.ts';
import { joinName, type NamePair } from '../../model/name.ts';
import type { ServiceValue } from '../../model/user.ts';
import type { Queryable, Transaction } from '../db/database.ts';

/** An edit as the person saw it. */
export interface SeenEdit {
  readonly userId: Id;
  readonly field: Field;
  /** Its number; absent: whichever has these values. */
  readonly edit?: Id | undefined;
  /** The value of the mirror, and the base. */
  readonly to: FieldValue;
  readonly base: FieldValue | undefined;
  /** The service's value; absent: the base. */
  readonly service?: Exclude<ServiceValue, undefined>;
  /** `false`: the service gets another value than the mirror's, which needs no other eyes. */
  readonly sends?: boolean;
  /** `false`: what was decided is done, and only written down. */
  readonly passes?: boolean;
  /** The person gave the field another value than that of either side. */
  readonly edited?: boolean;
}

export interface EditDecision {
  readonly verb: 'approve' | 'resolve';
  readonly why: string;
  /** Under which name it is approved. */
  readonly batch?: string;
  /** What it waits for if the approval becomes void: a review of each push, or the limits. */
  readonly waits?: 'limit' | 'review';
  /** The run that was started to carry it out, if there is one. */
  readonly runId?: bigint | null;
  /** The number of the decision that it is a part of; absent: it is one by itself. */
  readonly decision?: bigint | null;
}

/**
 * What is found of an edit that was decided about. `moved`: it is another one now, or base or service has moved. `ended`:
 * there is none any more. `on its way`: it is being sent. `own`: it needs other eyes. `asked`, `held`: something else holds
 * it. `left`: there is nothing to reject.
 */
export type EditAnswer =
  | 'approved'
  | 'resolved'
  | 'rejected'
  | 'moved'
  | 'ended'
  | 'on its way'
  | 'own'
  | 'gone'
  | 'asked'
  | 'held'
  | 'left';

export interface AnsweredEdit {
  readonly userId: Id;
  readonly field: Field;
  readonly answer: EditAnswer;
  /** The number of the decision; `null`: nothing was decided. */
  readonly decision: bigint | null;
}

/** Sets in whose name the rest of the transaction acts. */
export async function actFor(tx: Transaction, actor: string): Promise<void> {
  await sql`select set_config('musterd.actor', ${actor}, true)`.execute(tx);
}

/** Reads who acts in this transaction, as the ledger names them. */
export async function readDecider(tx: Transaction): Promise<string> {
  const { rows } = await sql<{ who: string }>`select sync.decider() as who`.execute(tx);
  return rows[0]?.who ?? '';
}

/**
 * Approves these edits, or writes down how they were resolved: those that are as they were seen.
 * @param onlyShown only says what would become of each
 */
export async function decideEdits(
  tx: Queryable,
  teamId: Id,
  { verb, why, batch, waits = 'limit', runId = null, decision = null }: EditDecision,
  edits: readonly SeenEdit[],
  onlyShown = false,
): Promise<readonly AnsweredEdit[]> {
  const seen = edits.map(({ userId, field, edit, to, base, service, sends, passes, edited }) => ({
    user_id: userId,
    field: columnOf(field),
    edit_id: edit,
    base,
    mirror: to,
    service: service === undefined ? shownAs(field, base) : service,
    sends,
    passes,
    edited,
  }));
  const { rows } = await sql<Omit<AnsweredEdit, 'field'> & { readonly field: string }>`
    select user_id as "userId", field, outcome as answer, decision_id as decision
    from sync.decide_edits(${verb}, ${teamId}, ${toJson(seen)}::jsonb, ${why}, batch => ${batch ?? null}, run => ${runId},
      number => ${decision}, waits => ${waits}, only_shown => ${onlyShown})`.execute(tx);
  return rows.map((row) => ({ ...row, field: fieldOf(row.field) }));
}

/** As the service shows a value: a name is one text. */
const shownAs = (field: Field, value: FieldValue | undefined) =>
  field === 'name' && value !== null && value !== undefined ? joinName(value as NamePair) : value;

/**
 * Approves these edits. One that is held for another reason than the limits stays held and needs its own decision.
 * @returns those that may pass
 */
export async function approveEdits(
  tx: Transaction,
  teamId: Id,
  approval: Omit<EditDecision, 'verb'>,
  edits: readonly SeenEdit[],
): Promise<readonly Pick<AnsweredEdit, 'userId' | 'field'>[]> {
  const answers = await decideEdits(tx, teamId, { ...approval, verb: 'approve' }, edits);
  return answers.filter(({ answer }) => answer === 'approved');
}
