/** What the service is asked, and how it answers of users. */
import type { NotedRows, RowsBefore } from './known-rows.ts';
import type { KnownListing, ListingFilter, ListingMemory, ListingSink } from './listing.ts';
import type { RejectedRow } from './rejected-row.ts';
import type { Id } from './id.ts';
import type { ServiceUser } from './user.ts';

/** Which users to ask for; both lists empty asks for all, which not every deployment answers. */
export interface UserFilter {
  readonly emails: readonly string[];
  /** Digits only. */
  readonly phones: readonly string[];
}

export interface UsersAnswer {
  readonly users: readonly ServiceUser[];
  /** Entries of the answer that could not be taken. */
  readonly rejected: readonly RejectedRow[];
  readonly requestId: string | null;
  /** Stands for the answer, and for how it is read. */
  readonly digest?: string;
  /** Of an answer that was known by its digest: nothing of it has been read, and this does. */
  readonly read?: () => Promise<UsersAnswer>;
  /** Reads no more of that answer than is new; `null`: all of it has to be read. */
  readonly readNews?: (before: RowsBefore) => Promise<UsersAnswer | null>;
  /** The rows of the answer, where they can be known again. */
  readonly noted?: NotedRows;
  /** Where not everybody was read: who of `users` is shown otherwise than before. All others are shown as they were. */
  readonly changed?: ReadonlySet<Id>;
}

/** An answer that was read before. */
export interface KnownUsers {
  /** One with this digest is not read, but by its `read`. */
  readonly digest: string;
  /** Of any other no more is read than is new, where that can be told; `null`: it cannot. */
  readonly before: () => Promise<RowsBefore | null>;
}

export interface SendOptions {
  /** Awaited right before each time that the request leaves; what it throws is why it does not. */
  readonly beforeSend?: () => Promise<void>;
  /** Asked when the connection stands as well, right before the first byte; what it throws is why none leaves. */
  readonly atStart?: () => void;
}

export interface ListingOptions<Row = unknown> {
  readonly memory: ListingMemory;
  /** A listing that was read before. */
  readonly known?: KnownListing | undefined;
  /** Where the rows go; left out: to the listing itself. */
  readonly sink?: ListingSink<Row> | undefined;
  /** Rows asked for per page; where left out, as many as the service gives. */
  readonly size?: number | undefined;
  /** Sent with each page; everything when left out. */
  readonly filter?: ListingFilter | undefined;
  /** Called after each page with the rows so far. */
  readonly onPage?: ((rows: number) => void) | undefined;
}
