import { describe, expect, it } from 'vitest';
import type { AbsenceVerdict, AbsenceVerdicts, AbsentRow } from '../../src/model/absence.ts';
import { absenceHash, judgeAbsences as judge } from '../../src/reconcile/missing-rows.ts';

const settings = { confirmAfterMs: 600_000 };

const absent = (count: number, missingForMs: number | undefined = 600_000): readonly AbsentRow[] =>
  Array.from({ length: count }, (_, i) => ({ id: BigInt(i + 1), missingForMs }));

const decided = (verdict: AbsenceVerdict, ids: readonly bigint[]): AbsenceVerdicts =>
  new Map(ids.map((id) => [id, verdict]));

/** Nothing decided. */
function judgeAbsences(missing: readonly AbsentRow[], population: number, by: typeof settings) {
  const { due, withheld } = judge('tags', { absent: missing, population }, by, new Map());
  return { due, refused: withheld?.reason ?? null };
}

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
  /** What cannot be, more missing than were there, is refused too. */
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

  const large = [
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
  ] as const;
  it.each([...cases, ...large])(
    'marks missing rows as gone unless all, over half or more than the limit are missing: %i of %i: %s',
    (missing, population, is) => {
      expect(judged(missing, population)).toBe(is);
    },
  );

  it('marks a row as gone once it was missing for confirmAfterMs, and no earlier (A2)', () => {
    const rows: readonly AbsentRow[] = [
      { id: 1n, missingForMs: undefined },
      { id: 2n, missingForMs: 0 },
      { id: 3n, missingForMs: 600_000 },
    ];
    expect(judgeAbsences(rows, 100, settings)).toEqual({ due: [3n], refused: null });
    expect(judgeAbsences(absent(1, 599_999), 100, settings).due).toEqual([]);
    expect(judgeAbsences(absent(1, 600_001), 100, settings).due).toEqual([1n]);
  });

  it('marks no row as gone in the first run that misses the row, even if confirmAfterMs is 0', () => {
    const first = [{ id: 1n, missingForMs: undefined }];
    expect(judgeAbsences(first, 100, { ...settings, confirmAfterMs: 0 }).due).toEqual([]);
    expect(judgeAbsences(absent(1, 0), 100, { ...settings, confirmAfterMs: 0 }).due).toEqual([1n]);
  });

  /** What becomes of one row that has been missing for long enough, as have two or four others. */
  type Fate = 'due' | 'withheld' | 'found' | 'nothing';
  const fates: readonly (readonly [AbsenceVerdict | 'none', 'few' | 'too many', Fate, number | null])[] = [
    // verdict, how many others are missing, its fate, how many count against the limits
    ['none', 'few', 'due', null],
    ['none', 'too many', 'withheld', 5],
    ['approved', 'few', 'due', null],
    ['approved', 'too many', 'due', 4],
    ['left', 'few', 'withheld', null],
    ['left', 'too many', 'withheld', 4],
    ['found', 'few', 'found', null],
    ['found', 'too many', 'found', 4],
  ];
  it.each(fates)(
    'marks a missing row as gone if approved, or if undecided and few rows are missing: %s, %s missing: %s',
    (...row) => {
      const [verdict, others, fate, counted] = row;
      const known = verdict === 'none' ? new Map() : decided(verdict, [1n]);
      const missing = absent(others === 'few' ? 3 : 5);
      const { due, found, withheld } = judge('tags', { absent: missing, population: 20 }, settings, known);
      const is: Fate = due.includes(1n)
        ? 'due'
        : withheld?.ids.includes(1n) === true
          ? 'withheld'
          : found.includes(1n)
            ? 'found'
            : 'nothing';
      expect(is).toBe(fate);
      if (counted === null) expect(withheld?.reason ?? '').not.toContain('missing,');
      else
        expect(withheld?.reason).toContain(
          `${counted} of ${verdict === 'found' && fate === 'found' ? 19 : 20}`,
        );
      // None of the verdicts says anything of the others.
      expect(due.includes(2n)).toBe(others === 'few');
    },
  );

  it('does not mark a row as gone if an approver left the row out, and names this as the reason', () => {
    const grounds = decided('left', [2n]);
    const { due, withheld } = judge('users', { absent: absent(3), population: 100 }, settings, grounds);
    expect(due).toEqual([1n, 3n]);
    const reason = '1 missing row was left out of an approval';
    expect(withheld).toEqual({ hash: absenceHash('users', [2n]), reason, ids: [2n] });
    const more = judge('users', { absent: absent(30), population: 100 }, settings, grounds);
    expect(more.due).toEqual([]);
    expect(more.withheld).toMatchObject({
      hash: absenceHash(
        'users',
        absent(30).map(({ id }) => id),
      ),
      reason:
        '29 of 100 rows are missing, more than the limit of 10; 1 missing row was left out of an approval',
    });
  });

  it('subtracts rows that a lookup finds from the missing rows and from all rows (A1)', () => {
    const grounds = decided('found', [4n, 3n, 2n]);
    const all = judge('tags', { absent: absent(4), population: 4 }, settings, grounds);
    expect(all.withheld?.reason).toBe('1 of 1 rows are missing: an empty list proves nothing');
    const some = judge('tags', { absent: absent(4), population: 5 }, settings, grounds);
    expect(some).toEqual({ due: [1n], found: [4n, 3n, 2n], withheld: null });
    const back = judge('tags', { absent: absent(3), population: 5 }, settings, grounds);
    expect(back.found).toEqual([3n, 2n]);
  });
});

describe('absenceHash', () => {
  it('returns one hash for the same rows in any order, and another hash for other rows or another resource', () => {
    expect(absenceHash('tags', [2n, 1n])).toBe(absenceHash('tags', [1n, 2n]));
    expect(absenceHash('tags', [1n])).not.toBe(absenceHash('tags', [2n]));
    expect(absenceHash('tags', [1n])).not.toBe(absenceHash('users', [1n]));
  });
});
