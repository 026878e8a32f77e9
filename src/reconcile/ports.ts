/** What reconciling needs of the far place: the service. `service/client.ts` fills it. */
import type { PaginationBody } from '../model/contact-count.ts';
import type { ContactField } from '../model/contact-field.ts';
import type { Id } from '../model/id.ts';
import type { Listing, ListingMemory, RejectedRow } from '../model/listing.ts';
import type { Tag } from '../model/tag.ts';
import type { Team } from '../model/team.ts';
import type { ServiceUser, UserPatch } from '../model/user.ts';

/** Which users to ask for; both lists empty asks for all, which not every deployment answers. */
export interface UserFilter {
  readonly emails: readonly string[];
  /** Digits only. */
  readonly phones: readonly string[];
}

export interface UsersAnswer {
  readonly users: readonly ServiceUser[];
  readonly rejected: readonly RejectedRow[];
  readonly requestId: string | null;
}

export interface ListingOptions {
  readonly memory: ListingMemory;
  /** Rows asked for per page. */
  readonly size: number;
  /** Called after each page with the rows so far. */
  readonly onPage?: (rows: number) => void;
}

/** All methods throw `ServiceError`; its `phase` says whether a write can have had an effect. */
export interface ServicePort {
  team(): Promise<Team>;
  users(filter: UserFilter): Promise<UsersAnswer>;
  /** At most 25 users by our own rule. Never sent twice by the client itself. */
  updateUsers(patches: ReadonlyMap<Id, UserPatch>): Promise<UsersAnswer>;
  tags(options: ListingOptions): Promise<Listing<Tag>>;
  /** `null`: the service says 404. */
  tag(id: Id): Promise<Tag | null>;
  contactFields(options: ListingOptions): Promise<Listing<ContactField>>;
  contactCount(body: PaginationBody): Promise<bigint>;
}
