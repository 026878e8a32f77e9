/** Four eyes: nobody decides about their own edits (`push.fourEyes`). */
import type { Config } from '../config/config.ts';
import { MusterdError } from '../errors.ts';
import type { Transaction } from '../mirror/db/database.ts';
import { actFor, type AnsweredEdit } from '../mirror/users/decide-edits.ts';
import { plural } from '../model/in-words.ts';
import { type Settings, tightenSettings } from './keep-settings.ts';

/** The reason for which an edit waits if it is not approved, or if its approval is void. */
export const waitsFor = ({ push }: Pick<Config, 'push'>): 'limit' | 'review' =>
  push.approve === 'always' ? 'review' : 'limit';

/**
 * Sets who decides or edits in this transaction, by settings that allow no more than before.
 * @returns whether four eyes are required, or `null` as long as no run has seen the team
 */
export async function actAs(
  tx: Transaction,
  settings: Settings,
  actor: string | undefined,
): Promise<boolean | null> {
  const fourEyes = await tightenSettings(tx, settings);
  if (actor !== undefined) await actFor(tx, actor);
  return fourEyes;
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
  const fourEyes = (await actAs(tx, settings, actor)) ?? settings.push.fourEyes;
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
