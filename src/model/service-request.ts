/** Requests to the service, and its answers about users. */
import type { ListingFilter, ListingMemory, ListingSink } from './listing.ts';
import type { RejectedRow } from './rejected-row.ts';
import type { Team } from './team.ts';
import type { ServiceUser } from './user.ts';

/** The users to ask for. Two empty lists ask for all, which not every deployment answers. */
export interface UserFilter {
  readonly emails: readonly string[];
  /** Digits only. */
  readonly phones: readonly string[];
}

/** The digests of an answer about the team and of the one about everybody, byte for byte. */
export interface AnswerDigests {
  readonly team: string;
  readonly users: string;
}

/** Answers that an earlier run has seen. */
export interface KnownAnswers {
  readonly digests: AnswerDigests;
  /** Whether the same answers mean the same now. */
  readonly stillCount: Promise<boolean>;
}

/** The team, and everybody when somebody asks. */
export interface WholeAnswer {
  readonly team: Team;
  /** @returns `null` if the deployment does not answer for all at once */
  everybody(): Promise<UsersAnswer | null>;
  /** Of the answers so far; `null` as long as nobody has asked for everybody. */
  digests(): AnswerDigests | null;
}

/** The users that one answer shows. */
export interface UsersAnswer {
  readonly users: readonly ServiceUser[];
  /** Entries of the answer that could not be taken. */
  readonly rejected: readonly RejectedRow[];
  readonly requestId: string | null;
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
  /** Receives the rows. Without it the listing itself has them. */
  readonly sink?: ListingSink<Row> | undefined;
  /** The number of rows per page; if absent, as many as the service gives. */
  readonly size?: number | undefined;
  /** Sent with each page; if absent, everything is requested. */
  readonly filter?: ListingFilter | undefined;
  /** Called after each page with the rows so far. */
  readonly onPage?: ((rows: number) => void) | undefined;
}
