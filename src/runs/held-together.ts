/** Edits of one transaction that are held one by one for the same reason: a person may decide about all of them at once. */
import type { Queryable } from '../mirror/db/database.ts';
import { type HeldEdit, readHeldEdits } from '../mirror/users/held-edits.ts';
import type { Id } from '../model/id.ts';
import { hashOf } from '../reconcile/guard/batch-hash.ts';

export interface HeldTogether {
  /** Stands for these edits, and for what was seen of the service for each. */
  readonly hash: string;
  readonly reason: HeldEdit['reason'];
  readonly fields: readonly Pick<HeldEdit, 'userId' | 'field'>[];
}

export async function readHeldTogether(db: Queryable, teamId: Id): Promise<readonly HeldTogether[]> {
  const edits = await readHeldEdits(db, teamId);
  const groups = Map.groupBy(edits, ({ reason, transaction }) => `${reason} ${transaction}`);
  return [...groups.values()].flatMap((fields) => {
    const [first] = fields;
    return first === undefined ? [] : [{ hash: hashOf(fields), reason: first.reason, fields }];
  });
}
