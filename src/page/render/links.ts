/** Links to the views. The address contains the whole state of a view. */
import { quoted } from '../../model/in-words.ts';
import type { WaitingList } from '../read/page-waiting.ts';
import { type PageContext, teamOf } from './view.ts';

type Change = Readonly<Record<string, string | null>>;

function queryOf(params: URLSearchParams): string {
  const text = params.toString();
  return text === '' ? '' : `?${text}`;
}

/**
 * The address of this view with changed query parameters; `null` removes a parameter. It leaves out the page number, the
 * ticks, and the id of a note, which is shown only once. It keeps `?done=` until the viewer closes the receipt.
 */
export function href(context: Pick<PageContext, 'path' | 'query'>, change: Change): string {
  const query = new URLSearchParams(context.query);
  for (const once of ['page', 'note', 'ticks']) query.delete(once);
  for (const [key, value] of Object.entries(change)) {
    if (value === null || value === '') query.delete(key);
    else query.set(key, value);
  }
  return `${context.path}${queryOf(query)}`;
}

export function to(context: Pick<PageContext, 'query'>, path: string, change: Change = {}): string {
  const team = context.query.get('team');
  return href({ path, query: new URLSearchParams(team === null ? {} : { team }) }, change);
}

export const toTeam = (
  context: Pick<PageContext, 'query' | 'teams'>,
  team: string,
  path: string,
  change: Change = {},
): string => to(context, path, { team: context.teams.length > 1 ? team : null, ...change });

export function waitingPath(
  context: Pick<PageContext, 'query' | 'teams'>,
  { teamId, batch, reasons: [first] }: Pick<WaitingList, 'teamId' | 'batch' | 'reasons'>,
): string {
  const { team } = teamOf(context, teamId);
  return batch === null
    ? toTeam(context, team, '/waiting', { state: first?.what ?? null })
    : toTeam(context, team, `/waiting/${batch}`);
}

export const csvOf = ({ path, query }: Pick<PageContext, 'path' | 'query'>): string =>
  `${path === '/' ? '/glance' : path}.csv${queryOf(query)}`;

/** The command line as it is typed, without `--team` if there is only one team. */
export function commandOf(context: Pick<PageContext, 'teams'>, team: string, words: string): string {
  const chosen = context.teams.length > 1 ? ` --team ${quoted(team)}` : '';
  return `musterd${chosen} ${words}`;
}
