/** What reconciling needs of the two places. `service/client.ts` fills the one, `mirror/mirror.ts` the other. */
import type {
  AbsenceDecision,
  AbsenceGrounds,
  ListedResource,
  MirroredResource,
  Overlap,
  RefreshResult,
  WithheldAbsence,
} from '../model/absence.ts';
import type { Intent, IntentResult, NameSafety, PushTries } from '../model/intent.ts';
import type { UserPlan, UserWrite } from '../model/user-plan.ts';
import type { ComparedUsers, RoleNames, ShownUsers, UserState } from '../model/user-state.ts';
import type { ContactCount, PaginationBody } from '../model/contact-count.ts';
import type { ContactField } from '../model/contact-field.ts';
import type { Id } from '../model/id.ts';
import type { GatheredRows, Listing, ListingMemory, RejectedRow } from '../model/listing.ts';
import type { Concern, EditedUser, PresentUser } from '../model/plan.ts';
import type { ListingOptions, SendOptions, UserFilter, UsersAnswer } from '../model/service-request.ts';
import type { Tag } from '../model/tag.ts';
import type { ListingRest, Rest, RestingListing, RestingUsers } from '../model/rest.ts';
import type { TeamBefore, Team } from '../model/team.ts';
import type { EditedField, GuardHistory, Stopped } from '../model/waiting.ts';
import type { Addresses, ServiceUser, UserPatch } from '../model/user.ts';

/** All methods throw `ServiceError`; its `phase` says whether a write can have had an effect. */
export interface ServicePort {
  /** @param known a team that was read before: one with its digest is not read, but by its `read` */
  team(known?: TeamBefore): Promise<Team>;
  /** @param known the digest of an answer that was read before: one with it is not read, but by its `read` */
  users(filter: UserFilter, known?: string): Promise<UsersAnswer>;
  /** At most 25 users by our own rule. Never sent twice by the client itself, but after a 401. */
  updateUsers(patches: ReadonlyMap<Id, UserPatch>, options?: SendOptions): Promise<UsersAnswer>;
  tags(options: ListingOptions<Tag>): Promise<Listing<Tag>>;
  /** `null`: the service says 404. */
  tag(id: Id): Promise<Tag | null>;
  contactFields(options: ListingOptions<ContactField>): Promise<Listing<ContactField>>;
  contactCount(body: PaginationBody): Promise<bigint>;
}

/**
 * The mirror of one team. Reads see what is committed. Every write is one transaction that first makes
 * sure that the run still holds its lease, and throws `lease-lost` if it does not.
 */
export interface MirrorPort {
  /** Users of whom any version differs from another, byte for byte; whoever is equal everywhere is left out. */
  readDifferingUsers(users: readonly ServiceUser[], roles: RoleNames): Promise<readonly UserState[]>;
  /** The same of everybody, those who are not shown among them. */
  compareShownUsers(shown: ShownUsers): Promise<ComparedUsers>;
  /** Users in mirror or base, not gone, whom `seen` does not hold, and members among them that are gone. */
  readUnseenUsers(seen: readonly Id[], listed: readonly Id[]): Promise<readonly UserState[]>;
  /** Users, not gone, in whom the mirror differs from the base, with every address by which they can be looked up. */
  readEditedUsers(): Promise<readonly EditedUser[]>;
  /** Every address by which these users can be looked up: mirror's, base's, held and sent ones. */
  readAddresses(ids: readonly Id[]): Promise<readonly Addresses[]>;
  /** `mirror.user_lookups`. */
  readLookups(): Promise<{ readonly emails: readonly string[]; readonly phones: readonly string[] }>;
  countPresentUsers(): Promise<number>;
  /** Those who are not gone and concerned, with the values last agreed on; some who are not concerned may be among them. */
  readPresentUsers(concern: Concern): Promise<readonly PresentUser[]>;
  readIntents(): Promise<readonly Intent[]>;
  readGuardHistory(): Promise<GuardHistory>;
  /** Of these users, field by field. */
  readLastEdits(ids: readonly Id[]): Promise<readonly EditedField[]>;
  readOverlap(listed: readonly Id[], scope: string): Promise<Overlap>;
  readListingMemory(resource: ListedResource): Promise<ListingMemory>;
  readAbsenceGrounds(resource: MirroredResource): Promise<AbsenceGrounds>;
  /**
   * What is at rest, as far as the database can tell.
   * @param known what was learned before, which saves the comparison where nothing was written since
   */
  readRest(known: RestingUsers | null): Promise<Rest>;
  /** That of {@link Rest} alone. */
  readVersions(): Promise<string>;
  /** What was learned of a pass that found nothing to do; `null`: nothing, or too long ago. */
  readRestingUsers(): Promise<RestingUsers | null>;
  readListingRest(resource: ListedResource): Promise<ListingRest>;
  /** What was learned of a listing that did not differ from the mirror; `null`: nothing, or too long ago. */
  readRestingListing(resource: ListedResource): Promise<RestingListing | null>;
  /** Where the rows of a listing are put, to be handed to one of the methods below. */
  gatherTags(): GatheredRows<Tag>;
  gatherContactFields(): GatheredRows<ContactField>;
  /** What a refresh would do; writes nothing. */
  compareTags(tags: GatheredRows<Tag>): Promise<RefreshResult>;
  compareContactFields(fields: GatheredRows<ContactField>): Promise<RefreshResult>;
  /** Those of these users whose last push was never answered for. */
  readUnanswered(ids: readonly Id[]): Promise<ReadonlySet<Id>>;
  /** Whether an update without a name was seen to leave the name alone on this deployment. */
  readNameSafety(): Promise<NameSafety>;
  /** Reads that all see the same. What is done in it may be done again from the start: it must do nothing but read. */
  inSnapshot<R>(work: (mirror: SnapshotPort) => Promise<R>): Promise<R>;
}

