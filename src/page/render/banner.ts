/** The banner above every view if nothing is sent (a copy, or no daemon running), with the commands to type then. */
import { lastSign } from '../../model/daemons.ts';
import { type KnownPlace, type Placing, sendBlockOf } from '../../model/place.ts';
import { commandBox } from './components.ts';
import { type Html, html, none } from './html.ts';
import { icon } from './pills.ts';
import { commandOf } from './links.ts';
import type { PageContext } from './view.ts';
import { at, day, listed, many, named, span, visible } from './words.ts';

const address = (at: string): Html => html`<code>${visible(at)}</code>`;

/** The recorded addresses in words. An address that several machines have is named once. */
function wasAt({ addresses }: KnownPlace): Html {
  const names = [...new Set(addresses.map(({ at }) => at))];
  if (names.length === 0) return html`a place that is not on record`;
  return html`${names.map((at, i) => html`${i === 0 ? '' : i === names.length - 1 ? ' or ' : ', '}${address(at)}`)}`;
}

function unsaid(context: PageContext, { known, here, until }: Placing): Html {
  const { now, waitingEdits } = context;
  const last = until !== null && html` until ${at(until, now)}`;
  const again = known?.addresses.some(({ at }) => at === here.address.at) === true;
  const is = again ? html`another one of that name` : html`at ${address(here.address.at)}`;
  const edits =
    waitingEdits === 0
      ? 'what is edited here waits and is'
      : `${many(waitingEdits, 'edit')} made here ${waitingEdits === 1 ? 'waits and is' : 'wait and are'}`;
  return html`<div class="notice banner">${icon('copy', 'act')}<div><p><b>This is a copy. It reads, and sends nothing.</b> This mirror was at ${known === null ? none : wasAt(known)}${last}, and is ${is} now. Runs read the service and compare; ${edits} not sent.</p><div class="halves"><div><p class="label">It has moved for good: stop the other one first, then</p>${commandBox("musterd adopt --reason '…'")}</div><div><p class="label">It is meant as a copy: say so, and this turns grey</p>${commandBox("musterd adopt --as-copy --reason '…'")}</div></div></div></div>`;
}

function declaredCopy({ now }: PageContext, { by, why, since }: KnownPlace): Html {
  const author = by === null ? none : html` Said by ${named(by)} on ${day(new Date(since), now)}`;
  const reason = why === null || why === '' ? html`.` : html`: “${visible(why)}”.`;
  return html`<div class="notice banner meant">${icon('copy')}<div><p><b>This is a copy, and is meant as one. It reads, and sends nothing.</b>${author}${reason} If it is to send: <code>musterd adopt --reason '…'</code></p></div></div>`;
}

function stoppedTeams({ stopped, team, teams }: PageContext): string {
  const all = team === null ? teams.length : 1;
  return stopped.size === all ? '' : ` for ${listed([...stopped.keys()])}`;
}

const ended = {
  asked: 'was asked to stop, and stopped',
  failed: 'gave up; its log says why',
} as const;

function stoppedBanner(context: PageContext): Html {
  const { now, stopped, standings, teams, team, waitingEdits } = context;
  const all = [...stopped.values()].toSorted((a, b) => lastSign(b).getTime() - lastSign(a).getTime());
  const [last] = all;
  if (last === undefined) return none;
  const since = lastSign(last);
  const complete = teams.flatMap(({ team: name, teamId }) => {
    const end = standings.get(teamId)?.completeAt ?? null;
    return stopped.has(name) && end !== null ? [end.getTime()] : [];
  });
  const seen =
    complete.length === 0
      ? none
      : html` What you see is of ${at(new Date(Math.min(...complete)), now, true)}.`;
  const edits =
    waitingEdits === 0
      ? 'no edit waits'
      : `${many(waitingEdits, 'edit')} ${waitingEdits === 1 ? 'waits' : 'wait'}`;
  const how = last.how === null ? 'ended without a word' : ended[last.how];
  const again = last.bySystemd ? 'systemctl start musterd' : 'musterd daemon';
  const once = team === null ? 'musterd reconcile' : commandOf(context, team.team, 'reconcile');
  return html`<div class="notice banner">${icon('alarm', 'act')}<div><p><b>No daemon runs${stoppedTeams(context)} since ${at(since, now, true)}, for ${span(now.getTime() - since.getTime())}.</b> Process ${String(last.pid)} on ${named(last.host)} ${how}. Nothing is lost: ${edits} here, and what changes on the service comes with the first run.${seen}</p><div class="halves"><div><p class="label">Start it again</p>${commandBox(again)}</div><div><p class="label">Or do one run now</p>${commandBox(once)}</div></div></div></div>`;
}

/** Shows only the most important banner. */
export function banner(context: PageContext): Html {
  const { placing } = context;
  const sendBlock = sendBlockOf(placing);
  if (sendBlock === undefined) return stoppedBanner(context);
  return sendBlock === 'copy' && placing.known !== null
    ? declaredCopy(context, placing.known)
    : unsaid(context, placing);
}

/** True if a banner is shown. The view below it must not claim that all is well. */
export const hasBanner = (context: PageContext): boolean => isCopy(context) || context.stopped.size > 0;

/** True if this mirror is a copy. The page shows this beside the team and in the browser's tab. */
export const isCopy = ({ placing }: PageContext): boolean => sendBlockOf(placing) !== undefined;

export const nothingDecided = 'Nothing can be decided in a copy: edits approved here would not be sent';
