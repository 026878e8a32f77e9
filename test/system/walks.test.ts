import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { describeFigures, describeWalks } from '../support/describe-walks.ts';
import { type Figure, measureStructure, measureWalks } from '../support/measure-structure.ts';
import { recordWalks, type Walk } from '../support/record-walks.ts';
import { readSourceFiles } from '../support/source-files.ts';
import { allOf, namedFunctions, parse } from '../support/syntax.ts';

const inDocs = (name: string) => fileURLToPath(new URL(`../../docs/${name}`, import.meta.url));
const [page, architecture] = [inDocs('walks.md'), inDocs('architecture.md')];
const isUpdate = process.env['UPDATE_WALKS'] === '1';
const table = /^\| Counted [\s\S]*?\n(?!\|)/m;

let walks: readonly Walk[];
let figures: readonly Figure[];
beforeAll(async () => {
  const database = await createTestDatabase();
  try {
    walks = await recordWalks(database.url);
  } finally {
    await database.close();
  }
  figures = [...measureStructure(), ...measureWalks(walks)];
  if (!isUpdate) return;
  writeFileSync(page, describeWalks(walks));
  const before = readFileSync(architecture, 'utf8');
  writeFileSync(architecture, before.replace(table, `${describeFigures(figures)}\n`));
});
afterAll(() => expect(walks).toHaveLength(2));

/** What a walk calls, whatever comes first where two things happen at once. */
const called = (calls: Walk['calls']) => calls.map(({ file, name }) => `${file} ${name}`).toSorted();

it('A walk is made of functions that src defines, each once', () => {
  const defined = new Set(
    readSourceFiles().flatMap(({ path, text }) =>
      namedFunctions(allOf(parse(text))).map(({ name }) => `${path} ${name}`),
    ),
  );
  for (const { calls } of walks) {
    expect(called(calls).filter((call) => !defined.has(call))).toEqual([]);
  }
});

it('docs/walks.md has the functions that run', () => {
  const [, ...sections] = readFileSync(page, 'utf8').split(/^## /m);
  const shown = sections.map((section) =>
    [...section.matchAll(/^\* `([^`]+)`: (.*)$/gm)]
      .flatMap(([, file, names = '']) =>
        [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => `${file} ${name}`),
      )
      .toSorted(),
  );
  expect(shown).toEqual(walks.map(({ calls }) => called(calls)));
});

it('docs/architecture.md has the figures: the page is at most a twentieth beside them', () => {
  const [rows = ''] = table.exec(readFileSync(architecture, 'utf8')) ?? [];
  const shown = new Map(
    rows
      .trimEnd()
      .split('\n')
      .slice(2)
      .map((row) => row.split('|').map((cell) => cell.trim()))
      .map(([, what = '', , , now = '']) => [what, Number(now.replaceAll(',', ''))]),
  );
  const beside = figures.filter(({ what, value }) => {
    const difference = Math.abs((shown.get(what) ?? Number.POSITIVE_INFINITY) - value);
    return difference > (value >= 100 ? value / 20 : 0);
  });
  expect(beside).toEqual([]);
  expect(shown.size).toBe(figures.length);
});

it('Every figure is within its limit', () => {
  expect(figures.filter(({ value, limit }) => limit !== null && value > limit)).toEqual([]);
});
