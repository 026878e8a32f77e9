/** The mirror of one team, as declared in `reconcile/ports.ts`. */
import type { AbsenceDecision, MirroredResource } from '../model/absence.ts';
import type { EarlierThan, IntentResult } from '../model/intent.ts';
import type { Concern, ShownUsers } from '../model/plan.ts';
import type { UserPlan, UserWrite } from '../model/user-plan.ts';
import type { ContactCount } from '../model/contact-count.ts';
import type { Id } from '../model/id.ts';
import type { ListedResource } from '../model/listed-resource.ts';
import type { RejectedRow } from '../model/rejected-row.ts';
import type { HoldOfUser, StoppedPushes } from '../model/waiting.ts';
import type { ListingRecord } from '../model/listing.ts';
import { applyAbsences, isNoNews, readAbsenceVerdicts } from './users/absences.ts';
import { readKnownUsers, readLookups } from './users/addresses.ts';
import type { Database } from './db/database.ts';
import { applyResults } from './users/apply-results.ts';
import { markSent, openIntents, readIntents } from './users/intents.ts';
import { readEditedUsers } from './users/fresh-edits.ts';
import { isKnown, type KnownTeam } from './team/known-team.ts';
import { readHeldEdits } from './users/last-edits.ts';
import type { Learned } from './team/learned.ts';
import { fenced, type Lease, type LeasedWork } from './team/lease.ts';
import {
  compareListing,
  createListingMemory,
  digestRows,
  type ListingSpool,
  learnedOfListing,
  publishListing,
  readLackingRows,
  tableOf,
  writeContactCounts,
  writeRejectedRows,
} from './listings/listings.ts';
import { readNameSafety } from './team/name-safety.ts';
import { readGuardHistory, writeStopped } from './users/held-batches.ts';
import { newShape, takeUsers } from './users/new-users.ts';
import { recordUsers } from './users/periods.ts';
import { readPresentUsers } from './users/present-users.ts';
import { readEarlier } from './runs/push-history.ts';
import { createSpool, withSpool } from './db/spool.ts';
import { movesRole, writeRoles } from './users/roles.ts';
import { noteStale } from './team/stale.ts';
import { compareSides } from './users/users-compare.ts';
import { applyUsers, isNothingToWrite } from './users/users-write.ts';

/** The methods of the port that read the mirror (`MirrorPort`). They see committed data only. */
export function createMirrorReader(db: Database, teamId: Id, known?: KnownTeam) {
  const { kysely } = db;
  return {
    compareUsers: (shown: ShownUsers) => compareSides(db, teamId, shown),
    readAddresses: async (whose: 'edited' | readonly Id[]) => ({
      ofUsers:
        whose === 'edited'
          ? await readEditedUsers(kysely, teamId)
          : await readKnownUsers(kysely, teamId, whose),
      others: () => readLookups(kysely, teamId),
    }),
    readPresentUsers: (concern: Concern) => readPresentUsers(kysely, teamId, concern),
    readIntents: () => readIntents(kysely, teamId),
    readGuardHistory: () =>
      db.transaction(async (tx) => ({
        ...(await readGuardHistory(tx, teamId)),
        open: await readIntents(tx, teamId),
      })),
    readHeldEdits: (holds: readonly HoldOfUser[]) => readHeldEdits(kysely, teamId, holds),
    readAbsenceVerdicts: (resource: MirroredResource) => readAbsenceVerdicts(kysely, teamId, resource),
    gatherListing: (resource: ListedResource) => createSpool(tableOf(resource)),
    readLackingRows: (rows: ListingSpool, most: number, after: Id) =>
      readLackingRows(db, teamId, rows, most, after),
    compareListing: (rows: ListingSpool) => compareListing(db, teamId, rows),
    readListingMemory: createListingMemory(kysely, teamId, known),
    readNameSafety: () => readNameSafety(kysely, teamId),
    readEarlier: (pushes: readonly EarlierThan[]) => readEarlier(kysely, teamId, pushes),
  };
}

/** Two ways to run a transaction under the lease: `write` one after another, `beside` in parallel. */
function createWrites(db: Database, lease: Lease, runId: bigint) {
  let last: Promise<unknown> = Promise.resolve();
  const beside = <R>(work: LeasedWork<R>): Promise<R> => fenced(db, lease, work, runId);
  const write = <R>(work: LeasedWork<R>): Promise<R> => {
    const mine = last.then(() => beside(work));
    last = mine.catch(() => undefined);
    return mine;
  };
  return { write, beside };
}

