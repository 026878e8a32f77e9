/** Messages: the scheduled messages that somebody has to see to, and all of them by day in the team's zone. */
import type { PageMessage, PageMessages } from '../read/page-messages.ts';
import { hasBanner, isCopy, nothingDecided } from './banner.ts';
import { clocksOf, offsetName } from './clocks-of.ts';
import { empty, heading, section } from './components.ts';
import { waits } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { approvalCard, isForApproval, stuckCard, unknownCard } from './message-cards.ts';
import { type MessageOnPage, termsOf } from './message-parts.ts';
import { timeLine } from './message-line.ts';
import { nothingCard, receiptCard } from './receipt.ts';
import { type Csv, csvFrom, type PageContext, type PageShown, teamOf } from './view.ts';
import { count, many } from './words.ts';

function leadOf(context: PageContext): Html {
  const [only, ...others] = context.messageTerms;
  const offset = offsetName(only?.timezone ?? 'UTC', context.now);
  const zone =
    only === undefined || others.length > 0
      ? 'Times are those of each team.'
      : `Times are those of the team, ${only.timezone}${offset === only.timezone ? '' : ` (${offset})`}.`;
  if (isCopy(context)) return html`${zone} ${nothingDecided}`;
  const isUnattended = context.messageTerms.some(({ schedule }) => schedule === 'unattended');
  const rule = isUnattended
    ? 'The settings let messages go to the service unattended (write.schedule).'
    : 'None goes to the service before somebody who did not write it has approved it.';
  const isBarred = context.decide !== null && !context.decide.isKnown && !isUnattended;
  const barred = isBarred
    ? ' This page cannot tell who you are, so it decides about none: decide with the command, or give status.user.'
    : '';
  return html`${zone} ${rule}${barred}`;
}

function titleOf({ sums }: PageMessages, { now }: PageContext, waiting: readonly OpenCards[]): string {
  const scheduled = sums.reduce(
    (sum, { state, messages, executeAt }) => sum + (state === 'scheduled' && executeAt > now ? messages : 0),
    0,
  );
  return [
    `${scheduled === 0 ? 'No message' : many(scheduled, 'message')} ${scheduled < 2 ? 'is' : 'are'} scheduled`,
    ...waiting.flatMap(({ all, inTitle }) => (all.length === 0 ? [] : [inTitle(all.length)])),
  ].join(', ');
}

/** Messages that somebody has to see to, for one reason. */
interface OpenCards {
  readonly all: readonly PageMessage[];
  readonly title: string;
  readonly inTitle: (number: number) => string;
  readonly card: (standing: MessageOnPage) => Html;
}

/** In the order of the page, the gravest first. */
const openCards = (open: readonly PageMessage[]): readonly OpenCards[] => [
  {
    all: open.filter(({ state }) => state === 'unknown'),
    title: 'Somebody has to say what is so',
    inTitle: (n) => `of ${count(n)} nobody knows`,
    card: unknownCard,
  },
  {
    all: open.filter((message) => message.state !== 'unknown' && isForApproval(message)),
    title: 'For an approval',
    inTitle: (n) => `${count(n)} ${waits(n, 'an approval')}`,
    card: approvalCard,
  },
  {
    all: open.filter((message) => message.state !== 'unknown' && !isForApproval(message)),
    title: 'Cannot be sent',
    inTitle: (n) => `${count(n)} cannot be sent`,
    card: stuckCard,
  },
];

/** Of each day of a team's clocks, how many get a message. A cancelled or refused message reaches nobody. */
function recipientsOfDays({ sums }: PageMessages, context: PageContext): (message: PageMessage) => number {
  const clocks = new Map(context.messageTerms.map(({ teamId, timezone }) => [teamId, clocksOf(timezone)]));
  const dayOf = (teamId: bigint, when: Date) =>
    `${teamId} ${(clocks.get(teamId)?.(when) ?? when).toISOString().slice(0, 10)}`;
  const days = Map.groupBy(
    sums.filter(({ state }) => state !== 'cancelled' && state !== 'refused' && state !== 'rejected'),
    ({ teamId, executeAt }) => dayOf(teamId, executeAt),
  );
  return ({ team_id: teamId, executeAt }) =>
    (days.get(dayOf(teamId, executeAt)) ?? []).reduce((all, { recipients }) => all + recipients, 0);
}

/** The messages of `?note=`. */
const notes: Readonly<Record<string, string>> = {
  there: 'The next run reads it there and goes on with it.',
  'not-there': 'It waits here, and is not sent before somebody approves it again.',
};

/** @param refusal why nothing was decided, if the view comes back */
export function messages(read: PageMessages, context: PageContext, refusal?: string): PageShown {
  const { open, own, shown, sums, hasOthers } = read;
  const note = notes[context.query.get('note') ?? ''];
  const said =
    note === undefined
      ? none
      : html`<div class="notice receipt" role="status" id="receipt"><p><b>What you found is on record.</b> ${note}</p></div>`;
  const receipt = refusal === undefined ? html`${said}${receiptCard(context, read)}` : nothingCard(refusal);
  const ofDay = recipientsOfDays(read, context);
  const standing = (message: PageMessage): MessageOnPage => ({
    context,
    message,
    terms: termsOf(context, message.team_id),
    isOwn: own.has(message.local_id),
    ofDay: isForApproval(message) ? ofDay(message) : null,
  });
  const cards = openCards(open);
  const title = titleOf(read, context, cards);
  const main = html`${receipt}${heading(title, leadOf(context))}${cards.map(({ all, title: words, card }) =>
    all.length === 0
      ? none
      : section(words, html`<div class="stack">${all.map((message) => card(standing(message)))}</div>`, {
          note: all.length === 1 ? none : html`${count(all.length)}, the one that is due first on top`,
        }),
  )}${
    shown.length + sums.length === 0 && !hasOthers
      ? empty(
          hasBanner(context) ? 'dashed' : 'tick',
          'Nothing is scheduled',
          'Anybody who may insert into mirror.scheduled_messages can schedule a message there. It then waits here for somebody else.',
        )
      : timeLine(read, context)
  }`;
  return { title, main };
}

export const messagesCsv = ({ shown }: PageMessages, context: PageContext): Csv =>
  csvFrom(shown, {
    team: (row) => teamOf(context, row.team_id).team || null,
    local_id: (row) => row.local_id,
    execute_at: (row) => row.executeAt,
    state: (row) => row.state,
    recipients: (row) => row.recipients,
    inbox: (row) => row.inbox,
    user_id: (row) => row.userId,
    ...(context.details
      ? { sender: (row) => row.sender, target: (row) => row.target, text: (row) => row.text }
      : {}),
    written_by: (row) => row.editedBy,
    approved_by: (row) => row.approvedBy,
    detail: (row) => row.detail,
  });
