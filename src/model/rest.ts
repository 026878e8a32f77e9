/** The record of the last complete run, and what the database knows of the time since. */
import type { Id } from './id.ts';
import type { ListingMemory } from './listing.ts';
import type { Everybody, SomeUsers } from './service-request.ts';

/** A state of the database. */
export interface Mark {
  /** The name of the state, by which the database tells which rows were written later. */
  readonly mark: string;
  /** The newest migration. */
  readonly schema: string;
}

/** The writes about users since the record was made, whatever the service shows. */
export interface WrittenSince extends Mark {
  /** The mark of the record; `null` if there is none, or it belongs to another database. */
  readonly since: string | null;
  /** Users whose row in mirror or base was written since. */
  readonly written: readonly Id[];
  /** Users who are held, being pushed, missing or stale. */
  readonly noted: readonly Id[];
  /** The number of other users who are present and have a base, without those that the record leaves open. */
  readonly present: number;
}

/** The record of a complete run: at `mark`, all users of this answer but those planned were equal everywhere. */
export interface RestingUsers {
  readonly mark: string;
  /** Identifies the settings, the version of the program, and the schema of the database. */
  readonly setup: string;
  /** The answer about the team, apart from its members. */
  readonly name: string | null;
  readonly listSize: string | null;
  /** The digests of the two answers. The hashes of the rows are kept beside the record. */
  readonly team: string;
  readonly users: string;
  /** The number of users that were shown. */
  readonly shown: number;
  /** Users who were not equal everywhere, or not known. They are text, because JSON has no numbers of that size. */
  readonly planned: readonly string[];
}

/** The same for a listing. */
export interface ListingRest extends Mark {
  readonly since: string | null;
  /** The number of present rows; `null` if one was written since the record was made. */
  readonly present: number | null;
  /** Whether rows are missing, and have to be looked for. */
  readonly isLacking: boolean;
}

/** The record of a listing that was read to its end, and was equal to the mirror in the state `mark`. */
export interface RestingListing {
  readonly mark: string;
  readonly setup: string;
  /** The digests of its pages. */
  readonly digests: readonly string[];
  /** The number of rows that it had. */
  readonly shown: number;
}

/** The known facts about a listing before it is read. */
export interface KnownListing {
  readonly memory: ListingMemory;
  readonly rest: ListingRest;
  /** The record of the listing when it was equal to the mirror; `null` if there is none, or it is too old. */
  readonly resting: RestingListing | null;
}

/** The users that have to be looked at. */
export type UsersToCompare =
  /** Everybody, and the service has not been asked yet. */
  | { readonly how: 'unasked'; readonly rest: WrittenSince }
  /** Everybody. @property answer `null` if the service does not answer for all at once */
  | { readonly how: 'everybody'; readonly rest: WrittenSince; readonly answer: Everybody | null }
  /** Only the users who can differ. @property shown the number of users that are shown */
  | {
      readonly how: 'some';
      readonly rest: WrittenSince;
      readonly answer: SomeUsers;
      readonly only: ReadonlySet<Id>;
      readonly shown: number;
    }
  /** Nobody, because both answers are the same and nothing was written since. */
  | { readonly how: 'nothing'; readonly shown: number };
