/** The parts of a scheduled message: its text as it will be, who gets it and from whom, and its times in the team's zone. */
import type { PageMessage } from '../read/page-messages.ts';
import type { MessageTerms } from '../read/page-reader.ts';
import { mayDecide } from './decide.ts';
import { byWhom } from './hold-words.ts';
import { clocksOf } from './clocks-of.ts';
import { type Html, html, none } from './html.ts';
import { toTeam } from './links.ts';
import { person } from './components.ts';
import { type PageContext, teamOf } from './view.ts';
import { clockTime, count, dayBand, many, named, time, visible } from './words.ts';

/** A message together with what the page needs to show it. */
export interface MessageOnPage {
  readonly context: PageContext;
  readonly message: PageMessage;
  readonly terms: MessageTerms;
  readonly isOwn: boolean;
  /** How many people get a message on that day, as far as it is known; `null` if it does not matter. */
  readonly ofDay: number | null;
}

/** The terms for a team about which nothing is known. */
export const termsOf = ({ messageTerms }: Pick<PageContext, 'messageTerms'>, teamId: bigint): MessageTerms =>
  messageTerms.find((terms) => terms.teamId === teamId) ?? {
    teamId,
    timezone: 'UTC',
    schedule: 'false',
    marginMinutes: 0,
  };

/**
 * Whether a person can decide about messages of a team here. It has to be known who that is, because two people have
 * to see each message.
 */
export const mayDecideMessages = (context: PageContext, { teamId, schedule }: MessageTerms): boolean =>
  context.decide !== null &&
  context.details &&
  (context.decide.isKnown || schedule === 'unattended') &&
  mayDecide(context, teamOf(context, teamId).team);

/** `17:00`, or `11 Mar 17:00` on another day, by the team's clocks. */
export function teamTime({ context, terms }: Omit<MessageOnPage, 'message'>, when: Date): Html {
  const clocks = clocksOf(terms.timezone);
  return time(when, clockTime(clocks(when), clocks(context.now)));
}

/** `Tomorrow, Thursday 12 March, 08:30` */
export function whenDue({ context, message, terms }: MessageOnPage): Html {
  const clocks = clocksOf(terms.timezone);
  const due = clocks(message.executeAt);
  return time(message.executeAt, `${dayBand(due, clocks(context.now))}, ${clockTime(due, due)}`);
}

const token = /(\{\{\s*[^{}]*?\s*\}\})/;

/** The whole text. The parts that the service fills in have a frame. */
function framed(text: string): Html {
  return html`${text.split(token).map((part) => (token.test(part) ? html`<span class="frame">${visible(part.slice(2, -2).trim())}</span>` : lines(part)))}`;
}

/** A line break is shown as one, unlike other characters that hide something. */
const lines = (text: string): Html =>
  html`${text.split(/\r?\n/).map((line, i) => html`${i === 0 ? none : html`<br>`}${visible(line)}`)}`;

export function messageText({ details }: Pick<PageContext, 'details'>, text: string | null): Html {
  if (!details) return html`<p class="says none">not shown</p>`;
  const filled = text !== null && token.test(text);
  return html`<p class="says" dir="auto">${text === null || text === '' ? html`<span class="none">no text</span>` : framed(text)}</p>${filled ? html`<p class="note">In frames: what the service fills in for each recipient. musterd does not know it.</p>` : none}`;
}

/** `214 recipients` */
export const recipientWords = ({ recipients, targetKind }: PageMessage): string =>
  recipients === null ? `a ${targetKind}` : many(recipients, 'recipient');

const mostTargets = 3;

function targetOf({ details }: PageContext, { targetKind, target, targets, recipients }: PageMessage): Html {
  if (targetKind === 'list')
    return html`List ${visible(target ?? '')}; nobody here knows how many: the service does not tell the size of a list`;
  const words = html`<b>${many(recipients ?? 1, 'recipient')}</b>`;
  if (targetKind === 'conversation') return html`${words}, conversation ${visible(target ?? '')}`;
  if (!details) return words;
  const all = (targets ?? [target ?? '']).map(
    (target) => html`<span class="mono nowrap">${visible(target)}</span>`,
  );
  const joined = (some: readonly Html[]) =>
    html`${some.map((part, i) => html`${i === 0 ? '' : ', '}${part}`)}`;
  const rest = all.slice(mostTargets);
  return html`${words}, ${joined(all.slice(0, mostTargets))}${rest.length === 0 ? none : html`<details><summary>and ${count(rest.length)} more</summary>${joined(rest)}</details>`}`;
}

export function senderOf(context: PageContext, { team_id: teamId, userId, sender }: PageMessage): Html {
  return userId === null ? html`nobody named` : person(context, teamId, { id: userId, name: sender });
}

export const inboxOf = ({ inbox, inboxId }: PageMessage): Html => named(inbox ?? String(inboxId));

/** Says who gets it, from whom, and who wrote it. */
export function messageFacts(standing: MessageOnPage): Html {
  const { context, message, ofDay } = standing;
  const limit = context.recipientLimit(teamOf(context, message.team_id).team);
  const { files, inboxPhone, editedBy, editedAt } = message;
  const phone = inboxPhone === null ? none : html` <span class="mono">${visible(inboxPhone)}</span>`;
  const pairs: readonly (readonly [string, Html])[] = [
    ['To', targetOf(context, message)],
    ['From', html`${senderOf(context, message)}, inbox ${inboxOf(message)}${phone}`],
    ['Written by', html`${byWhom(context, editedBy)}, ${teamTime(standing, editedAt)}`],
    ...(files.length === 0 || !context.details
      ? []
      : [
          [
            'With',
            html`<ul>${files.map((file) => html`<li class="value">${visible(file)}</li>`)}</ul>`,
          ] as const,
        ]),
    ...(ofDay === null || limit === null || message.cancels
      ? []
      : [['Limit', html`${count(ofDay)} of ${many(limit, 'recipient')} that day, with this one`] as const]),
  ];
  return html`<dl class="pairs">${pairs.map(([term, what]) => html`<dt>${term}</dt><dd>${what}</dd>`)}</dl>`;
}

/** Shows what the service has of it, if that is another text or another time. */
export function onService(standing: MessageOnPage): Html {
  const { context, message } = standing;
  const { base, text, executeAt, cancels } = message;
  if (base === null || cancels) return none;
  const due = base.execute_at === undefined ? executeAt : new Date(base.execute_at);
  const isSame = (base.text ?? null) === text;
  const when = due.getTime() === executeAt.getTime() ? none : html`, and goes out ${teamTime(standing, due)}`;
  return html`<details class="fold"><summary>The service has an earlier version${when}</summary>${isSame ? html`<p class="note">The text is the same.</p>` : messageText(context, base.text ?? null)}</details>`;
}

/** The anchor of a message, to which Waiting and the ledger lead. */
export const anchorOf = ({ local_id: id }: Pick<PageMessage, 'local_id'>): string => `m-${id}`;

export const teamNote = (context: PageContext, teamId: bigint): Html =>
  context.team === null ? html` in ${named(teamOf(context, teamId).team)}` : none;

/** The view of the messages of a team. */
export const messagesPath = (context: PageContext, teamId: bigint): string =>
  toTeam(context, teamOf(context, teamId).team, '/messages');
