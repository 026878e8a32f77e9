/**
 * Requests are all that is asked of the service besides edits of users: a tag to be made, a message to be scheduled,
 * replaced or cancelled, a conversation to be marked as read. Each is a row of the mirror with an id of its own.
 */
import type { Id } from './id.ts';
import type { ScheduleTimes } from './message-request.ts';

export const requestKinds = ['tag', 'message', 'conversation_read'] as const;
export type RequestKind = (typeof requestKinds)[number];

/** Whether a field of the ledger is that of a request, and not of a user. */
export const isRequestKind = (field: string | null): field is RequestKind =>
  requestKinds.some((kind) => kind === field);

/** The states of a message that is not over. */
export const openStates = ['waiting', 'held', 'scheduled', 'refused', 'unknown'] as const;

/** How many requests of a kind are in one state. */
export interface RequestCount {
  /** The team's name in the configuration. */
  readonly team: string;
  readonly field: RequestKind;
  readonly state: string;
  readonly count: number;
  /** When the oldest of them was edited last, in ms since 1970. */
  readonly sinceMs: number;
}

/** The wanted values, by the columns that people write; `null` if it is to be cancelled. */
export type Wanted = Readonly<Record<string, unknown>>;

export type RequestReason = 'review' | 'limit' | 'unsupported' | 'refused' | 'conflict' | 'asked';

/** Why it waits for a person, and what the person decided; `spent` if it is being sent under that decision. */
export interface RequestHold {
  readonly reason: RequestReason;
  readonly decision: 'approved' | 'spent' | 'rejected' | null;
  /** The values that the service had when it was held. */
  readonly base: Wanted | null;
}

/** A request that was written down before it was sent, and whose outcome is not known yet. */
export interface OpenRequest {
  readonly changeId: Id;
  /** `null` for a cancel. */
  readonly sent: Wanted | null;
  readonly edit: Id;
  /** Whether it may have left. */
  readonly hasLeft: boolean;
  /** Ms since it last left, or since it was written down, by the database's clock. */
  readonly ageMs: number;
}

/** One request that is not over, as the database has it. */
export interface RequestState {
  readonly kind: RequestKind;
  readonly localId: string;
  /** The service's id; `null` if it has none yet. */
  readonly id: Id | null;
  readonly wanted: Wanted | null;
  /** The values that the service has, as far as is known; `null` if it has nothing. */
  readonly base: Wanted | null;
  /** The edit that lasts; `null` if both sides agree. */
  readonly edit: Id | null;
  /** The transaction that made it. */
  readonly transaction: string | null;
  readonly hold: RequestHold | null;
  readonly open: OpenRequest | null;
  /** The known facts about a message's time, recipients and day; `null` if it is not a message. */
  readonly message: MessageState | null;
}

export interface MessageState {
  /** How many people get it; `null` if nobody here knows. */
  readonly recipients: number | null;
  /** Ms until its time, by the database's clock. */
  readonly dueInMs: number;
  /** The same for what the service has; `null` if it has nothing. */
  readonly baseDueInMs: number | null;
  /** The day on which it is due, in the team's zone. */
  readonly day: string;
  /** Other messages that are due on that day, and that the service has or may have. */
  readonly others: { readonly messages: number; readonly recipients: number };
}

/** All requests of a team that are not over, and what was learned of the service about them. */
export interface Requests {
  readonly all: readonly RequestState[];
  /** Tags that were made within a day. */
  readonly newTags: number;
  /** What a repeated `local_id` does; `null` if nobody has tried. */
  readonly localIds: 'unique' | 'ignored' | 'refused' | null;
  readonly times: ScheduleTimes;
}

/** The outcome of a request that was sent, or was about to be. */
export type RequestOutcome =
  /** It had its effect. @property id of what there is now; @property answer what the service said */
  | { readonly kind: 'confirmed'; readonly id: Id | null; readonly answer: string | null }
  /** The service does not take it: it waits for a person, or for another edit. */
  | { readonly kind: 'refused'; readonly detail: string }
  /** Its time came first. */
  | { readonly kind: 'late'; readonly detail: string }
  /** The service has the message no longer: somebody cancelled it there. */
  | { readonly kind: 'gone'; readonly detail: string }
  /** The service has something else than was sent and than was there before. */
  | { readonly kind: 'conflict'; readonly shown: Wanted }
  /** It never left, or was turned away: it is sent again. */
  | { readonly kind: 'unsent' }
  /** It left, and had no effect: it is sent again, unless it is one that is sent once. */
  | { readonly kind: 'unanswered' }
  /** Nobody knows. @property isForGood whether no run can find out */
  | { readonly kind: 'unknown'; readonly isForGood: boolean; readonly detail: string };

