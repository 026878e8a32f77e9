/** The interfaces that reconciling needs of both sides. `service/client.ts` and `mirror/mirror.ts` implement them. */
import type { AbsenceDecision, AbsenceVerdicts, MirroredResource, RefreshResult } from '../model/absence.ts';
import type {
  EarlierPushes,
  EarlierThan,
  Intent,
  IntentResult,
  NameSafety,
  OpenedIntents,
} from '../model/intent.ts';
import type { UserPlan, UserWrite } from '../model/user-plan.ts';
import type { ComparedUsers, ShownUsers, Concern, PresentUser, KnownAddresses } from '../model/plan.ts';
import type { ContactCount, PaginationBody } from '../model/contact-count.ts';
import type { Id } from '../model/id.ts';
import type { ListedResource, ListedRow } from '../model/listed-resource.ts';
import type { GatheredRows, Listing, ListingMemory, ListingRecord } from '../model/listing.ts';
import type { RejectedRow } from '../model/rejected-row.ts';
import type { ListingOptions, SendOptions, UserFilter, UsersAnswer } from '../model/service-request.ts';
import type { GuardHistory, HeldEdit, HoldOfUser, StoppedPushes } from '../model/waiting.ts';
import type { UserPatch } from '../model/user.ts';

/** On failure each method throws a `ServiceError`, whose `phase` shows whether a write may have had an effect. */
export interface ServicePort {
  /** The users with these addresses. If no address is given, all users, which only some deployments return. */
  users(filter: UserFilter): Promise<UsersAnswer>;
  /** Updates at most 25 users, a limit of our own. The client repeats the request only after a 401. */
  updateUsers(patches: ReadonlyMap<Id, UserPatch>, options?: SendOptions): Promise<UsersAnswer>;
  list(resource: ListedResource, options: ListingOptions<ListedRow>): Promise<Listing<ListedRow>>;
  /** `null` if the service answers 404. */
  row(resource: ListedResource, id: Id): Promise<ListedRow | null>;
  contactCount(body: PaginationBody): Promise<bigint>;
}

export type GatheredListing = GatheredRows<ListedRow>;

/**
 * The mirror of one team. Reads see committed data. Every write is one transaction, which first checks
 * that the run still holds its lease, and throws `lease-lost` otherwise.
 */
export interface MirrorPort {
  /** The users whose versions in mirror, base and service differ, byte for byte. */
  compareUsers(shown: ShownUsers): Promise<ComparedUsers>;
  /**
   * All addresses that may find these users: from mirror, base, holds and pushes, and from `mirror.user_lookups`.
   * @param whose `edited`: all users who are not gone and whose values differ between mirror and base
   */
  readAddresses(whose: 'edited' | readonly Id[]): Promise<KnownAddresses>;
  /** The users with these addresses or roles that are not marked as gone. The result may have further users, too. */
  readPresentUsers(concern: Concern): Promise<readonly PresentUser[]>;
  readIntents(): Promise<readonly Intent[]>;
  /** The history that the guard needs, and the open pushes. */
  readGuardHistory(): Promise<GuardHistory & { readonly open: readonly Intent[] }>;
  /** Returns who edited these fields, and their batch. For fields that only a plan holds: the batch they would get. */
  readHeldEdits(holds: readonly HoldOfUser[]): Promise<readonly HeldEdit[]>;
  readAbsenceVerdicts(resource: MirroredResource): Promise<AbsenceVerdicts>;
  /** The memory of a listing, without its answers if the mirror's rows have changed since. */
  readListingMemory(resource: MirroredResource): Promise<ListingMemory>;
  /** Collects the rows of a listing, to be compared or applied. */
  gatherListing(resource: ListedResource): GatheredListing;
  /**
   * Returns at most `most` rows that need a request for a single column. They lack the column, and either are new or
   * changed, or lack the column in the mirror, too.
   * @param after rows with a greater id are returned first, then rows up to this id
   */
  readLackingRows(rows: GatheredListing, most: number, after: Id): Promise<readonly ListedRow[]>;
  /** Returns what a refresh would change, and writes nothing. */
  compareListing(rows: GatheredListing): Promise<RefreshResult>;
  readEarlier(pushes: readonly EarlierThan[]): Promise<EarlierPushes>;
  /** The effect on a user's name of an update that leaves the name out: `keeps`, `clears`, or `unknown`. */
  readNameSafety(): Promise<NameSafety>;
}

/** The methods that write to the mirror. Code that only plans never gets them. */
export interface MirrorWriter {
  /**
   * Writes these plans, their ledger entries, holds and ends of holds. Deletes all rows of users that exist nowhere.
   * @returns the users whose row was locked or had changed
   */
  applyUsers(plans: readonly UserPlan[]): Promise<readonly Id[]>;
  /** Adds new users to the mirror. Returns the users that were in the mirror already, and that it did not write. */
  takeUsers(writes: Iterable<UserWrite>): Promise<ReadonlySet<Id>>;
  /** Records a decision about missing rows. Returns rows that an editor has locked: a later run marks them as gone. */
  applyAbsences(resource: MirroredResource, decision: AbsenceDecision): Promise<readonly Id[]>;
  /** Counts the users of each role, if the counts can have changed. Must be called after all pulls, before any push. */
  learnRoles(): Promise<void>;
  /**
   * Records rows of users that could not be used. For each stale user, counts one more run that saw an old version.
   * @param rejected `null` if only some users were read
   */
  applyOddities(rejected: readonly RejectedRow[] | null, stale: readonly Id[]): Promise<void>;
  /**
   * Records pushes before they are sent. Leaves out users that were edited since, are busy or have an open intent.
   * @param approved users whose sent fields were all approved by a person
   */
  openIntents(plans: readonly UserPlan[], approved: ReadonlySet<Id>): Promise<OpenedIntents>;
  /** Holds all fields that the guard stopped, in one transaction. If it fails, none of these fields is held. */
  applyStopped(stopped: StoppedPushes): Promise<void>;
  /**
   * Marks these users' open intents as sent. Called right before each write to the service.
   * @returns the users whose edit was withdrawn, replaced or rejected since. If there are such users, no intent is
   * marked, and the caller must drop the whole request
   */
  markSent(ids: readonly Id[]): Promise<readonly Id[]>;
  /** Throws `lease-lost` if the run's lease may have expired by the clock. Needs no query. */
  requireLease(): void;
  /** Stores the results of pushes. Returns the users whose row was locked, and whose intent therefore stays open. */
  applyResults(results: readonly IntentResult[]): Promise<readonly Id[]>;
  /** Publishes a listing, records its rows that could not be used, and stores its memory for the next run. */
  applyListing(rows: GatheredListing, about: ListingRecord): Promise<RefreshResult>;
  applyContactCounts(counts: readonly ContactCount[]): Promise<void>;
}
