/** A card for each scheduled message that somebody has to see to, with what can be done about it. */
import type { PageMessage } from '../read/page-messages.ts';
import { isCopy } from './banner.ts';
import { choice, commandBox } from './components.ts';
import { postForm } from './decide.ts';
import { byWhom, stateName } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { commandOf } from './links.ts';
import {
  anchorOf,
  mayDecideMessages,
  messageFacts,
  type MessageOnPage,
  messageText,
  onService,
  teamNote,
  teamTime,
  whenDue,
} from './message-parts.ts';
import { icon } from './pills.ts';
import { teamOf } from './view.ts';
import { capital, count, many, span, visible } from './words.ts';

const minuteMs = 60_000;

/** The possible decisions. The last two say what became of a message whose answer was lost. */
export const messageVerbs = ['Approve', 'Reject', 'Withdraw', 'There', 'Not there'] as const;
export type MessageVerb = (typeof messageVerbs)[number];

/** Names a message in a form, with the edit that was shown. */
export const messageKey = ({ local_id: id, editId }: PageMessage): string => `${id}.${editId ?? ''}`;

function button({ context, message }: MessageOnPage, verb: MessageVerb, words: string): Html {
  if (context.decide === null) return none;
  const values = { team: teamOf(context, message.team_id).team, row: messageKey(message) };
  const press = html`<button class="${verb === 'Approve' ? 'button main' : 'button'}" name="verb" value="${verb}">${words}…</button>`;
  return postForm(context.decide, '/messages', values, press);
}

const card = (standing: MessageOnPage, head: Html, below: Html): Html => {
  const { context, message } = standing;
  return html`<section class="card flush message${isCopy(context) ? '' : ' act-bar'}" id="${anchorOf(message)}">${head}<div class="part halves"><div>${messageText(context, message.text)}${onService(standing)}</div>${messageFacts(standing)}</div>${below}</section>`;
};

export function unknownCard(standing: MessageOnPage): Html {
  const { context, message, terms } = standing;
  const { executeAt, sentAt, approvedBy } = message;
  const ms = executeAt.getTime() - context.now.getTime();
  const clock = teamTime(standing, executeAt);
  const meaning =
    ms > 0
      ? html`It may be scheduled there, or not. Look there, then say what is so. musterd does not send it again by itself, so that nobody gets it twice; if it is there, it goes out at ${clock} whatever is said here.`
      : html`It was due at ${clock}. If it was there, it went out. Look there, then say what is so.`;
  const about = html`<p class="row about">${sentAt === null ? none : html`<span>Asked at <b>${teamTime(standing, sentAt)}</b>, no answer</span>`}<span>Key <code>${message.local_id}</code></span>${approvedBy === null ? none : html`<span>Approved by <b>${byWhom(context, approvedBy)}</b></span>`}</p>`;
  const head = html`<div class="part row between head"><div><h3>${whenDue(standing)}: we asked the service to schedule this and got no answer${teamNote(context, message.team_id)}</h3><p class="dim">${meaning}</p>${about}</div>${ms > 0 ? html`<p class="note since">due in<br>${span(ms)}</p>` : none}</div>`;
  const { team } = teamOf(context, message.team_id);
  const resolve = (how: string) => commandOf(context, team, `schedule resolve ${message.local_id} ${how}`);
  const say = (verb: MessageVerb, words: string) =>
    mayDecideMessages(context, terms) ? button(standing, verb, words) : none;
  const ways = html`${choice('It is there', 'say its number there; musterd reads it and goes on', resolve("--is '…'"), say('There', 'It is there'))}${choice('It is not there', 'it waits here as a draft; sending it again is a new approval', resolve('--was-not-sent'), say('Not there', 'It is not there'))}`;
  return card(standing, head, isCopy(context) ? none : ways);
}

/** Until when the service takes it. */
const lastMoment = ({ message, terms }: MessageOnPage): Date =>
  new Date(message.executeAt.getTime() - terms.marginMinutes * minuteMs);

