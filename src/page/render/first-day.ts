/** Words about a mirror that is less than a day old, which do not call new what was there before. */
import type { Glance } from '../read/page-glance.ts';
import type { PageRun } from '../read/page-runs.ts';
import type { Id } from '../../model/id.ts';
import { inPlural } from '../../model/listed-resource.ts';
import { listedResources } from '../../model/listed-resources.ts';
import { type Html, html, none } from './html.ts';
import type { PageContext } from './view.ts';
import { at, clockTime, count, inLetters, isSameDay, listed, longAgo, many, span } from './words.ts';

/** `10 minutes; a whole day from tomorrow 14:30` */
export function sinceItBegan(beganAt: Date, now: Date): Html {
  const day = isSameDay(beganAt, now) ? 'tomorrow' : 'today';
  return html`${span(now.getTime() - beganAt.getTime())}; a whole day from ${day} ${clockTime(beganAt, beganAt)}`;
}

const firstTaken = [
  ['adopted', 'person', 'people'],
  ...listedResources.map((listed) => [`${listed.name}_added`, listed.noun, inPlural(listed)] as const),
] as const;

/** The run of a team that first took anything of that kind from the service. */
const firstOf = ({ runs }: Pick<Glance, 'runs'>, teamId: Id, key: string): PageRun | undefined =>
  runs.findLast((run) => run.teamId === teamId && (run.counts[key] ?? 0) > 0);

/** The rows that the first run took over have not joined or come. */
export function beginning(read: Pick<Glance, 'beganAt' | 'runs' | 'teams'>, { now }: PageContext): Html {
  const { beganAt, teams } = read;
  if (beganAt === null) return none;
  const found = firstTaken.map(([key, singular, more]) => ({
    runs: teams.flatMap(({ teamId }) => firstOf(read, teamId, key) ?? []),
    words: (all: readonly PageRun[]) =>
      many(
        all.reduce((sum, { counts }) => sum + (counts[key] ?? 0), 0),
        singular,
        more,
      ),
  }));
  const first = new Set(found.flatMap(({ runs }) => runs));
  const words = found.flatMap(({ runs, words: say }) => (runs.length === 0 ? [] : [say(runs)]));
  const taken =
    first.size === 0
      ? ''
      : ` Its first ${first.size === 1 ? 'run' : 'runs'} took ${listed(words)} from the service as they were, and sent nothing.`;
  return html`<p class="dim">This mirror began ${longAgo(beganAt, now)}, at ${at(beganAt, now, true)}.${taken} What was before that, nobody wrote down; what moves from now on is kept.</p>`;
}

const listKeys = { tags: 'tags', fields: 'contact_fields' } as const;

/** The words about a listing of which nothing has come or gone since the first look. */
export function asTheyWere(
  read: Pick<Glance, 'beganAt' | 'runs'>,
  teamId: Id,
  which: keyof typeof listKeys,
): string {
  const key = listKeys[which];
  const first = firstOf(read, teamId, `${key}_added`);
  const moved = (run: PageRun) =>
    ['added', 'changed', 'gone'].some((how) => (run.counts[`${key}_${how}`] ?? 0) > 0);
  const others = read.runs.filter((run) => run.teamId === teamId && run !== first);
  return read.beganAt !== null && first !== undefined && !others.some(moved) ? 'as they were' : '';
}

/** How often contacts were counted so far, and when they will be next. */
export function countedSoFar(
  { counted, first, last }: { readonly counted: number; readonly first: Date; readonly last: Date },
  next: Date | null,
  now: Date,
): string {
  if (counted > 1) return `counted ${count(counted)} times since ${clockTime(first, now)}`;
  const line =
    next === null || next <= now
      ? 'The line begins with the next count.'
      : `The next count is at ${clockTime(next, now)}, and the line begins with it.`;
  return `counted once, at ${clockTime(last, now)}. ${line}`;
}

/** `Requests, busiest minute of ten` */
export function busiestOf(beganAt: Date | null, now: Date): string {
  if (beganAt === null) return 'Requests, busiest minute of a day';
  const minutes = Math.ceil((now.getTime() - beganAt.getTime()) / 60_000);
  if (minutes <= 1) return 'Requests in the first minute';
  return `Requests, busiest minute of ${inLetters(minutes)}`;
}
