import { describe, expect, it } from 'vitest';
import {
  backOffMs,
  editsWaitMs,
  endOfInterrupted,
  type LoopStore,
  plannedOf,
  type RunEnd,
  workOn,
} from '../../src/daemon/run-due.ts';
import { createTimetable } from '../../src/daemon/timetable.ts';
import { MusterdError } from '../../src/errors.ts';
import { everyEdit, type NextTime } from '../../src/model/run-group.ts';

describe('backOffMs', () => {
  const minute = 60_000;
  it.each([
    [0, 5 * minute, 0],
    [1, 5 * minute, 0],
    [2, 5 * minute, 10 * minute],
    [3, 5 * minute, 20 * minute],
    [4, 5 * minute, 40 * minute],
    [5, 5 * minute, 60 * minute],
    [1_000, 5 * minute, 60 * minute],
    [2, 24 * 60 * minute, 60 * minute],
    [9, 0, 0],
  ])('after %i failures of a group run each %i ms, returns a delay of %i ms', (failures, gapMs, is) => {
    expect(backOffMs(failures, gapMs)).toBe(is);
  });
});

describe('editsWaitMs', () => {
  const edits = { team: 'a', isFresh: true, mark: 'm', isMarked: true };
  it.each([
    [null, 0, 0],
    [0, 0, 500],
    [499, 0, 1],
    [500, 0, 0],
    [-86_400_000, 0, 0],
    [900, 1, 100],
    [1_000, 1, 0],
    [0, 60, 3_600_000],
    [3_600_000, 60, 0],
  ])('for edits tried %s ms ago and %i failures, returns a wait of %i ms', (triedForMs, failures, is) => {
    expect(editsWaitMs({ ...edits, triedForMs, failures })).toBe(is);
  });
});

it('plannedOf sets staleAfterMs to three times the longest time between two runs of the group', async () => {
  const schedule = {
    users: '*/5 9-17 * * 1-5',
    listings: '0 * * * *',
    counts: '*/15 * * * *',
  };
  const team = { name: 'a', schedule };
  const timetable = await createTimetable([team], () => undefined);
  const hours = plannedOf([team], timetable).map((planned) => [
    planned.group,
    planned.staleAfterMs / 3_600_000,
  ]);
  expect(Object.fromEntries(hours)).toEqual({ users: 3 * (63 + 5 / 60), listings: 3, counts: 0.75 });
  await timetable.close();
});

it.each([
  [new MusterdError('lease-held', ''), true, 'busy'],
  [new MusterdError('lease-lost', ''), true, 'busy'],
  [new MusterdError('stopped', ''), true, 'stopped'],
  [new MusterdError('stopped', ''), false, 'stopped'],
  [new MusterdError('service', ''), true, undefined],
  [new MusterdError('mirror', ''), true, undefined],
  [new MusterdError('mirror', ''), false, 'busy'],
  [new Error('unforeseen'), true, undefined],
])('endOfInterrupted returns undefined for a run that began and failed: %s, %s: %s', (error, begun, end) => {
  expect(endOfInterrupted(error, begun)).toBe(end);
});

describe('workOn, which runs the due groups of a team', () => {
  const minute = 60_000;
  const edited = { team: 'a', isFresh: true, triedForMs: 60_000, failures: 0, mark: '9:9:', isMarked: true };
  const nextAfter = async (end: RunEnd, due: readonly string[] = ['users'], edits?: typeof edited) => {
    const asked: string[] = [];
    const groups: string[] = [];
    const next: NextTime[] = [];
    const store: Pick<LoopStore, 'readWork' | 'readFailures' | 'setNextTime' | 'noteEdits'> = {
      noteEdits: () => Promise.resolve(),
      readWork: () =>
        Promise.resolve({ due: due.map((group) => ({ group, dueAt: 'then' }) as NextTime), edits }),
      readFailures: (team) => {
        asked.push(team);
        return Promise.resolve(new Map([['users', 3]]));
      },
      setNextTime: (_team, times) => {
        next.push(...times);
        return Promise.resolve();
      },
    };
    const timetable = { delayMs: () => minute, gapMs: () => 5 * minute, textOf: () => '' };
    const run = (_team: string, given: readonly string[]) => {
      groups.push(...given);
      return Promise.resolve(end);
    };
    const loop = { store, timetable, run, monotonicMs: () => 0 };
    await workOn(loop as never, 'a');
    return { asked, groups, delayMs: next[0]?.delayMs };
  };

  it('reads the number of failures, and delays the next run by this number, only after a failed run', async () => {
    expect(await nextAfter('failed')).toMatchObject({ asked: ['a'], delayMs: backOffMs(3, 5 * minute) });
    expect(await nextAfter('complete')).toMatchObject({ asked: [], delayMs: minute });
    expect(await nextAfter('partial')).toMatchObject({ asked: [], delayMs: minute });
  });

  it.each<RunEnd>(['stopped', 'busy'])('leaves the group due if its run ends as %s', async (end) => {
    expect(await nextAfter(end)).toMatchObject({ delayMs: undefined });
  });

  it.each([
    [['counts'], undefined, ['counts']],
    [['users', 'counts'], edited, ['users', 'counts']],
    [['counts'], edited, ['counts', 'edits']],
    [[], edited, ['edits']],
    [[], { ...edited, isFresh: false }, []],
    [[], { ...edited, failures: 13 }, []],
  ])('runs the due groups, and fresh edits too if users are not due: %j', async (due, edits, groups) => {
    expect((await nextAfter('complete', due, edits)).groups).toEqual(groups);
  });
});

describe('the mark of seen edits, moved only by a complete run without a decision', () => {
  /** One team's mark, as the database keeps it: over none a mark is noted only where that is asked for. */
  const workWith = async (before: string | null, decides: boolean, end: RunEnd) => {
    let mark = before;
    const seen: (string | null)[] = [];
    const store: LoopStore = {
      registerGroups: () => Promise.resolve(),
      readDue: () => Promise.resolve(new Map()),
      readNextDueMs: () => Promise.resolve(null),
      readFailures: () => Promise.resolve(new Map()),
      setNextTime: () => Promise.resolve(),
      readFreshEdits: () => Promise.resolve([]),
      readWork: () => {
        const waits = { team: 'a', isFresh: true, triedForMs: null, failures: 0 };
        return Promise.resolve({ due: [], edits: { ...waits, mark: '9:9:', isMarked: mark !== null } });
      },
      noteEdits: (_team, next, overMark = false) => {
        if (!overMark || mark !== null) mark = next;
        return Promise.resolve();
      },
    };
    const run = () => {
      seen.push(mark);
      if (decides) mark = null;
      return Promise.resolve(end);
    };
    const timetable = await createTimetable([], () => undefined);
    await workOn({ store, timetable, run, monotonicMs: () => 0 }, 'a');
    await timetable.close();
    return { seen, after: mark };
  };

  it.each<readonly [string | null, boolean, RunEnd, string | null, string | null]>([
    ['7:7:', false, 'complete', '7:7:', '9:9:'],
    ['7:7:', true, 'complete', '7:7:', null],
    [null, false, 'complete', everyEdit, '9:9:'],
    [null, true, 'complete', everyEdit, null],
    [null, true, 'refused', everyEdit, null],
    ['7:7:', false, 'postponed', '7:7:', null],
    ['7:7:', false, 'partial', '7:7:', '7:7:'],
  ])('mark %s, decision %s: a %s run reads %s and leaves %s', async (before, decides, end, seen, after) => {
    expect(await workWith(before, decides, end)).toEqual({ seen: [seen], after });
  });
});
