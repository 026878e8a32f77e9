/** Imports a file of people as edits in the mirror, which the next run sends: plans them first, then writes the plan. */

import { MusterdError } from '../../../errors.ts';
import { createMirrorReader } from '../../../mirror/mirror.ts';
import { asPerson } from '../../../mirror/team/known-place.ts';
import { approveEdits } from '../../../mirror/users/decide-edits.ts';
import { editUsers } from '../../../mirror/users/edits.ts';
import { readGuardHistory } from '../../../mirror/users/held-batches.ts';
import { readRoles, readTeamUsers } from '../../../mirror/users/import-read.ts';
import {
  readRunsOf,
  readSettled,
  readTransactionId,
  type SettledEdit,
} from '../../../mirror/users/settled.ts';
import type { Id } from '../../../model/id.ts';
import type { Confirmation } from '../../../model/waiting.ts';
import { readLessons } from '../../../reconcile/push/batches.ts';
import { decideFor, waitsFor } from '../../four-eyes.ts';
import { requireTeamId } from '../../named-user.ts';
import type { Setup } from '../../open.ts';
import { type Mapping, readColumns, requireColumns } from './columns.ts';
import { foresee, type ImportForecast, pushesOf } from './foresee.ts';
import {
  hashOfImport,
  type ImportChange,
  type ImportPlan,
  type ImportWishes,
  planImport,
} from './plan-import.ts';

export interface ImportRequest extends Omit<ImportWishes, 'columns'> {
  readonly mappings: readonly Mapping[];
}

export interface ImportPreview extends ImportPlan, ImportForecast {
  readonly teamId: Id;
  /** The hash of the import's edits, for "--expect". */
  readonly hash: string;
  readonly ignored: readonly string[];
}

/** Plans what an import would change. It reads only the mirror. @throws MusterdError `usage` */
export async function previewImport(
  setup: Setup,
  { table, mappings, ...how }: ImportRequest,
): Promise<ImportPreview> {
  const columns = readColumns(table, mappings);
  requireColumns(table, columns);
  const teamId = await requireTeamId(setup);
  const { kysely } = setup.mirror.db;
  const [users, roles, { pushedToday }] = await Promise.all([
    readTeamUsers(kysely, teamId),
    readRoles(kysely, teamId),
    readGuardHistory(kysely, teamId),
  ]);
  const country = how.country ?? setup.config.phones.country?.toString() ?? null;
  const plan = planImport({ table, columns, ...how, country }, users, roles);
  const lessons = await readLessons(createMirrorReader(setup.mirror.db, teamId), pushesOf(plan.changes));
  return {
    ...plan,
    ...foresee(setup.config, users, plan.changes, pushedToday, lessons),
    teamId,
    hash: hashOfImport(plan.changes),
    ignored: columns.ignored,
    notes: [...table.notes, ...columns.notes, ...plan.notes],
  };
}

export interface ImportResult {
  readonly changes: readonly ImportChange[];
  /** The changes that were not written, because the user is gone, was edited since, or is being edited. */
  readonly missed: readonly ImportChange[];
  /** The number of fields that are approved, and so pass the hold limits. */
  readonly approved: number;
  /** The number of the transaction that wrote the edits. */
  readonly xid: string;
}

/**
 * Writes the plan into the mirror in one transaction, except for users who have changed since. A guess (a split of a
 * name, the country of a phone) is not approved, even with a reason. It is held until a person decides.
 */
export async function applyImport(
  setup: Setup,
  { teamId, hash, edits, changes, refused }: ImportPreview,
  { actor, why: reason }: Confirmation,
): Promise<ImportResult> {
  // With `push.approve: always`, the preview has shown these edits. So they are approved if they are within the limits.
  const isSeen = setup.config.push.approve === 'always' && refused.length === 0;
  return asPerson(setup.mirror.db, async (tx) => {
    const { isOwner } = await decideFor(tx, setup.config, actor, { why: reason });
    if (reason !== undefined && !isOwner)
      throw new MusterdError(
        'denied',
        'This login may not run "musterd import": it needs the login that owns the mirror for --reason. Leave out --reason',
      );
    const why = reason ?? (isSeen && isOwner ? 'seen when it was imported' : undefined);
    const edited = await editUsers(tx, teamId, edits);
    const done = changes.filter(({ userId }) => edited.has(userId));
    const rows = done.filter(({ isGuess, unsure }) => !isGuess && unsure === undefined);
    const approval = { batch: hash, waits: waitsFor(setup.config) };
    const approved =
      why === undefined || done.length === 0
        ? 0
        : (await approveEdits(tx, teamId, { ...approval, why }, rows)).length;
    const xid = await readTransactionId(tx);
    return { changes: done, missed: changes.filter(({ userId }) => !edited.has(userId)), approved, xid };
  });
}

export type { SettledEdit } from '../../../mirror/users/settled.ts';

/** Waits until no edit of an import is open, at most for `waitMs`. @returns the outcomes of the edits, and their runs */
export async function settledOf(
  { mirror }: Pick<Setup, 'mirror'>,
  { xid }: Pick<ImportResult, 'xid'>,
  how: { readonly waitMs: number; readonly signal: AbortSignal },
): Promise<{ readonly edits: readonly SettledEdit[]; readonly runs: readonly Id[] }> {
  const edits = await readSettled(mirror.db, xid, how);
  return { edits, runs: await readRunsOf(mirror.db, xid) };
}
