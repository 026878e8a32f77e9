/** Asks once more before a decision about a scheduled message, beside its whole text. */
import type { PageMessage, PageMessages } from '../read/page-messages.ts';
import { type Html, html, none } from './html.ts';
import {
  messageFacts,
  type MessageOnPage,
  messagesPath,
  messageText,
  onService,
  recipientWords,
} from './message-parts.ts';
import { approveWords, messageKey, type MessageVerb } from './message-cards.ts';
import { asking, sentBy } from './question.ts';
import { type PageShown, teamOf } from './view.ts';

interface Asked {
  readonly title: (message: PageMessage) => string;
  readonly lead: string;
  readonly deed: string;
  /** Whether it is recorded as a decision, which can be undone. */
  readonly isSent: boolean;
}

const asked: Readonly<Record<Exclude<MessageVerb, 'Approve'>, Asked>> = {
  Reject: {
    title: (message) => `Reject the message for ${recipientWords(message)}?`,
    lead: 'It stays here, is held as rejected, and is not sent before somebody edits it again.',
    deed: 'Reject it',
    isSent: false,
  },
  Withdraw: {
    title: (message) => `Withdraw the message for ${recipientWords(message)}?`,
    lead: 'What the service has stays as it is; what was asked for here is over, and nothing is sent.',
    deed: 'Withdraw it',
    isSent: false,
  },
  There: {
    title: () => 'It is there?',
    lead: 'The next run reads it there by its number, and goes on with it. It goes out at its time, unless somebody deletes it here.',
    deed: 'It is there',
    isSent: false,
  },
  'Not there': {
    title: () => 'It is not there?',
    lead: 'It waits here, and sending it again is a new approval. If it is there all the same, people get it twice.',
    deed: 'It is not there',
    isSent: false,
  },
};

const approving: Asked = {
  title: (message) => `${approveWords(message)}?`,
  lead: 'The next run sends it to the service, in 1 request. The approval stands for it as it is here, and once.',
  deed: '',
  isSent: true,
};

export function messageQuestion(
  standing: MessageOnPage,
  verb: MessageVerb,
  { sending }: Pick<PageMessages, 'sending'>,
): PageShown {
  const { context, message } = standing;
  const { title, lead, deed, isSent } = verb === 'Approve' ? approving : asked[verb];
  const number: Html =
    verb === 'There'
      ? html`<label class="field"><span class="label">Its number there</span><input name="is" inputmode="numeric" pattern="[0-9]+" maxlength="19" required autocomplete="off"></label>`
      : none;
  const sent = html`<p class="note">Sent: ${isSent ? sentBy(sending) : 'nothing'}.</p>`;
  return asking(context, {
    title: title(message),
    lead,
    before: none,
    what: html`<div class="part">${messageText(context, message.text)}${onService(standing)}</div><div class="part">${messageFacts(standing)}</div>`,
    facts: html`${sent}${number}`,
    path: '/messages',
    values: { team: teamOf(context, message.team_id).team, verb, row: messageKey(message) },
    deed: html`${verb === 'Approve' ? approveWords(message) : deed}`,
    back: messagesPath(context, message.team_id),
    hasUndo: false,
  });
}
