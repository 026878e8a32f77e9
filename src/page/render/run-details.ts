/** All that is known about one run: why it ended, what it moved, and which requests it made. */
import type { ChangeRow } from '../read/page-changes.ts';
import type { OpenRun } from '../read/page-runs.ts';
import { fromAndTo } from './change-row.ts';
import { commandBox, person, table } from './components.ts';
import { fieldName } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { commandOf, to } from './links.ts';
import { movedBy, movedInWords } from './run-words.ts';
import type { PageContext } from './view.ts';
import { capital, count, many, took, visible } from './words.ts';

function reasons({ reasons: all, outcome, waiting }: OpenRun): Html {
  if (all.length === 0)
    return outcome === 'complete'
      ? none
      : html`<h2 class="h3">Why it ended</h2><p class="note">It is under way.</p>`;
  const then =
    outcome === 'refused'
      ? `${many(waiting, 'thing waits', 'things wait')} for a person; the next run does everything else.`
      : 'The next run goes on with what was left.';
  return html`<h2 class="h3">Why it ended ${outcome === 'refused' ? 'so' : 'early'}</h2><blockquote>${all.map((reason) => html`<p>${visible(capital(reason))}.</p>`)}<p class="note">${then}</p></blockquote>`;
}

function requests({ endpoints, requests: all }: OpenRun, context: PageContext): Html {
  if (endpoints.length === 0)
    return html`<h2 class="h3">Requests: ${count(all)}</h2><p class="note">They are kept by endpoint only for later runs.</p>`;
  const rows = endpoints.map((endpoint) => {
    const answers = [
      ...(endpoint.throttled > 0 ? [`${endpoint.throttled} told to wait (429)`] : []),
      ...(endpoint.failed > 0 ? [`${endpoint.failed} failed`] : []),
    ];
    const sent = [count(endpoint.requests), took(endpoint.slowestMs)];
    return { cells: [html`<code>${endpoint.endpoint}</code>`, ...sent, answers.join(', ') || 'all taken'] };
  });
  const columns = [
    { label: 'Endpoint' },
    { label: 'Sent', isNumber: true },
    { label: 'Slowest', isNumber: true },
    { label: 'Answers' },
  ];
  return html`<h2 class="h3">Requests: ${count(all)}</h2>${table(context, { caption: 'Requests by endpoint', kind: 'few', columns, rows })}`;
}

function requestIds({ requestIds: ids }: OpenRun): Html {
  return ids.length === 0
    ? html`<h2 class="h3">X-Request-Ids of the writes</h2><p class="note">None: nothing was written. Reads are logged with theirs at level debug.</p>`
    : html`<h2 class="h3">X-Request-Ids of the writes</h2><ul class="stack tight">${ids.map((id) => html`<li><code>${visible(id)}</code></li>`)}</ul>`;
}

function moveLine(move: ChangeRow, context: PageContext): Html {
  const name = person(context, move.team_id, { id: move.user_id ?? 0n, name: move.name });
  if (move.field === null || move.kind === 'hold')
    return html`<li>${name}: ${move.kind === 'hold' ? 'held' : move.kind}${move.field === null ? none : html` ${fieldName(move.field)}`}</li>`;
  const [before, after] = fromAndTo(context, move);
  const outcome = move.outcome === null ? none : html` <span class="quiet">${move.outcome}</span>`;
  return html`<li>${name}: ${fieldName(move.field)} ${move.kind}, <span class="quiet">${before}</span> → ${after}${outcome}</li>`;
}

const linesShown = 12;

function moves(run: OpenRun, context: PageContext): Html {
  const all = movedBy(run);
  const lines = run.moves.filter(({ kind }) => kind !== 'adopt').slice(0, linesShown);
  return html`<h2 class="h3">What it moved</h2><p class="note">${movedInWords(run)}</p>${lines.length === 0 ? none : html`<ul class="stack tight">${lines.map((move) => moveLine(move, context))}</ul>`}<p class="row buttons">${run.outcome === 'refused' ? html`<a class="button main" href="${to(context, '/waiting')}">Look at what waits</a>` : none}<a class="button" href="${to(context, '/changes', { run: run.runId.toString() })}">Changes of this run</a></p>${all === 0 ? none : html`<p class="label">What taking it back would come to; nothing is written by that</p>${commandBox(commandOf(context, run.team, `undo ${run.runId}`))}`}`;
}

export const runDetails = (run: OpenRun, context: PageContext): Html =>
  html`<div class="halves details"><div class="stack tight">${reasons(run)}${moves(run, context)}</div><div class="stack tight">${requests(run, context)}${requestIds(run)}</div></div>`;
