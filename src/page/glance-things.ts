/** What somebody must do: stale teams first, then batches, then single fields. */
import type { Glance, GlanceGroup } from '../mirror/page-glance.ts';
import type { SeenTeam } from '../mirror/page-reader.ts';
import { isCopy } from './banner.ts';
import type { Thing } from './components.ts';
import { fieldName, rowsInWords, waits, why } from './hold-words.ts';
import { html, none } from './html.ts';
import { teamName } from './layout.ts';
import { commandOf, personPath, to } from './links.ts';
import { laneNames } from './run-words.ts';
import type { PageContext } from './view.ts';
import { at, count, listed, many, named, visible } from './words.ts';

export const groupsOf = (read: Glance, { teamId }: SeenTeam): readonly GlanceGroup[] =>
  read.groups.filter((group) => group.teamId === teamId);

interface ToDo extends Thing {
  /** A sentence for the line below the title. */
  readonly brief: ReturnType<typeof html>;
}

function staleThing(read: Glance, team: SeenTeam, context: PageContext): readonly ToDo[] {
  const stale = groupsOf(read, team).flatMap((group) =>
    group.staleSince === null ? [] : [{ group, since: group.staleSince }],
  );
  const [first] = stale.toSorted((a, b) => a.since.getTime() - b.since.getTime());
  if (first === undefined) return [];
  const { now } = context;
  const name = named(teamName(team));
  const failed = read.runs.find((run) => run.teamId === team.teamId && run.reasons.length > 0);
  const reason = failed?.reasons.at(-1);
  const last = first.group.completeAt;
  const what = listed(stale.map(({ group }) => laneNames[group.group].toLowerCase()));
  return [
    {
      id: `stale-${team.team}`,
      brief: html`${name} is stale.`,
      title: html`${name} is stale since ${at(first.since, now)}`,
      text: html`${reason === undefined ? html`No run has ended since.` : html`${visible(reason)}.`} ${last === null ? html`There was no complete run of the ${what} so far.` : html`The last complete run of the ${what} ended at ${at(last, now, true)}.`} Nothing is lost: edits of the mirror wait, and what changed on the service comes with the first run that succeeds.`,
      ways: [
        { label: html`Find out what is in the way`, command: commandOf(context, team.team, 'check') },
        {
          label: html`<a href="${to(context, '/runs', { team: context.teams.length > 1 ? team.team : null })}">Its last runs</a>`,
        },
      ],
    },
  ];
}

function batchThings(read: Glance, team: SeenTeam, context: PageContext): readonly ToDo[] {
  const { now } = context;
  const of = context.team === null ? html` in ${named(teamName(team))}` : none;
  const change = { team: context.teams.length > 1 ? team.team : null };
  const batches = read.batches.filter(({ teamId }) => teamId === team.teamId);
  const missing = read.missing.filter(({ teamId }) => teamId === team.teamId);
  return [
    ...batches.map((batch) => ({
      id: `batch-${batch.hash}`,
      brief: html`${rowsInWords(batch)} ${waits(batch.rows, 'an approval')}${of}.`,
      title: html`${rowsInWords(batch)} ${waits(batch.rows, 'an approval')}${of}`,
      text: html`${batch.reasons.map((reason) => html`${visible(reason)}. `)}${batch.editedAt === null ? none : html`Edited at ${at(batch.editedAt, now)}${batch.editors.length === 0 ? none : html` by ${named(listed(batch.editors))}`}. `}None of it was sent; all else goes on.`,
      ways: [
        {
          label: html`Look at them, or <a href="${to(context, `/waiting/${batch.hash}`, change)}">see all ${count(batch.rows)} here</a>`,
          command: commandOf(context, team.team, 'held'),
        },
        {
          label: html`Meant so: let them pass`,
          command: commandOf(context, team.team, `approve ${batch.hash} --reason '…'`),
        },
      ],
    })),
    ...missing.map(({ hash, resource, rows, reason }) => ({
      id: `missing-${hash}`,
      brief: html`${many(rows, 'missing row')} of ${resource.replace('_', ' ')} ${waits(rows, 'an approval')}${of}.`,
      title: html`${count(rows)} ${resource.replace('_', ' ')} are missing on the service${of}`,
      text: html`${visible(reason)}. None of them is called gone before somebody agrees.`,
      ways: [
        {
          label: html`They are really gone`,
          command: commandOf(context, team.team, `approve ${hash} --reason '…'`),
        },
      ],
    })),
  ];
}

const mostNamed = 3;

function singleThing(read: Glance, team: SeenTeam, context: PageContext): readonly ToDo[] {
  const singles = read.singles.filter(({ teamId }) => teamId === team.teamId);
  if (singles.length === 0) return [];
  const of = context.team === null ? html` in ${named(teamName(team))}` : none;
  const change = { team: context.teams.length > 1 ? team.team : null };
  // More than are read are not counted here, and the view says how many.
  const words = singles.length === 200 ? 'at least 200 fields' : many(singles.length, 'field');
  const isOne = singles.length === 1;
  const shown = singles.slice(0, mostNamed).map(({ userId, name, field, reason }) => {
    const who =
      userId === null
        ? html`many users`
        : html`<a href="${to(context, personPath(team.team, userId))}">${context.details && name ? named(name) : userId.toString()}</a>`;
    return html`The ${fieldName(field)} of ${who}: ${why[reason]}. `;
  });
  const rest = singles.length - mostNamed;
  return [
    {
      id: `held-${team.team}`,
      brief: html`${words} ${isOne ? 'is' : 'are'} held${of}.`,
      title: html`${words} ${isOne ? 'is' : 'are'} held${of}`,
      text: html`${shown}${rest > 0 ? html`And ${many(rest, 'more', 'more')}.` : none}`,
      ways: [
        {
          label: html`All values, and why; or <a href="${to(context, '/waiting', change)}">decide here</a>`,
          command: commandOf(context, team.team, 'held'),
        },
      ],
    },
  ];
}

/** In a copy nothing is decided, so that nothing waits for anybody. */
export function thingsToDo(read: Glance, context: PageContext): readonly ToDo[] {
  const of = (make: typeof staleThing) => read.teams.flatMap((team) => make(read, team, context));
  if (isCopy(context)) return of(staleThing);
  return [...of(staleThing), ...of(batchThings), ...of(singleThing)];
}
