/** What the service is asked, and how it answers of users. */
import type { ListingFilter, ListingMemory, ListingSink } from './listing.ts';
import type { RejectedRow } from './rejected-row.ts';
import type { Id } from './id.ts';
import type { ServiceUser } from './user.ts';

/** Which users to ask for; both lists empty asks for all, which not every deployment answers. */
export interface UserFilter {
  readonly emails: readonly string[];
  /** Digits only. */
  readonly phones: readonly string[];
}

/** What is known of the users of an answer before it is read. */
export interface RowsBefore {
  /** One for each; absent: the answer is the same as before, and so is each of them. */
  readonly hashes?: Buffer | undefined;
  /** Who is wanted even if they are the same. */
  readonly besides: ReadonlySet<Id>;
}

export interface UsersAnswer {
  readonly users: readonly ServiceUser[];
  /** Entries of the answer that could not be taken. */
  readonly rejected: readonly RejectedRow[];
  readonly requestId: string | null;
  /** Stands for an answer about everybody, … */
  readonly digest?: string;
  /** … and these for each of its users; absent: they could not be read one by one. */
  readonly hashes?: Buffer;
  /** Reads an answer that was left unread: all of it, if nothing was known or it is not about the same users as before. */
  readonly read?: (before?: RowsBefore) => Promise<UsersAnswer>;
  /** If not everybody was read: who is shown otherwise than before. All who are not in `users` are shown as they were. */
  readonly changed?: ReadonlySet<Id>;
}

export interface SendOptions {
  /** Awaited right before each time that the request leaves; what it throws is why it does not. */
  readonly beforeSend?: () => Promise<void>;
  /** Asked when the connection stands as well, right before the first byte; what it throws is why none leaves. */
  readonly atStart?: () => void;
}

export interface ListingOptions<Row = unknown> {
  readonly memory: ListingMemory;
  /** The digests of its pages when it was read before: if all are the same, none is read. */
  readonly known?: readonly string[] | undefined;
  /** Where the rows go; left out: to the listing itself. */
  readonly sink?: ListingSink<Row> | undefined;
  /** Rows asked for per page; where left out, as many as the service gives. */
  readonly size?: number | undefined;
  /** Sent with each page; everything when left out. */
  readonly filter?: ListingFilter | undefined;
  /** Called after each page with the rows so far. */
  readonly onPage?: ((rows: number) => void) | undefined;
}