export type SnapshotPort = Omit<MirrorPort, 'inSnapshot'>;

/** The writing half, which a plan is never given. */
export interface MirrorWriter {
  applyTeam(team: Team): Promise<void>;
  /** Writes, ledger, holds and releases of these plans; answers whose row was locked or had changed. */
  applyUsers(plans: readonly UserPlan[]): Promise<readonly Id[]>;
  /** Users of whom nothing was known here; answers those who are there by now. */
  takeUsers(writes: Iterable<UserWrite>): Promise<ReadonlySet<Id>>;
  /**
   * Keeps it for a person to decide about before any complete pass has missed these rows.
   * @returns whether it is not what waited before
   */
  applyWithheld(resource: MirroredResource, withheld: WithheldAbsence, scope: string): Promise<boolean>;
  /** Answers the rows that an editor holds: they are called gone by a later run. */
  applyAbsences(resource: MirroredResource, decision: AbsenceDecision): Promise<readonly Id[]>;
  /** Counts who has which role, if that can have moved: all that the service shows is taken, and nothing was sent yet. */
  learnRoles(): Promise<void>;
  /** Counts one more pass in which these users were shown older than before. */
  noteStale(ids: readonly Id[]): Promise<void>;
  /** Of so many shown users so many had a newer version and nothing else new. */
  noteMovedAlone(users: number, shown: number): Promise<void>;
  /** Drops the bookkeeping of users who are nowhere any more. */
  forgetUsers(ids: readonly Id[]): Promise<void>;
  /**
   * Writes down what is about to be sent; whoever was edited meanwhile or has an open intent is left out.
   * @param approved users of whom a person let pass all that is sent
   */
  openIntents(plans: readonly UserPlan[], approved: ReadonlySet<Id>): Promise<readonly Intent[]>;
  /** Holds what the guard stopped, all of it or nothing. */
  applyStopped(stopped: Stopped): Promise<void>;
  /** Notes on these users' open intents that they leave now: done right before each write to the service. */
  markSent(ids: readonly Id[]): Promise<void>;
  /** Throws `lease-lost` where the run's lease can have run out by now. Asks nobody, and takes no time. */
  requireLease(): void;
  /** Answers the users whose row was locked; their intent stays open. */
  applyResults(results: readonly IntentResult[]): Promise<readonly Id[]>;
  /** How often these very values were pushed before to no effect, by user and field. */
  countIneffective(intents: readonly Intent[]): Promise<ReadonlyMap<Id, PushTries>>;
  applyRestingUsers(users: RestingUsers): Promise<void>;
  applyRestingListing(resource: ListedResource, listing: RestingListing): Promise<void>;
  applyTags(tags: GatheredRows<Tag>): Promise<RefreshResult>;
  applyContactFields(fields: GatheredRows<ContactField>): Promise<RefreshResult>;
  applyContactCounts(counts: readonly ContactCount[]): Promise<void>;
  applyListingMemory(resource: ListedResource, memory: ListingMemory): Promise<void>;
  applyRejectedRows(resource: string, rows: readonly RejectedRow[]): Promise<void>;
}
