import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Bench, Group } from '../../bench/bench.ts';
import { listing } from '../../bench/listing.ts';
import { type BenchServer, startPostgres } from '../../bench/postgres.ts';
import type { Measure } from '../../bench/results.ts';
import { measureLives } from '../../bench/users.ts';
import { MUSTERD } from '../support/built.ts';

/** That `npm run bench` measures what it says, in small. What it takes is for docs/performance.md, not for a test. */
describe('npm run bench', () => {
  let server: BenchServer;
  let bench: Bench;
  beforeAll(async () => {
    server = await startPostgres();
    bench = {
      size: 300,
      repeats: 1,
      quick: true,
      musterd: MUSTERD,
      server,
      isWanted: () => true,
      say: () => undefined,
    };
  });
  afterAll(() => server.close());

  /** What was measured, and whether it has a ratio to the least. */
  const shapeOf = (measures: readonly Measure[]) =>
    measures.map(({ what, ratio }) => [what, ratio === undefined ? '–' : Number.isFinite(ratio.median)]);
  const measured = async (group: Group, row: number) => {
    const results = await group.measure({ ...bench, isWanted: (wanted) => wanted === row });
    return shapeOf(results.flatMap((result) => (result.row === row ? result.measures : [])));
  };

  it('reports a ratio to a minimal program for a new, an unchanged and a changed listing', async () => {
    expect(await measured(listing, 6)).toEqual([
      ['new', true],
      ['unchanged', true],
      ['1 % changed', true],
    ]);
  });

  it('reports a ratio to a minimal program for an unchanged listing in tables without statistics', async () => {
    expect(await measured(listing, 8)).toEqual([['unchanged, tables never analysed', true]]);
  });

  it('reports ratios to a minimal program for the time and the CPU time of whole runs', async () => {
    const { rows } = await measureLives(bench, 200, 1);
    const lives = ['unchanged', 'one field held', 'unchanged, tables never analysed', 'first', '1 % changed'];
    expect(shapeOf(rows.flatMap(({ row, measures }) => (row <= 2 ? measures : [])))).toEqual(
      ['unchanged', ...lives.map((life) => `${life}, CPU time with start-up and Postgres`)].map((what) => [
        what,
        true,
      ]),
    );
  });
});
