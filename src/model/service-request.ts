/** Requests to the service, and its answers about users. */
import type { ListingFilter, ListingMemory, ListingSink } from './listing.ts';
import type { RejectedRow } from './rejected-row.ts';
import type { Id } from './id.ts';
import type { ServiceUser } from './user.ts';

/** The users to ask for. Two empty lists ask for all, which not every deployment answers. */
export interface UserFilter {
  readonly emails: readonly string[];
  /** Digits only. */
  readonly phones: readonly string[];
}

/** The known facts about the users of an answer before it is read. */
export interface RowsBefore {
  /** A hash for each; `null` if the answer is the same as before, and so is each user. */
  readonly hashes: Buffer | null;
  /** Users who are wanted even if they are the same. */
  readonly besides: ReadonlySet<Id>;
}

/** The users that one answer shows. */
export interface UsersAnswer {
  readonly users: readonly ServiceUser[];
  /** Entries of the answer that could not be taken. */
  readonly rejected: readonly RejectedRow[];
  readonly requestId: string | null;
}

/** Identifies an answer about everybody in the record of a run that was equal to it. */
export interface AnswerMark {
  /** The digest of the whole answer. */
  readonly digest: string;
  /** A hash for each of its users; `null` if they could not be read one by one. */
  readonly hashes: Buffer | null;
}

/** An answer about everybody, with all users. */
export interface Everybody extends UsersAnswer {
  readonly how: 'everybody';
  readonly mark: AnswerMark;
}

/** An answer about the same users as before, with only those who have changed, or who were wanted besides. */
export interface SomeUsers extends UsersAnswer {
  readonly how: 'some';
  readonly mark: AnswerMark;
  /** Users who have changed. */
  readonly changed: ReadonlySet<Id>;
}

/** An answer about everybody that is not read yet. Like the body of a `Response`, it is read on demand, and once. */
export interface UnreadUsers {
  readonly digest: string;
  readonly requestId: string | null;
  /** Reads all of it. */
  readAll(): Promise<Everybody>;
  /** Reads what is new, or everybody if these are not the earlier users, or if a row cannot be read. */
  readNew(before: RowsBefore): Promise<Everybody | SomeUsers>;
}

export interface SendOptions {
  /** Awaited right before each time that the request leaves. If it throws, the request does not leave. */
  readonly beforeSend?: () => Promise<void>;
  /** Called again when the connection is open, right before the first byte. If it throws, nothing leaves. */
  readonly atStart?: () => void;
  /** Sends the request once at most, whatever the answer is. It is repeated only while no byte has left. */
  readonly once?: boolean;
}

export interface ListingOptions<Row = unknown> {
  readonly memory: ListingMemory;
  /** The digests of its pages when it was last read. If all are the same, none is read. */
  readonly known?: readonly string[] | undefined;
  /** Receives the rows. Without it the listing itself has them. */
  readonly sink?: ListingSink<Row> | undefined;
  /** The number of rows per page; if absent, as many as the service gives. */
  readonly size?: number | undefined;
  /** Sent with each page; if absent, everything is requested. */
  readonly filter?: ListingFilter | undefined;
  /** Called after each page with the rows so far. */
  readonly onPage?: ((rows: number) => void) | undefined;
}
