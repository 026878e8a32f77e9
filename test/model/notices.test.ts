import { describe, expect, it } from 'vitest';
import {
  eventsOf,
  type EventState,
  type GroupStanding,
  nextNotice,
  type Notice,
  type TeamStanding,
} from '../../src/model/notices.ts';

const [minute, day] = [60_000, 86_400_000];

const group = (fresh: boolean, outcome: string | null, more: Partial<GroupStanding> = {}): GroupStanding => ({
  group: 'users',
  fresh,
  outcome,
  sinceMs: 7,
  ...more,
});
const quiet: TeamStanding = {
  groups: [],
  refusedSinceMs: null,
  waitingSinceMs: null,
  heldSinceMs: null,
  sendBlock: null,
};

const inWord = (state: EventState) => (typeof state === 'string' ? state : 'stands');

describe('eventsOf', () => {
  const fresh = group(true, 'complete');
  const failing = group(false, 'failed');
  const partial = group(false, 'partial');
  const mended = group(true, 'failed');
  const silent = [group(false, null), group(false, 'complete'), group(false, 'refused')];
  it.each<[string, number | null, readonly GroupStanding[], string, string, string]>([
    ['no group', null, [], 'over', 'over', 'over'],
    ['a fresh group', null, [fresh], 'over', 'over', 'over'],
    ['a failure that is tolerated', null, [mended], 'over', 'over', 'over'],
    ['a group that fails', null, [fresh, failing], 'over', 'stands', 'covered'],
    ['a group that stays partial', null, [partial], 'over', 'stands', 'covered'],
    ['a group that fails, and silent ones', null, [failing, ...silent], 'over', 'stands', 'covered'],
    ['a silent group that never ran', null, silent.slice(0, 1), 'over', 'covered', 'stands'],
    ['a silent group that was complete', null, silent.slice(1, 2), 'over', 'covered', 'stands'],
    ['a silent group that was refused', null, silent.slice(2), 'over', 'covered', 'stands'],
    ['refused credentials', 5, [fresh], 'stands', 'covered', 'covered'],
    ['refused credentials, and failing groups', 5, [failing, ...silent], 'stands', 'covered', 'covered'],
  ])('for $0 gives credentials-refused $3, failing $4, stale $5', (_, refusedSinceMs, groups, ...states) => {
    const events = eventsOf({ ...quiet, refusedSinceMs, groups });
    const told = [events['credentials-refused'], events.failing, events.stale];
    expect(told.map(inWord)).toEqual(states);
    expect([events['batch-waits'], events['fields-held']]).toEqual(['over', 'over']);
  });

  it('reports a waiting batch, and reports held fields, independently of any other event', () => {
    const [waitingSinceMs, heldSinceMs] = [3, 4];
    for (const refusedSinceMs of [null, 5]) {
      const both = eventsOf({ ...quiet, groups: [failing], refusedSinceMs, waitingSinceMs, heldSinceMs });
      expect(both['batch-waits']).toBe(waitingSinceMs);
      expect(both['fields-held']).toBe(heldSinceMs);
    }
    expect(inWord(eventsOf({ ...quiet, waitingSinceMs })['fields-held'])).toBe('over');
    expect(inWord(eventsOf({ ...quiet, heldSinceMs })['batch-waits'])).toBe('over');
  });

  it.each([
    ['a mirror that may send', null, 'over', 'stands'],
    ['a declared copy', 'copy', 'over', 'covered'],
    ['a mirror at another address', 'elsewhere', 'stands', 'covered'],
  ] as const)('for $0 gives elsewhere $2, batch-waits and fields-held $3', (_, why, elsewhere, piles) => {
    const sendBlock = why === null ? null : { why, sinceMs: 3 };
    const events = eventsOf({
      ...quiet,
      groups: [failing],
      waitingSinceMs: 4,
      heldSinceMs: 4,
      sendBlock,
    });
    expect(inWord(events.elsewhere)).toBe(elsewhere);
    expect([events['batch-waits'], events['fields-held']].map(inWord)).toEqual([piles, piles]);
    expect(inWord(events.failing)).toBe('stands');
    if (why === 'elsewhere') expect(events.elsewhere).toBe(3);
  });

  it('dates a failure by the group that has been failing longest', () => {
    const failingGroups = [group(false, 'failed', { sinceMs: 2 }), group(false, 'failed', { sinceMs: 9 })];
    const events = eventsOf({ ...quiet, groups: [...failingGroups, group(false, null, { sinceMs: 1 })] });
    expect(events.failing).toBe(2);
    expect(eventsOf({ ...quiet, refusedSinceMs: 5 })['credentials-refused']).toBe(5);
  });
});

