/** Requests to the service, and its answers about users. */
import type { ListingFilter, ListingMemory, ListingSink } from './listing.ts';
import type { RejectedRow } from './rejected-row.ts';
import type { Team } from './team.ts';
import type { ServiceUser } from './user.ts';

/** The users to ask for. Two empty lists ask for all users, which not every deployment answers. */
export interface UserFilter {
  readonly emails: readonly string[];
  /** Digits only. */
  readonly phones: readonly string[];
}

/** Digests of the exact bytes of two answers: the team, and all users. */
export interface AnswerDigests {
  readonly team: string;
  readonly users: string;
}

/** Answers that an earlier run has seen. */
export interface KnownAnswers {
  readonly digests: AnswerDigests;
  /** True if equal answers can be skipped, because the mirror has not changed since. */
  readonly stillCount: Promise<boolean>;
}

/** The team, and all users on demand. */
export interface WholeAnswer {
  readonly team: Team;
  /** @returns all users; `null` if the deployment does not answer for all at once */
  everybody(): Promise<UsersAnswer | null>;
  /** The digests of the answers so far; `null` until all users were asked for. */
  digests(): AnswerDigests | null;
}

/** The users that one answer shows. */
export interface UsersAnswer {
  readonly users: readonly ServiceUser[];
  /** Entries of the answer that could not be used. */
  readonly rejected: readonly RejectedRow[];
  readonly requestId: string | null;
}

export interface SendOptions {
  /** Awaited each time right before the request leaves. If it throws, the request does not leave. */
  readonly beforeSend?: () => Promise<void>;
  /** Called again when the connection is open, right before the first byte. If it throws, nothing leaves. */
  readonly atStart?: () => void;
  /** If true, the request is repeated only if no byte of it was sent. An answer always ends it. */
  readonly once?: boolean;
}

export interface ListingOptions<Row = unknown> {
  readonly memory: ListingMemory;
  /** Receives the rows. Without a sink the listing itself contains them. */
  readonly sink?: ListingSink<Row> | undefined;
  /** The number of rows per page; if absent, the most that the service gives. */
  readonly size?: number | undefined;
  /** Sent with the request for each page; if absent, all rows are requested. */
  readonly filter?: ListingFilter | undefined;
  /** Called after each page with the number of rows so far. */
  readonly onPage?: ((rows: number) => void) | undefined;
}
