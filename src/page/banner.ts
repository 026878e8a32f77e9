/** What stands over every view where nothing is sent: that this is a copy, and what to do about it. */
import { type KnownPlace, type Placing, stillOf } from '../model/place.ts';
import { commandBox } from './components.ts';
import { type Html, html, none } from './html.ts';
import { icon } from './pills.ts';
import type { PageContext } from './view.ts';
import { clockTime, day, listed, many, named, visible } from './words.ts';

const address = (at: string): Html => html`<code>${visible(at)}</code>`;

/** Once each, however many machines have one of that name. */
function wasAt({ addresses }: KnownPlace): Html {
  const names = [...new Set(addresses.map(({ at }) => at))];
  if (names.length === 0) return html`a place that is not on record`;
  return html`${names.map((at, i) => html`${i === 0 ? '' : i === names.length - 1 ? ' or ' : ', '}${address(at)}`)}`;
}

function unsaid(context: PageContext, { known, here, until }: Placing): Html {
  const { now, waitingEdits } = context;
  const last = until === null ? '' : ` until ${clockTime(until, now)}`;
  const again = known?.addresses.some(({ at }) => at === here.address.at) === true;
  const is = again ? html`another one of that name` : html`at ${address(here.address.at)}`;
  const edits =
    waitingEdits === 0
      ? 'what is edited here waits and is'
      : `edits of ${many(waitingEdits, 'person', 'people')} wait and are`;
  return html`<div class="banner">${icon('copy', 'act')}<div><p><b>This is a copy. It reads, and sends nothing.</b> This mirror was at ${known === null ? none : wasAt(known)}${last}, and is ${is} now. Runs read the service and compare; ${edits} not sent.</p><div class="halves"><div><p class="label">It has moved for good: stop the other one first, then</p>${commandBox("musterd adopt --reason '…'")}</div><div><p class="label">It is meant as a copy: say so, and this turns grey</p>${commandBox("musterd adopt --as-copy --reason '…'")}</div></div></div></div>`;
}

function said({ now }: PageContext, { by, why, since }: KnownPlace): Html {
  const who = by === null ? none : html` Said by ${named(by)} on ${day(new Date(since), now)}`;
  const reason = why === null || why === '' ? html`.` : html`: “${visible(why)}”.`;
  return html`<div class="banner meant">${icon('copy')}<div><p><b>This is a copy, and is meant as one. It reads, and sends nothing.</b>${who}${reason} If it is to send: <code>musterd adopt --reason '…'</code></p></div></div>`;
}

export function placeBanner(context: PageContext): Html {
  const { placing } = context;
  const still = stillOf(placing);
  if (still === undefined) return none;
  return still === 'copy' && placing.known !== null ? said(context, placing.known) : unsaid(context, placing);
}

/** Beside the team, and in the browser's tab. */
export const isCopy = ({ placing }: PageContext): boolean => stillOf(placing) !== undefined;

/** Below the title of what waits: why nothing can be decided about it here. */
export const nothingDecided =
  'Nothing is decided in a copy: whatever is approved here would not be sent. What waits is shown as it was restored, and as it was edited since.';

/** What the first line of the page asks for. */
export const sayWhere = (teams: readonly string[]): string =>
  `Say whether this mirror has moved or is a copy. Until then ${listed(teams)} ${teams.length === 1 ? 'is' : 'are'} read, and nothing of it is sent.`;
