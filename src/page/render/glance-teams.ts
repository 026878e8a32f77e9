/** The state of the teams: a single one in four facts, with a day of runs and its counts; several as a row each. */
import type { Glance, GlanceGroup, GlanceTotals } from '../read/page-glance.ts';
import type { SeenTeam } from '../read/page-reader.ts';
import type { PageRun } from '../read/page-runs.ts';
import { daemonsUp, isCopy } from './banner.ts';
import { meter, section, table } from './components.ts';
import { groupsOf } from './glance-tasks.ts';
import { type Html, html, none } from './html.ts';
import { teamName, worstFirst } from './layout.ts';
import { to } from './links.ts';
import { pill } from './pills.ts';
import { strip } from './run-strip.ts';
import { type Lane, laneNames, lanes, rhythm, stripLegend } from './run-words.ts';
import { gapsOf, markMissing } from './series.ts';
import { gapWords, sparkline } from './show-chart.ts';
import type { PageContext } from './view.ts';
import { ago, clockTime, count, day, difference, distance, many, named, time } from './words.ts';

const dayMs = 86_400_000;

const noTotals = { users: 0, unresolved: 0, gone: 0, tags: 0, contactFields: 0, pushed: 0, refused: 0 };
const totalsOf = (read: Glance, { teamId }: SeenTeam): Omit<GlanceTotals, 'teamId'> =>
  read.totals.find((row) => row.teamId === teamId) ?? noTotals;

/** The number of fields that wait for a person. */
const waitingOfTeam = (read: Glance, { teamId }: SeenTeam): number =>
  read.lists.filter((row) => row.teamId === teamId).reduce((sum, { rows }) => sum + rows, 0) +
  read.missing.filter((row) => row.teamId === teamId).length;

/** The most requests that were sent by runs that began within one minute of the last day. */
function busiestMinute(runs: readonly PageRun[]): number {
  const minutes = Map.groupBy(runs, ({ startedAt }) => Math.floor(startedAt.getTime() / 60_000));
  return Math.max(
    0,
    ...minutes.values().map((ofMinute) => ofMinute.reduce((all, { requests }) => all + requests, 0)),
  );
}

function firstStale(groups: readonly GlanceGroup[]): Date | null {
  const all = groups.flatMap(({ staleSince }) => staleSince ?? []);
  return all.length === 0 ? null : new Date(Math.min(...all.map((date) => date.getTime())));
}

interface Contacts {
  readonly segment: string;
  readonly now: bigint;
  readonly days: number;
  readonly change: Html;
  readonly line: (isWide?: boolean) => Html;
  readonly first: string;
  readonly gap: string;
}

/** How the contacts of a team grew. */
export function contactsOf(read: Pick<Glance, 'counts'>, { teamId }: SeenTeam, now: Date): Contacts | null {
  const counts = read.counts.filter((row) => row.teamId === teamId);
  const last = counts.at(-1);
  if (last === undefined) return null;
  const points = markMissing(
    counts.map((row) => ({ atMs: Date.parse(`${row.day}T00:00:00Z`), value: Number(row.count) })),
    dayMs,
  );
  const before = counts.findLast((row) => Date.parse(row.day) <= Date.parse(last.day) - 30 * dayMs);
  const moved = before === undefined ? null : last.count - before.count;
  const share =
    moved === null || before?.count === 0n ? 0 : (Number(moved) / Number(before?.count ?? 1)) * 100;
  const change =
    moved === null
      ? html`${counts.length === 1 ? 'counted today' : `counted for ${many(counts.length, 'day')}`}`
      : html`${difference(moved)} in 30 days (${share < 0 ? '−' : '+'}${Math.abs(share).toFixed(1)} %)`;
  const words = `${count(last.count)} contacts; ${counts.length} days shown, from ${count(counts[0]?.count ?? 0n)}`;
  const gaps = gapsOf(points).map((gap) => gapWords(gap, now));
  return {
    segment: last.segment,
    now: last.count,
    days: counts.length,
    change,
    line: (isWide) => sparkline(points, words, isWide),
    first: day(new Date(counts[0]?.day ?? last.day), now),
    gap: gaps.length === 0 ? '' : `not counted ${gaps.join(', ')}`,
  };
}

const isCompleteOfUsers = ({ outcome, groups }: PageRun): boolean =>
  outcome === 'complete' && groups.includes('users');

