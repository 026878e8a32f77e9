/** The pages that are shown for errors. */
import { document } from './document.ts';
import { type Html, html } from './html.ts';

const words: Readonly<Record<number, readonly [string, string]>> = {
  401: ['Who are you?', 'Enter your name, and your token from status.people as the password.'],
  403: [
    'Not from here',
    'Without status.people, only the machine that runs this page can open it. A form is accepted only from this page, and only until the server restarts.',
  ],
  404: ['There is no such page', 'It may be gone, or this role may not see its team.'],
  400: [
    'This request cannot be read',
    'It contains something that no page of musterd sends. Nothing was decided; go back, and load the page again.',
  ],
  413: ['This form is too long', 'No form of this page is this long. Nothing was decided.'],
  429: ['Too many attempts', 'Wait a minute, then try again.'],
  42501: [
    'This role may not read that',
    'The page reads with the rights of the role that musterd connects as. docs/operations.md says what this view needs.',
  ],
  503: [
    'Nothing to show now',
    'The database cannot be reached, or did not answer in time. Nothing is lost; try again.',
  ],
};

export function sorryPage(status: number): Html {
  const [title, text] = words[status] ?? words[status < 500 ? 404 : 503] ?? ['', ''];
  return document(
    html`${title}`,
    html`<main class="wide"><header class="heading"><h1>${title}</h1><p class="lead">${text}</p></header><p><a href="/">At a glance</a></p></main>`,
  );
}
