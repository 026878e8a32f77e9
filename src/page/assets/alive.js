/* Watches whether musterd answers. If it does not, the page shows how old it is, and disables the buttons that decide. */
export const live = document.querySelector('.live');
const banner = document.querySelector('[data-banner]');

let lastMs = Date.now();

/** @param refresh reloads the content, which can have changed while musterd did not answer */
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

/** Shows the time of the page's content, which may be out of date by now, and disables the buttons that decide. */
function showAsOf() {
  for (const one of document.querySelectorAll('[data-now], [data-late]')) one.hidden = 'now' in one.dataset;
  for (const button of decidingButtons()) {
    button.disabled = true;
    button.setAttribute('aria-describedby', banner.id);
  }
  for (const time of document.querySelectorAll('main time'))
    if (/ (s|min|hours?) ago$|^just now$/.test(time.textContent))
      time.textContent = `at ${time.title.slice(11, 19)}`;
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
