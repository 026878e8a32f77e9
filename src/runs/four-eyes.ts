/** Who decides, and that it is not who edited (`push.fourEyes`). */
import type { Config } from '../config/config.ts';
import { MusterdError } from '../errors.ts';
import { actFor } from '../mirror/approve-edits.ts';
import { readOwnEdits } from '../mirror/last-edits.ts';
import type { LeasedWork } from '../mirror/lease.ts';
import { writeFourEyes } from '../mirror/pinned-teams.ts';
import type { Id } from '../model/id.ts';
import { plural } from '../model/in-words.ts';
import type { Field } from '../model/user.ts';

type Tx = Parameters<LeasedWork<unknown>>[0];
type Settings = Pick<Config, 'team' | 'push'>;

/** Says in this transaction for whom it decides, and what the settings ask of that. */
export async function decideFor(tx: Tx, { team, push }: Settings, actor: string | undefined): Promise<void> {
  await writeFourEyes(tx, team, push.fourEyes);
  if (actor !== undefined) await actFor(tx, actor);
}

/** @throws MusterdError `usage`: four eyes are asked for, and nobody knows whose these are */
export function requireActor({ push }: Pick<Config, 'push'>, actor: string | undefined): void {
  if (!push.fourEyes || actor !== undefined) return;
  throw new MusterdError('usage', 'push.fourEyes: nobody approves what they edited themselves', {
    hint: 'Say who decides: --as <person>, or MUSTERD_ACTOR.',
  });
}

/** @throws MusterdError `usage` where whoever decides edited one of these fields */
export async function requireOtherEyes(
  tx: Tx,
  { push }: Pick<Config, 'push'>,
  teamId: Id,
  rows: readonly { readonly userId: Id; readonly field: Field }[],
): Promise<void> {
  if (!push.fourEyes || rows.length === 0) return;
  const wanted = new Set(rows.map(({ userId, field }) => `${userId} ${field}`));
  const own = await readOwnEdits(tx, teamId, [...new Set(rows.map(({ userId }) => userId))]);
  const mine = own.filter(({ userId, field }) => wanted.has(`${userId} ${field}`));
  const users = [...new Set(mine.map(({ userId }) => userId))];
  if (users.length === 0) return;
  const named = users.slice(0, 10).join(', ') + (users.length > 10 ? ', …' : '');
  throw new MusterdError(
    'usage',
    `Whoever decides edited what is to be approved, of ${plural(users.length, 'user')}: ${named}`,
    { hint: 'Somebody else has to approve it (push.fourEyes).' },
  );
}
