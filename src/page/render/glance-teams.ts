/** The state of the teams: cards for a single team; for several teams, a table with the same facts, one row per team. */
import type { Contacts, CountedTeam, Glance } from '../read/page-glance.ts';
import type { Lane } from '../read/page-runs.ts';
import type { SeenTeam } from '../read/page-reader.ts';
import { section, serviceName, table } from './components.ts';
import { type Html, html, none } from './html.ts';
import { worstFirst } from './layout.ts';
import { to, toTeam } from './links.ts';
import { pill } from './pills.ts';
import { laneNames, strip, stripLegend } from './run-words.ts';
import type { PageContext } from './view.ts';
import { ago, at, clockTime, count, difference, distance, many, named, time } from './words.ts';
import { dayMs } from '../../model/zone-time.ts';

export const stalest = ({ lanes }: Glance, { teamId }: SeenTeam): Lane | undefined =>
  lanes
    .filter((lane) => lane.teamId === teamId && lane.staleSince !== null)
    .toSorted((a, b) => Number(a.staleSince) - Number(b.staleSince))[0];

/** The change within 30 days in words, such as `+7 in 30 days`. */
export const growthOf = ({ count: now, before }: Pick<Contacts, 'count' | 'before'>): string =>
  before === null ? 'not counted 30 days ago' : `${difference(now - before)} in 30 days`;

type Fact = readonly [label: string, figure: Html | string, note: Html | string];

function freshOf(read: Glance, team: CountedTeam, context: PageContext): Fact {
  const { now } = context;
  const users = read.lanes.find(({ teamId, lane }) => teamId === team.teamId && lane === 'users');
  const { lastRun } = team;
  const stale = stalest(read, team)?.staleSince ?? null;
  const isPlanned = users?.next && !context.stopped.has(team.team);
  const next = isPlanned ? (users.next <= now ? 'now' : distance(users.next, now)) : 'none planned';
  const complete = users?.completeAt ? html`complete ${ago(users.completeAt, now)}` : 'no complete run yet';
  const path = toTeam(context, team.team, `/runs/${lastRun}`);
  const run = lastRun === null ? none : html`, <a href="${path}">run ${count(lastRun)}</a>`;
  const failed = users?.failures ? `; failed since: ${count(users.failures)}` : '';
  const isStale = (since: Date) => html`Stale since ${time(since, clockTime(since, now))}`;
  const figure = stale === null ? pill('tick', 'ok', 'Fresh') : pill('alarm', 'act', isStale(stale));
  return ['Mirror', figure, html`${complete}${run}${failed}; next ${next}`];
}

function factsOf(read: Glance, team: CountedTeam, context: PageContext): readonly Fact[] {
  const { standings, perMinute } = context;
  const contacts = read.contacts.find(({ teamId }) => teamId === team.teamId);
  const waits = standings.get(team.teamId)?.waiting ?? 0;
  const limit = perMinute(team.team);
  const link = (path: string, words: string) =>
    html`<a href="${toTeam(context, team.team, path)}">${words}</a>`;
  const gone = `${count(team.unresolved)} unresolved, ${count(team.gone)} gone`;
  return [
    freshOf(read, team, context),
    ['Waits for a person', count(waits), waits === 0 ? 'nothing waits' : link('/waiting', 'look at it')],
    ['Refused, 24 hours', count(team.refused), `${count(team.pushed)} pushed`],
    ['Requests, busiest minute', count(team.busiest), limit === null ? '' : `of ${count(limit)}`],
    ['Users', link('/people', count(team.users)), gone],
    ['Tags', link('/tags', count(team.tags)), `${count(team.contactFields)} contact fields`],
    contacts === undefined
      ? ['Contacts', 'none', 'not counted yet']
      : ['Contacts', link('/counts', count(contacts.count)), growthOf(contacts)],
  ];
}

function dayOfRuns(read: Glance, { team }: SeenTeam, context: PageContext): Html {
  const { now } = context;
  const isOff = context.stopped.has(team);
  const rows = read.lanes.map((lane) => {
    const isEdits = lane.lane === 'edits';
    const next = lane.next === null || isOff ? 'none' : at(lane.next, now);
    return {
      cells: [
        laneNames[lane.lane],
        strip(lane),
        lane.last === null ? html`<span class="quiet">none</span>` : at(lane.last, now, true),
        html`<span class="quiet nowrap">${isEdits ? 'on an edit' : next}</span>`,
      ],
    };
  });
  const columns = [
    'What',
    `${clockTime(new Date(now.getTime() - dayMs), now)} to now`,
    { label: 'Last', isNumber: true },
    { label: 'Next', isNumber: true },
  ];
  const caption = 'Runs of the last 24 hours';
  return section('Last 24 hours', table(context, { caption, columns, rows, foot: stripLegend }), {
    more: html`<a href="${to(context, '/runs')}">All runs</a>`,
  });
}

export function teamFacts(read: Glance, context: PageContext): Html {
  const [only, ...others] = read.teams;
  if (only === undefined) return none;
  if (others.length === 0) {
    const cards = factsOf(read, only, context).map(
      ([label, figure, note]) =>
        html`<div><p class="label">${label}</p><p class="big">${figure}</p><div class="note">${note}</div></div>`,
    );
    return html`<section class="card flush facts" aria-label="How it stands">${cards}</section>${dayOfRuns(read, only, context)}`;
  }
  const sorted = worstFirst(context).flatMap(({ teamId }) =>
    read.teams.filter((one) => one.teamId === teamId),
  );
  const rows = sorted.map((team) => {
    const link = html`<a href="${to(context, '/', { team: team.team })}">${named(team.team)}</a>`;
    const below = serviceName(team) !== '' && html`<span class="note">${named(serviceName(team))}</span>`;
    const facts = factsOf(read, team, context).map(
      ([, figure, note]) => html`${figure}<span class="note">${note}</span>`,
    );
    return { cells: [html`${link}${below}`, ...facts] };
  });
  const columns = ['Team', ...factsOf(read, only, context).map(([label]) => label)];
  const caption = 'Teams, those that need somebody first';
  return section(many(read.teams.length, 'team'), table(context, { caption, columns, rows }));
}
