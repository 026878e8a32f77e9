/** All that is read of one team, for tests of what another team has to do with it: nothing. */
import type { Database, Transaction } from '../../src/mirror/db/database.ts';
import { sql } from 'kysely';
import { digestRows } from '../../src/mirror/listings/listings.ts';
import { readHeldByReason, readTokensLeft } from '../../src/mirror/runs/metrics-read.ts';
import { readEarlier } from '../../src/mirror/runs/push-history.ts';
import { readStatus } from '../../src/mirror/runs/read-status.ts';
import { readLastRuns, readLatestRuns } from '../../src/mirror/runs/runs.ts';
import { readTeamsNow } from '../../src/mirror/runs/told.ts';
import { readCredentials } from '../../src/mirror/team/credentials.ts';
import { readDue, readNextDueMs, readStandings } from '../../src/mirror/team/due.ts';
import { readKnownTeam } from '../../src/mirror/team/known-team.ts';
import { readHolder } from '../../src/mirror/team/lease-holder.ts';
import { readNameSafety } from '../../src/mirror/team/name-safety.ts';
import { readFourEyes } from '../../src/mirror/team/pinned-teams.ts';
import { readAbsenceVerdicts, readWaitingAbsences } from '../../src/mirror/users/absences.ts';
import { readKnownUsers, readLookups } from '../../src/mirror/users/addresses.ts';
import { readLastEdit, readOpenPush } from '../../src/mirror/users/explain-read.ts';
import { findUsers } from '../../src/mirror/users/find-user.ts';
import { readEditedUsers, readFreshEdits } from '../../src/mirror/users/fresh-edits.ts';
import { readBatches, readBatchFields, readGuardHistory } from '../../src/mirror/users/held-batches.ts';
import { readHeldFields } from '../../src/mirror/users/held.ts';
import { readWaitingFields, waitingOf } from '../../src/mirror/users/holds.ts';
import { readRoles, readTeamUsers } from '../../src/mirror/users/import-read.ts';
import { readIntents } from '../../src/mirror/users/intents.ts';
import { readLastEdits, readOwnEdits } from '../../src/mirror/users/last-edits.ts';
import { readLedger } from '../../src/mirror/users/ledger.ts';
import { readMovedFields } from '../../src/mirror/users/moved-fields.ts';
import { readNotAtRest } from '../../src/mirror/users/not-at-rest.ts';
import { readPresentUsers } from '../../src/mirror/users/present-users.ts';
import { compareSides } from '../../src/mirror/users/users-compare.ts';
import { readUserState } from '../../src/mirror/users/users-read.ts';
import { readKnownAddresses, readSnapshot } from '../../src/mirror/users/verify-read.ts';
import { readShownEdits } from '../../src/mirror/users/waiting-fields.ts';

interface Team {
  readonly team: string;
  readonly teamId: bigint;
  readonly runId: bigint;
  readonly batch: string;
  readonly users: readonly bigint[];
  readonly email: string;
}

export async function readAllOf(db: Database, tx: Transaction, of: Team): Promise<Record<string, unknown>> {
  const { team, teamId, runId, batch, users, email } = of;
  const [id = 0n] = users;
  const nothing = {
    id: null,
    email: null,
    phone: null,
    name: null,
    words: ['nobody'],
    rough: [],
    isWhole: false,
  };
  const all = { userId: null, runId: null, field: null, kind: null, outcome: null, since: null, limit: 99 };
  // What opens a transaction of its own reads in this one, and leaves nothing in it.
  const within: Database = {
    ...db,
    kysely: tx,
    transaction: async (work) => {
      await sql`savepoint work`.execute(tx);
      const result = await work(tx);
      await sql`rollback to savepoint work`.execute(tx);
      return result;
    },
  };
  const intents = await readIntents(tx, teamId);
  const reads: Record<string, () => Promise<unknown>> = {
    intents: async () => intents,
    earlier: () =>
      readEarlier(
        tx,
        teamId,
        intents.map((intent) => ({ ...intent, changeId: 2n ** 62n })),
      ),
    lastRuns: () => readLastRuns(tx, team),
    latestRuns: () => readLatestRuns(tx, [team]),
    heldByReason: () => readHeldByReason(tx, [team]),
    tokens: () => readTokensLeft(tx, new Map([[team, { perMinute: 60, share: 1 }]])),
    due: () => readDue(tx, [team]),
    nextDue: async () => Math.round(((await readNextDueMs(tx, [team])) ?? -1) / 3_600_000),
    standings: () => readStandings(tx, [team]),
    credentials: () => readCredentials(within, team),
    known: () => readKnownTeam(tx, team),
    holder: () => readHolder(tx, team, 60_000),
    nameSafety: () => readNameSafety(tx, teamId),
    fourEyes: () => readFourEyes(tx, team),
    digests: () => digestRows(tx, teamId, ['tags', 'surveys']),
    verdicts: () => readAbsenceVerdicts(tx, teamId, 'users'),
    missing: () => readWaitingAbsences(tx, teamId),
    addresses: () => readKnownUsers(tx, teamId, users),
    lookups: () => readLookups(tx, teamId),
    openPush: () => readOpenPush(tx, teamId, intents[0]?.userId ?? id),
    lastEdit: () => readLastEdit(tx, teamId, id),
    byId: () => findUsers(tx, teamId, { ...nothing, id }),
    byEmail: () => findUsers(tx, teamId, { ...nothing, email }),
    edited: () => readEditedUsers(tx, teamId),
    fresh: () => readFreshEdits(tx, [team]),
    guardHistory: () => readGuardHistory(tx, teamId),
    batches: () => readBatches(tx, teamId),
    batchFields: () => readBatchFields(tx, teamId, batch),
    shownEdits: () => readShownEdits(tx, teamId, batch),
    held: () => readHeldFields(tx, teamId, {}),
    heldOf: () => readHeldFields(tx, teamId, { userId: id }),
    heldIn: () => readHeldFields(tx, teamId, { batch }),
    waiting: () => readWaitingFields(tx, teamId),
    waitingInAll: async () => (await waitingOf(teamId).execute(tx)).rows,
    ownEdits: () => readOwnEdits(tx, teamId, users),
    teamUsers: () => readTeamUsers(tx, teamId),
    roles: () => readRoles(tx, teamId),
    lastEdits: () => readLastEdits(tx, teamId, users),
    ledger: () => readLedger(tx, teamId, all),
    movedByRun: () => readMovedFields(tx, teamId, runId),
    notAtRest: () => readNotAtRest(tx, [teamId]),
    presentUsers: () => readPresentUsers(tx, teamId, { emails: [email], phones: [], roleIds: [3n] }),
    state: () => readUserState(tx, teamId, id),
    knownAddresses: () => readKnownAddresses(tx, teamId),
    compared: () =>
      compareSides(within, teamId, { users: new Map(), roles: new Map(), leftOut: users } as never),
    status: () => readStatus(within, team),
    teamsNow: () => readTeamsNow(within, [team]),
    snapshot: () => readSnapshot(within, team, teamId),
  };
  const read: [string, unknown][] = [];
  for (const [name, result] of Object.entries(reads)) read.push([name, await result()]);
  return Object.fromEntries(read);
}
