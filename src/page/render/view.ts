/** What a view of the page is: how it is read, how it is shown, and what it knows of the page around it. */
import type { HeldRow } from '../../mirror/users/held.ts';
import type { PersonRead } from '../read/page-person.ts';
import type { PageFrame, PageReader, SeenTeam } from '../read/page-reader.ts';
import type { Id } from '../../model/id.ts';
import type { Placing } from '../../model/place.ts';
import type { Html } from './html.ts';

export const tabs = ['At a glance', 'Waiting', 'Runs', 'People', 'Counts', 'Changes'] as const;
export type Tab = (typeof tabs)[number];

/** What a reader asked for. */
export interface PageAsked {
  /** Parts of the path, such as `id` of `/people/:team/:id`. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Whether names, emails and phones show: `status.details`. What does not show is not searched either. */
  readonly details: boolean;
  /** All rows are wanted, and not a page of them. */
  readonly isCsv: boolean;
}

/** What every view is told besides its own data. */
export interface PageContext extends PageAsked {
  /** As asked for, without the query. */
  readonly path: string;
  /** All teams that the reader may see. */
  readonly teams: readonly SeenTeam[];
  /** The one that is asked for, or the only one; `null`: all of them. */
  readonly team: SeenTeam | null;
  /** By the database's clock. */
  readonly now: Date;
  /** Whether decisions can be made here: `status.decide`, and somebody who is known. */
  readonly decide: Decide | null;
  /** Fields and missing rows that wait for a person, in the teams asked for. */
  readonly waiting: number;
  /** How each team stands that the reader may see. */
  readonly standings: PageFrame['standings'];
  /** Names of roles, in the teams asked for. */
  readonly roleNames: PageFrame['roleNames'];
  /** The place at which this mirror is, and was. */
  readonly placing: Placing;
  /** All daemons of these teams that have said that they run. */
  readonly daemons: PageFrame['daemons'];
  /** The teams asked for that no daemon serves any more, by name, and which one was the last. */
  readonly stopped: PageFrame['stopped'];
  /** Edits that wait because nothing is sent from here, in the teams asked for. */
  readonly waitingEdits: number;
  /** The version of musterd. */
  readonly version: string;
  /** What the settings of a team make of somebody, as a run last saw them; `null`: it has none here. */
  readonly explain: (team: string, person: Pick<PersonRead, 'state' | 'held'>) => PersonExplained | null;
  /** The options by which a command names what was seen of a held field. */
  readonly saySeen: (row: Pick<HeldRow, 'field' | 'edit_id' | 'mirror_value' | 'service_value'>) => string;
  /** Requests that a team may send in a minute, where it is known. */
  readonly perMinute: (team: string) => number | null;
}

/** What becomes of somebody, in words. */
export interface PersonExplained {
  readonly next: string;
  readonly fields: readonly { readonly field: string; readonly because: string | null }[];
}

export interface Decide {
  /** The person who decides. */
  readonly actor: string;
  /** What a form carries so that it can only come from here. */
  readonly token: (path: string) => string;
  /** Teams with four eyes, where anybody may have typed that name: nobody decides about them here. */
  readonly barred: ReadonlySet<string>;
}

/** What a view shows. */
export interface PageShown {
  /** The title of the browser's tab; it begins with what the page says. */
  readonly title: string;
  readonly main: Html;
  /** The status of HTTP: 200 if it says no other. */
  readonly status?: number;
}

/** Rows as a spreadsheet takes them. */
export interface Csv {
  readonly head: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

/** Each column by its name in the file. */
export const csvFrom = <Row>(
  rows: readonly Row[],
  columns: Readonly<Record<string, (row: Row) => unknown>>,
): Csv => ({
  head: Object.keys(columns),
  rows: rows.map((row) => Object.values(columns).map((cell) => cell(row))),
});

/** The team of this id; one without a name where the reader may not see it. */
export const teamOf = ({ teams }: Pick<PageContext, 'teams'>, teamId: Id | null): SeenTeam =>
  teams.find((one) => one.teamId === teamId) ?? { team: '', teamId: teamId ?? 0n, name: null };

export interface View<Read = unknown> {
  /** Such as `/people/:team/:id`. */
  readonly path: string;
  readonly tab: Tab;
  /** @returns `null`: there is no such thing */
  readonly read: (reader: PageReader, asked: PageAsked) => Promise<Read | null>;
  readonly render: (read: Read, context: PageContext) => PageShown;
  /** The same rows at the path with `.csv` behind it. */
  readonly csv?: (read: Read, context: PageContext) => Csv;
}

/** Keeps what `read` gives and what `render` takes the same, where views of all kinds stand in one list. */
export const view = <Read>(one: View<Read>): View => one as View;
