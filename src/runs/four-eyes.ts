/** Four eyes: nobody decides about their own edits (`push.fourEyes`). */
import type { Config } from '../config/config.ts';
import { MusterdError } from '../errors.ts';
import type { Database, Transaction } from '../mirror/db/database.ts';
import { actFor, readLogin } from '../mirror/users/decide-edits.ts';
import { readFourEyes } from '../mirror/team/pinned-teams.ts';
import type { Confirmation } from '../model/waiting.ts';
import { type Settings, tightenSettings } from './keep-settings.ts';

/** The reason for which an edit waits if it is not approved, or if its approval is void. */
export const waitsFor = ({ push }: Pick<Config, 'push'>): 'limit' | 'review' =>
  push.approve === 'always' ? 'review' : 'limit';

type Environment = Readonly<Record<string, string | undefined>>;

/** What the login that owns the mirror adds to a command that decides: the person for whom it does. */
export const ownerAdds = (env: Environment): string => (env['MUSTERD_ACTOR'] ? '' : ' --as <person>');

/** The same for the login that is connected: each other one decides for itself. */
export const loginAdds = async (db: Database, env: Environment): Promise<string> =>
  (await readLogin(db.kysely)).isOwner ? ownerAdds(env) : '';

/** Who acts, and whether by settings that somebody else has to decide. */
interface Acting {
  readonly fourEyes: boolean;
  /** Whether the login may write the bookkeeping, and so speaks for others. */
  readonly isOwner: boolean;
}

/**
 * Sets who decides or edits in this transaction, by settings that allow no more than before.
 * @throws MusterdError `usage` if a login of a person says that it acts for somebody
 */
export async function actAs(tx: Transaction, settings: Settings, actor: string | undefined): Promise<Acting> {
  const { login, isOwner } = await readLogin(tx);
  if (!isOwner && actor !== undefined)
    throw new MusterdError('usage', `--as is for the login that owns the mirror: ${login} acts as ${login}`, {
      hint: 'Leave out --as and MUSTERD_ACTOR.',
    });
  const known = isOwner ? await tightenSettings(tx, settings) : await readFourEyes(tx, settings.team);
  if (actor !== undefined) await actFor(tx, actor);
  // No run has seen the team yet.
  return { fourEyes: known ?? settings.push.fourEyes, isOwner };
}

/**
 * Like `actAs`, for decisions, and for edits: with a reason, or where somebody else has to approve them.
 * @throws MusterdError `usage` if the login that owns the mirror does not say for whom it acts
 */
export async function decideFor(
  tx: Transaction,
  settings: Settings,
  actor: string | undefined,
  edit?: Pick<Confirmation, 'why'>,
): Promise<Acting> {
  const acting = await actAs(tx, settings, actor);
  const isEditAlone = edit !== undefined && edit.why === undefined;
  if (!acting.isOwner || actor !== undefined || (isEditAlone && !acting.fourEyes)) return acting;
  throw new MusterdError(
    'usage',
    isEditAlone
      ? 'push.fourEyes: nobody approves what they edited themselves'
      : 'The login that owns the mirror decides in the name of a person',
    { hint: 'Say who: --as <person>, or MUSTERD_ACTOR.' },
  );
}
