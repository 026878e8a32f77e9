/** A person decides about a batch of held fields, or about missing rows. */
import { MusterdError } from '../../errors.ts';
import { readWaitingAbsences } from '../../mirror/users/absences.ts';
import type { Transaction } from '../../mirror/db/database.ts';
import { type FoundUser, findUsers } from '../../mirror/users/find-user.ts';
import {
  type BatchField,
  type Choice,
  type DecidedField,
  decideBatch,
  readBatches,
  readBatchFields,
  withdrawOwn,
} from '../../mirror/users/held-batches.ts';
import { asPerson } from '../../mirror/team/known-place.ts';
import { readShownEdits } from '../../mirror/users/waiting-fields.ts';
import { fieldColumns } from '../../model/fields.ts';
import type { MirroredResource } from '../../model/absence.ts';
import { type Id, maxId } from '../../model/id.ts';
import { plural, printable } from '../../model/in-words.ts';
import { readUserQuery } from '../../mirror/users/user-query.ts';
import type { HeldBatch } from '../../model/waiting.ts';
import { actAs, decideFor } from '../four-eyes.ts';
import { requireTeamId, requireUser, theOnly } from '../named-user.ts';
import { requireSchema, type Setup } from '../open.ts';

/** The outcome of a decision about the held fields of a batch. */
export interface DecidedBatch {
  readonly resource: 'fields';
  /** The number of the decision, or `null` if nothing was decided. */
  readonly decision: bigint | null;
  readonly fields: readonly DecidedField[];
  /** The number of users of the batch who still have undecided fields. */
  readonly waiting: number;
  readonly batches: readonly Pick<HeldBatch, 'hash' | 'users'>[];
}

export interface DecidedRows {
  readonly resource: MirroredResource;
  readonly decision: bigint | null;
  readonly approved: number;
  readonly waiting: number;
  /** The hash of the rows that still wait, or `null` if no row waits. */
  readonly rest: string | null;
}

/** A person's decision, and the name under which it is recorded. */
export interface BatchDecision extends Omit<Choice, 'only' | 'edits'> {
  /** Users by id, address or name; single fields (`17.email`); or other rows by id. `null` means the whole batch. */
  readonly only: readonly (string | Id)[] | null;
  /** Set by the page, instead of `only`: the numbers of the edits that it showed. `null` means all edits. */
  readonly edits?: readonly Id[] | null;
  /** The number of rows that were shown, if a batch was shown as a whole. If it has changed, nothing is decided. */
  readonly rows?: number | null;
  readonly actor: string | undefined;
}

/** The id of the team, and the missing rows that wait under this hash, if there are any. */
async function readWaiting(setup: Setup, hash: string) {
  const { kysely } = setup.mirror.db;
  const teamId = await requireTeamId(setup);
  const absence = (await readWaitingAbsences(kysely, teamId)).find((row) => row.hash === hash);
  return { teamId, absence };
}

const idOf = (word: string): Id | undefined => {
  const id = /^\d{1,19}$/.test(word) ? BigInt(word) : maxId + 1n;
  return id <= maxId ? id : undefined;
};

/** One field of a user, as `--only` names it. */
const fieldOfUser = new RegExp(`^(?<who>.+)\\.(?<field>${fieldColumns.join('|')})$`);

/** A user, or one field of the user. */
interface NamedEdits {
  readonly id: Id;
  readonly field?: string | undefined;
}

/**
 * If the whole text matches a user, the text names this user, even if it ends like a field.
 * @throws MusterdError `usage` if no user or several match
 */
async function requireNamed(setup: Setup, teamId: Id, named: string | Id): Promise<NamedEdits> {
  if (typeof named === 'bigint') return { id: named };
  const { who: person, field } = fieldOfUser.exec(named)?.groups ?? {};
  if (person === undefined) return await requireUser(setup, teamId, named);
  const found: FoundUser | undefined = theOnly(
    named,
    await findUsers(setup.mirror.db.kysely, teamId, readUserQuery(named)),
  );
  if (found !== undefined) return { id: found.id };
  const { id } = await requireUser(setup, teamId, person);
  return { id, field };
}

/** The edits of the batch that one name selects. @throws MusterdError `usage` if there are none */
function editsOf(fields: readonly BatchField[], batch: string, { id, field }: NamedEdits): readonly Id[] {
  const ofUser = fields.filter(({ userId, edit }) => userId === id && edit !== null);
  const meant = ofUser.filter((row) => field === undefined || row.field === field);
  if (meant.length > 0) return meant.flatMap(({ edit }) => (edit === null ? [] : [edit]));
  if (ofUser.length === 0) throw new MusterdError('usage', `User ${id} is not in batch ${batch}`);
  const others = ofUser.map((row) => row.field).join(', ');
  throw new MusterdError('usage', `The ${field} of user ${id} is not in batch ${batch}`, {
    hint: `The batch has these fields of the user: ${others}.`,
  });
}

/** @throws MusterdError `usage` if no user or several match, or if a row of another kind is not named by its id */
async function requireChosen(
  setup: Setup,
  teamId: Id,
  { only, edits = null, batch }: BatchDecision,
  resource?: MirroredResource,
): Promise<Pick<Choice, 'only' | 'edits'>> {
  if (only === null) return { only, edits };
  if (resource !== undefined) return { only: await requireRows(setup, teamId, only, resource), edits: null };
  const named: NamedEdits[] = [];
  for (const choice of only) named.push(await requireNamed(setup, teamId, choice));
  const users = named.flatMap((name) => (name.field === undefined ? [name.id] : []));
  if (users.length === named.length) return { only: [...new Set(users)], edits: null };
  const fields = await readBatchFields(setup.mirror.db.kysely, teamId, batch);
  const meant = new Set(named.flatMap((name) => editsOf(fields, batch, name)));
  return { only: null, edits: [...meant] };
}