/** When the users were last complete, and by which run. */
function lastComplete({ runs }: Glance, last: Date | null, context: PageContext): Html {
  if (last === null) return html`no complete run yet`;
  const lastRun = runs.find(isCompleteOfUsers);
  return html`complete ${ago(last, context.now)}${lastRun === undefined ? none : html`, <a href="${to(context, `/runs/${lastRun.runId}`)}">run ${count(lastRun.runId)}</a>`}`;
}

function facts(read: Glance, team: SeenTeam, context: PageContext): Html {
  const groups = groupsOf(read, team);
  const users = groups.find(({ group }) => group === 'users');
  const stale = firstStale(groups);
  const totals = totalsOf(read, team);
  const waiting = waitingOfTeam(read, team);
  const busiest = busiestMinute(read.runs);
  const limit = context.perMinute(team.team);
  const complete = lastComplete(read, users?.completeAt ?? null, context);
  const fact = (label: string, figure: Html, note: Html) =>
    html`<div><p class="label">${label}</p><p class="big">${figure}</p><div class="note">${note}</div></div>`;
  return html`<section class="card flush facts" aria-label="How it stands">
${fact('Mirror', stale === null ? html`Fresh` : html`<span class="act">Stale</span>`, complete)}
${fact('Waits for a person', html`${count(waiting)} <small>${waiting === 1 ? 'field' : 'fields'}</small>`, waiting === 0 ? html`nothing waits` : html`<a href="${to(context, '/waiting')}">${isCopy(context) ? 'look' : 'look, and decide'}</a>`)}
${fact('Refused by the service', html`${count(totals.refused)} <small>in 24 hours</small>`, html`${many(totals.pushed, 'field')} pushed`)}
${fact('Requests, busiest minute of a day', html`${count(busiest)} <small>${limit === null ? '' : `of ${count(limit)}`}</small>`, html`${meter(busiest, limit)}by the minute in which a run began`)}
</section>`;
}

function dayOfRuns(read: Glance, team: SeenTeam, context: PageContext): Html {
  const { now } = context;
  const from = new Date(now.getTime() - dayMs);
  const groups = groupsOf(read, team);
  const rows = lanes.map((lane: Lane) => {
    const runs = read.runs.filter((run) => run.groups.includes(lane) && run.teamId === team.teamId);
    const group = groups.find((candidate) => candidate.group === lane);
    const last = runs[0]?.startedAt ?? group?.lastAttempt ?? null;
    const next =
      lane === 'edits'
        ? html`<span class="nowrap">on an edit</span>`
        : group?.dueAt && !context.stopped.has(team.team)
          ? time(group.dueAt, clockTime(group.dueAt, now))
          : html`none`;
    const every =
      lane === 'edits'
        ? 'at once'
        : !group?.limitSeconds
          ? 'no schedule'
          : rhythm(Number(group.limitSeconds));
    return {
      cells: [
        html`<span class="nowrap">${laneNames[lane]}</span><span class="note nowrap">${every}</span>`,
        strip({ runs, label: laneNames[lane], from, to: now, steps: 96 }),
        last === null ? html`<span class="quiet">none</span>` : time(last, clockTime(last, now, true)),
        html`<span class="quiet">${next}</span>`,
      ],
    };
  });
  const columns = [
    { label: 'What' },
    { label: `${clockTime(from, from)} yesterday to now`, short: 'Runs' },
    { label: 'Last', isNumber: true },
    { label: 'Next', isNumber: true },
  ];
  return section(
    'Last 24 hours',
    table(context, {
      caption: 'Runs of the last 24 hours',
      columns,
      rows,
      foot: stripLegend,
    }),
    { more: html`<a href="${to(context, '/runs')}">All runs</a>` },
  );
}

