/** All scheduled messages by day, by the clocks of their team. */
import type {
  MessagesFilter,
  ScheduledState,
  MessageSum,
  PageMessage,
  PageMessages,
} from '../read/page-messages.ts';
import { beginOfDay, clocksOf } from './clocks-of.ts';
import { chips, csvChip, section, table, type TableRow } from './components.ts';
import { byWhom, stateName } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { csvOf, href } from './links.ts';
import {
  anchorOf,
  inboxOf,
  type MessageOnPage,
  recipientWords,
  senderOf,
  teamTime,
  termsOf,
} from './message-parts.ts';
import { type IconShape, pill, type Tone } from './pills.ts';
import { type PageContext, teamOf, type ViewRequest } from './view.ts';
import { capital, clockTime, count, dayBand, listed, many, time, visible } from './words.ts';

const perPage = 50;
const mostInFile = 100_000;

const states = {
  scheduled: ['clock', 'dim', 'Scheduled'],
  waiting: ['half', 'dim', 'Goes with the next run'],
  held: ['pause', 'dim', 'Waits'],
  rejected: ['pause', 'dim', 'Rejected'],
  unknown: ['dashed', 'dim', 'Unknown'],
  refused: ['cross', 'dim', 'Refused'],
  cancelled: ['cross', 'dim', 'Cancelled'],
  past: ['tick', 'dim', 'Its time has passed'],
} as const satisfies Readonly<Record<ScheduledState, readonly [IconShape, Tone, string]>>;

export function messagesFilter({ query, isCsv }: Pick<ViewRequest, 'query' | 'isCsv'>): MessagesFilter {
  const page = query.get('page') ?? '';
  return {
    state: Object.keys(states).find((word) => word === query.get('state')) ?? null,
    isEarlier: query.get('days') === 'earlier',
    skip: /^\d{1,6}$/.test(page) && !isCsv ? Number(page) : 0,
    limit: isCsv ? mostInFile : perPage,
    today: beginOfDay,
  };
}

const shortText = 60;

/** The first characters, without half of one. */
function beginning(text: string): string {
  const all = Array.from(text.replaceAll(/\s+/g, ' '));
  return all.length <= shortText ? all.join('') : `${all.slice(0, shortText).join('').trimEnd()}…`;
}

/** Whether it stands above as well, since it waits for a person. */
const isOpen = ({ reason }: PageMessage): boolean =>
  reason !== null && reason !== 'rejected' && reason !== 'asked';

function fateOf(standing: MessageOnPage): Html {
  const { context, message } = standing;
  const { state, reason, detail, approvedBy, approvedAt } = message;
  if (state === 'unknown') return html`Somebody has to say what is so, above`;
  if (isOpen(message) && reason !== null) return html`${capital(stateName[reason])}, above`;
  if (detail !== null && detail !== '') return visible(capital(detail));
  return approvedBy === null || approvedAt === null
    ? none
    : html`Approved by ${byWhom(context, approvedBy)} ${teamTime(standing, approvedAt)}`;
}

const dots: Readonly<Partial<Record<ScheduledState, string>>> = { past: 'moved', unknown: 'act' };

function lineRow(standing: MessageOnPage): TableRow {
  const { context, message, terms } = standing;
  const [shape, tone, words] = states[message.state];
  const clocks = clocksOf(terms.timezone);
  const due = clocks(message.executeAt);
  const isUp = message.state === 'unknown' || isOpen(message);
  const up = `#${anchorOf(message)}`;
  const dot = html`<svg class="rail ${dots[message.state] ?? 'idle'}" width="9" height="9" viewBox="0 0 9 9" aria-hidden="true"><circle cx="4.5" cy="4.5" r="3.6"/></svg>`;
  const text = !context.details
    ? html`<span class="none">not shown</span>`
    : message.text === null || message.text === ''
      ? html`<span class="none">no text</span>`
      : html`<bdi>${visible(beginning(message.text))}</bdi>`;
  const below = fateOf(standing);
  return {
    cells: [
      html`${dot}${time(message.executeAt, clockTime(due, due))}`,
      pill(shape, tone, isUp ? html`<a href="${up}">${words}</a>` : words),
      html`${recipientWords(message)}`,
      html`${senderOf(context, message)}<span class="note">${inboxOf(message)}</span>`,
      html`${isUp ? html`<a href="${up}">${text}</a>` : text}${below === none ? none : html`<span class="note">${below}</span>`}`,
    ],
    ...(isUp ? {} : { id: anchorOf(message) }),
  };
}

