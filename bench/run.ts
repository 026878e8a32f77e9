/**
 * `npm run bench -- [--quick] [--rows 1,6,13] [--size 100000] [--write]`: measures the rows of docs/performance.md,
 * prints them, and writes that document with its plots and its figures (.cache/performance.json). A quick look writes nothing unless it
 * is told to, and leaves out rows 25 and 28 unless they are named.
 */
import { cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import type { Group } from './bench.ts';
import { build } from './build.ts';
import { drain } from './drain.ts';
import { edits } from './edits.ts';
import { listing } from './listing.ts';
import { manyTeams } from './many-teams.ts';
import { pageViews } from './page-views.ts';
import { startPostgres } from './postgres.ts';
import { rowInWords } from './print.ts';
import { rate } from './rate.ts';
import type { RowResult } from './results.ts';
import { reportViews } from './report-views.ts';
import { reports } from './reports.ts';
import { startUp } from './start-up.ts';
import { rows } from './table.ts';
import { unchanged } from './unchanged.ts';
import { users } from './users.ts';
import { writeDocs } from './write-docs.ts';

/** Those beside one another wait, and do not compute: a quick look has them at the same time. */
const groups: readonly (readonly Group[])[] = [
  [users],
  [listing],
  [edits],
  [unchanged],
  [drain, rate],
  [reports],
  [reportViews],
  [pageViews],
  [startUp],
  [manyTeams],
];

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    rows: { type: 'string' },
    size: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});

const { quick } = values;
/** A year of history is filled in for it, which is not quick. */
const slow = quick ? [...reportViews.rows, ...pageViews.rows] : [];
const usual = rows.map(({ row }) => row).filter((row) => !slow.includes(row));
const wanted = new Set(values.rows?.split(',').map(Number) ?? usual);
const size = Number(values.size ?? (quick ? 5_000 : 100_000));

/** What matters of this machine, without its name. */
function describeMachine(): string {
  const model = cpus()[0]?.model ?? 'unknown';
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} × ${model.trim()}, ${memory} GB, ${process.platform}, Node ${process.versions.node}`;
}

const began = performance.now();
const say = (text: string) =>
  process.stderr.write(`${Math.round((performance.now() - began) / 1000)} s: ${text}\n`);
const built = await build();
const server = await startPostgres();
const results: RowResult[] = [];
try {
  const isWanted = (row: number) => wanted.has(row);
  const bench = { size, repeats: quick ? 1 : 5, quick, musterd: built.musterd, server, isWanted, say };
  const measureGroup = async (group: Group) => {
    if (!group.rows.some(isWanted)) return;
    say(`rows ${group.rows.filter(isWanted).join(', ')}`);
    const measured = (await group.measure(bench)).filter(({ row }) => isWanted(row));
    for (const result of measured) process.stdout.write(`${rowInWords(result)}\n`);
    results.push(...measured);
  };
  for (const some of groups) {
    if (quick) await Promise.all(some.map(measureGroup));
    else for (const group of some) await measureGroup(group);
  }
  if (values.write || !quick) writeDocs(describeMachine(), results);
} finally {
  await server.close();
  built.remove();
}
say('done');
