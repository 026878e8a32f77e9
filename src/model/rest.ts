/** What a run need not look at: what the last complete run recorded, and what the database says of the time since. */
import type { Id } from './id.ts';
import type { ListingMemory } from './listing.ts';
import type { Everybody, SomeUsers } from './service-request.ts';

/** A state of the database, as it tells of it. */
export interface Mark {
  /** Names the state: by it the database tells which rows were written later. */
  readonly mark: string;
  /** The newest migration. */
  readonly schema: string;
}

/** What was written of the users since the record was made, whatever the service shows. */
export interface WrittenSince extends Mark {
  /** The mark of the record; `null`: there is none, or it is of another database. */
  readonly since: string | null;
  /** Users whose row in mirror or base was written since. */
  readonly written: readonly Id[];
  /** Users who are held, being pushed, missing or stale. */
  readonly noted: readonly Id[];
  /** How many other users are present and have a base, but for those that the record leaves open. */
  readonly present: number;
}

/**
 * The record of a complete run: in the state `mark`, each user of this answer was equal everywhere, but for those who
 * were planned.
 */
export interface RestingUsers {
  readonly mark: string;
  /** Stands for the settings, the version of the program, and the schema of the database. */
  readonly under: string;
  /** What the answer about the team said besides who is in it. */
  readonly name: string | null;
  readonly listSize: string | null;
  /** Stand for the two answers. The hashes of the rows are kept beside the record. */
  readonly team: string;
  readonly users: string;
  /** How many users were shown. */
  readonly shown: number;
  /** Users who were not equal everywhere, or not known. They are text, because no JSON has numbers of that size. */
  readonly planned: readonly string[];
}

/** The same of a listing. */
export interface ListingRest extends Mark {
  readonly since: string | null;
  /** How many rows are present; `null`: one was written since the record was made. */
  readonly present: number | null;
  /** Whether rows are missing, and have to be looked for. */
  readonly isLacking: boolean;
}

/** The record of a listing that was read to its end, and was equal to the mirror in the state `mark`. */
export interface RestingListing {
  readonly mark: string;
  readonly under: string;
  /** The digests of its pages. */
  readonly digests: readonly string[];
  /** How many rows it had. */
  readonly shown: number;
}

/** What is known of a listing before it is read. */
export interface KnownListing {
  readonly memory: ListingMemory;
  readonly rest: ListingRest;
  /** The record of the listing when it was equal to the mirror; `null`: there is none, or it is too old. */
  readonly resting: RestingListing | null;
}

/** Which users there are to look at. */
export type UsersToCompare =
  /** Everybody; nobody has been asked for yet. */
  | { readonly how: 'unasked'; readonly rest: WrittenSince }
  /** Everybody. @property answer `null`: the service does not answer for all at once */
  | { readonly how: 'everybody'; readonly rest: WrittenSince; readonly answer: Everybody | null }
  /** Only the users who can differ. @property shown how many users are shown */
  | {
      readonly how: 'some';
      readonly rest: WrittenSince;
      readonly answer: SomeUsers;
      readonly only: ReadonlySet<Id>;
      readonly shown: number;
    }
  /** Nobody: both answers are the same, and nothing was written since. */
  | { readonly how: 'nothing'; readonly shown: number };
