import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Bench, Group } from '../../bench/bench.ts';
import { decode } from '../../bench/decode.ts';
import { listing } from '../../bench/listing.ts';
import { type BenchServer, startPostgres } from '../../bench/postgres.ts';
import type { Measure } from '../../bench/results.ts';
import { measureLives } from '../../bench/users.ts';
import { MUSTERD } from '../support/built.ts';
import { measureSlowness } from '../support/slowness.ts';

const slowness = measureSlowness();

/**
 * Ratios against what is possible, each measured beside it. The bounds are several times what docs/performance.md
 * shows, so that only what has gone wrong by much is seen, on a busy machine as well.
 */
describe('what the program takes, beside the least that any program takes', () => {
  let server: BenchServer;
  let bench: Bench;
  beforeAll(async () => {
    server = await startPostgres();
    bench = {
      size: 6_000,
      repeats: 2,
      quick: true,
      musterd: MUSTERD,
      server,
      isWanted: () => true,
      say: () => undefined,
    };
  }, 120_000 * slowness);
  afterAll(() => server.close());

  const measuresOf = async (group: Group, row: number): Promise<ReadonlyMap<string, Measure>> => {
    const results = await group.measure({ ...bench, isWanted: (wanted) => wanted === row });
    const [{ measures } = { measures: [] }] = results.filter((result) => result.row === row);
    return new Map(measures.map((measure) => [measure.what, measure]));
  };
  const ratioOf = (measures: ReadonlyMap<string, Measure>, what: string) => measures.get(what)?.ratio?.min;

  it('stays near COPY where a listing is published', { timeout: 180_000 * slowness }, async () => {
    const measures = await measuresOf(listing, 6);
    expect(ratioOf(measures, 'new')).toBeLessThan(40);
    expect(ratioOf(measures, 'unchanged')).toBeLessThan(20);
    expect(ratioOf(measures, '1 % changed')).toBeLessThan(20);
  });

  it('stays near COPY where nobody has analysed anything', { timeout: 180_000 * slowness }, async () => {
    const measures = await measuresOf(listing, 8);
    expect(ratioOf(measures, 'unchanged, never analysed')).toBeLessThan(40);
  });

  it('stays near JSON.parse where an answer is decoded', { timeout: 120_000 * slowness }, async () => {
    const measures = await measuresOf(decode, 9);
    expect(measures.get('parse and decode, CPU')?.ratio?.median).toBeLessThan(15);
  });

  it('stays near fetching and parsing in a whole run', { timeout: 300_000 * slowness }, async () => {
    const { rows } = await measureLives(bench, 2_000, 1);
    const whole = rows.flatMap(({ row, measures }) => (row <= 2 ? measures : []));
    const seen = new Map(whole.map((measure) => [measure.what, measure]));
    expect(ratioOf(seen, 'unchanged, CPU with start-up and Postgres')).toBeLessThan(120);
    expect(ratioOf(seen, 'first, CPU with start-up and Postgres')).toBeLessThan(250);
  });
});
