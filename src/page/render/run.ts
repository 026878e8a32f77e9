/** The view of one run: its outcome and reasons, the changes that it made, and the requests that it sent. */
import type { OpenRun } from '../read/page-runs.ts';
import { changesTable } from './ledger-view.ts';
import { heading, numbers, section, table } from './components.ts';
import { takeBack } from './decide-form.ts';
import { type Html, html, none } from './html.ts';
import { to } from './links.ts';
import { movedBy, movedInWords, outcomePill, tookMs, whatOf } from './run-words.ts';
import type { PageContext, PageShown } from './view.ts';
import { at, capital, count, many, took, visible } from './words.ts';

function requests({ endpoints, requests: all, requestIds: ids }: OpenRun, context: PageContext): Html {
  const rows = Object.entries(endpoints).map(
    ([endpoint, { requests: sent, slowest_ms: ms, throttled, failed }]) => ({
      cells: [html`<code>${endpoint}</code>`, count(sent), took(ms), count(throttled), count(failed)],
    }),
  );
  const columns = numbers('Endpoint', 'Sent', 'Slowest', 'Told to wait', 'Failed');
  const byEndpoint =
    rows.length === 0
      ? none
      : table(context, { caption: 'Requests by endpoint', kind: 'few', columns, rows });
  const written =
    ids.length === 0
      ? none
      : html`<div class="card"><h3>X-Request-Ids of the writes</h3><ul>${ids.map((id) => html`<li><code>${visible(id)}</code></li>`)}</ul></div>`;
  return section(`Requests: ${count(all)}`, html`<div class="stack">${byEndpoint}${written}</div>`);
}

export function oneRun(run: OpenRun, context: PageContext): PageShown {
  const title = `Run ${count(run.runId)}`;
  const ms = tookMs(run);
  const text = html`${whatOf(run)} · began at ${at(run.startedAt, context.now, true)}${ms === null ? none : html` · took ${took(ms)}`} · ${many(run.requests, 'request')}`;
  const then =
    run.outcome === 'refused'
      ? html`To decide: <a href="${to(context, '/waiting')}">${count(run.waiting)}</a>; the next run does everything else.`
      : 'The next run goes on with what was left.';
  const why =
    run.reasons.length === 0
      ? none
      : html`<div>${run.reasons.map((reason) => html`<p>${visible(capital(reason))}.</p>`)}<p class="note">${then}</p></div>`;
  const back = movedBy(run) === 0 ? none : takeBack(context, run.team, run.runId);
  const more = html`<a href="${to(context, '/changes', { run: run.runId.toString() })}">Changes of this run</a>`;
  const moves =
    run.moves.length === 0
      ? html`<p class="note">No field of a user.</p>`
      : changesTable(context, 'What it moved', run.moves);
  const way = html`<p class="note"><a href="${to(context, '/runs')}">Runs</a></p>`;
  return {
    title,
    main: html`${heading(title, text, way)}<div class="card stack"><p class="row">${outcomePill(run)}<span>Moved: ${movedInWords(run)}</span></p>${why}${back}</div>${section('What it moved', moves, { more })}${requests(run, context)}`,
  };
}