/**
 * All methods of the port for one run, reading and writing. Every write is one transaction under the run's lease.
 * @param known the state when the run began. Parts of it that have not changed are neither read again nor written.
 */
export function createMirror(db: Database, lease: Lease, teamId: Id, runId: bigint, known?: KnownTeam) {
  const run = { teamId, runId };
  const { write, beside } = createWrites(db, lease, runId);
  const reader = createMirrorReader(db, teamId, known);
  let mayLackRoles = known?.mayLackRoles !== false;
  const learned = new Map<string, Learned>();
  return {
    ...reader,
    compareUsers: async (shown: ShownUsers) => {
      const compared = await reader.compareUsers(shown);
      const unrecorded = [...compared.differing, ...compared.unseen].filter((user) => user.isUnrecorded);
      const ids = unrecorded.map(({ id }) => id);
      // Edits made while the triggers were off are recorded before anything is decided about them.
      if (ids.length > 0) await write((tx) => recordUsers(tx, teamId, ids));
      return compared;
    },
    applyUsers: async (plans: readonly UserPlan[]) => {
      mayLackRoles ||= plans.some(movesRole);
      return known?.hasStale === false && !known.missing.has('users') && plans.every(isNothingToWrite)
        ? []
        : await write((tx) => applyUsers(tx, run, plans));
    },
    takeUsers: (writes: Iterable<UserWrite>) => {
      mayLackRoles = true;
      return withSpool(newShape, writes, (spool) => beside((tx) => takeUsers(tx, run, spool)));
    },
    learnRoles: async () => (mayLackRoles ? await write((tx) => writeRoles(tx, teamId)) : undefined),
    applyAbsences: async (resource: MirroredResource, decision: AbsenceDecision) => {
      mayLackRoles ||= resource === 'users' && decision.gone.length > 0;
      return known !== undefined && isNoNews(known, resource, decision)
        ? []
        : await write((tx) => applyAbsences(tx, run, resource, decision));
    },
    applyOddities: async (rejected: readonly RejectedRow[] | null, stale: readonly Id[]) => {
      const isNews = rejected !== null && (rejected.length > 0 || known?.rejected.has('users') !== false);
      if (!isNews && stale.length === 0) return;
      await write(async (tx) => {
        if (isNews) await writeRejectedRows(tx, run, 'users', rejected);
        if (stale.length > 0) await noteStale(tx, teamId, stale);
      });
    },
    openIntents: (plans: readonly UserPlan[], approved: ReadonlySet<Id>) =>
      write((tx) => openIntents(tx, run, plans, approved)),
    applyStopped: (stopped: StoppedPushes) => write((tx) => writeStopped(tx, run, stopped)),
    markSent: (ids: readonly Id[]) => write((tx) => markSent(tx, teamId, ids)),
    requireLease: () => lease.require(),
    applyResults: (results: readonly IntentResult[]) => write((tx) => applyResults(tx, run, results)),
    /** The facts about the service's answers that this run has found. They are written when the run ends. */
    learned: () => [...learned.values()],
    applyListing: async (rows: ListingSpool, { rejected, memory, answers }: ListingRecord) => {
      const { name } = rows.shape;
      const { result, agreed } = await write(async (tx) => {
        if (rejected.length > 0 || known?.rejected.has(name) !== false)
          await writeRejectedRows(tx, run, name, rejected);
        const published = await publishListing(tx, run, rows, known?.missing.has(name) !== false);
        const { added, changed, absent } = published;
        const isSame = answers !== null && added + changed + absent.length + rejected.length === 0;
        return {
          result: published,
          agreed: isSame
            ? { ...answers, rows: (await digestRows(tx, teamId, [name])).get(name) ?? '' }
            : undefined,
        };
      });
      const entry = learnedOfListing(name, { ...memory, agreed });
      if (known === undefined || !isKnown(known, entry.topic, entry.value)) learned.set(entry.topic, entry);
      return result;
    },
    applyContactCounts: async (counts: readonly ContactCount[]) => {
      if (counts.length > 0) await write((tx) => writeContactCounts(tx, run, counts));
    },
  };
}
