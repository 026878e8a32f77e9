import { describe, expect, it } from 'vitest';
import {
  accepted,
  eventsOf,
  type EventState,
  failed,
  type GroupStanding,
  nextNotice,
  type Notice,
  type Backlog,
  type TeamStanding,
} from '../../src/model/notices.ts';

const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000];

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
  waiting: null,
  held: null,
  sendBlock: null,
};

const inWord = (state: EventState) => (typeof state === 'string' ? state : 'stands');

describe('what there is to tell of a team', () => {
  const fresh = group(true, 'complete');
  const failing = group(false, 'failed');
  const partial = group(false, 'partial');
  const mended = group(true, 'failed');
  const silent = [group(false, null), group(false, 'complete'), group(false, 'refused')];
  it.each<[string, number | null, readonly GroupStanding[], string, string, string]>([
    ['nothing', null, [], 'over', 'over', 'over'],
    ['a fresh group', null, [fresh], 'over', 'over', 'over'],
    ['a failure that is tolerated', null, [mended], 'over', 'over', 'over'],
    ['a group that fails', null, [fresh, failing], 'over', 'stands', 'covered'],
    ['a group that stays partial', null, [partial], 'over', 'stands', 'covered'],
    ['one that fails and one that is silent', null, [failing, ...silent], 'over', 'stands', 'covered'],
    ['a silent group that never ran', null, silent.slice(0, 1), 'over', 'covered', 'stands'],
    ['a silent group that was complete', null, silent.slice(1, 2), 'over', 'covered', 'stands'],
    ['a silent group that was refused', null, silent.slice(2), 'over', 'covered', 'stands'],
    ['refused credentials', 5, [fresh], 'stands', 'covered', 'covered'],
    ['refused credentials and what follows', 5, [failing, ...silent], 'stands', 'covered', 'covered'],
  ])('with %s', (_, refusedSinceMs, groups, ...states) => {
    const events = eventsOf({ ...quiet, refusedSinceMs, groups });
    const told = [events['credentials-refused'], events.failing, events.stale];
    expect(told.map(inWord)).toEqual(states);
    expect([events['batch-waits'], events['fields-held']]).toEqual(['over', 'over']);
  });

  it('is a pile as long as there is one, whatever else there is', () => {
    const waiting = { count: 30, sinceMs: 3 };
    const held = { count: 2, sinceMs: 4 };
    for (const refusedSinceMs of [null, 5]) {
      const both = eventsOf({ ...quiet, groups: [failing], refusedSinceMs, waiting, held });
      expect(both['batch-waits']).toEqual(waiting);
      expect(both['fields-held']).toEqual(held);
    }
    expect(inWord(eventsOf({ ...quiet, waiting })['fields-held'])).toBe('over');
    expect(inWord(eventsOf({ ...quiet, held })['batch-waits'])).toBe('over');
  });

  it.each([
    ['at home', null, 'over', 'stands'],
    ['a copy, as meant', 'copy', 'over', 'covered'],
    ['somewhere else', 'elsewhere', 'stands', 'covered'],
  ] as const)('asks nobody to decide where nothing is sent: %s', (_, why, elsewhere, piles) => {
    const pile = { count: 2, sinceMs: 4 };
    const sendBlock = why === null ? null : { why, sinceMs: 3 };
    const events = eventsOf({
      ...quiet,
      groups: [failing],
      waiting: pile,
      held: pile,
      sendBlock,
    });
    expect(inWord(events.elsewhere)).toBe(elsewhere);
    expect([events['batch-waits'], events['fields-held']].map(inWord)).toEqual([piles, piles]);
    expect(inWord(events.failing)).toBe('stands');
    if (why === 'elsewhere') expect(events.elsewhere).toEqual({ count: 1, sinceMs: 3 });
  });

  it('stands since the oldest of its groups', () => {
    const failingGroups = [group(false, 'failed', { sinceMs: 2 }), group(false, 'failed', { sinceMs: 9 })];
    const events = eventsOf({ ...quiet, groups: [...failingGroups, group(false, null, { sinceMs: 1 })] });
    expect(events.failing).toEqual({ count: 2, sinceMs: 2 });
    expect(eventsOf({ ...quiet, refusedSinceMs: 5 })['credentials-refused']).toEqual({
      count: 1,
      sinceMs: 5,
    });
  });
});

