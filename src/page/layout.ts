/** The document around a view: head, header with teams and tabs, foot. */
import { isCopy, placeBanner } from './banner.ts';
import { type Html, html, none } from './html.ts';
import { href, to } from './links.ts';
import { type PageContext, type PageShown, type Tab, tabs } from './view.ts';
import { count, exactTime, many, named } from './words.ts';

const places: Readonly<Record<Tab, string>> = {
  'At a glance': '/',
  Waiting: '/waiting',
  Runs: '/runs',
  People: '/people',
  Counts: '/counts',
  Changes: '/changes',
};

/** How a team is called for people: by the service's name of it, else by that in the settings. */
export const teamName = ({ name, team }: { readonly name: string | null; readonly team: string }): string =>
  name === null || name === '' ? team : name;

/** The settings' name, which no other team has, and the service's beside it. */
const bothNames = ({ name, team }: { readonly name: string | null; readonly team: string }): Html =>
  html`${named(team)}${name === null || name === '' || name === team ? none : html` <span class="quiet">${named(name)}</span>`}`;

const brand = html`<svg class="brand" width="22" height="22" viewBox="0 0 22 22" aria-hidden="true"><rect width="22" height="22" rx="5"/><path d="M5 8.5h11M13 5.5l3 3-3 3M17 14H6M9 11l-3 3 3 3"/></svg>`;

function switcher(context: PageContext): Html {
  const { team, teams } = context;
  if (teams.length < 2)
    return team === null
      ? none
      : html`<span class="slash" aria-hidden="true">/</span><span class="team">${bothNames(team)}</span>`;
  const choices = [null, ...teams].map((one) => {
    const isCurrent = one?.team === team?.team;
    const words = one === null ? html`All teams` : bothNames(one);
    return html`<li><a href="${href(context, { team: one?.team ?? null, open: null })}"${isCurrent ? html` aria-current="true"` : none}>${words}</a></li>`;
  });
  return html`<span class="slash" aria-hidden="true">/</span><details class="team"><summary>${team === null ? 'All teams' : bothNames(team)}</summary><ul>${choices}</ul></details>`;
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
  return html`<p class="live"><a href="${href({ path, query }, {})}" data-again>Load again</a><span class="dot" aria-hidden="true"></span><span data-state hidden>Updates by itself</span> <time datetime="${now.toISOString()}" title="${exactTime(now)}">${now.toISOString().slice(11, 19)} UTC</time></p>`;
}

const noDetails = html`<p class="note">Instead of names, emails and phones this page shows ids, since <code>status.details</code> is off.</p>`;

/** @param links what the server has besides the page, in the foot */
export function layout(context: PageContext, current: Tab, shown: PageShown, links: readonly string[]): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${shown.title}${isCopy(context) ? ' · copy' : ''} · musterd</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="preload" href="/assets/inter-latin.woff2" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="/assets/style.css">
<script type="module" src="/assets/script.js"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top"><div class="wide">
<div class="bar"><a class="home" href="${to(context, '/')}">${brand}<span>musterd</span></a>${switcher(context)}${isCopy(context) ? html`<span class="frame">copy</span>` : none}<span class="push"></span>${clock(context)}</div>
${tabLinks(context, current)}
</div></header>
<main id="main" class="wide" tabindex="-1">
<div class="banner" data-banner role="status" hidden></div>
${placeBanner(context)}
${shown.main}
</main>
<footer><div class="wide">${context.details ? none : noDetails}<p><span>musterd ${context.version}</span><span>Times are UTC</span>${links.map((link) => html`<a href="/${link}">${link}</a>`)}</p></div></footer>
<div class="away" aria-live="polite" data-said></div>
</body>
</html>
`;
}
