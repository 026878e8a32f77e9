import { expect, it } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { createTeamMemories } from '../../src/daemon/team-memory.ts';
import type { Team } from '../../src/model/team.ts';

const team: Team = {
  id: 41n,
  name: 'North',
  listSize: 3n,
  members: [],
  rejected: [],
  raw: { much: 'of it' },
};
const [one, other] = [{ team: 'north' }, { team: 'north' }] as unknown as readonly [Config, Config];

it('createTeamMemories returns a kept team for one minute, and only to the same configuration', () => {
  let now = 1_000;
  const memoryOf = createTeamMemories(() => now);
  expect(memoryOf(one).recall()).toBeUndefined();
  memoryOf(one).keep(team, now);
  now += 59_999;
  expect(memoryOf(one).recall()).toEqual({ ...team, raw: {} });
  expect(memoryOf(other).recall()).toBeUndefined();
  now += 1;
  expect(memoryOf(one).recall()).toBeUndefined();
});
