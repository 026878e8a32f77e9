/** The parts of a view of the page: how it is read, how it is rendered, and its context on the page. */
import type { PersonRead } from '../read/page-person.ts';
import type { PageFrame, PageReader, SeenTeam } from '../read/page-reader.ts';
import type { Id } from '../../model/id.ts';
import type { Html } from './html.ts';

export const tabs = ['At a glance', 'Waiting', 'Runs', 'People', 'Counts', 'Changes'] as const;
export type Tab = (typeof tabs)[number];

export interface ViewRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** True if names, emails and phones are shown (`status.details`). If they are hidden, the search ignores them. */
  readonly details: boolean;
  /** True if all rows are requested as a file, instead of one page of them. */
  readonly isCsv: boolean;
}

/** The context of every view: values that are read for every view, and values of the settings. */
export interface PageContext extends ViewRequest, Omit<PageFrame, 'seen' | 'reader'> {
  readonly path: string;
  readonly note: string | undefined;
  readonly teams: readonly SeenTeam[];
  /** The requested team, or the only team; `null` for all teams. */
  readonly team: SeenTeam | null;
  /** The viewer, and what a decision by the viewer needs; `null` if this page takes no decisions. */
  readonly decide: DecisionTerms | null;
  readonly version: string;
  /** Explains what happens next to a user, by the values that a run last saw; `null` if the settings lack the team. */
  readonly explain: (team: string, person: Pick<PersonRead, 'state' | 'held'>) => string | null;
  /** The number of requests per minute that the settings allow a team; `null` if it is unknown. */
  readonly perMinute: (team: string) => number | null;
}

export interface DecisionTerms {
  readonly actor: string;
  /** A token for a form, which proves that the form comes from this page. */
  readonly token: (path: string) => string;
  /** The reason why the viewer cannot decide; `null` if the viewer can. */
  readonly barred: string | null;
}

export interface PageShown {
  /** The title of the browser's tab. It begins with the most important fact of the page. */
  readonly title: string;
  readonly main: Html;
}

export interface Csv {
  readonly head: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

export const csvFrom = <Row>(
  rows: readonly Row[],
  columns: Readonly<Record<string, (row: Row) => unknown>>,
): Csv => ({
  head: Object.keys(columns),
  rows: rows.map((row) => Object.values(columns).map((cell) => cell(row))),
});

/** The team with this id. Its name is empty if the database role cannot see the team. */
export const teamOf = ({ teams }: Pick<PageContext, 'teams'>, teamId: Id | null): SeenTeam =>
  teams.find((team) => team.teamId === teamId) ?? { team: '', teamId: teamId ?? 0n, name: null };

export interface View<Read = unknown> {
  readonly path: string;
  readonly tab: Tab;
  /** @returns `null` if the requested subject does not exist */
  readonly read: (reader: PageReader, asked: ViewRequest) => Promise<Read | null>;
  readonly render: (read: Read, context: PageContext) => PageShown;
  /** The rows as a file, at the path followed by `.csv`. */
  readonly csv?: (read: Read, context: PageContext) => Csv;
}

/** Checks the types of `read` and `render` against each other, before views of all kinds are put in one list. */
export const view = <Read>(typed: View<Read>): View => typed as View;
