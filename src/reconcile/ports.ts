/** The needs of reconciling on both sides, which `service/client.ts` and `mirror/mirror.ts` fulfil. */
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

/** All methods throw `ServiceError`; its `phase` says whether a write may have had an effect. */
export interface ServicePort {
  /** The users with these addresses; without addresses all users, if the deployment answers that. */
  users(filter: UserFilter): Promise<UsersAnswer>;
  /** At most 25 users, by our own rule. The client itself repeats it only after a 401. */
  updateUsers(patches: ReadonlyMap<Id, UserPatch>, options?: SendOptions): Promise<UsersAnswer>;
  list(resource: ListedResource, options: ListingOptions<ListedRow>): Promise<Listing<ListedRow>>;
  /** `null` if the service says 404. */
  row(resource: ListedResource, id: Id): Promise<ListedRow | null>;
  contactCount(body: PaginationBody): Promise<bigint>;
}

export type GatheredListing = GatheredRows<ListedRow>;

/**
 * The mirror of one team. Reads see committed data. Every write is one transaction, which first checks
 * that the run still holds its lease, and throws `lease-lost` otherwise.
 */
export interface MirrorPort {
  /** Users whose three versions differ, byte for byte; users that are equal everywhere are left out. */
  compareUsers(shown: ShownUsers): Promise<ComparedUsers>;
  /**
   * All addresses to look these users up by: those in mirror and base, held and sent ones; and `mirror.user_lookups`.
   * @param whose edited: not gone, and other in the mirror than in the base
   */
  readAddresses(whose: 'edited' | readonly Id[]): Promise<KnownAddresses>;
  /** The concerned users that are not gone, with their base; may include users that are not concerned. */
  readPresentUsers(concern: Concern): Promise<readonly PresentUser[]>;
  readIntents(): Promise<readonly Intent[]>;
  /** With the open pushes. */
  readGuardHistory(): Promise<GuardHistory & { readonly open: readonly Intent[] }>;
  /** Tells who edited these fields, and in which batch they are or would be. */
  readHeldEdits(holds: readonly HoldOfUser[]): Promise<readonly HeldEdit[]>;
  readAbsenceVerdicts(resource: MirroredResource): Promise<AbsenceVerdicts>;
  /** Without the settled answers if the mirror has other rows now. */
  readListingMemory(resource: MirroredResource): Promise<ListingMemory>;
  /** Collects the rows of a listing, to be compared or applied. */
  gatherListing(resource: ListedResource): GatheredListing;
  /**
   * At most this many of these rows, namely those that are new or changed, or whose columns that are read row by row
   * the mirror lacks as well.
   * @param after the rows behind this id come first, and those up to it last
   */
  readLackingRows(rows: GatheredListing, most: number, after: Id): Promise<readonly ListedRow[]>;
  /** Tells what a refresh would do, and writes nothing. */
  compareListing(rows: GatheredListing): Promise<RefreshResult>;
  readEarlier(pushes: readonly EarlierThan[]): Promise<EarlierPushes>;
  /** Tells whether this deployment keeps or clears the name in an update without one, or that this is unknown. */
  readNameSafety(): Promise<NameSafety>;
}

/** The writing half. A plan never gets it. */
export interface MirrorWriter {
  /**
   * Writes these plans with ledger, holds and ends of holds, and deletes all rows of users that exist nowhere any more.
   * @returns the users whose row was locked or had changed
   */
  applyUsers(plans: readonly UserPlan[]): Promise<readonly Id[]>;
  /** Adds users that are new here; returns those that exist by now. */
  takeUsers(writes: Iterable<UserWrite>): Promise<ReadonlySet<Id>>;
  /** Returns the rows that an editor has locked: a later run marks them as gone. */
  applyAbsences(resource: MirroredResource, decision: AbsenceDecision): Promise<readonly Id[]>;
  /** Counts the users of each role, if that can have changed. To be called after all pulls and before any push. */
  learnRoles(): Promise<void>;
  /**
   * Records rows of users that could not be taken, and counts one more pass that showed these users older than before.
   * @param rejected `null` if only some users were read
   */
  applyOddities(rejected: readonly RejectedRow[] | null, stale: readonly Id[]): Promise<void>;
  /**
   * Records pushes before they are sent, without users that were edited meanwhile, are busy or have an open intent.
   * @param approved users whose sent fields were all approved by a person
   */
  openIntents(plans: readonly UserPlan[], approved: ReadonlySet<Id>): Promise<OpenedIntents>;
  /** Holds everything that the guard stopped, or nothing. */
  applyStopped(stopped: StoppedPushes): Promise<void>;
  /**
   * Marks these users' open intents as sent. Called right before each write to the service.
   * @returns the users whose edit was taken back, replaced or rejected meanwhile; if there are any, nothing is
   * marked, and all of these pushes must stay
   */
  markSent(ids: readonly Id[]): Promise<readonly Id[]>;
  /** Throws `lease-lost` if the run's lease may have expired by the clock. Needs no query. */
  requireLease(): void;
  /** Returns the users whose row was locked; their intent stays open. */
  applyResults(results: readonly IntentResult[]): Promise<readonly Id[]>;
  /** Publishes a listing with its rows that could not be taken, and keeps what its pages have taught. */
  applyListing(rows: GatheredListing, about: ListingRecord): Promise<RefreshResult>;
  applyContactCounts(counts: readonly ContactCount[]): Promise<void>;
}