async function requireRows(
  setup: Setup,
  teamId: Id,
  only: readonly (string | Id)[],
  resource: MirroredResource,
): Promise<readonly Id[]> {
  const ids: Id[] = [];
  for (const name of only) {
    if (typeof name === 'bigint') ids.push(name);
    else if (resource === 'users') ids.push((await requireUser(setup, teamId, name)).id);
    else {
      const id = idOf(name);
      if (id === undefined)
        throw new MusterdError(
          'usage',
          `"${printable(name)}" is not the id of one of the ${resource.replace('_', ' ')}`,
        );
      ids.push(id);
    }
  }
  return [...new Set(ids)];
}

const numberOf = (fields: readonly DecidedField[]): bigint | null => fields[0]?.decision_id ?? null;

/** The outcome of a decision about missing rows. Only approved rows are marked as gone, and only if they are still missing. */
async function decidedRows(
  tx: Transaction,
  teamId: Id,
  decided: MirroredResource,
  fields: readonly DecidedField[],
): Promise<DecidedRows> {
  const rest = (await readWaitingAbsences(tx, teamId)).find(({ resource }) => resource === decided);
  return {
    resource: decided,
    decision: numberOf(fields),
    approved: fields.length,
    waiting: rest?.ids.length ?? 0,
    rest: rest?.hash ?? null,
  };
}

async function decidedBatch(
  tx: Transaction,
  teamId: Id,
  batch: string,
  fields: readonly DecidedField[],
): Promise<DecidedBatch> {
  const batches = await readBatches(tx, teamId);
  return {
    resource: 'fields',
    decision: numberOf(fields),
    fields,
    waiting: batches.find(({ hash }) => hash === batch)?.users ?? 0,
    batches,
  };
}

/** The choice for a batch shown as a whole: its undecided edits. @throws MusterdError `usage` if the number differs */
async function asShown(
  tx: Transaction,
  teamId: Id,
  choice: Choice & Pick<BatchDecision, 'rows'>,
): Promise<Choice> {
  const { rows = null, batch } = choice;
  if (rows === null) return choice;
  const absence = (await readWaitingAbsences(tx, teamId)).find(({ hash }) => hash === batch);
  const shown = absence === undefined ? await readShownEdits(tx, teamId, batch) : [];
  const now = absence === undefined ? shown.length : absence.ids.length;
  if (now !== rows)
    throw new MusterdError('usage', `Batch ${batch} has ${plural(now, 'row')} now; ${rows} were shown`, {
      hint: 'Nothing was decided. Look at the batch again before you decide.',
    });
  const edits = shown.filter((edit) => edit !== null);
  return edits.length === 0 || edits.length < shown.length ? choice : { ...choice, edits };
}

/** Approves edits that the guard held, or confirms that missing rows are gone: the whole batch, or some users or rows. */
export async function approve(setup: Setup, decision: BatchDecision): Promise<DecidedBatch | DecidedRows> {
  const { teamId, absence } = await readWaiting(setup, decision.batch);
  const choice = { ...decision, ...(await requireChosen(setup, teamId, decision, absence?.resource)) };
  return await asPerson(setup.mirror.db, async (tx) => {
    await decideFor(tx, setup.config, choice.actor);
    const decided = await decideBatch(tx, teamId, 'approve', await asShown(tx, teamId, choice));
    if (absence !== undefined) return await decidedRows(tx, teamId, absence.resource, decided);
    return await decidedBatch(tx, teamId, choice.batch, decided);
  });
}

/** Withdraws the actor's own edits that were not sent yet: all of them, or only the edits in one batch. */
export async function withdraw(
  setup: Setup,
  { batch, why, actor }: Pick<BatchDecision, 'why' | 'actor'> & { readonly batch: string | undefined },
): Promise<readonly DecidedField[]> {
  await requireSchema(setup.mirror.db);
  return await asPerson(setup.mirror.db, async (tx) => {
    await actAs(tx, setup.config, actor);
    const fields = await withdrawOwn(tx, batch ?? null, why);
    if (batch === undefined || fields.length > 0) return fields;
    const others = await readBatchFields(tx, await requireTeamId(setup), batch);
    if (others.length > 0) return fields;
    throw new MusterdError('usage', `There is no held batch ${printable(batch)} (see musterd held)`);
  });
}

/** Rejects a batch, so that it is not sent, even if it was approved before. */
export async function reject(
  setup: Setup,
  decision: BatchDecision & { readonly revert: boolean },
): Promise<DecidedBatch> {
  const { teamId, absence } = await readWaiting(setup, decision.batch);
  if (absence !== undefined)
    throw new MusterdError('usage', 'Nothing to reject: rows without an approval stay unchanged');
  const choice = { ...decision, ...(await requireChosen(setup, teamId, decision)) };
  return await asPerson(setup.mirror.db, async (tx) => {
    await decideFor(tx, setup.config, choice.actor);
    const decided = await decideBatch(
      tx,
      teamId,
      decision.revert ? 'withdraw' : 'reject',
      await asShown(tx, teamId, choice),
    );
    return await decidedBatch(tx, teamId, choice.batch, decided);
  });
}
