/** The view Runs: the runs of the last thirty days, from `report.runs`. */
import { sql } from 'kysely';
import type { PageRun } from '../read/page-runs.ts';
import { runColumns } from '../read/page-runs.ts';
import { teamCells } from '../render/components.ts';
import { html } from '../render/html.ts';
import { to } from '../render/links.ts';
import { type List, listView } from './list.ts';
import { movedInWords, outcomePill, tookMs, whatOf } from '../render/run-words.ts';
import { at, count, took } from '../render/words.ts';

export const runsList: List<PageRun> = {
  path: '/runs',
  tab: 'Runs',
  title: 'Runs',
  from: ({ teams }, { q }) => sql`(
    select ${runColumns}, case when outcome = 'complete' then outcome else 'broken' end as state from report.runs
    where team = any (${teams.map(({ team }) => team)}::text[]) and started_at > now() - interval '30 days'
      and (${q} in ('', run_id::text) or strpos(lower(array_to_string(reasons, ' ')), lower(${q})) > 0))`,
  order: '-run',
  last: () => [sql`r."runId"`],
  columns: [
    {
      label: 'Run',
      sort: ['run', sql`r."runId"`],
      cell: ({ runId }, context) => html`<a href="${to(context, `/runs/${runId}`)}">${count(runId)}</a>`,
    },
    { label: 'Began', cell: ({ startedAt }, { now }) => at(startedAt, now, true) },
    {
      label: 'Team',
      if: ({ team }) => team === null,
      cell: (row, context) => html`${teamCells(context, row.teamId)}`,
    },
    { label: 'What', cell: whatOf },
    { label: 'Outcome', cell: outcomePill },
    {
      label: 'Moved',
      cell: (run) => `${movedInWords(run)}${run.waiting > 0 ? `; to decide: ${count(run.waiting)}` : ''}`,
    },
    {
      label: 'Took',
      isNumber: true,
      sort: ['took', sql`r."finishedAt" - r."startedAt"`],
      cell: (run) => {
        const ms = tookMs(run);
        return ms === null ? '–' : took(ms);
      },
    },
    {
      label: 'Requests',
      isNumber: true,
      sort: ['requests', sql`r.requests`],
      cell: ({ requests }) => count(requests),
    },
  ],
  states: {
    all: { label: 'All', has: ['complete', 'broken'] },
    broken: { label: 'Not complete', has: ['broken'] },
  },
  hint: () => 'Run number, or words from the reason',
  lead: (counts) =>
    `In 30 days: ${count((counts.get('complete') ?? 0) + (counts.get('broken') ?? 0))}, not complete ${count(counts.get('broken') ?? 0)}.`,
  none: 'Older ones are in report.runs, and at /runs/ with their number.',
  csv: () => ({
    run_id: (run) => run.runId,
    team: (run) => run.team,
    command: (run) => run.command,
    groups: (run) => run.groups.join(' '),
    started_at: (run) => run.startedAt,
    finished_at: (run) => run.finishedAt,
    outcome: (run) => run.outcome,
    reasons: (run) => run.reasons.join('; '),
    moved: movedInWords,
    waiting: (run) => run.waiting,
    requests: (run) => run.requests,
  }),
};

export const runs = listView(runsList);
