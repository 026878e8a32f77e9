/* Refreshes the page, and ticks all rows of a list at once. Without this script, the page works except for these two. */
import { live, showAlive, showLate } from './alive.js';

const announcement = document.querySelector('[data-said]');

function say(words) {
  if (announcement !== null && announcement.textContent !== words) announcement.textContent = words;
}

/** True if the keyboard focus is in this element, so that replacing its content would disturb the viewer. */
function isBusy(element) {
  return element.contains(document.activeElement) && document.activeElement !== document.body;
}

function copyAttributes(now, next) {
  for (const { name, value } of next.attributes)
    if (now.getAttribute(name) !== value) now.setAttribute(name, value);
  for (const name of now.getAttributeNames()) if (!next.hasAttribute(name)) now.removeAttribute(name);
}

/** Updates the element `now` to look like `next`. It leaves inputs, and sections that the viewer can open, unchanged. */
function become(now, next) {
  if (now.nodeType !== Node.ELEMENT_NODE) {
    if (now.nodeValue !== next.nodeValue) now.nodeValue = next.nodeValue;
    return;
  }
  if (now.matches('input, select, textarea, details, [data-banner]')) return;
  copyAttributes(now, next);
  const mine = Array.from(now.childNodes);
  const theirs = Array.from(next.childNodes);
  const isAlike =
    mine.length === theirs.length && mine.every((one, i) => one.nodeName === theirs[i].nodeName);
  if (isAlike) for (const [i, one] of mine.entries()) become(one, theirs[i]);
  else if (!isBusy(now)) now.replaceChildren(...theirs);
}

/** True if a form for decisions is open. It must stay as the viewer read it, so only parts around it are updated. */
const isStill = () => document.querySelector('[data-still]:not(details:not([open]) *)') !== null;

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
    const heading = document.querySelector('h1')?.textContent;
    if (heading !== before) say(heading);
    showAlive(refresh);
  } catch (error) {
    if (error.name !== 'AbortError') showLate();
  }
}

/** While edits of the last decision are still being sent, refreshes the page every second to show their outcome. */
async function follow() {
  if (document.visibilityState === 'visible' && document.querySelector('#receipt[data-live]') !== null)
    await refresh();
  setTimeout(follow, 1000);
}

function refreshIfSeen() {
  if (document.visibilityState === 'visible') void refresh();
}

function tickAll(list, isTicked) {
  for (const tick of list.querySelectorAll('[type="checkbox"][name="row"]')) tick.checked = isTicked;
}

document.addEventListener('click', (event) => {
  const link = event.target.closest?.('[data-ticks]');
  if (link) {
    event.preventDefault();
    tickAll(link.closest('form'), link.dataset.ticks === 'all');
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