export interface AnsweredRequest {
  readonly request: RequestState;
  readonly open: OpenRequest;
  readonly outcome: RequestOutcome;
  readonly requestId: string | null;
}

/** A request that is to wait for a person. */
export interface RequestToHold {
  readonly request: RequestState;
  readonly reason: RequestReason;
  readonly detail: string;
  /** The hash by which it is approved or rejected; `null` if it has to be edited, or decided on the service. */
  readonly batch: string | null;
}

/** A message as the service shows it, by the columns that it shows. */
export interface ShownMessage {
  readonly shown: Wanted;
  readonly raw: Readonly<Record<string, unknown>>;
}

/** The columns of all kinds that say in short what is asked for. */
interface WantedColumns {
  readonly tag?: string;
  readonly text?: string;
  readonly template_id?: Id | number;
  readonly list_id?: Id | number;
  readonly conversation_id?: Id | number;
  readonly phone_number?: string;
  readonly target?: string;
  readonly targets?: readonly string[];
  readonly execute_at?: string;
  readonly inbox_id?: Id | number;
}

const mostCharacters = 60;

function shortText(text: string): string {
  const characters = Array.from(text.replaceAll(/\s+/g, ' '));
  const isLong = characters.length > mostCharacters;
  return characters.slice(0, mostCharacters).join('') + (isLong ? '…' : '');
}

const numbered = (what: string, id: Id | number | undefined) =>
  id === undefined ? undefined : `${what} ${id}`;

/** The people who get a message, or whose conversations were read. */
function targetInWords(wanted: WantedColumns, others: string): string {
  const { list_id, conversation_id, phone_number, target, targets: [first = '', ...more] = [] } = wanted;
  const single =
    numbered('list', list_id) ?? numbered('conversation', conversation_id) ?? phone_number ?? target;
  return single ?? (more.length === 0 ? first : `${more.length + 1} ${others}`);
}

/** The wanted values in short, as in `mirror.field_text()`; `undefined` if this is no request. */
export function wantedInWords(wanted: WantedColumns): string | undefined {
  const { tag, text = '', template_id, execute_at, inbox_id } = wanted;
  if (tag !== undefined) return tag;
  if (execute_at !== undefined) {
    const content = text === '' ? numbered('template', template_id) : `"${shortText(text)}"`;
    const time = execute_at.slice(0, 'YYYY-MM-DD hh:mm'.length).replace('T', ' ');
    return `${content ?? 'attachments'} to ${targetInWords(wanted, 'numbers')}, ${time} UTC`;
  }
  return inbox_id === undefined
    ? undefined
    : `${targetInWords(wanted, 'conversations')} in inbox ${inbox_id}`;
}

/** The topic of what is known of a deployment's scheduled messages. */
export const schedulingTopic = 'schedule';

/** The known facts about how a deployment takes scheduled messages. An unknown fact is absent. */
export interface Scheduling {
  /** What a repeated `local_id` does: no second message, a second one, or an error. */
  readonly local_ids?: 'unique' | 'ignored' | 'refused';
  /** Messages are due on full multiples of the grid, and at least the margin ahead. */
  readonly grid_minutes?: number;
  readonly margin_minutes?: number;
}

const localIdsInWords = {
  unique:
    'a message that got no answer is sent again, since the service makes no second message of one local_id',
  ignored: 'a message that got no answer waits for a person, since the service does not look at local_id',
  refused: 'a message that got no answer waits for a person, since the service refuses a repeated local_id',
} as const;

export function sayScheduling({ local_ids, grid_minutes }: Scheduling): string {
  const lost =
    local_ids === undefined
      ? 'a message that got no answer waits for a person, until "musterd check --write-probe" has found out whether the service makes a second one'
      : localIdsInWords[local_ids];
  return grid_minutes === undefined ? lost : `${lost}; due on full ${grid_minutes} minutes`;
}
