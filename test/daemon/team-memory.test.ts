import { describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { createTeamMemories } from '../../src/daemon/team-memory.ts';
import type { Team } from '../../src/model/team.ts';

describe('who is in a team', () => {
  const team: Team = {
    id: 41n,
    name: 'North',
    listSize: 3n,
    members: [],
    rejected: [],
    raw: { much: 'of it' },
  };
  const [one, other] = [{ team: 'north' }, { team: 'north' }] as unknown as readonly [Config, Config];

  it('is believed for a minute after it was asked for, and for one configuration alone', () => {
    let now = 1_000;
    const memoryOf = createTeamMemories(() => now);
    expect(memoryOf(one).recall()).toBeUndefined();
    memoryOf(one).keep(team, now);
    now += 59_999;
    expect(memoryOf(one).recall()?.team).toEqual({ ...team, raw: {} });
    expect(memoryOf(other).recall()).toBeUndefined();
    now += 1;
    expect(memoryOf(one).recall()).toBeUndefined();
  });

  it('is counted for as long as it is believed, and until it is read again', () => {
    let now = 1_000;
    const memory = createTeamMemories(() => now)(one);
    memory.keepPopulation(7);
    expect(memory.recall()).toBeUndefined();
    memory.keep(team, now);
    expect(memory.recall()?.population).toBeUndefined();
    memory.keepPopulation(7);
    expect(memory.recall()).toMatchObject({ team: { id: 41n }, population: 7 });
    memory.keep(team, now);
    expect(memory.recall()?.population).toBeUndefined();
    memory.keepPopulation(8);
    now += 60_000;
    expect(memory.recall()).toBeUndefined();
  });
});
