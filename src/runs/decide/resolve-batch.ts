import { isApprovable } from '../../model/user-plan.ts';
import { MusterdError } from '../../errors.ts';
import { asPerson } from '../../mirror/team/known-place.ts';
import { readHeldFields } from '../../mirror/users/held.ts';
import { fieldOf } from '../../model/fields.ts';
import { printable } from '../../model/in-words.ts';
import { requireTeamId } from '../named-user.ts';
import type { Setup } from '../open.ts';
import { type Resolution, type ResolvedFields, resolveEach } from './resolve-field.ts';
import { seenOf } from './say-seen.ts';

export interface BatchResolution extends Pick<Resolution, 'why' | 'actor'> {
  /** The hash of the batch, which identifies the edits that the person saw. */
  readonly batch: string;
  readonly take: 'mirror' | 'service';
}

/**
 * Decides about all fields of a batch that were rejected or that need a side to be chosen, or about none of them.
 * @throws MusterdError `usage` if any of these fields has changed since it was held
 */
export async function resolveBatch(
  setup: Setup,
  { batch, ...resolution }: BatchResolution,
): Promise<ResolvedFields> {
  const teamId = await requireTeamId(setup);
  return await asPerson(setup.mirror.db, async (tx) => {
    const held = await readHeldFields(tx, teamId, { batch });
    const open = held.filter(({ state, reason }) => state === 'rejected' || !isApprovable(reason));
    if (open.length === 0)
      throw new MusterdError('usage', `No field of batch ${printable(batch)} needs to be resolved`, {
        hint:
          held.length > 0
            ? `To decide about the batch: musterd approve ${batch}, or musterd reject ${batch}.`
            : 'Nothing was decided. Run "musterd held" to see the batches that wait.',
      });
    const resolutions = open.map((row) => {
      const { edit } = seenOf(row);
      const { service } = seenOf({ ...row, service_value: row.service_value_then });
      const seen = edit === undefined ? undefined : ({ kind: 'edit', edit, service } as const);
      return { id: row.user_id, field: fieldOf(row.field), seen, ...resolution };
    });
    return await resolveEach(tx, { teamId, config: setup.config }, resolutions);
  });
}
