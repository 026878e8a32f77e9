import { describe, expect, it } from 'vitest';
import { ageStandings, isAtWork, judgeFreshness } from '../../src/model/freshness.ts';
import type { RunGroup, GroupStatus } from '../../src/model/run-group.ts';

const minute = 60_000;
const hour = 60 * minute;

function standing(group: RunGroup, changed: Partial<GroupStatus> = {}): GroupStatus {
  return {
    team: 'harbour',
    group,
    knownForMs: 1000 * hour,
    startedAt: null,
    outcome: null,
    failures: 0,
    completeAt: null,
    completeForMs: null,
    ...changed,
  };
}

const users = new Map([['harbour', { users: 5 * minute }]]);
const limitMs = 15 * minute;

describe('judgeFreshness of one group', () => {
  // completeForMs, knownForMs (null: no row), upForMs → fresh, ageMs
  it.each([
    [0, hour, hour, true, 0],
    [limitMs, hour, hour, true, limitMs],
    [limitMs + 1, hour, hour, false, limitMs + 1],
    // A process that has just started excuses no old run …
    [limitMs + 1, hour, 0, false, limitMs + 1],
    // … and no group that has been known for long and was never complete.
    [null, 0, hour, true, 0],
    [null, limitMs, hour, true, limitMs],
    [null, limitMs + 1, hour, false, limitMs + 1],
    [null, limitMs + 1, 0, false, limitMs + 1],
    [null, 0, 0, true, 0],
    // What is not known yet counts from the start of the process.
    [null, null, 0, true, 0],
    [null, null, limitMs, true, limitMs],
    [null, null, limitMs + 1, false, limitMs + 1],
    // Clocks that part by a little, and one that was set back: then the run tells nothing any more.
    [-30_000, hour, hour, true, 0],
    [-60_000, hour, hour, true, 0],
    [-hour, hour, hour, false, hour],
  ] as const)(
    'judges age by a limit of 15 min: complete %s ms ago, known for %s ms, process up for %s ms: fresh %s',
    (completeForMs, knownForMs, upForMs, fresh, ageMs) => {
      const standings = knownForMs === null ? [] : [standing('users', { completeForMs, knownForMs })];
      expect(judgeFreshness(standings, users, upForMs)).toEqual([
        {
          team: 'harbour',
          fresh,
          groups: [{ group: 'users', fresh, ageMs, limitMs, never: completeForMs === null }],
        },
      ]);
    },
  );

  it.each(['complete', 'partial', 'failed', 'refused', 'running', null])(
    'measures the age from the last complete run even if the latest outcome is %s',
    (outcome) => {
      const at = (completeForMs: number) =>
        judgeFreshness([standing('users', { outcome, completeForMs, failures: 9 })], users, hour)[0]?.fresh;
      expect([at(limitMs), at(limitMs + 1)]).toEqual([true, false]);
    },
  );
});

describe('judgeFreshness', () => {
  it('judges each group by the interval of this group, and a team as stale if one of its groups is stale', () => {
    const intervals = new Map([
      ['harbour', { users: 5 * minute, listings: hour, counts: 15 * minute }],
      ['quay', { users: hour }],
    ]);
    const standings = [
      standing('users', { completeForMs: minute }),
      standing('listings', { completeForMs: 3 * hour }),
      standing('counts', { completeForMs: 45 * minute + 1 }),
      standing('users', { team: 'quay', completeForMs: 2 * hour }),
      standing('users', { team: 'unknown', completeForMs: 1000 * hour }),
    ];
    const judged = judgeFreshness(standings, intervals, hour);
    expect(judged.map(({ team, fresh }) => [team, fresh])).toEqual([
      ['harbour', false],
      ['quay', true],
    ]);
    expect(judged[0]?.groups.map(({ group, fresh }) => [group, fresh])).toEqual([
      ['users', true],
      ['listings', true],
      ['counts', false],
    ]);
  });

  it('omits the group edits, and every group without a schedule', () => {
    const standings = [standing('edits', { completeForMs: 1000 * hour }), standing('counts')];
    expect(judgeFreshness(standings, new Map([['harbour', {}]]), hour)).toEqual([
      { team: 'harbour', fresh: true, groups: [] },
    ]);
  });
});

describe('ageStandings', () => {
  it('adds the passed time to each known age, and leaves an unknown age null', () => {
    const [first, second] = ageStandings(
      [standing('users', { completeForMs: 1, knownForMs: 2 }), standing('counts', { knownForMs: 3 })],
      10,
    );
    expect([first?.completeForMs, first?.knownForMs]).toEqual([11, 12]);
    expect([second?.completeForMs, second?.knownForMs]).toEqual([null, 13]);
  });
});

describe('isAtWork', () => {
  const of = (team: string, completeForMs: number, listingsForMs = 0) =>
    judgeFreshness(
      [
        standing('users', { team, completeForMs }),
        standing('listings', { team, completeForMs: listingsForMs }),
      ],
      new Map([[team, { users: 5 * minute, listings: hour }]]),
      0,
    );
  const stale = of('harbour', hour);
  const fresh = of('quay', minute);
  // teams, upForMs → at work
  it.each([
    ['there is no team', [], hour, true],
    ['one team is fresh', fresh, hour, true],
    ['one is stale, as right after a start', stale, limitMs, true],
    ['one is stale for longer than a start explains', stale, limitMs + 1, false],
    ['one of two teams is stale', [...stale, ...fresh], hour, true],
    ['one of two groups is stale', of('harbour', hour, hour / 2), hour, false],
    ['both teams are stale', [...stale, ...of('quay', hour)], hour, false],
  ] as const)('returns false only if an old process has no fresh team: %s', (_, teams, upForMs, atWork) => {
    expect(isAtWork(teams, upForMs)).toBe(atWork);
  });
});
