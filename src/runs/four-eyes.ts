/** Four eyes: nobody decides about their own edits (`push.fourEyes`). */
import type { Config } from '../config/config.ts';
import { MusterdError } from '../errors.ts';
import type { Database, Transaction } from '../mirror/db/database.ts';
import { actFor, type AnsweredEdit } from '../mirror/users/decide-edits.ts';
import { readFourEyes, writeFourEyes } from '../mirror/team/pinned-teams.ts';
import { plural } from '../model/in-words.ts';

type Settings = Pick<Config, 'team' | 'push'>;

/** What an edit waits for if it is not approved, or if its approval is void. */
export const waitsFor = ({ push }: Pick<Config, 'push'>): 'limit' | 'review' =>
  push.approve === 'always' ? 'review' : 'limit';

/** Sets who decides or edits in this transaction. A command may switch four eyes on, but only a run switches them off. */
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
 * Like `actAs`, for decisions.
 * @returns whether four eyes are required
 * @throws MusterdError `usage` if four eyes are required and it is unknown who decides
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

/** @throws MusterdError `usage` if another person than the one who decides is needed for one of these */
export function requireOtherEyes(answers: readonly AnsweredEdit[]): void {
  const own = answers.flatMap(({ userId, answer }) => (answer === 'own' ? [userId] : []));
  const users = [...new Set(own)];
  if (users.length === 0) return;
  const named = users.slice(0, 10).join(', ') + (users.length > 10 ? ', …' : '');
  throw new MusterdError(
    'usage',
    `Whoever decides edited what is to be approved, of ${plural(users.length, 'user')}: ${named}`,
    { hint: 'Somebody else has to approve it (push.fourEyes).' },
  );
}
