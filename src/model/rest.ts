import type { Id } from './id.ts';
import type { UsersAnswer } from './service-request.ts';

/** How far mirror and base are at rest, whatever the service shows. */
export interface Rest {
  /** Stands for all that a run compares with the service: who is there, the base, and what only follows the service. */
  readonly print: string;
  /** Stands for the rows themselves: it is another once any of them was written, by whomever. */
  readonly versions: string;
  /** Users who were edited, or are unresolved. */
  readonly differing: readonly Id[];
  /** Those, and who is held, being pushed, missing or stale. */
  readonly restless: readonly Id[];
  /** The newest migration. */
  readonly schema: string;
}

/** A pass that read everybody, and found all but the restless equal everywhere. */
export interface RestingUsers {
  /** Stands for the settings, and for the schema of the database. */
  readonly under: string;
  /** What the answer about the team said besides who is in it. */
  readonly name: string | null;
  readonly listSize: string | null;
  /** Stand for the two answers. */
  readonly team: string;
  readonly users: string;
  /** The same as then: those of {@link Rest}. As long as `versions` is, so is the rest, and nothing is compared. */
  readonly print: string;
  readonly versions: string;
  /** In text: no JSON has numbers of that size. */
  readonly differing: readonly string[];
  /** How many users were shown. */
  readonly shown: number;
  /** The rows that are kept of an answer about the users, by their digest, and which of their pieces were not in the last. */
  readonly rows: { readonly digest: string; readonly ended: readonly number[] };
  /** Who was not equal everywhere, or was not known. In text as well. */
  readonly planned: readonly string[];
}

/** What {@link Rest} says of some users alone. */
export type RestOfSome = Pick<Rest, 'print' | 'versions' | 'differing'>;

/** What of {@link Rest} the next run is told. */
export type RestNow = Omit<Rest, 'restless'>;

/** A listing as the database has it, whatever the service shows. */
export interface ListingRest {
  /** Stands for the rows: it is another once any of them was written. */
  readonly print: string;
  /** Whether rows are missing, and have to be looked for. */
  readonly isLacking: boolean;
  /** The newest migration. */
  readonly schema: string;
}

/** A listing that was read to its end, and is equal to the mirror since. */
export interface RestingListing {
  /** Stands for the settings, and for the schema of the database. */
  readonly under: string;
  /** Of its pages; empty: they are too long to be compared by their digests. */
  readonly digests: readonly string[];
  /** The same as then: `print` of {@link ListingRest}. */
  readonly print: string;
  /** How many rows it had. */
  readonly shown: number;
  /** Its rows, by their digest; absent: none are kept. */
  readonly rows?: { readonly digest: string };
}

/** How a {@link RestingListing} is kept. */
export interface Keeping {
  /** Its rows; `null`: they are kept already. */
  readonly packed: Buffer | null;
  /** Whether the whole listing was read: only then the day begins anew. */
  readonly isWhole: boolean;
  /** What the run's own writes have changed of its `print`. */
  readonly moved: string;
}

/** What there is to look at. */
export interface Look {
  /** How many users are shown, where none of them needs to be looked at. */
  readonly atRest?: number;
  /** Everybody, where they have been asked for already. */
  readonly first?: UsersAnswer;
  /** Those alone who can differ; left out: anybody. */
  readonly only?: ReadonlySet<Id>;
  /** What was found of mirror and base, where no more is looked at than those. */
  readonly rest?: Rest;
}
