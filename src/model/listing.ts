import type { Id } from './id.ts';
import type { RejectedRow } from './rejected-row.ts';

/** What was learned about a listing's pages; kept from run to run (`sync.learned`). */
export interface ListingMemory {
  /** The number of the first page; `null` until learned. */
  readonly firstPage: 0 | 1 | null;
  /** The `limit` that the service accepts; `null` until one was accepted. */
  readonly limit: number | null;
  /** A larger `limit` was tried, and is refused or not answered in full; left out while that is not known. */
  readonly isLargest?: boolean;
  /** How many filled pages the last complete pass had; all of them can be asked for at once. */
  readonly pages: number | null;
  /** `page`: pages are numbered. `date`: `page` is ignored and the `date` cursor is used. */
  readonly cursor: 'page' | 'date';
}

export const nothingLearned: ListingMemory = { firstPage: null, limit: null, pages: null, cursor: 'page' };

/** Which rows of a listing are asked for: fields of the shared pagination body that choose among them. */
export interface ListingFilter {
  readonly archived?: boolean | undefined;
  readonly assigned?: number | undefined;
  readonly filter?: string | undefined;
  readonly filters?: Readonly<Record<string, unknown>> | undefined;
  readonly parent_id?: number | undefined;
}

/** Takes the rows of a listing while its pages come in. */
export interface ListingSink<Row> {
  /** Lets go of all rows: the listing is read again from its beginning. */
  clear(): void;
  /** @param rows with ids of which none was there before */
  add(rows: readonly Row[]): void;
  /** Puts the row in the place of the one that has its id. */
  replace(row: Row): void;
}

/** Rows that were put together to be compared with those of the mirror, or published. */
export interface GatheredRows<Row> extends ListingSink<Row> {
  /** Ids that were given twice with different values. */
  differing(): readonly Id[];
  close(): void;
}

interface ListingBase<Row> {
  /** Each id once; none where they went to a sink. */
  readonly rows: readonly Row[];
  /** How many there are. */
  readonly count: number;
  readonly rejected: readonly RejectedRow[];
  readonly memory: ListingMemory;
  readonly requests: number;
}

/** Every page up to the empty one was read and every row was taken. Only this can prove an absence. */
export interface CompleteListing<Row> extends ListingBase<Row> {
  readonly status: 'complete';
  /** Stand for its pages in order; `undefined`: they would not be worth knowing. */
  readonly digests: readonly string[] | undefined;
  /** All pages have the digests that were known, so that none of their rows was read. */
  readonly isAsKnown: boolean;
}

/** Rows may be missing. They may be published, but nothing may be concluded from an absence. */
export interface IncompleteListing<Row> extends ListingBase<Row> {
  readonly status: 'incomplete';
  readonly because: string;
}

export type Listing<Row> = CompleteListing<Row> | IncompleteListing<Row>;
