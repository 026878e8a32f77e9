/** The parts of a view of the page: how it is read, how it is rendered, and what it knows of the page around it. */
import type { PersonRead } from '../read/page-person.ts';
import type { PageFrame, PageReader, SeenTeam } from '../read/page-reader.ts';
import type { Id } from '../../model/id.ts';
import type { Html } from './html.ts';

export const tabs = ['At a glance', 'Waiting', 'Runs', 'People', 'Counts', 'Changes'] as const;
export type Tab = (typeof tabs)[number];

export interface ViewRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Whether names, emails and phones are shown (`status.details`). Without them they are not searched, either. */
  readonly details: boolean;
  /** Whether all rows are wanted instead of a page. */
  readonly isCsv: boolean;
}

/** The things that every view knows besides its own data: what is read for every view, and what the settings say. */
export interface PageContext extends ViewRequest, Omit<PageFrame, 'seen' | 'reader'> {
  readonly path: string;
  readonly note: string | undefined;
  readonly teams: readonly SeenTeam[];
  /** The team that is asked for, or the only one; `null` for all of them. */
  readonly team: SeenTeam | null;
  /** The terms of decisions here, if somebody of `status.people` may decide; else `null`. */
  readonly decide: DecisionTerms | null;
  readonly version: string;
  /** What happens next to a person, as a run last saw them; `null` if the team has no settings here. */
  readonly explain: (team: string, person: Pick<PersonRead, 'state' | 'held'>) => string | null;
  /** The number of requests that a team may send in a minute; `null` if it is unknown. */
  readonly perMinute: (team: string) => number | null;
}

export interface DecisionTerms {
  readonly actor: string;
  /** A token for a form, by which it can only come from here. */
  readonly token: (path: string) => string;
  /** Why this person does not decide here; `null` for who does. */
  readonly barred: string | null;
}

export interface PageShown {
  /** The title of the browser's tab. It begins with what the page says. */
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

/** The team with this id. It has no name if the reader may not see it. */
export const teamOf = ({ teams }: Pick<PageContext, 'teams'>, teamId: Id | null): SeenTeam =>
  teams.find((team) => team.teamId === teamId) ?? { team: '', teamId: teamId ?? 0n, name: null };

export interface View<Read = unknown> {
  readonly path: string;
  readonly tab: Tab;
  /** @returns `null` if it does not exist */
  readonly read: (reader: PageReader, asked: ViewRequest) => Promise<Read | null>;
  readonly render: (read: Read, context: PageContext) => PageShown;
  /** The rows as a file, at the path followed by `.csv`. */
  readonly csv?: (read: Read, context: PageContext) => Csv;
}

/** Checks that `render` takes what `read` gives, before views of all kinds are put in one list. */
export const view = <Read>(typed: View<Read>): View => typed as View;
