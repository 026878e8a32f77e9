import type { Id } from './id.ts';
import type { RejectedRow } from './rejected-row.ts';

/** The knowledge about a listing's pages. It is kept from run to run (`sync.learned`). */
export interface ListingMemory {
  /** A `limit` that is known to work; `null` if none is known, so that the next run tries the largest. */
  readonly limit: number | null;
  /** True if the service refused a larger `limit`, or sent fewer rows for it. A larger `limit` is not tried again. */
  readonly isLargest?: boolean;
  /** If columns are read row by row: the id of the row that was read last. The next run continues after it. */
  readonly lastRow?: string | undefined;
  readonly agreed?: AgreedListing | undefined;
}

/** Answers that changed nothing in the mirror. For a day, equal answers are skipped if the mirror has the same rows. */
export interface ListingAnswers {
  /** The digests of the answers, page by page from page 0. */
  readonly digests: readonly string[];
  /** The number of rows. */
  readonly count: number;
  /** The program's version and the settings with which the answers were read. */
  readonly setup: string;
  /** The time of the answers in ms since 1970. */
  readonly atMs: number;
}

export interface AgreedListing extends ListingAnswers {
  /** Digest of the mirror's rows. */
  readonly rows: string;
}

export const nothingLearned: ListingMemory = { limit: null };

/** The fields of the shared pagination body that select rows of a listing. */
export interface ListingFilter {
  readonly archived?: boolean | undefined;
  readonly assigned?: number | undefined;
  readonly filter?: string | undefined;
  readonly filters?: Readonly<Record<string, unknown>> | undefined;
  readonly parent_id?: number | undefined;
}

/** Receives the rows of a listing while its pages come in. */
export interface ListingSink<Row> {
  /** Drops all rows, because the listing is read again from its beginning. */
  clear(): void;
  /** @param rows rows whose ids the sink does not have yet */
  add(rows: readonly Row[]): void;
  /** Replaces the row that has the same id. */
  replace(row: Row): void;
}

/** Collects rows, which are then compared with the mirror's rows or published. */
export interface GatheredRows<Row> extends ListingSink<Row> {
  /** Ids that came twice with different values. */
  differing(): readonly Id[];
  close(): void;
}

interface ListingBase<Row> {
  /** The rows, each id once; empty if a sink received the rows. */
  readonly rows: readonly Row[];
  /** The number of rows. */
  readonly count: number;
  readonly rejected: readonly RejectedRow[];
  readonly memory: ListingMemory;
  readonly requests: number;
  /** The digests of the listing's answers; `null` unless each page, from 0 to the last, was requested exactly once. */
  readonly digests: readonly string[] | null;
}

/** A listing read up to its empty last page, without an unusable row. Only such a listing can prove an absence. */
export interface CompleteListing<Row> extends ListingBase<Row> {
  readonly status: 'complete';
  /** False if the service answered 404, so it does not offer this listing. The listing then counts as empty. */
  readonly isOffered: boolean;
  /** True if the answers equal `memory.agreed`. Then no rows are passed on, because the mirror has them already. */
  readonly isKnown: boolean;
}

/** A listing that was not read completely. The rows read are published, but a missing row proves nothing. */
export interface IncompleteListing<Row> extends ListingBase<Row> {
  readonly status: 'incomplete';
  readonly because: string;
}

export type Listing<Row> = CompleteListing<Row> | IncompleteListing<Row>;

/** The records that are stored with the rows of a listing. */
export interface ListingRecord {
  readonly rejected: readonly RejectedRow[];
  readonly memory: ListingMemory;
  /** Stored if publishing the rows changes nothing, so that equal answers can be skipped; `null` if they must not be. */
  readonly answers: ListingAnswers | null;
}
