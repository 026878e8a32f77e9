/** The card for missing rows, and the parts of every card of what waits. */
import type { SeenTeam } from '../read/page-reader.ts';
import type { MissingRows } from '../read/page-waiting.ts';
import { isCopy } from './banner.ts';
import { choice } from './components.ts';
import { mayDecide, postForm } from './decide.ts';
import { type Html, html, none } from './html.ts';
import { teamName } from './layout.ts';
import { commandOf } from './links.ts';
import { type PageContext, teamOf } from './view.ts';
import { at, capital, count, named, span, visible } from './words.ts';

export const inTeam = (context: PageContext, team: SeenTeam): Html =>
  context.team === null ? html` in ${named(teamName(team))}` : none;

/** The card is red if somebody has to do something, which in a copy nobody has. */
export const cardOf = (context: PageContext): string =>
  isCopy(context) ? 'card flush batch' : 'card flush act-bar batch';

export const since = (context: PageContext, when: Date): Html =>
  html`<p class="note since">since ${at(when, context.now)}<br>${span(context.now.getTime() - when.getTime())}</p>`;

export function missingCard(missing: MissingRows, context: PageContext): Html {
  const team = teamOf(context, missing.teamId);
  const what = missing.resource.replace('_', ' ');
  const { hash, rows } = missing;
  const path = `/waiting/${hash}`;
  const button =
    context.decide === null || !mayDecide(context, team.team)
      ? none
      : postForm(
          context.decide,
          path,
          { team: team.team, rows: String(rows) },
          html`<button class="button main" name="verb" value="Approve">Approve ${count(rows)}…</button>`,
        );
  const way = choice(
    'They are really gone',
    'the next complete run marks them as gone, if they are still missing',
    commandOf(context, team.team, `approve ${hash} --reason '…'`),
    button,
  );
  return html`<section class="${cardOf(context)}" id="${`missing-${hash}`}">
<div class="part row between head"><div><h2 class="h3">${count(rows)} ${what} are missing on the service${inTeam(context, team)}</h2><p class="dim">${visible(capital(missing.reason))}. None of them is marked as gone before somebody agrees; they stay in the mirror.</p></div>${since(context, missing.since)}</div>
${isCopy(context) ? none : way}
</section>`;
}
