/** The tasks that somebody must do: stale teams come first, then batches, then single fields. */
import { needDecision } from '../../model/edit-state.ts';
import type { Glance, GlanceGroup } from '../read/page-glance.ts';
import type { SeenTeam } from '../read/page-reader.ts';
import type { Id } from '../../model/id.ts';
import { isCopy } from './banner.ts';
import type { Task } from './components.ts';
import { editorsIn, listTitle } from './hold-words.ts';
import { html, none } from './html.ts';
import { inTeam } from './waiting-cards.ts';
import { teamName } from './layout.ts';
import { commandOf, toTeam } from './links.ts';
import { laneNames } from './run-words.ts';
import type { PageContext } from './view.ts';
import { at, capital, count, listed, many, named, visible } from './words.ts';

export const groupsOf = (read: Glance, { teamId }: SeenTeam): readonly GlanceGroup[] =>
  read.groups.filter((group) => group.teamId === teamId);

interface TeamTask extends Task {
  readonly teamId: Id;
  /** A sentence for the line below the title, if it is not the title of the thing. */
  readonly brief?: ReturnType<typeof html>;
}

function staleTask(read: Glance, team: SeenTeam, context: PageContext): readonly TeamTask[] {
  const stale = groupsOf(read, team).flatMap((group) =>
    group.staleSince === null ? [] : [{ group, since: group.staleSince }],
  );
  const [first] = stale.toSorted((a, b) => a.since.getTime() - b.since.getTime());
  if (first === undefined) return [];
  const { now } = context;
  const name = html`Team ${named(teamName(team))}`;
  const failed = read.runs.find((run) => run.teamId === team.teamId && run.reasons.length > 0);
  const reason = failed?.reasons.at(-1);
  const last = first.group.completeAt;
  const what = listed(stale.map(({ group }) => laneNames[group.group].toLowerCase()));
  return [
    {
      teamId: team.teamId,
      id: `stale-${team.team}`,
      brief: html`${name} is stale.`,
      title: html`${name} is stale since ${at(first.since, now)}`,
      text: html`${reason === undefined ? html`No run has ended since.` : html`${visible(capital(reason))}.`} ${last === null ? html`There was no complete run of the ${what} so far.` : html`The last complete run of the ${what} ended at ${at(last, now, true)}.`} Nothing is lost: edits of the mirror wait, and what changed on the service comes with the first run that succeeds.`,
      ways: [
        { label: html`Find out what is in the way`, command: commandOf(context, team.team, 'check') },
        {
          label: html`<a href="${toTeam(context, team.team, '/runs')}">Its last runs</a>`,
        },
      ],
    },
  ];
}

function batchTasks(read: Glance, team: SeenTeam, context: PageContext): readonly TeamTask[] {
  const { now } = context;
  const ofTeam = inTeam(context, team);
  const lists = read.lists.filter(({ teamId }) => teamId === team.teamId);
  const missing = read.missing.filter(({ teamId }) => teamId === team.teamId);
  return [
    ...lists.flatMap(({ batch, ...list }) =>
      batch === null
        ? []
        : [
            {
              teamId: team.teamId,
              id: `batch-${batch}`,
              title: html`${listTitle(list)}${ofTeam}`,
              text: html`${list.details.map((detail) => html`${visible(capital(detail))}. `)}${list.editedTo === null ? none : html`Edited at ${at(list.editedTo, now)} by ${editorsIn(context, list)}. `}None of it was sent; all else goes on.`,
              ways: [
                {
                  label: html`Look at them, or <a href="${toTeam(context, team.team, `/waiting/${batch}`)}">see all ${count(list.rows)} here</a>`,
                  command: commandOf(context, team.team, 'held'),
                },
                {
                  label: html`Meant so: let them pass`,
                  command: commandOf(context, team.team, `approve ${batch} --reason '…'`),
                },
              ],
            },
          ],
    ),
    ...missing.map(({ hash, resource, rows, reason }) => ({
      teamId: team.teamId,
      id: `missing-${hash}`,
      brief: html`${many(rows, 'missing row')} of ${resource.replace('_', ' ')} ${needDecision(rows)}${ofTeam}.`,
      title: html`${count(rows)} ${resource.replace('_', ' ')} are missing on the service${ofTeam}`,
      text: html`${visible(capital(reason))}. None of them is marked as gone before somebody agrees.`,
      ways: [
        {
          label: html`They are really gone`,
          command: commandOf(context, team.team, `approve ${hash} --reason '…'`),
        },
      ],
    })),
  ];
}

function singleTask(read: Glance, team: SeenTeam, context: PageContext): readonly TeamTask[] {
  const lists = read.lists.filter(({ teamId, batch }) => teamId === team.teamId && batch === null);
  if (lists.length === 0) return [];
  const ofTeam = inTeam(context, team);
  const rows = lists.reduce((sum, list) => sum + list.rows, 0);
  const words = `${many(rows, 'field')} ${needDecision(rows)}`;
  return [
    {
      teamId: team.teamId,
      id: `held-${team.team}`,
      title: html`${words}${ofTeam}`,
      text: html`${lists.map((list) => `${listTitle(list)}. `)}None of it was sent; all else goes on.`,
      ways: [
        {
          label: html`All values, and why; or <a href="${toTeam(context, team.team, '/waiting')}">decide here</a>`,
          command: commandOf(context, team.team, 'held'),
        },
      ],
    },
  ];
}

/** In a copy nothing waits for anybody. The banner already says why a team without a daemon is stale. */
export function tasksOf(read: Glance, context: PageContext): readonly TeamTask[] {
  const tasksFrom = (make: typeof staleTask, teams = read.teams) =>
    teams.flatMap((team) => make(read, team, context));
  if (isCopy(context)) return tasksFrom(staleTask);
  const served = read.teams.filter(({ team }) => !context.stopped.has(team));
  return [...tasksFrom(staleTask, served), ...tasksFrom(batchTasks), ...tasksFrom(singleTask)];
}
