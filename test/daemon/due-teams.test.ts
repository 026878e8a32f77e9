import { beforeEach, describe, expect, it } from 'vitest';
import { createDueTeams, type DueTeams, longestSleepMs } from '../../src/daemon/due-teams.ts';
import type { DueGroup } from '../../src/model/run-group.ts';

describe('the search for due teams', () => {
  const names = Array.from({ length: 100 }, (_, i) => `team ${i}`);
  let lookMs = 10;
  let now = 0;
  let looks = 0;
  let due: readonly string[] = [];
  let nextMs: number | null = null;
  let offers: { readonly team: string; readonly taken: () => void }[] = [];
  let isAway = false;
  /** Something becomes due while they are looked at, once. */
  let isWoken = false;
  let teams: DueTeams;
  beforeEach(() => {
    [now, lookMs, looks, due, nextMs, offers, isAway, isWoken] = [100_000, 10, 0, [], null, [], false, false];
    const group: readonly DueGroup[] = [{ group: 'users', dueAt: 'now' }];
    teams = createDueTeams({
      names: () => names,
      store: {
        readNextDueMs: () => {
          looks += 1;
          now += lookMs;
          if (isWoken) teams.wake();
          isWoken = false;
          return isAway ? Promise.reject(new Error('away')) : Promise.resolve(nextMs);
        },
        readDue: () => Promise.resolve(new Map(due.map((team) => [team, group]))),
      },
      offer: (team) => new Promise<void>((resolve) => offers.push({ team, taken: resolve })),
      monotonicMs: () => now,
    });
  });

  it('offers every due team to the queue without waiting until the queue takes an earlier team', async () => {
    due = ['team 1', 'team 2', 'team 3'];
    const look = teams.look();
    await new Promise((resolve) => setImmediate(resolve));
    expect(offers.map(({ team }) => team)).toEqual(due);
    for (const { taken } of offers) taken();
    expect(await look).toBeLessThanOrEqual(5_000);
  });

  it('spends at most a twentieth of the time on queries, however many runs end', async () => {
    for (; now < 110_000; now += 5) {
      teams.done('team 1', 'complete');
      await teams.look();
    }
    expect(looks).toBeGreaterThan(10);
    expect(looks * lookMs).toBeLessThanOrEqual(10_000 / 20);
  });

  it('after a run, queries again once 20 times the duration of the last query have passed', async () => {
    expect(await teams.look()).toBe(longestSleepMs - lookMs);
    teams.done('team 1', 'complete');
    expect(await teams.look()).toBe(20 * lookMs);
    now += 20 * lookMs;
    await teams.look();
    expect(looks).toBe(2);
  });

  it('queries within a second after a run, however slow the database is', async () => {
    lookMs = 4_000;
    await teams.look();
    teams.done('team 1', 'complete');
    expect(await teams.look()).toBe(1_000);
  });

  it('queries a second time if a wake comes during a query', async () => {
    isWoken = true;
    expect(await teams.look()).toBe(20 * lookMs);
    expect(await teams.look()).toBe(20 * lookMs);
    now += 20 * lookMs;
    expect(await teams.look()).toBe(longestSleepMs - lookMs);
  });

  it('queries when the next team is due, and one second after a failed query', async () => {
    nextMs = 3_000;
    expect(await teams.look()).toBe(3_000 - lookMs);
    now += 3_000;
    isAway = true;
    await expect(teams.look()).rejects.toThrow('away');
    now += 1_000;
    isAway = false;
    await teams.look();
    expect(looks).toBe(3);
  });
});
