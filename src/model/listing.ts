import type { Id } from './id.ts';
import type { RejectedRow } from './rejected-row.ts';

/** The knowledge about a listing's pages. It is kept from run to run (`sync.learned`). */
export interface ListingMemory {
  /** A `limit` that is known to work; `null` if none is, so that as many as possible are asked for. */
  readonly limit: number | null;
  /** Whether the service has refused a larger one, or answered it in part: it is not tried again. */
  readonly isLargest?: boolean;
  /** The id of the row that was read last by itself, if the listing leaves something out: others are read before it. */
  readonly lastRow?: string | undefined;
  readonly agreed?: AgreedListing | undefined;
}

/** Answers that left nothing to do, and mean the same for a day as long as the mirror has the same rows. */
export interface ListingAnswers {
  /** Their digests, page by page from page 0. */
  readonly digests: readonly string[];
  /** The number of rows. */
  readonly count: number;
  /** Which program read them, with which settings. */
  readonly setup: string;
  /** In ms since 1970. */
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
  /** @param rows rows with ids that are all new */
  add(rows: readonly Row[]): void;
  /** Replaces the row that has the same id. */
  replace(row: Row): void;
}

/** Rows that are collected to be compared with those of the mirror, or published. */
export interface GatheredRows<Row> extends ListingSink<Row> {
  /** Ids that came twice with different values. */
  differing(): readonly Id[];
  close(): void;
}

interface ListingBase<Row> {
  /** The rows, each id once; empty if they went to a sink. */
  readonly rows: readonly Row[];
  /** The number of rows. */
  readonly count: number;
  readonly rejected: readonly RejectedRow[];
  readonly memory: ListingMemory;
  readonly requests: number;
  /** The digests of its answers; `null` unless each page was asked for once, from page 0 to the last. */
  readonly digests: readonly string[] | null;
}

/** Every page up to the empty one was read and every row was taken. Only this can prove an absence. */
export interface CompleteListing<Row> extends ListingBase<Row> {
  readonly status: 'complete';
  /** Whether the service has this listing at all: one that is answered with 404 counts as empty. */
  readonly isOffered: boolean;
  /** Whether it has the answers of `memory.agreed`, whose rows are not given again. */
  readonly isKnown: boolean;
}

/** Rows may be missing. They may be published, but nothing may be concluded from an absence. */
export interface IncompleteListing<Row> extends ListingBase<Row> {
  readonly status: 'incomplete';
  readonly because: string;
}

export type Listing<Row> = CompleteListing<Row> | IncompleteListing<Row>;

/** What is recorded of a listing besides its rows. */
export interface ListingRecord {
  readonly rejected: readonly RejectedRow[];
  readonly memory: ListingMemory;
  /** Kept if publishing the rows changes nothing; `null` if they may leave something to do all the same. */
  readonly answers: ListingAnswers | null;
}
