/** The first view, whose first line says whether somebody has to do something. */
import type { Glance } from '../read/page-glance.ts';
import { hasBanner, isCopy, sayWhere } from './banner.ts';
import { changesTable } from './change-row.ts';
import { commandBox, empty, section, taskList, verdict } from './components.ts';
import { oneTeam, severalTeams } from './glance-teams.ts';
import { tasksOf } from './glance-tasks.ts';
import { type Html, html, none } from './html.ts';
import { teamName } from './layout.ts';
import { to } from './links.ts';
import type { PageContext, PageShown } from './view.ts';
import { rhythm } from './run-words.ts';
import { at, clockTime, count, listed, longAgo, many, named } from './words.ts';

function noRunYet(): PageShown {
  const more = html`<p class="label">See what it would do</p>${commandBox('musterd plan')}<p class="label">Begin</p>${commandBox('musterd daemon')}`;
  const text = 'The first run takes everything from the service and sends nothing.';
  return {
    title: 'No run yet',
    main: html`<h1 class="away">No run yet</h1>${empty('dashed', 'No run yet', text, more)}`,
  };
}

const nameOf = (teams: Glance['teams']): Html =>
  teams.length === 1 && teams[0] ? named(teamName(teams[0])) : html`all ${count(teams.length)} teams`;

/**
 * Says what is equal, since when, and when the next run begins. If musterd does not answer, only what was true then is
 * said.
 */
function equal({ teams, groups }: Glance, { now, stopped }: PageContext, ofTeam: Html): Html {
  const users = groups.filter(({ group }) => group === 'users');
  const complete = users.flatMap(({ completeAt }) => (completeAt === null ? [] : [completeAt.getTime()]));
  const due = users.flatMap(({ dueAt }) => (dueAt === null ? [] : [dueAt.getTime()]));
  if (complete.length < teams.length) return html`The first complete run of the users is still to come.`;
  const last = new Date(Math.min(...complete));
  const next = due.length === 0 || stopped.size === teams.length ? null : new Date(Math.min(...due));
  const then =
    next === null
      ? 'No next run is planned.'
      : next <= now
        ? 'The next run is due now.'
        : `The next run begins at ${clockTime(next, now)}.`;
  return html`Both sides${ofTeam} were equal at ${at(last, now, true)}<span data-now>, ${longAgo(last, now)}. ${then}</span><span data-late hidden>. Whether they still are, this page cannot say.</span>`;
}

/** How the teams of a copy are read: ` every 5 minutes, last at 14:30:02`. */
function howRead({ groups }: Glance, { now, stopped }: PageContext): string {
  const users = groups.filter(({ group }) => group === 'users');
  const [limit, ...others] = new Set(users.map(({ limitSeconds }) => limitSeconds));
  const every = limit && others.length === 0 && stopped.size === 0 ? ` ${rhythm(Number(limit))}` : '';
  const ends = users.flatMap(({ completeAt }) => completeAt?.getTime() ?? []);
  const last = ends.length === 0 ? '' : `, last at ${clockTime(new Date(Math.max(...ends)), now, true)}`;
  return `${every}${last}`;
}

/** The task in the banner above, which is the first thing to do. */
function asksOf(read: Glance, context: PageContext, isAll: boolean): readonly Html[] {
  if (context.placing.verdict === 'elsewhere')
    return [html`${sayWhere(read.teams.map(teamName), howRead(read, context))}`];
  const { stopped } = context;
  if (isCopy(context) || stopped.size === 0) return [];
  const stoppedTeams = listed([...stopped.keys()]);
  return [html`No daemon keeps ${stoppedTeams} equal.${isAll ? html` ${equal(read, context, none)}` : none}`];
}

const moved = (context: PageContext, glance: Glance): Html =>
  glance.moves.length === 0
    ? section(
        'Moved last',
        empty(
          'dashed',
          'Nothing has moved yet',
          'The first edit here, or the first change on the service, stands here. To see one move, change one field of one person:',
          commandBox("update mirror.users set phone = '…' where id = …", ''),
        ),
      )
    : section('Moved last', changesTable(context, 'Moved last', glance.moves), {
        more: html`<a href="${to(context, '/changes')}">All changes</a>`,
      });

/** The first line. It has no green tick below a banner, which says that nothing is sent. */
function firstLine(read: Glance, context: PageContext, all: ReturnType<typeof tasksOf>): PageShown {
  const briefs = [
    ...asksOf(read, context, all.length === 0),
    ...all.map(({ title: what, brief = html`${what}.` }) => brief),
  ];
  if (briefs.length === 0) {
    const title = 'Nothing to do';
    const text = equal(read, context, html` of ${nameOf(read.teams)}`);
    const sign = hasBanner(context) ? (['dashed', 'dim'] as const) : (['tick', 'ok'] as const);
    return { title, main: verdict(sign, title, text) };
  }
  const title = many(briefs.length, 'thing to do', 'things to do');
  const text = html`${briefs.map((brief, i) => html`${i === 0 ? '' : ' '}${brief}`)}${needNothing(read, context, all)}`;
  return {
    title,
    main: html`${verdict(['alarm', 'act'], title, text)}${all.length === 0 ? none : taskList(all)}`,
  };
}

/** The teams among several that need nobody. */
function needNothing({ teams }: Glance, { stopped }: PageContext, all: ReturnType<typeof tasksOf>): Html {
  const busy = new Set(all.map(({ teamId }) => teamId));
  const calm = teams.filter(({ team, teamId }) => !busy.has(teamId) && !stopped.has(team));
  if (calm.length === 0 || busy.size === 0) return none;
  if (calm.length > 3) return html` The other ${count(calm.length)} teams need nothing.`;
  const names = listed(calm.map(teamName));
  return calm.length === 1 ? html` Team ${names} needs nothing.` : html` Teams ${names} need nothing.`;
}

export function glance(read: Glance, context: PageContext): PageShown {
  if (read.teams.length === 0) return noRunYet();
  const { title, main: begin } = firstLine(read, context, tasksOf(read, context));
  const body = read.teams.length === 1 ? oneTeam(read, context) : severalTeams(read, context);
  return { title, main: html`${begin}${body}${moved(context, read)}` };
}
