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
  /** One for each; `null`: the answer is the same as before, and so is each of them. */
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

/** What stands for an answer about everybody in the record of a run that was equal to it. */
export interface AnswerMark {
  /** The digest of the whole answer. */
  readonly digest: string;
  /** One for each of its users; `null`: they could not be read one by one. */
  readonly hashes: Buffer | null;
}

/** An answer about everybody, with all of them. */
export interface Everybody extends UsersAnswer {
  readonly how: 'everybody';
  readonly mark: AnswerMark;
}

/** An answer about the same users as before, with those alone who are shown otherwise, or who were wanted besides. */
export interface SomeUsers extends UsersAnswer {
  readonly how: 'some';
  readonly mark: AnswerMark;
  /** Users who are shown otherwise than before. */
  readonly changed: ReadonlySet<Id>;
}

/** The answer about everybody as it came. Like the body of a `Response`, it is read when that is asked for, and once. */
export interface UnreadUsers {
  readonly digest: string;
  readonly requestId: string | null;
  /** All of them. */
  readAll(): Promise<Everybody>;
  /** What is new; everybody, if these are not the users of before, or a row of them cannot be read. */
  readNew(before: RowsBefore): Promise<Everybody | SomeUsers>;
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
  /** Takes the rows. Without it the listing itself has them. */
  readonly sink?: ListingSink<Row> | undefined;
  /** Rows asked for per page; where left out, as many as the service gives. */
  readonly size?: number | undefined;
  /** Sent with each page; everything when left out. */
  readonly filter?: ListingFilter | undefined;
  /** Called after each page with the rows so far. */
  readonly onPage?: ((rows: number) => void) | undefined;
}