function inTheMirror(read: Glance, team: SeenTeam, context: PageContext): Html {
  const totals = totalsOf(read, team);
  const contacts = contactsOf(read, team, context.now);
  const line = (label: string, figure: number, note: Html = none) =>
    html`<dt>${label}</dt><dd>${count(figure)}${note}</dd>`;
  const shownCounts =
    contacts === null
      ? html`<p class="note">No contacts were counted yet.</p>`
      : html`<p class="label">Contacts, segment “${contacts.segment}”</p><p class="big">${count(contacts.now)}</p><p class="note">${contacts.change}</p>${contacts.days < 2 ? none : html`${contacts.line(true)}<p class="row between note"><span>${contacts.first}</span><span>${contacts.gap}</span><span>today</span></p>`}`;
  const users = html` <span class="note">${count(totals.unresolved)} unresolved, ${count(totals.gone)} gone</span>`;
  return section(
    'In the mirror',
    html`<div class="card">${shownCounts}<dl class="pairs">${line('Users', totals.users, users)}${line('Tags', totals.tags)}${line('Contact fields', totals.contactFields)}</dl></div>`,
    { more: html`<a href="${to(context, '/counts')}">Counts and tags</a>` },
  );
}

export function oneTeam(read: Glance, context: PageContext): Html {
  const [team] = read.teams;
  if (team === undefined) return none;
  return html`${facts(read, team, context)}<div class="columns">${dayOfRuns(read, team, context)}${inTheMirror(read, team, context)}</div>`;
}

const nextRun = (dueAt: Date | null | undefined, now: Date): Html | string =>
  dueAt ? time(dueAt, dueAt <= now ? 'now' : distance(dueAt, now)) : 'no schedule';

function teamRow(read: Glance, team: SeenTeam, context: PageContext): readonly Html[] {
  const { now, perMinute } = context;
  const groups = groupsOf(read, team);
  const users = groups.find(({ group }) => group === 'users');
  const stale = firstStale(groups);
  const waiting = waitingOfTeam(read, team);
  const totals = totalsOf(read, team);
  const runs = read.runs.filter(({ teamId }) => teamId === team.teamId);
  const busiest = busiestMinute(runs);
  const limit = perMinute(team.team);
  const contacts = contactsOf(read, team, now);
  const failures = Math.max(0, ...groups.map((group) => group.failures));
  const last = users?.completeAt ?? null;
  const lastRun = runs.find(isCompleteOfUsers);
  const waits =
    waiting === 0 ? html`nothing waits` : html`${many(waiting, 'field')} ${waiting === 1 ? 'waits' : 'wait'}`;
  return [
    html`<a href="${to(context, '/', { team: team.team })}">${named(teamName(team))}</a><span class="note">${team.name === null || team.name === '' ? none : html`${named(team.name)}, `}${many(totals.users, 'user')}</span>`,
    stale === null
      ? html`${pill('tick', 'ok', 'Fresh')}<span class="note">${waits}</span>`
      : html`${pill('alarm', 'act', 'Stale')}<span class="note">since ${time(stale, clockTime(stale, now))}</span>`,
    html`${last === null ? html`never` : ago(last, now)}<span class="note">${failures === 0 ? (lastRun === undefined ? none : html`run ${count(lastRun.runId)}`) : html`${many(failures, 'run')} failed since`}</span>`,
    html`${context.stopped.has(team.team) ? 'not planned' : nextRun(users?.dueAt, now)}`,
    waiting === 0
      ? html`0`
      : html`<a href="${to(context, '/waiting', { team: team.team })}"><b>${count(waiting)}</b></a>`,
    html`${count(totals.refused)}`,
    html`${count(busiest)}${limit === null ? none : html` <span class="quiet">of ${count(limit)}</span>`}${meter(busiest, limit)}`,
    contacts === null
      ? html`<span class="quiet">none</span>`
      : html`<span class="row beside"><span>${count(contacts.now)}</span>${contacts.days < 2 ? none : contacts.line()}</span>`,
  ];
}

export function severalTeams(read: Glance, context: PageContext): Html {
  const shownTeams = new Set(read.teams.map(({ teamId }) => teamId));
  const teams = worstFirst(context).filter(({ teamId }) => shownTeams.has(teamId));
  const columns = [
    { label: 'Team' },
    { label: 'State' },
    { label: 'Last complete run' },
    { label: 'Next run' },
    { label: 'Wait', isNumber: true },
    { label: 'Refused, 24 h', isNumber: true },
    { label: 'Requests, busiest minute' },
    { label: 'Contacts, 90 days' },
  ];
  const rows = teams.map((team) => ({ cells: teamRow(read, team, context) }));
  return section(
    'Teams',
    table(context, { caption: 'Teams, those that need somebody first', columns, rows }),
    { note: daemonsUp(context) },
  );
}
