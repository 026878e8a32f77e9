/** What each group of rows is given. */
import type { Environment } from './measure-process.ts';
import type { BenchServer } from './postgres.ts';
import type { RowResult } from './results.ts';

export interface Bench {
  /** Users of the largest team; everything else is in proportion to it. */
  readonly size: number;
  readonly repeats: number;
  readonly quick: boolean;
  /** The built program. */
  readonly musterd: string;
  readonly server: BenchServer;
  /** Whether this row was asked for. */
  isWanted(row: number): boolean;
  readonly say: (text: string) => void;
}

/** Rows of the table that are measured together. */
export interface Group {
  readonly rows: readonly number[];
  measure(bench: Bench): Promise<readonly RowResult[]>;
}

/** The rate limit out of the way, and large pages. */
export const unlimited: Environment = {
  MUSTERD__rate__perMinute: '1000000',
  MUSTERD__pages__size: '1000',
};

/** No guard stops an edit of everybody. */
export const unguarded: Environment = {
  MUSTERD__guard__maxRows: '1000000',
  MUSTERD__guard__maxShare: '1',
};

/** Holds one field of each team, so that a run may not take the shortcut. */
export const holdSomething = `insert into sync.held_fields (team_id, user_id, field, reason, detail, until)
  select team_id, min(id), 'email', 'asked', '', now() + interval '1 day' from mirror.users group by team_id`;

export const inWords = (count: number, what: string) => `${count.toLocaleString('en')} ${what}`;
