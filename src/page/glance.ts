/** At a glance: the first line says whether somebody has to do something. */
import type { Glance, GlanceMove } from '../mirror/page-glance.ts';
import { isCopy, sayWhere } from './banner.ts';
import { commandBox, empty, person, section, table, things, verdict } from './components.ts';
import { oneTeam, severalTeams } from './glance-teams.ts';
import { thingsToDo } from './glance-things.ts';
import { fieldName } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { teamName } from './layout.ts';
import { to } from './links.ts';
import { direction } from './pills.ts';
import { changed, value } from './three-values.ts';
import type { PageContext, PageShown } from './view.ts';
import { at, clockTime, count, distance, many, named } from './words.ts';

function noRunYet(): PageShown {
  const more = html`<p class="label">See what it would do</p>${commandBox('musterd plan')}<p class="label">Begin</p>${commandBox('musterd daemon')}`;
  const text = 'The first run takes everything from the service and sends nothing.';
  return {
    title: 'No run yet',
    main: html`<h1 class="away">No run yet</h1>${empty('dashed', 'No run yet', text, more)}`,
  };
}

/** What is equal, since when, and when the next run begins. */
function nothingToDo({ teams, groups }: Glance, { now }: PageContext): Html | string {
  const users = groups.filter(({ group }) => group === 'users');
  const complete = users.flatMap(({ completeAt }) => (completeAt === null ? [] : [completeAt.getTime()]));
  const due = users.flatMap(({ dueAt }) => (dueAt === null ? [] : [dueAt.getTime()]));
  const who =
    teams.length === 1 && teams[0] ? named(teamName(teams[0])) : html`all ${count(teams.length)} teams`;
  if (complete.length < teams.length) return 'The first complete run of the users is still to come.';
  const last = new Date(Math.min(...complete));
  const next = due.length === 0 ? null : new Date(Math.min(...due));
  const then =
    next === null
      ? ' No daemon has a schedule for the next run.'
      : next <= now
        ? ' The next run is due now.'
        : ` The next run begins at ${clockTime(next, now)}.`;
  return html`Both sides of ${who} were equal at ${at(last, now, true)}, ${distance(last, now)}.${then}`;
}

function movesTable(context: PageContext, glance: Glance): Html {
  const isMany = context.team === null;
  const teams = new Map(glance.teams.map((team) => [team.teamId, team]));
  const rowOf = (move: GlanceMove) => {
    const team = teams.get(move.teamId);
    const side = move.kind === 'push' ? 'mirror' : 'service';
    return {
      cells: [
        at(move.at, context.now),
        ...(isMany ? [named(team === undefined ? '' : teamName(team))] : []),
        person(context, team?.team ?? '', { id: move.userId, name: move.name }),
        fieldName(move.field),
        html`<span class="quiet">${value(context, move.field, move.old)}</span> → ${changed(context, move.field, { of: move.new, from: move.old, side })}`,
        side === 'mirror' ? direction('push', 'pushed') : direction('pull', 'pulled'),
        side === 'mirror' ? (move.by === null ? 'not known' : named(move.by)) : 'on the service',
      ],
    };
  };
  const columns = ['When', ...(isMany ? ['Team'] : []), 'Person', 'Field', 'From → to', 'Direction', 'By'];
  return table(context, {
    caption: 'Moved last',
    columns: columns.map((label) => ({ label })),
    rows: glance.moves.map(rowOf),
  });
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
    : section('Moved last', movesTable(context, glance), {
        more: html`<a href="${to(context, '/changes')}">All changes</a>`,
      });

/** The first line; a banner above it already says why nothing is sent, so that there is no green tick below it. */
function firstLine(read: Glance, context: PageContext, all: ReturnType<typeof thingsToDo>): PageShown {
  const { verdict: place } = context.placing;
  const asks = place === 'elsewhere' ? [html`${sayWhere(read.teams.map(teamName))}`] : [];
  const briefs = [...asks, ...all.map(({ brief }) => brief)];
  if (briefs.length === 0) {
    const title = 'Nothing to do';
    const equal = nothingToDo(read, context);
    const main = isCopy(context)
      ? verdict('dashed', 'quiet', title, equal)
      : verdict('tick', 'ok', title, equal);
    return { title, main };
  }
  const title = many(briefs.length, 'thing to do', 'things to do');
  const text = html`${briefs.map((brief, i) => html`${i === 0 ? '' : ' '}${brief}`)}`;
  return {
    title,
    main: html`${verdict('alarm', 'act', title, text)}${all.length === 0 ? none : things(all)}`,
  };
}

/** Taken over at first is neither joining nor coming. */
function firstDay({ beganAt, totals }: Glance, { now }: PageContext): Html {
  if (beganAt === null) return none;
  const sum = (of: (one: Glance['totals'][number]) => number) =>
    totals.reduce((all, one) => all + of(one), 0);
  const taken = `${many(
    sum(({ users }) => users),
    'person',
    'people',
  )}, ${many(
    sum(({ tags }) => tags),
    'tag',
  )} and ${many(
    sum(({ contactFields }) => contactFields),
    'contact field',
  )}`;
  return html`<p class="note">This mirror began ${distance(beganAt, now)}, at ${at(beganAt, now, true)}. It has taken ${taken} from the service as they were, and sent nothing of it. What was before that, nobody wrote down; what moves from now on is kept.</p>`;
}

export function glance(read: Glance, context: PageContext): PageShown {
  if (read.teams.length === 0) return noRunYet();
  const { title, main: begin } = firstLine(read, context, thingsToDo(read, context));
  const begun = firstDay(read, context);
  const body = read.teams.length === 1 ? oneTeam(read, context) : severalTeams(read, context);
  return { title, main: html`${begin}${begun}${body}${moved(context, read)}` };
}
