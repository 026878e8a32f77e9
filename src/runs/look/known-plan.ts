/** Reads a plan for a login that is not allowed to call the service: the waiting changes that the mirror has recorded. */
import { holdsBatch, readKnownChanges } from '../../mirror/users/known-plan.ts';
import { readLogin } from '../../mirror/users/decide-edits.ts';
import type { Id } from '../../model/id.ts';
import type { PlannedChange } from '../../model/user-changes.ts';
import { requireTeamId } from '../named-user.ts';
import { requireSchema, type Setup } from '../open.ts';

export interface KnownPlan {
  readonly login: string;
  readonly id: Id;
  readonly changes: readonly PlannedChange[];
  readonly isStopped: boolean;
}

/** @returns `undefined` for the login that owns the mirror, which can ask the service */
export async function readKnownPlan(setup: Setup): Promise<KnownPlan | undefined> {
  const { db } = setup.mirror;
  await requireSchema(db);
  const { login, isOwner } = await readLogin(db.kysely);
  if (isOwner) return undefined;
  const id = await requireTeamId(setup);
  const changes = await readKnownChanges(db.kysely, id);
  return { login, id, changes, isStopped: await holdsBatch(db.kysely, id) };
}
