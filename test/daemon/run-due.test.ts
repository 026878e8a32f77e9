import { describe, expect, it } from 'vitest';
import { backOffMs, editsWaitMs } from '../../src/daemon/run-due.ts';

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
  ])('after %i failures, with %i ms between two times: %i ms', (failures, gapMs, is) => {
    expect(backOffMs(failures, gapMs)).toBe(is);
  });
});

describe('editsWaitMs', () => {
  const edits = { team: 'a', isFresh: true, mark: 'm', isMarked: true };
  it.each([
    [null, 0, 0],
    [0, 0, 5_000],
    [4_999, 0, 1],
    [5_000, 0, 0],
    [-86_400_000, 0, 0],
    [9_000, 1, 1_000],
    [10_000, 1, 0],
    [0, 60, 3_600_000],
    [3_600_000, 60, 0],
  ])('tried %s ms ago, failed %i times since: %i ms', (triedForMs, failures, is) => {
    expect(editsWaitMs({ ...edits, triedForMs, failures }, 5_000)).toBe(is);
  });
});