/** `2 scheduled to 31, 1 waits, to a list` */
function dayWords(sums: readonly MessageSum[]): string {
  return [...Map.groupBy(sums, ({ state }) => state)]
    .map(([state, of]) => {
      const sum = (key: 'messages' | 'recipients' | 'lists') => of.reduce((all, row) => all + row[key], 0);
      const words = states[state][2].toLowerCase();
      const [people, lists] = [sum('recipients'), sum('lists')];
      const whom = [...(people === 0 ? [] : [count(people)]), ...(lists === 0 ? [] : [many(lists, 'list')])];
      const isNobody = state === 'cancelled' || state === 'refused' || whom.length === 0;
      return `${count(sum('messages'))} ${words}${isNobody ? '' : ` to ${listed(whom)}`}`;
    })
    .join(', ');
}

/** The messages of a team by day, with the present moment among them. */
function lineRows(read: PageMessages, context: PageContext, teamId: bigint): readonly TableRow[] {
  const terms = termsOf(context, teamId);
  const clocks = clocksOf(terms.timezone);
  const now = clocks(context.now);
  const dayOf = ({ executeAt }: Pick<PageMessage, 'executeAt'>) =>
    clocks(executeAt).toISOString().slice(0, 10);
  const sums = Map.groupBy(
    read.sums.filter((row) => row.teamId === teamId),
    dayOf,
  );
  const line = { band: html`now ${clockTime(now, now)}`, tone: 'now' } as const;
  const days = Map.groupBy(
    read.shown.filter((message) => message.team_id === teamId),
    dayOf,
  );
  return [...days].flatMap(([day, of]) => {
    const rows = of.map((message) => lineRow({ context, message, terms, isOwn: false, ofDay: null }));
    const past = of.filter(({ executeAt }) => executeAt <= context.now).length;
    const isToday = day === now.toISOString().slice(0, 10);
    const begin = `${dayBand(new Date(`${day}T00:00:00Z`), now)} · ${dayWords(sums.get(day) ?? [])}`;
    return [{ band: begin }, ...rows.slice(0, past), ...(isToday ? [line] : []), ...rows.slice(past)];
  });
}

export function timeLine(read: PageMessages, context: PageContext): Html {
  const { isEarlier, skip, state } = messagesFilter(context);
  const teams = [...new Set(read.shown.map((message) => message.team_id))];
  const byState = [...Map.groupBy(read.sums, (row) => row.state)].map(
    ([word, of]) => [word, of.reduce((sum, { messages }) => sum + messages, 0)] as const,
  );
  const found = byState.reduce((sum, [word, n]) => sum + (state === null || word === state ? n : 0), 0);
  const filter = [
    { label: 'All', href: href(context, { state: null }), isCurrent: state === null },
    ...byState.map(([word, n]) => ({
      label: states[word][2],
      count: n,
      href: href(context, { state: word }),
      isCurrent: state === word,
    })),
  ];
  const left = found - skip - read.shown.length;
  const more = href(context, { page: String(skip + read.shown.length) });
  const ways = html`${left > 0 ? html`<a href="${more}" rel="next">${count(Math.min(left, perPage))} more${isEarlier ? ' before these' : ''}</a>` : none}<span class="push"></span>${isEarlier ? html`<a href="${href(context, { days: null, state: null })}">From today on</a>` : read.hasOthers ? html`<a href="${href(context, { days: 'earlier', state: null })}">Earlier days</a>` : none}`;
  const columns = [
    { label: 'Time' },
    { label: 'State' },
    { label: 'To', isNumber: true },
    { label: 'From' },
    { label: 'Text' },
  ];
  const tables = teams.map((teamId) =>
    table(context, {
      caption:
        context.team === null ? `Messages of ${teamOf(context, teamId).team} by time` : 'Messages by time',
      kind: 'line',
      columns,
      rows: lineRows(read, context, teamId),
    }),
  );
  const list =
    teams.length === 0
      ? html`<div class="card note">None${isEarlier ? ' before today' : ' from today on'}.</div>`
      : html`${tables}`;
  return section(
    'Time line',
    html`<div class="stack">${chips('State', filter, csvChip(csvOf(context)))}${list}<p class="row note">${ways}</p></div>`,
  );
}
