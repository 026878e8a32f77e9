import { expect, it } from 'vitest';
import type { Overlap } from '../../src/model/absence.ts';
import type { Team } from '../../src/model/team.ts';
import { absenceHash } from '../../src/reconcile/missing-rows.ts';
import { judgeOverlap, sayReplaced } from '../../src/reconcile/overlap.ts';
import { member } from './states.ts';

const scope = { baseUrl: 'https://service.example.com', filters: {} };
const teamOf = (size: number, name: string | null): Team => ({
  id: 41n,
  name,
  listSize: null,
  members: Array.from({ length: size }, (_, i) => ({ ...member, id: BigInt(i + 1) })),
  rejected: [],
  raw: {},
});
const judge = (listed: number, overlap: Partial<Overlap>, name: string | null = 'North') =>
  judgeOverlap(
    {
      readOverlap: () =>
        Promise.resolve({ known: 0, population: 0, unlisted: [], name: 'North', ...overlap }),
    },
    teamOf(listed, name),
    scope,
  );

it.each([
  [3, 1, 3, 'waits'],
  [3, 2, 3, 'goes on'],
  [20, 9, 20, 'waits'],
  [20, 10, 20, 'goes on'],
  [20, 1, 4, 'waits'],
  [20, 2, 4, 'goes on'],
  [5, 2, 40, 'waits'],
  [5, 3, 40, 'goes on'],
  [2, 0, 40, 'goes on'],
  [40, 0, 2, 'goes on'],
  [0, 0, 40, 'goes on'],
] as const)(
  'of %i listed the mirror knows %i, and has %i itself: %s',
  async (listed, known, population, what) => {
    const judged = await judge(listed, { known, population, unlisted: [7n, 8n] });
    if (what === 'goes on') {
      expect(judged).toBeNull();
      return;
    }
    expect(judged).toMatchObject({ hash: absenceHash('users', [7n, 8n]), ids: [7n, 8n] });
    expect(sayReplaced(judged ?? { hash: '', reason: '', ids: [] })).toContain(
      `2 users have left; agree to it with "musterd approve ${judged?.hash} --reason`,
    );
  },
);

it.each([
  ['North', 'North', 'waits'],
  [null, 'North', 'waits'],
  ['North', null, 'waits'],
  ['North', 'South', 'another team'],
] as const)('is another team if both names are known and differ: %s and %s', async (ours, theirs, what) => {
  const judged = judge(10, { known: 1, population: 10, unlisted: [9n], name: ours }, theirs);
  if (what === 'waits') await expect(judged).resolves.toMatchObject({ ids: [9n] });
  else await expect(judged).rejects.toMatchObject({ code: 'wrong-team' });
});

it('is the same team under another name where enough of them are known', async () => {
  expect(await judge(10, { known: 5, population: 10, unlisted: [9n], name: 'North' }, 'South')).toBeNull();
});
