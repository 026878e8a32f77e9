import type { Id } from './id.ts';
import type { UsersAnswer } from './service-request.ts';

/** How far mirror and base are at rest, whatever the service shows. */
export interface Rest {
  /** Stands for all that a run compares with the service: who is there, the base, and what only follows the service. */
  readonly print: string;
  /** Users who were edited, or are held, being pushed, missing, stale or unresolved. */
  readonly restless: readonly Id[];
  /** The newest migration. */
  readonly schema: string;
}

/** A pass that read everybody, and found all but the restless equal everywhere. */
export interface RestingUsers {
  /** Stands for the settings, and for the schema of the database. */
  readonly under: string;
  /** Stand for the two answers. */
  readonly team: string;
  readonly users: string;
  /** The same as then: `print` of {@link Rest}. */
  readonly print: string;
  /** How many users were shown. */
  readonly shown: number;
}

/** What there is to look at. */
export interface Look {
  /** How many users are shown, where none of them needs to be looked at. */
  readonly atRest?: number;
  /** Everybody, where they have been asked for already. */
  readonly first?: UsersAnswer;
  /** Those alone who can differ; left out: anybody. */
  readonly only?: ReadonlySet<Id>;
}
