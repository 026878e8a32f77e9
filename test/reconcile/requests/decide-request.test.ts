import { describe, expect, it } from 'vitest';
import type { MessageState, RequestHold, RequestState, Requests } from '../../../src/model/requests.ts';
import {
  decideRequest,
  type RequestSettings,
  type SentSoFar,
  withSent,
} from '../../../src/reconcile/requests/decide-request.ts';

const hour = 3_600_000;
const write: RequestSettings = {
  tags: true,
  schedule: true,
  conversations: true,
  maxNewTags: 2,
  maxMessages: 2,
  maxRecipients: 10,
  isReviewed: false,
};
const nobody: SentSoFar = { tags: 0, messages: new Map() };
const now: Requests = { all: [], newTags: 0, localIds: null, times: { gridMinutes: 15, marginMinutes: 15 } };
const time: MessageState = {
  recipients: 1,
  dueInMs: hour,
  baseDueInMs: null,
  day: '2030-01-01',
  others: { messages: 0, recipients: 0 },
};
const message: RequestState = {
  kind: 'message',
  localId: 'a',
  id: null,
  wanted: { text: 'Hello' },
  base: null,
  edit: 1n,
  transaction: '7',
  hold: null,
  open: null,
  message: time,
};
const there = { ...message, id: 9n, base: { text: 'Before' }, message: { ...time, baseDueInMs: hour } };
const tag: RequestState = { ...message, kind: 'tag', wanted: { tag: 'VIP' }, message: null };
const read: RequestState = { ...tag, kind: 'conversation_read' };
const held = (changes: Partial<RequestHold> = {}): RequestHold => ({
  reason: 'review',
  decision: null,
  base: null,
  ...changes,
});
const approved = held({ decision: 'approved' });
const unattended = { ...write, schedule: 'unattended' as const };

const decided = (request: RequestState, settings = write, known = now, sent = nobody) => {
  const decision = decideRequest(request, known, settings, sent);
  return decision.kind === 'hold'
    ? decision.reason
    : decision.kind === 'send'
      ? decision.verb
      : decision.kind;
};

