/* Whether musterd answers: when it does not, nothing on the page is claimed of now, and nothing is decided. */
export const live = document.querySelector('.live');
const banner = document.querySelector('[data-banner]');

let lastMs = Date.now();

/** @param refresh loads again what may have changed while nobody answered */
export function showAlive(refresh) {
  lastMs = Date.now();
  live.classList.add('on');
  live.querySelector('[data-state]').hidden = false;
  if (banner === null || banner.hidden) return;
  banner.hidden = true;
  for (const button of decidingButtons()) {
    button.disabled = false;
    button.removeAttribute('aria-describedby');
  }
  void refresh();
}

const decidingButtons = () => document.querySelectorAll('form[method="post"] button');

/** What was seen may not be so any more: nothing is decided about it, and nothing is claimed of now. */
function showAsOf() {
  for (const one of document.querySelectorAll('[data-now], [data-late]')) one.hidden = 'now' in one.dataset;
  for (const button of decidingButtons()) {
    button.disabled = true;
    button.setAttribute('aria-describedby', banner.id);
  }
  for (const time of document.querySelectorAll('main time'))
    if (/ (s|min|hours?) ago$|^just now$/.test(time.textContent))
      time.textContent = `at ${time.dateTime.slice(11, 19)}`;
  const title = document.querySelector('.verdict h1');
  if (title !== null && !title.textContent.includes(', as of '))
    title.textContent += `, as of ${live.querySelector('time').textContent.slice(0, 5)}`;
}

export function showLate() {
  const minutes = Math.floor((Date.now() - lastMs) / 60000);
  if (minutes < 1 || banner === null) return;
  showAsOf();
  live.classList.remove('on');
  live.querySelector('[data-state]').hidden = true;
  banner.hidden = false;
  const words = `This page is ${minutes === 1 ? '1 minute' : `${minutes} minutes`} old.`;
  if (banner.textContent.includes(words)) return;
  const [age, link] = [document.createElement('b'), document.createElement('a')];
  age.textContent = words;
  link.href = location.href;
  link.textContent = 'Load again';
  const rest = ' musterd does not answer, so what you see may have changed. ';
  banner.querySelector('p').replaceChildren(age, rest, link);
}
