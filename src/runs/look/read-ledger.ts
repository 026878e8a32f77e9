import { type LedgerFilter, type LedgerRow, readLedger } from '../../mirror/users/ledger.ts';
import { readTeamId } from '../../mirror/team/pinned-teams.ts';
import type { Id } from '../../model/id.ts';
import { requireSchema, type Setup } from '../open.ts';
import { requireUser, nobodyAnswers } from '../named-user.ts';

export type { LedgerFilter, LedgerRow } from '../../mirror/users/ledger.ts';

/**
 * @param userText a user in any form that `musterd why` takes, or `undefined` for all users
 * @throws MusterdError `usage` if no user or several match
 */
export async function readLedgerOf(
  { config, mirror }: Pick<Setup, 'config' | 'mirror'>,
  filter: Omit<LedgerFilter, 'userId'>,
  userText: string | undefined,
): Promise<readonly LedgerRow[]> {
  await requireSchema(mirror.db);
  const { kysely } = mirror.db;
  const teamId = await readTeamId(kysely, config.team);
  let userId: Id | null = null;
  if (userText !== undefined) {
    if (teamId === null) throw nobodyAnswers(userText);
    userId = (await requireUser({ mirror }, teamId, userText)).id;
  }
  return teamId === null ? [] : await readLedger(kysely, teamId, { ...filter, userId });
}
