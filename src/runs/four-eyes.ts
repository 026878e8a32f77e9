/** Four eyes: a person cannot decide about their own edits (`push.fourEyes`). */
import type { Config } from '../config/config.ts';
import { MusterdError } from '../errors.ts';
import type { Database, Transaction } from '../mirror/db/database.ts';
import { actFor, readLogin } from '../mirror/users/decide-edits.ts';
import { readFourEyes } from '../mirror/team/pinned-teams.ts';
import type { Confirmation } from '../model/waiting.ts';
import { type Settings, tightenSettings } from './keep-settings.ts';

/** The reason to hold an edit that has no approval, or whose approval is void. */
export const waitsFor = ({ push }: Pick<Config, 'push'>): 'limit' | 'review' =>
  push.approve === 'always' ? 'review' : 'limit';

type Environment = Readonly<Record<string, string | undefined>>;

/** The option that the mirror's owner login adds to a command that decides: the person for whom it decides. */
export const ownerAdds = (env: Environment): string => (env['MUSTERD_ACTOR'] ? '' : ' --as <person>');

/** Like `ownerAdds`, if the connected login owns the mirror. Empty for other logins, which decide in their own name. */
export const loginAdds = async (db: Database, env: Environment): Promise<string> =>
  (await readLogin(db.kysely)).isOwner ? ownerAdds(env) : '';

/** A note for a login that cannot decide, below the commands that decide; empty for other logins. */
export async function noteForLogin(db: Database): Promise<string> {
  const { isOwner, isApprover } = await readLogin(db.kysely);
  return isOwner || isApprover
    ? ''
    : 'Only a member of musterd_approver can decide. To take back your own edits: musterd withdraw <batch>';
}

/** The rights of the person who acts. `fourEyes` is true if the settings demand that another person decides. */
interface Acting {
  readonly fourEyes: boolean;
  /** True if the login owns the mirror, and so can act in the name of a person. */
  readonly isOwner: boolean;
}

/**
 * Sets the person in whose name this transaction edits or decides. It can turn four eyes on, but never off.
 * @throws MusterdError `usage` if a login that does not own the mirror names a person
 */
export async function actAs(tx: Transaction, settings: Settings, actor: string | undefined): Promise<Acting> {
  const { login, isOwner } = await readLogin(tx);
  if (!isOwner && actor !== undefined)
    throw new MusterdError('usage', `Only the owner of the mirror may use --as: ${login} acts as ${login}`, {
      hint: 'Leave out --as and MUSTERD_ACTOR.',
    });
  const known = isOwner ? await tightenSettings(tx, settings) : await readFourEyes(tx, settings.team);
  if (actor !== undefined) await actFor(tx, actor);
  // As long as no run has seen the team, the mirror has no stored setting.
  return { fourEyes: known ?? settings.push.fourEyes, isOwner };
}

/**
 * Like `actAs`, but requires a named person for a decision, and for an edit with a reason or under four eyes.
 * @throws MusterdError `usage` if the login that owns the mirror does not name the person for whom it acts
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
      ? 'push.fourEyes needs the name of the editor, who may not approve the edit'
      : 'The login that owns the mirror must decide in the name of a person',
    { hint: 'Name the person: --as <person>, or MUSTERD_ACTOR.' },
  );
}
