/** A person decides about a batch of held fields, or about missing rows. */
import { MusterdError } from '../errors.ts';
import { readWaitingAbsences } from '../mirror/absences.ts';
import type { Transaction } from '../mirror/database.ts';
import {
  approveBatch,
  type Choice,
  type DecidedField,
  readBatches,
  rejectBatch,
} from '../mirror/held-batches.ts';
import { type LeaseOptions, underLease } from '../mirror/lease.ts';
import { readTeamId } from '../mirror/pinned-teams.ts';
import type { MirroredResource } from '../model/absence.ts';
import { type Id, maxId } from '../model/id.ts';
import { printable } from '../model/in-words.ts';
import type { HeldBatch } from '../model/waiting.ts';
import { actAs, decideFor } from './four-eyes.ts';
import { requireUser } from './named-user.ts';
import { requireSchema, type Setup } from './open.ts';

/** The outcome for a batch. */
export interface DecidedBatch {
  readonly of: 'fields';
  readonly fields: readonly DecidedField[];
  /** Users of the batch about whom nobody has decided yet. */
  readonly waiting: number;
  /** All batches of the team that still wait. */
  readonly batches: readonly Pick<HeldBatch, 'hash' | 'users'>[];
}

/** The outcome for missing rows. */
export interface DecidedRows {
  readonly of: MirroredResource;
  readonly approved: number;
  readonly waiting: number;
  /** The hash of the rows that still wait; `null`: none. */
  readonly rest: string | null;
}

/** A person's decision, and in whose name. */
export interface BatchDecision extends Omit<Choice, 'only'> {
  /** Users by id, address or name, or the ids of other rows; `null`: all of them. */
  readonly only: readonly (string | Id)[] | null;
  readonly actor: string | undefined;
}

interface Team {
  readonly team: string;
  readonly lease: LeaseOptions;
}

/** @throws MusterdError `usage`: nothing waits under that hash */
async function requireWaiting({ config, mirror: { db } }: Setup, hash: string) {
  await requireSchema(db);
  const teamId = await readTeamId(db.kysely, config.team);
  const batches = teamId === null ? [] : (await readBatches(db.kysely, teamId)).map((one) => one.hash);
  const absences = teamId === null ? [] : await readWaitingAbsences(db.kysely, teamId);
  const absence = absences.find((one) => one.hash === hash);
  if (teamId !== null && (absence !== undefined || batches.includes(hash))) return { teamId, absence };
  const waiting = [...batches, ...absences.map((one) => one.hash)];
  const hint =
    waiting.length === 0
      ? 'Nothing waits. "musterd plan" shows what would move now.'
      : `What waits: ${waiting.join(', ')}. Look at it with "musterd held" and "musterd status".`;
  throw new MusterdError('usage', `nothing waits for a decision under ${hash}`, { hint });
}

const idOf = (word: string): Id | undefined => {
  const id = /^\d{1,19}$/.test(word) ? BigInt(word) : maxId + 1n;
  return id <= maxId ? id : undefined;
};

/** @throws MusterdError `usage` if no user or several match, or if another kind of row is not given by its id */
async function requireChosen(
  setup: Setup,
  teamId: Id,
  { only }: BatchDecision,
  of: MirroredResource = 'users',
): Promise<readonly Id[] | null> {
  if (only === null) return null;
  const ids: Id[] = [];
  for (const one of only) {
    if (typeof one === 'bigint') ids.push(one);
    else if (of === 'users') ids.push((await requireUser(setup, teamId, one)).id);
    else {
      const id = idOf(one);
      if (id === undefined)
        throw new MusterdError(
          'usage',
          `"${printable(one)}" is not the id of one of the ${of.replace('_', ' ')}`,
        );
      ids.push(id);
    }
  }
  return [...new Set(ids)];
}

/** The outcome for missing rows: only these are marked as gone, as long as they are missing. */
async function decidedRows(
  tx: Transaction,
  teamId: Id,
  of: MirroredResource,
  fields: readonly DecidedField[],
): Promise<DecidedRows> {
  const rest = (await readWaitingAbsences(tx, teamId)).find(({ resource }) => resource === of);
  return { of, approved: fields.length, waiting: rest?.ids.length ?? 0, rest: rest?.hash ?? null };
}

async function decidedBatch(
  tx: Transaction,
  teamId: Id,
  batch: string,
  fields: readonly DecidedField[],
): Promise<DecidedBatch> {
  const batches = await readBatches(tx, teamId);
  const left = batches.find(({ hash }) => hash === batch);
  return { of: 'fields', fields, waiting: left?.users ?? 0, batches };
}

/** Approves what the guard stopped, or that missing rows are gone: the whole batch, or some users or rows. */
export async function approve(
  setup: Setup,
  team: Team,
  decision: BatchDecision,
): Promise<DecidedBatch | DecidedRows> {
  const { teamId, absence } = await requireWaiting(setup, decision.batch);
  const choice = { ...decision, only: await requireChosen(setup, teamId, decision, absence?.resource) };
  return await underLease(setup.mirror.db, team, async (tx) => {
    await decideFor(tx, setup.config, choice.actor);
    const decided = await approveBatch(tx, teamId, choice);
    if (absence !== undefined) return await decidedRows(tx, teamId, absence.resource, decided);
    return await decidedBatch(tx, teamId, choice.batch, decided);
  });
}

/** Decides that a batch is not sent. */
export async function reject(
  setup: Setup,
  team: Team,
  decision: BatchDecision & { readonly revert: boolean },
): Promise<DecidedBatch> {
  const { teamId, absence } = await requireWaiting(setup, decision.batch);
  if (absence !== undefined)
    throw new MusterdError('usage', 'There is nothing to reject: what is not approved stays as it is');
  const choice = { ...decision, only: await requireChosen(setup, teamId, decision) };
  return await underLease(setup.mirror.db, team, async (tx) => {
    await actAs(tx, setup.config, choice.actor);
    return await decidedBatch(tx, teamId, choice.batch, await rejectBatch(tx, teamId, choice));
  });
}
