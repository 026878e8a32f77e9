import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const texts = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
const pathsWith = (words: RegExp) =>
  texts.flatMap(({ path, text }) => (words.test(text) ? [path] : [])).toSorted();

/** What a duration is made of in a test: a clock that runs by itself, or time that a process has used. */
const clocks =
  /performance\.now|hrtime|cpuUsage|threadCpuUsage|Date\.now\(\)\s*-[^\w]|-\s*Date\.now\(\)|console\.time/;

/** The files that may read such a clock, and why no test becomes red on a slow machine for it. */
const exceptions: Readonly<Record<string, string>> = {};

it('no test compares durations: what is meant is counted, or measured by `npm run bench`', () => {
  expect(pathsWith(clocks)).toEqual(Object.keys(exceptions).toSorted());
});

it('no test has a time limit of its own making', () => {
  const limit = /\btimeout: [\d_]+\b|^ *\}, [\d_]+( \* \w+)?\);$/m;
  expect(pathsWith(limit)).toEqual([]);
});