describe('what is done about an event', () => {
  const stands: Backlog = { count: 3, sinceMs: 40 };
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
    count: 3,
    madeAtMs: start,
    doneAtMs: start,
    nextTryMs: start,
    tries: 1,
    ...more,
  });
  const unsent = { doneAtMs: null, tries: 0 };
  const failedOnce = { doneAtMs: null, tries: 1, nextTryMs: start + minute };
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
    ['covered, none', 'covered', undefined, 0, '-'],
    ['covered, told', 'covered', last(), 2 * day, '-'],
    ['covered, not sent yet', 'covered', last(unsent), day, '-'],
    ['stands, none', stands, undefined, 0, 'send new stands'],
    ['stands, over before', stands, last({ stands: false }), 1, 'send new stands'],
    ['stands, its end not sent yet', stands, last({ stands: false, ...failedOnce }), 1, 'send new stands'],
    ['stands, not sent yet', stands, last(unsent), 0, 'send same stands'],
    ['stands, claimed by somebody', stands, last({ ...unsent, nextTryMs: start + 1 }), 0, '-'],
    [
      'stands, a claim that is over',
      stands,
      last({ ...unsent, nextTryMs: start + 1 }),
      1,
      'send same stands',
    ],
    ['stands, failed just now', stands, last(failedOnce), minute - 1, '-'],
    ['stands, failed a while ago', stands, last(failedOnce), minute, 'send same stands'],
    ['stands, failing for days', stands, last(failedOnce), 9 * day, 'send same stands'],
    ['stands, told', stands, last(), day - 1, '-'],
    ['stands, told a day ago', stands, last(), day, 'send new stands reminder'],
    ['stands, many more', { ...stands, count: 90 }, last(), hour, '-'],
    ['stands, over a moment ago', stands, last({ stands: false, tries: 9 }), 1, 'send new stands'],
    ['over, none', 'over', undefined, 0, '-'],
    ['over, told', 'over', last(), 0, 'send new over'],
    ['over, never tried', 'over', last(unsent), 0, 'write same over done'],
    ['over, failed so far', 'over', last(failedOnce), 0, 'send new over'],
    ['over, told so', 'over', last({ stands: false }), 9 * day, '-'],
    ['over, failed just now', 'over', last({ stands: false, ...failedOnce }), 1, '-'],
    ['over, failed a while ago', 'over', last({ stands: false, ...failedOnce }), minute, 'send same over'],
    ['over, in vain for a day', 'over', last({ stands: false, ...failedOnce }), day, 'write same over done'],
  ])('%s', (_, state, notice, nowMs, expected) => {
    expect(sum(state, notice, nowMs)).toBe(expected);
  });

  it('is claimed for longer than a call takes, and counted', () => {
    const step = nextNotice({ ...stands, count: 8 }, last(failedOnce), at(minute));
    expect(step).toEqual({
      send: true,
      notice: { ...last(failedOnce), count: 8, tries: 2, nextTryMs: start + minute + 30 * second },
    });
  });

  it('is told with what there is now, and its end with what was told', () => {
    expect(nextNotice({ ...stands, sinceMs: 99 }, last(), at(day))?.notice).toMatchObject({
      sinceMs: 99,
      madeAtMs: start + day,
      doneAtMs: null,
    });
    expect(nextNotice('over', last(), at(5))?.notice).toMatchObject({
      sinceMs: 30,
      count: 3,
      tries: 1,
    });
  });

  it('is over once it is accepted, and waits longer with each failure, a quarter of an hour at most', () => {
    expect(accepted(last(unsent), start + 9)).toEqual(last({ ...unsent, doneAtMs: start + 9 }));
    const waits = [1, 2, 3, 8, 9, 100].map((tries) =>
      [0, 1].map(
        (chance) => (failed(last({ tries, doneAtMs: null }), start, chance).nextTryMs - start) / second,
      ),
    );
    expect(waits).toEqual([
      [2.5, 5],
      [5, 10],
      [10, 20],
      [320, 640],
      [450, 900],
      [450, 900],
    ]);
    expect(failed(last(failedOnce), start, 0).doneAtMs).toBe(null);
  });
});
