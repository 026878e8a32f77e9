/** Edits of one transaction that are held one by one for the same reason: a person may decide about all of them at once. */
import type { Queryable } from '../mirror/db/database.ts';
import { type HeldRow, readHeldFields } from '../mirror/users/held.ts';
import { type HeldEdit, readHeldEdits } from '../mirror/users/held-edits.ts';
import type { Id } from '../model/id.ts';
import { hashOf } from '../reconcile/guard/batch-hash.ts';
import { requireTeamId, requireUser } from './named-user.ts';
import type { Setup } from './open.ts';

export interface HeldTogether {
  /** A hash of these edits, and of what was seen of the service for each. */
  readonly hash: string;
  readonly state: HeldEdit['state'];
  readonly reason: HeldEdit['reason'];
  readonly fields: readonly Pick<HeldEdit, 'userId' | 'field'>[];
}

export type { HeldRow } from '../mirror/users/held.ts';

/** Reads the held fields of all users or of one (`userText`), and finds those that were edited at once. */
export async function readHeldOf(
  setup: Setup,
  userText: string | undefined,
): Promise<{ readonly rows: readonly HeldRow[]; readonly together: readonly HeldTogether[] }> {
  const teamId = await requireTeamId(setup);
  const user = userText === undefined ? null : await requireUser(setup, teamId, userText);
  const { kysely } = setup.mirror.db;
  const rows = await readHeldFields(kysely, teamId, user?.id ?? null);
  const together = (await readHeldTogether(kysely, teamId)).filter(
    ({ fields }) => fields.length > 1 && (user === null || fields.some(({ userId }) => userId === user.id)),
  );
  return { rows, together };
}

export async function readHeldTogether(db: Queryable, teamId: Id): Promise<readonly HeldTogether[]> {
  const edits = await readHeldEdits(db, teamId);
  const groups = Map.groupBy(edits, ({ state, reason, transaction }) => `${state} ${reason} ${transaction}`);
  return [...groups.values()].flatMap((fields) => {
    const [first] = fields;
    return first === undefined
      ? []
      : [{ hash: hashOf(fields), state: first.state, reason: first.reason, fields }];
  });
}
