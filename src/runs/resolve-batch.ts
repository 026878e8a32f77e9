import { MusterdError } from '../errors.ts';
import { readBatches } from '../mirror/users/held-batches.ts';
import { type LeasedTeam, underLease } from '../mirror/team/lease.ts';
import { plural, printable } from '../model/in-words.ts';
import { readHeldTogether } from './held-together.ts';
import { requireTeamId } from './named-user.ts';
import type { Setup } from './open.ts';
import { type Resolution, type ResolvedFields, resolveEach } from './resolve-field.ts';

export interface BatchResolution extends Pick<Resolution, 'why' | 'actor'> {
  /** The hash, which identifies what was seen. */
  readonly batch: string;
  readonly take: 'mirror' | 'service';
}

/** Decides about all fields of a hash at once, or about none. @throws MusterdError `usage` if any of them is not as it was */
export async function resolveBatch(
  setup: Setup,
  leased: LeasedTeam,
  { batch, ...resolution }: BatchResolution,
): Promise<ResolvedFields> {
  const teamId = await requireTeamId(setup);
  return await underLease(setup.mirror.db, leased, async (tx) => {
    const all = await readHeldTogether(tx, teamId);
    const found = all.find(({ hash }) => hash === batch);
    if (found === undefined) {
      const isStopped = (await readBatches(tx, teamId)).some(({ hash }) => hash === batch);
      const held = all.map(({ hash, fields }) => `${hash} (${plural(fields.length, 'field')})`).join(', ');
      throw new MusterdError('usage', `No held fields are ${printable(batch)} now`, {
        hint: isStopped
          ? `The guard stopped that batch: decide about it with musterd approve ${batch}, or musterd reject ${batch}.`
          : `Nothing was decided. ${held === '' ? 'Nothing is held that can be decided at once.' : `What is held now: ${held}; "musterd held" shows it.`}`,
      });
    }
    const resolutions = found.fields.map(({ userId: id, field }) => ({
      id,
      field,
      seen: undefined,
      ...resolution,
    }));
    return await resolveEach(tx, { teamId, config: setup.config }, resolutions);
  });
}
