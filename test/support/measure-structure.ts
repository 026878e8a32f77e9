/** The shape of the code in figures: `npm run measure`. */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { settingPaths } from '../../src/config/config.ts';
import { measureWalk } from './measure-walk.ts';
import {
  closureOf,
  countFloors,
  findCircles,
  readArrows,
  readSourceFiles,
  repeated,
  type SourceFile,
} from './source-files.ts';
import { walks } from './walks.ts';

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');
const countLines = (text: string) => text.trimEnd().split('\n').length;
const isWritten = (line: string) => line.trim() !== '';
const isCode = (line: string) => isWritten(line) && !/^\s*(\/\*|\*|\/\/)/.test(line);
const linesOf = (files: readonly SourceFile[], counts: (line: string) => boolean) =>
  files.flatMap(({ text }) => text.trimEnd().split('\n')).filter(counts).length;

export interface Figure {
  readonly what: string;
  readonly value: number;
  /** Before the code was put into rooms (commit 7bb7ffd); `null`: not counted then. */
  readonly before: number | null;
  /** At most; `null`: only told. */
  readonly limit: number | null;
}

function measureWalks(): readonly Figure[] {
  const before = [
    { stops: 85, files: 37, returns: 23 },
    { stops: 78, files: 40, returns: 23 },
  ];
  return walks.flatMap((walk, at) => {
    const { stops, files, returns } = measureWalk(walk);
    const was = before[at];
    const title = walk.title.replace('A user', 'a user');
    return [
      { what: `${title}: stops`, value: stops, before: was?.stops ?? null, limit: 55 },
      { what: `${title}: files`, value: files, before: was?.files ?? null, limit: null },
      {
        what: `${title}: times back to a file left before`,
        value: returns,
        before: was?.returns ?? null,
        limit: 8,
      },
    ];
  });
}

export function measureStructure(): readonly Figure[] {
  const files = readSourceFiles();
  const arrows = readArrows(files);
  const countArrows = [...arrows.values()].reduce((sum, { size }) => sum + size, 0);
  const merge = closureOf(files, 'reconcile/merge/plan-user.ts');
  const rules = merge.filter(({ path }) => !path.startsWith('model/'));
  const nouns = merge.filter(({ path }) => path.startsWith('model/'));
  const names = repeated(files.flatMap((file) => file.names));
  const fileNames = repeated(files.map(({ path }) => basename(path)));
  const tables = read('test/mirror/schema.txt').match(/^table sync\.(?!migration)\w+/gm) ?? [];
  return [
    { what: 'files to read before changing the merge', value: rules.length, before: 14, limit: 7 },
    { what: 'lines of them, without blank ones', value: linesOf(rules, isWritten), before: 1680, limit: 700 },
    {
      what: 'lines of code of the nouns that they use',
      value: linesOf(nouns, isCode),
      before: null,
      limit: 450,
    },
    ...measureWalks(),
    { what: 'rooms', value: arrows.size, before: 30, limit: 22 },
    { what: 'floors', value: countFloors(arrows), before: 9, limit: 6 },
    { what: 'arrows', value: countArrows, before: 102, limit: 60 },
    { what: 'circles', value: findCircles(files).length, before: 1, limit: 0 },
    { what: 'exported names defined twice', value: names.length, before: 38, limit: 0 },
    { what: 'file names used twice', value: fileNames.length, before: 19, limit: 3 },
    { what: 'tables in sync, besides the two of the migrator', value: tables.length, before: 17, limit: 15 },
    { what: 'settings', value: settingPaths.length, before: 70, limit: 70 },
    { what: 'lines of README.md', value: countLines(read('README.md')), before: 520, limit: 200 },
    { what: 'lines of src', value: linesOf(files, () => true), before: 26_000, limit: null },
  ];
}

/** The figures as a table in Markdown. */
export function describeFigures(): string {
  const rows = measureStructure()
    // It changes with every commit.
    .filter(({ what }) => what !== 'lines of src')
    .map(({ what, value, before, limit }) => `| ${what} | ${before ?? '–'} | ${value} | ${limit ?? '–'} |`);
  return ['| Counted | Before | Now | At most |', '|---|---|---|---|', ...rows].join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { what, value, limit } of measureStructure()) {
    const bound = limit === null ? '' : `at most ${limit}`;
    process.stdout.write(`${what.padEnd(52)}${String(value).padStart(7)}   ${bound}\n`);
  }
}
