import { describe, expect, it } from 'vitest';
import type { AbsentRow } from '../../src/model/absence.ts';
import { judgeAbsences } from '../../src/reconcile/absence.ts';

const settings = { confirmAfterMs: 600_000, maxRows: 3, maxShare: 0.1 };

const absent = (count: number, missingForMs: number | undefined = 600_000): readonly AbsentRow[] =>
  Array.from({ length: count }, (_, i) => ({ id: BigInt(i + 1), missingForMs }));

type Judged = 'due' | 'all of them' | 'more than half' | 'more than the limit';

function judged(missing: number, population: number): Judged {
  const { due, refused } = judgeAbsences(absent(missing), population, settings);
  if (refused === null) {
    expect(due).toEqual(absent(missing).map(({ id }) => id));
    return 'due';
  }
  expect(due).toEqual([]);
  expect(refused).toContain(`${missing} of ${population} rows are missing`);
  if (refused.includes('an empty list proves nothing')) return 'all of them';
  return refused.includes('more than half') ? 'more than half' : 'more than the limit';
}

describe('judgeAbsences', () => {
  type Population = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;
  type Missing = 0 | 1 | 2 | 3 | 4;
  const half = 'more than half';
  const all = 'all of them';
  const limit = 'more than the limit';
  /** What can not be, more missing than were there, is refused too. */
  const small: Record<Population, Record<Missing, Judged>> = {
    0: { 0: 'due', 1: half, 2: half, 3: half, 4: half },
    1: { 0: 'due', 1: all, 2: all, 3: all, 4: all },
    2: { 0: 'due', 1: 'due', 2: all, 3: all, 4: all },
    3: { 0: 'due', 1: 'due', 2: half, 3: all, 4: all },
    4: { 0: 'due', 1: 'due', 2: 'due', 3: half, 4: all },
    5: { 0: 'due', 1: 'due', 2: 'due', 3: half, 4: half },
    6: { 0: 'due', 1: 'due', 2: 'due', 3: 'due', 4: half },
    7: { 0: 'due', 1: 'due', 2: 'due', 3: 'due', 4: half },
    8: { 0: 'due', 1: 'due', 2: 'due', 3: 'due', 4: limit },
    9: { 0: 'due', 1: 'due', 2: 'due', 3: 'due', 4: limit },
  };
  const cases = Object.entries(small).flatMap(([population, byMissing]) =>
    Object.entries(byMissing).map(([missing, is]) => [Number(missing), Number(population), is] as const),
  );

  it.each(cases)('%i of %i missing: %s', (missing, population, is) => {
    expect(judged(missing, population)).toBe(is);
  });

  it.each([
    [3, 30, 'due'],
    [4, 30, 'more than the limit'],
    [4, 40, 'due'],
    [9, 100, 'due'],
    [10, 100, 'due'],
    [11, 100, 'more than the limit'],
    [10, 109, 'due'],
    [11, 109, 'more than the limit'],
    [50, 100, 'more than the limit'],
    [51, 100, 'more than half'],
    [99, 100, 'more than half'],
    [100, 100, 'all of them'],
    [10_000, 100_000, 'due'],
    [10_001, 100_000, 'more than the limit'],
  ] as const)('%i of %i missing: %s', (missing, population, is) => {
    expect(judged(missing, population)).toBe(is);
  });

  it('says that an empty listing and more than half prove nothing, however wide the limits', () => {
    const wide = { confirmAfterMs: 0, maxRows: 1000, maxShare: 1 };
    expect(judgeAbsences(absent(50), 100, wide).refused).toBeNull();
    expect(judgeAbsences(absent(51), 100, wide).refused).toContain('more than half');
    expect(judgeAbsences(absent(100), 100, wide).refused).toContain('an empty list');
    expect(judgeAbsences(absent(1), 1, wide).refused).toContain('an empty list');
  });

  it('takes limits of zero at their word', () => {
    expect(judgeAbsences(absent(1), 100, { ...settings, maxRows: 0, maxShare: 0 }).refused).toContain(
      'more than the limit of 0',
    );
    expect(judgeAbsences([], 100, { ...settings, maxRows: 0, maxShare: 0 })).toEqual({
      due: [],
      refused: null,
    });
  });

  it('waits until a row has been missing for long enough, by itself', () => {
    const rows: readonly AbsentRow[] = [
      { id: 1n, missingForMs: undefined },
      { id: 2n, missingForMs: 0 },
      { id: 3n, missingForMs: 600_000 },
    ];
    expect(judgeAbsences(rows, 100, settings)).toEqual({ due: [3n], refused: null });
    expect(judgeAbsences(absent(1, 599_999), 100, settings).due).toEqual([]);
    expect(judgeAbsences(absent(1, 600_001), 100, settings).due).toEqual([1n]);
  });

  it('calls nobody gone at the first pass that misses them, even without a wait', () => {
    const first = [{ id: 1n, missingForMs: undefined }];
    expect(judgeAbsences(first, 100, { ...settings, confirmAfterMs: 0 }).due).toEqual([]);
    expect(judgeAbsences(absent(1, 0), 100, { ...settings, confirmAfterMs: 0 }).due).toEqual([1n]);
  });
});
