import { expect, it } from 'vitest';
import { isUp, type SeenDaemon, sayEveryMs, silentAfterMs, stoppedOf } from '../../src/model/daemons.ts';

const now = new Date('2026-03-11T14:31:40Z');
const before = (ms: number) => new Date(now.getTime() - ms);

const seen = (pid: number, saidMs: number, endedMs?: number): SeenDaemon => ({
  team: 'harbour',
  host: 'mirror-1',
  pid: BigInt(pid),
  bySystemd: true,
  startedAt: before(86_400_000),
  seenAt: before(saidMs),
  endedAt: endedMs === undefined ? null : before(endedMs),
  how: endedMs === undefined ? null : 'asked',
});

it.each([
  ['reported just now', seen(1, 0), true],
  ['reported almost three intervals ago', seen(1, 2.9 * sayEveryMs), true],
  ['reported as long ago as is allowed', seen(1, silentAfterMs), true],
  ['reported longer ago than is allowed', seen(1, silentAfterMs + 1), false],
  ['has ended', seen(1, 1_000, 1_000), false],
])('isUp returns $2 for a daemon that $0', (_, daemon, expected) => {
  expect(isUp(daemon, now)).toBe(expected);
});

const alive = seen(1, 30_000);
const silent = seen(2, 1_200_000);
const ended = seen(3, 1_260_000, 900_000);
const elsewhere = { ...seen(4, 10, 10), team: 'north' };

it.each([
  ['no daemon has ever reported', [], undefined],
  ['only a daemon of another team has reported', [elsewhere], undefined],
  ['one runs', [alive], undefined],
  ['one runs, and two do not', [ended, silent, alive, elsewhere], undefined],
  ['one is silent', [silent], silent],
  ['one has ended', [ended], ended],
  ['one is silent, and one has ended later', [silent, ended, elsewhere], ended],
])('stoppedOf returns the last daemon, or undefined if one runs: %s', (_, daemons, expected) => {
  expect(stoppedOf(daemons, 'harbour', now)).toBe(expected);
});
