/** The first view. Its first line says whether a person must act. The tasks are stale teams first, then waiting rows. */
import type { CountedTeam, Glance } from '../read/page-glance.ts';
import type { SeenTeam } from '../read/page-reader.ts';
import { hasBanner, isCopy } from './banner.ts';
import { changesTable } from './ledger-view.ts';
import { commandBox, empty, inTeam, section, type Task, taskList, verdict } from './components.ts';
import { barredNote } from './decide-form.ts';
import { stalest, teamFacts } from './glance-teams.ts';
import { detailsAbove, editorsIn, listTitle } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { commandOf, to, toTeam, waitingPath } from './links.ts';
import { laneNames } from './run-words.ts';
import type { PageContext, PageShown } from './view.ts';
import { at, capital, clockTime, count, distance, listed, many, named, visible } from './words.ts';

type TeamTask = Task & Pick<SeenTeam, 'teamId'>;

function staleTask(read: Glance, team: CountedTeam, context: PageContext): readonly TeamTask[] {
  const lane = stalest(read, team);
  if (lane === undefined || lane.staleSince === null) return [];
  const { now } = context;
  const { reason } = team;
  const last = lane.completeAt === null ? 'None so far' : at(lane.completeAt, now, true);
  return [
    {
      teamId: team.teamId,
      id: `stale-${team.team}`,
      title: html`Team ${named(team.team)} is stale since ${at(lane.staleSince, now)}`,
      text: html`${reason === null ? none : html`${visible(capital(reason))}. `}Last complete run of the ${laneNames[lane.lane].toLowerCase()}: ${last}. Nothing is lost: edits of the mirror wait, and what changed on the service comes with the first run that succeeds.`,
      ways: [
        { label: html`Find out what is in the way`, command: commandOf(context, team.team, 'check') },
        { label: html`<a href="${toTeam(context, team.team, '/runs')}">Its last runs</a>` },
      ],
    },
  ];
}

function waitingTasks(read: Glance, team: SeenTeam, context: PageContext): readonly TeamTask[] {
  const { teamId } = team;
  const way = (words: string, path: string) => [{ label: html`<a href="${path}">${words}</a>` }];
  const lists = read.lists.filter((list) => list.teamId === teamId);
  const missing = read.missing.filter((one) => one.teamId === teamId);
  return [
    ...lists.map((list): TeamTask => {
      const title = html`${listTitle(list)}${inTeam(context, team)}`;
      const edited =
        list.editedTo !== null &&
        html`Edited at ${at(list.editedTo, context.now)} by ${editorsIn(context, list)}. `;
      return {
        teamId,
        id: list.batch === null ? `held-${team.team}-${list.reasons[0]?.what}` : `batch-${list.batch}`,
        title,
        text: html`${detailsAbove(context, list)}${edited}`,
        ways: way('Look at them', waitingPath(context, list)),
      };
    }),
    ...missing.map(
      ({ hash, resource, rows, reason }): TeamTask => ({
        teamId,
        id: `missing-${hash}`,
        title: html`${count(rows)} ${resource.replace('_', ' ')}: missing on the service${inTeam(context, team)}`,
        text: html`${visible(capital(reason))}. None of them is marked as gone before somebody agrees.`,
        ways: way('Look at it', toTeam(context, team.team, `/waiting/${hash}`)),
      }),
    ),
  ];
}

/** In a copy, nothing can be decided, so waiting rows are not tasks. A banner explains stale teams without a daemon. */
function tasksOf(read: Glance, context: PageContext): readonly TeamTask[] {
  const { teams } = read;
  if (isCopy(context)) return teams.flatMap((team) => staleTask(read, team, context));
  const served = teams.filter(({ team }) => !context.stopped.has(team));
  return [
    ...served.flatMap((team) => staleTask(read, team, context)),
    ...teams.flatMap((team) => waitingTasks(read, team, context)),
  ];
}

/** When a run last compared both sides, and when the next run begins. While musterd does not answer, the latter is hidden. */
function equal(read: Glance, { now, stopped }: PageContext): Html {
  const users = read.lanes.filter(({ lane }) => lane === 'users');
  const complete = users.flatMap(({ completeAt }) => completeAt?.getTime() ?? []);
  const due = stopped.size === read.teams.length ? [] : users.flatMap(({ next }) => next?.getTime() ?? []);
  if (complete.length < read.teams.length) return html`The first complete run of the users is still to come.`;
  const last = new Date(Math.min(...complete));
  const next = new Date(Math.min(...due));
  const then = due.length === 0 ? 'none planned' : next <= now ? 'now' : clockTime(next, now);
  return html`Both sides were compared last at ${at(last, now, true)}<span data-now>, ${distance(last, now)}. Next run: ${then}.</span><span data-late hidden>. What has changed since, this page cannot say.</span>`;
}

function asksOf(read: Glance, context: PageContext): readonly Html[] {
  const { stopped } = context;
  const teams = listed(read.teams.map(({ team }) => team));
  if (context.placing.verdict === 'elsewhere')
    return [
      html`Say whether this mirror has moved or is a copy. Until then runs read, and send nothing: ${teams}.`,
    ];
  return isCopy(context) || stopped.size === 0
    ? []
    : [html`No daemon keeps ${listed([...stopped.keys()])} equal.`];
}

/** The headline and the tasks. If a banner is shown, the headline has no green tick, because nothing is sent. */
function firstLine(read: Glance, context: PageContext): PageShown {
  const all = tasksOf(read, context);
  const asks = asksOf(read, context);
  if (asks.length + all.length === 0) {
    const title = 'Nothing to do';
    const sign = hasBanner(context) ? (['dashed', 'dim'] as const) : (['tick', 'ok'] as const);
    return { title, main: verdict(sign, title, equal(read, context)) };
  }
  const busy = new Set(all.map(({ teamId }) => teamId));
  const calm = read.teams.filter(({ team, teamId }) => !busy.has(teamId) && !context.stopped.has(team));
  const others =
    busy.size === 0 || calm.length === 0
      ? ''
      : ` Nothing to do: ${calm.length > 3 ? `${count(calm.length)} other teams` : listed(calm.map(({ team }) => team))}.`;
  const title = many(asks.length + all.length, 'thing to do', 'things to do');
  const barred = read.lists.length + read.missing.length > 0 && !isCopy(context) ? barredNote(context) : none;
  const text = html`${asks.map((ask) => html`${ask} `)}${others}${all.length === 0 ? equal(read, context) : none}`;
  return {
    title,
    main: html`${verdict(['alarm', 'act'], title, text)}${all.length === 0 ? none : taskList(all, barred)}`,
  };
}

export function glance(read: Glance, context: PageContext): PageShown {
  if (read.teams.length === 0) {
    const title = 'No run yet';
    const more = html`<p class="label">See what it would do</p>${commandBox('musterd plan')}<p class="label">Begin</p>${commandBox('musterd daemon')}`;
    const text = 'The first run takes everything from the service and sends nothing.';
    return { title, main: html`<h1 class="away">${title}</h1>${empty('dashed', title, text, more)}` };
  }
  const { title, main: begin } = firstLine(read, context);
  const moved =
    read.moves.length === 0
      ? empty(
          'dashed',
          'Nothing has moved yet',
          'The first edit here, or the first change on the service, stands here.',
        )
      : changesTable(context, 'Moved last', read.moves);
  const last = section('Moved last', moved, {
    more: html`<a href="${to(context, '/changes')}">All changes</a>`,
  });
  return { title, main: html`${begin}${teamFacts(read, context)}${last}` };
}
