/* A little help where there is a script: copying, refreshing, filtering while typing. Everything works without it. */
const said = document.querySelector('[data-said]');
const live = document.querySelector('.live');
const banner = document.querySelector('[data-banner]');

function say(words) {
  if (said !== null && said.textContent !== words) said.textContent = words;
}

function showCopies() {
  for (const button of document.querySelectorAll('[data-copy]')) button.hidden = false;
}

async function copy(button) {
  const code = button.parentElement.querySelector('code');
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = 'Copied';
  } catch {
    getSelection().selectAllChildren(code);
    button.textContent = 'Selected';
  }
  say(button.textContent);
  setTimeout(() => {
    button.textContent = 'Copy';
  }, 2000);
}

/** Somebody is at work in it. */
function isBusy(element) {
  return element.contains(document.activeElement) && document.activeElement !== document.body;
}

function copyAttributes(now, next) {
  for (const { name, value } of next.attributes)
    if (now.getAttribute(name) !== value) now.setAttribute(name, value);
  for (const name of now.getAttributeNames()) if (!next.hasAttribute(name)) now.removeAttribute(name);
}

/** Makes `now` what `next` is: texts in place, and never what somebody types, ticks or has opened. */
function become(now, next) {
  if (now.nodeType !== Node.ELEMENT_NODE) {
    if (now.nodeValue !== next.nodeValue) now.nodeValue = next.nodeValue;
    return;
  }
  if (now.matches('input, select, textarea, details, [data-copy], [data-banner]')) return;
  copyAttributes(now, next);
  const mine = Array.from(now.childNodes);
  const theirs = Array.from(next.childNodes);
  const isAlike =
    mine.length === theirs.length && mine.every((one, i) => one.nodeName === theirs[i].nodeName);
  if (isAlike) for (const [i, one] of mine.entries()) become(one, theirs[i]);
  else if (!isBusy(now)) now.replaceChildren(...theirs);
}

let lastMs = Date.now();

function showAlive() {
  lastMs = Date.now();
  live.classList.add('on');
  live.querySelector('[data-state]').hidden = false;
  if (banner !== null) banner.hidden = true;
}

function showLate() {
  const minutes = Math.floor((Date.now() - lastMs) / 60000);
  if (minutes < 1 || banner === null) return;
  live.classList.remove('on');
  live.querySelector('[data-state]').hidden = true;
  const link = document.createElement('a');
  link.href = location.href;
  link.textContent = 'Load again';
  const age = minutes === 1 ? '1 minute' : `${minutes} minutes`;
  const words = `This page is ${age} old. The server does not answer, so what you see may have changed. `;
  banner.replaceChildren(words, link);
  banner.hidden = false;
}

let asking;

async function refresh() {
  asking?.abort();
  asking = new AbortController();
  try {
    const response = await fetch(location.href, { signal: asking.signal, headers: { accept: 'text/html' } });
    if (!response.ok) return;
    const next = new DOMParser().parseFromString(await response.text(), 'text/html');
    const before = document.querySelector('h1')?.textContent;
    for (const part of ['main', '.tabs', '.live time']) {
      const now = document.querySelector(part);
      const then = next.querySelector(part);
      if (now !== null && then !== null) become(now, then);
    }
    document.title = next.title;
    showCopies();
    const heading = document.querySelector('h1')?.textContent;
    if (heading !== before) say(heading);
    showAlive();
  } catch (error) {
    if (error.name !== 'AbortError') showLate();
  }
}

function refreshIfSeen() {
  if (document.visibilityState === 'visible') void refresh();
}

let typed;

/** What is typed into a filter is asked for after a moment, as if the form had been sent. */
function filterSoon(form) {
  clearTimeout(typed);
  typed = setTimeout(() => {
    const given = Array.from(new FormData(form)).filter(([, value]) => value !== '');
    const next = new URL(location.href);
    next.search = new URLSearchParams(given).toString();
    history.replaceState(null, '', next);
    void refresh();
  }, 250);
}

showCopies();
document.addEventListener('click', (event) => {
  const button = event.target.closest?.('[data-copy]');
  if (button) void copy(button);
});
document.addEventListener('input', (event) => {
  const form = event.target.closest?.('form[data-filter]');
  if (form) filterSoon(form);
});
// A page with a form that decides stays as it was read.
if (live !== null && document.querySelector('[data-still]') === null) {
  const events = new EventSource('/events');
  events.addEventListener('open', showAlive);
  events.addEventListener('alive', showAlive);
  events.addEventListener('changed', refreshIfSeen);
  setInterval(showLate, 5000);
  document.addEventListener('visibilitychange', refreshIfSeen);
}