describe('nextNotice', () => {
  const stands = 40;
  const start = 1_000_000_000;
  let made = 0;
  const createId = () => {
    made += 1;
    return `new${made}`;
  };
  const at = (nowMs: number) => ({ nowMs: start + nowMs, createId });
  const last = (more: Partial<Notice> = {}): Notice => ({
    stands: true,
    id: 'last',
    reminder: false,
    sinceMs: 30,
    madeAtMs: start,
    doneAtMs: start,
    nextTryMs: start,
    ...more,
  });
  const unsent = { doneAtMs: null, nextTryMs: start + minute };
  /** `send`, `write`, `-`, and whether the notice is new, says that it stands, and is a reminder. */
  const sum = (state: EventState, notice: Notice | undefined, nowMs: number) => {
    const step = nextNotice(state, notice, at(nowMs));
    if (step === null) return '-';
    const { id, stands: says, reminder, doneAtMs } = step.notice;
    return [
      step.send ? 'send' : 'write',
      id === 'last' ? 'same' : 'new',
      says ? 'stands' : 'over',
      ...(reminder ? ['reminder'] : []),
      ...(doneAtMs === null ? [] : ['done']),
    ].join(' ');
  };

  it.each<[string, EventState, Notice | undefined, number, string]>([
    ['covered, no notice', 'covered', undefined, 0, '-'],
    ['covered, notice accepted', 'covered', last(), 2 * day, '-'],
    ['covered, notice not accepted yet', 'covered', last(unsent), day, '-'],
    ['stands, no notice', stands, undefined, 0, 'send new stands'],
    ['stands, notice of an end', stands, last({ stands: false }), 1, 'send new stands'],
    ['stands, notice of end is pending', stands, last({ stands: false, ...unsent }), 1, 'send new stands'],
    ['stands, notice sent just now', stands, last(unsent), minute - 1, '-'],
    ['stands, notice open for a minute', stands, last(unsent), minute, 'send same stands'],
    ['stands, notice open for days', stands, last(unsent), 9 * day, 'send same stands'],
    ['stands, notice accepted', stands, last(), day - 1, '-'],
    ['stands, notice accepted a day ago', stands, last(), day, 'send new stands reminder'],
    ['over, no notice', 'over', undefined, 0, '-'],
    ['over, notice accepted', 'over', last(), 0, 'send new over'],
    ['over, notice not accepted yet', 'over', last(unsent), 0, 'send new over'],
    ['over, notice of the end accepted', 'over', last({ stands: false }), 9 * day, '-'],
    ['over, notice sent just now', 'over', last({ stands: false, ...unsent }), minute - 1, '-'],
    ['over, notice open for a minute', 'over', last({ stands: false, ...unsent }), minute, 'send same over'],
    ['over, notice open for a day', 'over', last({ stands: false, ...unsent }), day, 'write same over done'],
  ])('for the event and last notice "$0", returns: $4', (_, state, notice, nowMs, expected) => {
    expect(sum(state, notice, nowMs)).toBe(expected);
  });

  it('postpones the next try of an unsent notice by one minute, and keeps the id of the notice', () => {
    expect(nextNotice(stands, last(unsent), at(minute))).toEqual({
      send: true,
      notice: last({ ...unsent, nextTryMs: start + 2 * minute }),
    });
  });

  it('puts the current start of the event into a reminder, and the reported start into the notice of an end', () => {
    expect(nextNotice(99, last(), at(day))?.notice).toMatchObject({
      sinceMs: 99,
      madeAtMs: start + day,
      doneAtMs: null,
    });
    expect(nextNotice('over', last(), at(5))?.notice).toMatchObject({ sinceMs: 30 });
  });
});
