/* Copying and refreshing. Without a script everything works except for these. */
import { live, showAlive, showLate } from './alive.js';

const announcement = document.querySelector('[data-said]');

function say(words) {
  if (announcement !== null && announcement.textContent !== words) announcement.textContent = words;
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

/** Whether somebody is working in it. */
function isBusy(element) {
  return element.contains(document.activeElement) && document.activeElement !== document.body;
}

function copyAttributes(now, next) {
  for (const { name, value } of next.attributes)
    if (now.getAttribute(name) !== value) now.setAttribute(name, value);
  for (const name of now.getAttributeNames()) if (!next.hasAttribute(name)) now.removeAttribute(name);
}

/** Updates `now` to look like `next`: it changes texts in place, and never what somebody types, ticks or has opened. */
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

/** A form that decides stays as it was read; only the page around it changes. */
const isStill = () => document.querySelector('[data-still]:not(details:not([open]) *)') !== null;

const aTick = 'input[type="checkbox"][name="row"]';
const ticksIn = (list) => Array.from(list.querySelectorAll(aTick));

let asking;

async function refresh() {
  asking?.abort();
  asking = new AbortController();
  try {
    const response = await fetch(location.href, { signal: asking.signal, headers: { accept: 'text/html' } });
    if (!response.ok) return;
    const next = new DOMParser().parseFromString(await response.text(), 'text/html');
    const before = document.querySelector('h1')?.textContent;
    const always = ['.tabs', '.live time'];
    const still = ['#receipt', '[aria-label="Decided last"]', ...always];
    for (const part of isStill() ? still : ['main', ...always]) {
      const now = document.querySelector(part);
      const then = next.querySelector(part);
      if (now !== null && then !== null) become(now, then);
    }
    document.title = next.title;
    showCopies();
    const heading = document.querySelector('h1')?.textContent;
    if (heading !== before) say(heading);
    showAlive(refresh);
  } catch (error) {
    if (error.name !== 'AbortError') showLate();
  }
}

/** Asks each second what became of a decision while any part of it is on its way. */
async function follow() {
  if (document.visibilityState === 'visible' && document.querySelector('#receipt[data-live]') !== null)
    await refresh();
  setTimeout(follow, 1000);
}

function refreshIfSeen() {
  if (document.visibilityState === 'visible') void refresh();
}

function tickAll(list, isTicked) {
  for (const tick of ticksIn(list)) tick.checked = isTicked;
}

let lastTick;

/** A click with Shift gives all ticks from the last one to this one the state of this one. */
function tickRange(tick) {
  const all = ticksIn(tick.form);
  const [from, to] = [all.indexOf(lastTick), all.indexOf(tick)].toSorted((a, b) => a - b);
  if (from >= 0) for (const one of all.slice(from, to + 1)) one.checked = tick.checked;
}

/** On a phone the tab of the view may be out of sight. */
function showTab() {
  const tab = document.querySelector('.tabs [aria-current]');
  const list = tab?.closest('ul');
  if (list) list.scrollLeft = tab.offsetLeft + tab.offsetWidth + 32 - list.offsetLeft - list.clientWidth;
}

showCopies();
showTab();
document.addEventListener('click', (event) => {
  const button = event.target.closest?.('[data-copy]');
  if (button) void copy(button);
  const link = event.target.closest?.('[data-ticks]');
  if (link) {
    event.preventDefault();
    tickAll(link.closest('form'), link.dataset.ticks === 'all');
  }
  if (event.target.matches?.(aTick)) {
    if (event.shiftKey) tickRange(event.target);
    lastTick = event.target;
  }
});
document.addEventListener('input', (event) => {
  if (event.target.name === 'at') event.target.form.querySelector('[value="at"]').checked = true;
});
if (live !== null) {
  const events = new EventSource('/events');
  events.addEventListener('open', () => showAlive(refresh));
  events.addEventListener('alive', () => showAlive(refresh));
  events.addEventListener('changed', refreshIfSeen);
  setInterval(showLate, 5000);
  setTimeout(follow, 1000);
  document.addEventListener('visibilitychange', refreshIfSeen);
}
