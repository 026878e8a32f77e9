/** Runs: a list, of which those that moved nothing are left out at first. */
import type { OpenRun, PageRun, RunsRead } from '../read/page-runs.ts';
import {
  chips,
  csvChip,
  empty,
  heading,
  table,
  type TableRow,
  teamCells,
  teamColumns,
} from './components.ts';
import { html, none } from './html.ts';
import { csvOf, href, to } from './links.ts';
import { runDetails } from './run-details.ts';
import { movedInWords, outcomePill, tookMs, weightOf, whatOf } from './run-words.ts';
import { type Csv, csvFrom, type PageContext, type PageShown } from './view.ts';
import { at, count, dayBand, many, took } from './words.ts';

const kinds = {
  worth: { label: 'Worth a look', fits: (run: PageRun) => weightOf(run) !== 'idle' },
  broken: {
    label: 'Not complete',
    fits: (run: PageRun) => ['broken', 'act'].includes(weightOf(run)),
  },
  edits: { label: 'Edits', fits: ({ groups }: PageRun) => groups.includes('edits') },
  all: { label: 'All', fits: () => true },
} as const;
type Kind = keyof typeof kinds;

const kindOf = ({ query }: PageContext): Kind => {
  const stateWord = query.get('state') ?? 'worth';
  return Object.hasOwn(kinds, stateWord) ? (stateWord as Kind) : 'worth';
};

function runRow(run: PageRun, context: PageContext, isOpen: boolean): TableRow {
  const ms = tookMs(run);
  const id = run.runId.toString();
  const waits = run.outcome === 'refused' && run.waiting > 0 ? `; ${count(run.waiting)} wait` : '';
  const link = isOpen ? href(context, { open: null }) : `${href(context, { open: id })}#run-${id}`;
  return {
    id: `run-${id}`,
    ...(isOpen ? { tone: 'open' as const } : {}),
    cells: [
      html`<a href="${link}" aria-expanded="${String(isOpen)}">${count(run.runId)}</a>`,
      at(run.startedAt, context.now, true),
      ...teamCells(context, run.teamId),
      whatOf(run),
      outcomePill(run),
      `${movedInWords(run)}${waits}`,
      ms === null ? '–' : took(ms),
      count(run.requests),
    ],
  };
}

/** The rows of the table that fit the filter. Days are bands. */
function rowsOf(runs: readonly PageRun[], open: OpenRun | null, context: PageContext): readonly TableRow[] {
  return runs.flatMap((run, i) => {
    const isOpen = open?.runId === run.runId;
    const before = runs[i - 1];
    const band = dayBand(run.startedAt, context.now);
    const isNew = before === undefined || dayBand(before.startedAt, context.now) !== band;
    const inside = isOpen && open !== null ? [{ inside: runDetails(open, context) }] : [];
    return [...(isNew ? [{ band }] : []), runRow(run, context, isOpen), ...inside];
  });
}

const share = (sorted: readonly number[], part: number) => sorted[Math.floor(sorted.length * part)] ?? 0;

function summary({ runs, isRecent }: RunsRead): string {
  if (!isRecent) return 'Older runs, the newest first.';
  const users = runs.filter(({ groups }) => groups.includes('users'));
  const countOf = (outcome: string) => users.filter((run) => run.outcome === outcome).length;
  const times = users.flatMap((run) => tookMs(run) ?? []).toSorted((a, b) => a - b);
  const outcomes = [
    [countOf('complete'), 'complete'],
    [countOf('partial'), 'partial'],
    [countOf('failed'), 'failed'],
    [countOf('refused'), 'stopped by the guard'],
    [countOf('running'), 'under way'],
  ] as const;
  const words = outcomes.flatMap(([number, word]) => (number > 0 ? [`${count(number)} ${word}`] : []));
  const pace =
    times.length < 2
      ? ''
      : ` Half took less than ${took(share(times, 0.5))}, and 95 of 100 less than ${took(share(times, 0.95))}.`;
  return `In 24 hours ${many(users.length, 'run')} of the users${words.length === 0 ? '' : `: ${words.join(', ')}`}.${pace}`;
}

export function runsPage(read: RunsRead, context: PageContext): PageShown {
  const { runs, isRecent } = read;
  const title = 'Runs';
  const head = heading(title, summary(read));
  if (runs.length === 0) {
    const text = isRecent ? 'In the last 24 hours there was none.' : 'There are none before that.';
    return {
      title,
      main: html`${head}${empty('dashed', 'No run to show', text, html`<p><a href="${href(context, { before: '999999999999999999' })}">Older runs</a></p>`)}`,
    };
  }
  const chip = (kind: Kind) => ({
    label: kinds[kind].label,
    count: runs.filter(kinds[kind].fits).length,
    href: href(context, { state: kind === 'worth' ? null : kind, open: null }),
    isCurrent: kindOf(context) === kind,
  });
  const columns = [
    { label: 'Run' },
    { label: 'Began' },
    ...teamColumns(context),
    { label: 'What' },
    { label: 'Outcome' },
    { label: 'Moved' },
    { label: 'Took', isNumber: true },
    { label: 'Requests', isNumber: true },
  ];
  const { open } = read;
  const fits = (run: PageRun) => kinds[kindOf(context)].fits(run);
  const shown = runs.filter((run) => fits(run) || run.runId === open?.runId);
  const last = runs.at(-1);
  const foot = html`<span>Shown: ${count(shown.length)} of ${many(runs.length, 'run')}${isRecent ? ' of the last 24 hours' : ''}</span><span class="push"></span>${last === undefined ? none : html`<a href="${href(context, { before: last.runId.toString(), open: null })}">Older runs</a>`}`;
  return {
    title,
    main: html`${head}${chips('Which runs', (Object.keys(kinds) as Kind[]).map(chip), csvChip(csvOf(context)))}${table(context, { caption: 'Runs, the newest first', columns, rows: shown.length === 0 ? [{ band: 'There was no run of this kind.' }] : rowsOf(shown, open, context), foot })}`,
  };
}

export function oneRun(run: OpenRun, context: PageContext): PageShown {
  const back = html`<p class="note"><a href="${to(context, '/runs')}">Runs</a></p>`;
  const title = `Run ${count(run.runId)}`;
  const ms = tookMs(run);
  const text = html`${whatOf(run)} · began at ${at(run.startedAt, context.now, true)}${ms === null ? none : html` · took ${took(ms)}`} · ${many(run.requests, 'request')}`;
  return {
    title,
    main: html`${heading(title, text, back)}<p>${outcomePill(run)}</p><div class="card">${runDetails(run, context)}</div>`,
  };
}

export const runsCsv = ({ runs }: RunsRead): Csv =>
  csvFrom(runs, {
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
  });