/** Whether it is too late for an approval. A cancel is possible until the message goes out. */
const isLate = (standing: MessageOnPage): boolean =>
  (standing.message.cancels ? standing.message.executeAt : lastMoment(standing)) <= standing.context.now;

/** When it goes out, and until when that can be decided. */
function inTime(standing: MessageOnPage): Html {
  const { context, message, terms } = standing;
  const { executeAt, cancels } = message;
  const left = executeAt.getTime() - context.now.getTime();
  if (left <= 0)
    return cancels
      ? html`Its time has passed while it waited to be cancelled. It went out.`
      : html`Its time has passed while it waited. It was not sent.`;
  if (cancels)
    return html`Somebody deleted it. It goes out ${span(left)} from now, unless cancelling it is approved before.`;
  return isLate(standing)
    ? html`It is due in ${span(left)}, and the service takes nothing later than ${many(terms.marginMinutes, 'minute')} before. It is not sent any more.`
    : html`It goes out ${span(left)} from now, if it is approved before ${teamTime(standing, lastMoment(standing))}.`;
}

export const isForApproval = ({ batch, reason }: PageMessage): boolean =>
  batch !== null && (reason === 'review' || reason === 'limit' || reason === 'conflict');

function decideBar(standing: MessageOnPage): Html {
  const { context, message, terms, isOwn } = standing;
  if (isCopy(context)) return none;
  const { team } = teamOf(context, message.team_id);
  if (!mayDecideMessages(context, terms)) {
    const box = (verb: string) =>
      commandBox(commandOf(context, team, `${verb} ${message.batch} --reason '…'`));
    return html`<div class="part halves">${box('approve')}${box('reject')}</div>`;
  }
  const words = isOwn
    ? html`${icon('pause')} You wrote it, so somebody else has to approve it.`
    : terms.schedule === 'unattended'
      ? none
      : html`You did not write it, so you may decide.`;
  const buttons = isOwn
    ? button(standing, 'Withdraw', 'Withdraw')
    : html`${button(standing, 'Reject', 'Reject')}${isLate(standing) ? none : button(standing, 'Approve', approveWords(message))}`;
  return html`<div class="part row decides"><span class="note">${words}</span><span class="push"></span><div class="row buttons">${buttons}</div></div>`;
}

/** `Approve for 214` */
export const approveWords = ({ cancels, recipients }: PageMessage): string =>
  cancels ? 'Approve cancelling it' : `Approve for ${recipients === null ? 'the list' : count(recipients)}`;

const headOf = ({ context, message }: MessageOnPage, title: Html, text: Html): Html =>
  html`<div class="part head"><h3>${title}${teamNote(context, message.team_id)}</h3><p class="dim">${text}</p></div>`;

export function approvalCard(standing: MessageOnPage): Html {
  const { why } = standing.message;
  const because = why === null || why === '' ? none : html` ${visible(capital(why))}.`;
  const head = headOf(standing, whenDue(standing), html`${inTime(standing)}${because}`);
  return card(standing, head, decideBar(standing));
}

/** A message that an approval does not help: the service refused it, or it differs from what the service has. */
export function stuckCard(standing: MessageOnPage): Html {
  const { context, message } = standing;
  const { reason, why } = message;
  const detail = why === null || why === '' ? none : html` ${visible(capital(why))}.`;
  const next =
    reason === 'review' || reason === 'limit'
      ? 'The next run asks for an approval; or it can be taken back.'
      : 'It is not sent before somebody edits it again; or it can be taken back.';
  const text = html`It is ${reason === null ? 'held' : stateName[reason]}.${detail} ${next}`;
  const command = commandOf(
    context,
    teamOf(context, message.team_id).team,
    `schedule cancel ${message.local_id}`,
  );
  const way = isCopy(context) ? none : html`<div class="part">${commandBox(command)}</div>`;
  return card(standing, headOf(standing, whenDue(standing), text), way);
}
