/** The document around a view: head, header with teams and tabs, and foot. */
import type { SeenTeam } from '../read/page-reader.ts';
import { banner, isCopy } from './banner.ts';
import { filterForm, serviceName } from './components.ts';
import { type Html, html, none, raw } from './html.ts';
import { document } from './document.ts';
import { href, to } from './links.ts';
import { dot, icon } from './pills.ts';
import { type PageContext, type PageShown, type Tab, tabs } from './view.ts';
import { clockTime, count, exactTime, many, named, visible } from './words.ts';
import { showClock, shownZone } from '../../model/zone-time.ts';

const places: Readonly<Record<Tab, string>> = {
  'At a glance': '/',
  Waiting: '/waiting',
  Runs: '/runs',
  People: '/people',
  Counts: '/counts',
  Changes: '/changes',
};

/** The team's name in the settings, which is unique, followed by its name on the service. */
const bothNames = (team: SeenTeam): Html =>
  html`<b>${named(team.team)}</b>${serviceName(team) !== '' && html` <span class="dim on-service">${named(serviceName(team))}</span>`}`;

/** Sorts stale teams first, then teams by their number of waiting rows, then by the order in the settings. */
export function worstFirst({ teams, standings }: PageContext): readonly SeenTeam[] {
  const rank = ({ teamId }: SeenTeam) => {
    const { staleSince = null, waiting = 0 } = standings.get(teamId) ?? {};
    return [staleSince === null ? 0 : 1, waiting] as const;
  };
  return teams.toSorted((a, b) => {
    const [[isStale, waits], [wasStale, waited]] = [rank(a), rank(b)];
    return wasStale - isStale || waited - waits;
  });
}

function switcher(context: PageContext): Html {
  const { team, teams, standings, query } = context;
  if (teams.length < 2)
    return team === null
      ? none
      : html`<span class="quiet" aria-hidden="true">/</span><span class="team">${bothNames(team)}</span>`;
  const stateOf = ({ teamId }: SeenTeam): string => {
    const { staleSince = null, waiting = 0 } = standings.get(teamId) ?? {};
    if (staleSince !== null) return `: stale since ${clockTime(staleSince, context.now)}`;
    return waiting === 0 ? '' : `: ${many(waiting, 'thing waits', 'things wait')}`;
  };
  const choices = worstFirst(context).map((one) => {
    const others = serviceName(one) === '' ? '' : `, ${serviceName(one)}`;
    return html`<option value="${one.team}"${one.team === team?.team ? html` selected` : none}>${visible(`${one.team}${others}${stateOf(one)}`)}</option>`;
  });
  const inside = html`<select class="team" name="team" aria-label="Team"><option value="">All teams: ${count(teams.length)}</option>${choices}</select>`;
  const kept = [...query.keys()].filter((key) => !['team', 'page', 'note', 'ticks'].includes(key));
  return filterForm(context, { kept, inside, button: 'Show' });
}

function tabLinks(context: PageContext, current: Tab): Html {
  const { waiting } = context;
  const badge =
    waiting === 0
      ? none
      : html` <span class="${isCopy(context) ? 'badge calm' : 'badge'}" data-text><span aria-hidden="true">${count(waiting)}</span><span class="away">, ${many(waiting, 'thing waits', 'things wait')} for somebody</span></span>`;
  return html`<nav class="tabs" aria-label="Views"><ul>${tabs.map(
    (tab) =>
      html`<li><a href="${to(context, places[tab])}"${tab === current ? html` aria-current="page"` : none}>${tab}${tab === 'Waiting' ? badge : none}</a></li>`,
  )}</ul></nav>`;
}

function clock({ now, path, query }: PageContext): Html {
  return html`<p class="row dim live"><a href="${href({ path, query }, { page: query.get('page') })}" data-again>Load again</a>${dot}<span data-state hidden>Updates by itself</span> <time datetime="${now.toISOString()}" title="${exactTime(now)}">${showClock(now)} ${shownZone()}</time></p>`;
}

/** Puts the note about hidden details below the title of any view. */
const withoutDetails = (main: Html): Html => raw(main.toString().replace('</h1>', `</h1>${noDetails}`));
const noDetails = html`<p class="note">Instead of names, emails and phones this page shows ids, since <code>status.details</code> is off.</p>`;

/** @param links other pages of the server, for the foot */
export function layout(
  context: PageContext,
  current: Tab,
  content: PageShown,
  links: readonly string[],
): Html {
  const title = html`${content.title}${isCopy(context) ? ' · copy' : ''}`;
  const script = html`<script type="module" src="/assets/script.js"></script>`;
  const body = html`<a class="away" href="#main">Skip to the content</a>
<header class="top"><div class="wide">
<div class="row bar"><a class="row home" href="${to(context, '/')}"><img src="/assets/icon.svg" width="22" height="22" alt="">musterd</a>${switcher(context)}${isCopy(context) ? html`<span class="frame">copy</span>` : none}<span class="push"></span>${clock(context)}</div>
${tabLinks(context, current)}
</div></header>
<main id="main" class="wide" tabindex="-1">
<div class="notice banner" data-banner id="no-answer" role="status" hidden>${icon('alarm', 'act')}<p></p></div>
${banner(context)}
${context.note === undefined ? none : html`<div class="notice receipt" role="status" id="note"><p>${visible(context.note)}</p></div>`}
${context.details ? content.main : withoutDetails(content.main)}
</main>
<footer><div class="wide note"><p class="row"><span>musterd ${context.version}</span>${links.map((link) => html`<a href="/${link}">${link}</a>`)}<a href="/assets/guide.md">manual</a></p></div></footer>
<div class="away" aria-live="polite" data-said></div>`;
  return document(title, body, script);
}
