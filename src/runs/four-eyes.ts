/** Four eyes: nobody decides about their own edits (`push.fourEyes`). */
import type { Config } from '../config/config.ts';
import { MusterdError } from '../errors.ts';
import { actFor } from '../mirror/approve-edits.ts';
import type { Database, Transaction } from '../mirror/database.ts';
import { readOwnEdits } from '../mirror/last-edits.ts';
import { readFourEyes, writeFourEyes } from '../mirror/pinned-teams.ts';
import type { Id } from '../model/id.ts';
import { plural } from '../model/in-words.ts';
import type { Field } from '../model/user.ts';

type Settings = Pick<Config, 'team' | 'push'>;

/** What an edit waits for if it is not approved, or if its approval is void. */
export const waitsFor = ({ push }: Pick<Config, 'push'>): 'limit' | 'review' =>
  push.approve === 'always' ? 'review' : 'limit';

/**
 * Sets in this transaction in whose name it decides or edits. A command may switch four eyes on, but not off: only
 * a run does that.
 */
export async function actAs(
  tx: Transaction,
  { team, push }: Settings,
  actor: string | undefined,
): Promise<void> {
  if (push.fourEyes) await writeFourEyes(tx, team, true);
  if (actor !== undefined) await actFor(tx, actor);
}

/** Stores the setting for all who decide, in SQL too. Only `reconcile` and `daemon` switch it off. */
export async function keepFourEyes(
  db: Database,
  { config: { team, push }, command }: { readonly config: Settings; readonly command: string },
  known: { readonly fourEyes: boolean },
): Promise<void> {
  const { fourEyes } = push;
  if (known.fourEyes === fourEyes) return;
  if (fourEyes || command === 'reconcile' || command === 'daemon')
    await db.transaction((tx) => writeFourEyes(tx, team, fourEyes));
}

/**
 * As `actAs`, for decisions.
 * @returns whether four eyes are required
 * @throws MusterdError `usage`: four eyes are required, and it is unknown who decides
 */
export async function decideFor(
  tx: Transaction,
  settings: Settings,
  actor: string | undefined,
): Promise<boolean> {
  await actAs(tx, settings, actor);
  const { team } = settings;
  const fourEyes = (await readFourEyes(tx, team)) ?? settings.push.fourEyes;
  if (!fourEyes || actor !== undefined) return fourEyes;
  throw new MusterdError('usage', 'push.fourEyes: nobody approves what they edited themselves', {
    hint: 'Say who decides: --as <person>, or MUSTERD_ACTOR.',
  });
}

/** @throws MusterdError `usage` if the person who decides has edited one of these fields */
export async function requireOtherEyes(
  tx: Transaction,
  teamId: Id,
  rows: readonly { readonly userId: Id; readonly field: Field }[],
): Promise<void> {
  if (rows.length === 0) return;
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