describe('a message', () => {
  it.each<[string, RequestState, RequestSettings, string]>([
    ['is held for a review', message, write, 'review'],
    ['held before waits, though messages go unattended', { ...message, hold: held() }, unattended, 'nothing'],
    [
      'held beyond a limit waits, though it is within it now',
      { ...message, hold: held({ reason: 'limit' }) },
      unattended,
      'nothing',
    ],
    ['is held only once', { ...message, hold: held() }, write, 'nothing'],
    ['goes once it is approved', { ...message, hold: approved }, write, 'create'],
    ['goes unattended if the settings say so', message, unattended, 'create'],
    ['is reviewed all the same if everything is', message, { ...unattended, isReviewed: true }, 'review'],
    ['that the service has is replaced', there, unattended, 'replace'],
    ['that is rejected waits', { ...message, hold: held({ decision: 'rejected' }) }, unattended, 'nothing'],
    ['that is put off waits', { ...message, hold: held({ reason: 'asked' }) }, unattended, 'nothing'],
    [
      'that the service refuses waits',
      { ...message, hold: held({ reason: 'refused' }) },
      unattended,
      'nothing',
    ],
    ['that is as the service has it rests', { ...message, edit: null }, unattended, 'nothing'],
    ['that nobody may write waits', message, { ...write, schedule: false }, 'wait'],
    ['is cancelled without an approval', { ...there, wanted: null }, write, 'cancel'],
    [
      'is cancelled although nobody may write any more',
      { ...there, wanted: null },
      { ...write, schedule: false },
      'cancel',
    ],
    ['that was never sent needs no cancel', { ...message, wanted: null }, write, 'nothing'],
    [
      'is too late for the margin',
      { ...message, message: { ...time, dueInMs: 14 * 60_000 } },
      unattended,
      'unsupported',
    ],
    [
      'is too late for the margin, approved or not',
      { ...message, hold: approved, message: { ...time, dueInMs: 14 * 60_000 } },
      write,
      'unsupported',
    ],
    [
      'is over when its time has come',
      { ...message, hold: approved, message: { ...time, dueInMs: 0 } },
      write,
      'late',
    ],
    [
      'is over when the time of what the service has comes',
      { ...there, message: { ...time, baseDueInMs: 0 } },
      unattended,
      'late',
    ],
    [
      'goes up to the number of its day',
      { ...message, message: { ...time, others: { messages: 1, recipients: 9 } } },
      unattended,
      'create',
    ],
    [
      'is one too many on its day',
      { ...message, message: { ...time, others: { messages: 2, recipients: 0 } } },
      unattended,
      'limit',
    ],
    [
      'reaches too many people on its day',
      { ...message, message: { ...time, others: { messages: 0, recipients: 10 } } },
      unattended,
      'limit',
    ],
    [
      'of which nobody knows how many get it',
      { ...message, message: { ...time, recipients: null } },
      unattended,
      'limit',
    ],
    [
      'approved as within the limits is held beyond them',
      { ...message, hold: approved, message: { ...time, recipients: 11 } },
      write,
      'limit',
    ],
    [
      'approved as beyond the limits goes',
      {
        ...message,
        hold: held({ reason: 'limit', decision: 'approved' }),
        message: { ...time, recipients: 11 },
      },
      write,
      'create',
    ],
    ['approved over something else is in conflict', { ...there, hold: approved }, write, 'conflict'],
    ['held over something else is in conflict', { ...there, hold: held() }, write, 'conflict'],
    [
      'in conflict stays so',
      { ...there, hold: held({ reason: 'conflict', base: there.base }) },
      unattended,
      'nothing',
    ],
    [
      'in conflict, and the service has moved once more',
      { ...there, hold: held({ reason: 'conflict', base: { text: 'Older' } }) },
      unattended,
      'conflict',
    ],
    [
      'in conflict goes once it is approved',
      { ...there, hold: held({ reason: 'conflict', decision: 'approved', base: there.base }) },
      write,
      'replace',
    ],
  ])('%s', (_, request, settings, expected) => {
    expect(decided(request, settings)).toBe(expected);
  });

  it('counts with those that were sent in the same run, by day', () => {
    const before = withSent(withSent(nobody, message), message);
    expect(decided(message, unattended, now, withSent(nobody, message))).toBe('create');
    expect(decided(message, unattended, now, before)).toBe('limit');
    expect(decided({ ...message, message: { ...time, day: '2030-01-02' } }, unattended, now, before)).toBe(
      'create',
    );
    const many = withSent(nobody, { ...message, message: { ...time, recipients: 10 } });
    expect(decided(message, unattended, now, many)).toBe('limit');
  });

  it('goes by the margin that was learned', () => {
    const soon = { ...message, message: { ...time, dueInMs: 60_000 } };
    expect(decided(soon, unattended, { ...now, times: { gridMinutes: 1, marginMinutes: 1 } })).toBe('create');
  });

  it('says why it is held', () => {
    const detailOf = (request: RequestState) => {
      const decision = decideRequest(request, now, unattended, nobody);
      return 'detail' in decision ? decision.detail : '';
    };
    expect(detailOf({ ...message, message: { ...time, others: { messages: 2, recipients: 0 } } })).toBe(
      '3 messages would be due on 2030-01-01, more than the limit of 2',
    );
    expect(detailOf({ ...message, message: { ...time, recipients: 11 } })).toBe(
      '11 people would get a message on 2030-01-01, more than the limit of 10',
    );
  });
});

describe('a tag, and a conversation that was read', () => {
  it.each<[string, RequestState, RequestSettings, string]>([
    ['go', tag, write, 'create'],
    ['go', read, write, 'create'],
    ['wait if nobody may write them', tag, { ...write, tags: false }, 'wait'],
    ['wait if nobody may write them', read, { ...write, conversations: false }, 'wait'],
    ['are reviewed if everything is', tag, { ...write, isReviewed: true }, 'review'],
    ['are reviewed if everything is', read, { ...write, isReviewed: true }, 'review'],
    ['go once they are approved', { ...tag, hold: approved }, { ...write, isReviewed: true }, 'create'],
  ])('%s', (_, request, settings, expected) => {
    expect(decided(request, settings)).toBe(expected);
  });

  it('are limited by the tags of a day', () => {
    expect(decided(tag, write, { ...now, newTags: 1 })).toBe('create');
    expect(decided(tag, write, { ...now, newTags: 2 })).toBe('limit');
    expect(decided(tag, write, { ...now, newTags: 1 }, withSent(nobody, tag))).toBe('limit');
    expect(decided(read, write, { ...now, newTags: 9 })).toBe('create');
    expect(
      decided({ ...tag, hold: held({ reason: 'limit', decision: 'approved' }) }, write, {
        ...now,
        newTags: 2,
      }),
    ).toBe('create');
  });
});
