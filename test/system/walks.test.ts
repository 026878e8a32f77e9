import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { describeFigures } from '../support/measure-structure.ts';
import { describeWalks, lineOf, measureWalk } from '../support/measure-walk.ts';
import { readSourceFiles } from '../support/source-files.ts';
import { walks } from '../support/walks.ts';

const files = readSourceFiles();
const page = fileURLToPath(new URL('../../docs/walks.md', import.meta.url));
const architecture = fileURLToPath(new URL('../../docs/architecture.md', import.meta.url));
const fileOf = (path: string) => files.find((file) => file.path === path);

describe.each(walks)('$title', (walk) => {
  it('comes through functions that are there', () => {
    const lost = walk.stops.filter(([path, name]) => {
      const file = fileOf(path);
      return file === undefined || lineOf(file, name) === 0;
    });
    expect(lost).toEqual([]);
  });

  it('comes to no function that nothing on the way before calls by its name', () => {
    const [first, ...rest] = walk.stops;
    const seen = new Set(first === undefined ? [] : [first[0]]);
    const strangers = rest.filter(([path, name]) => {
      const calls = new RegExp(`\\b${name}\\b`);
      const isCalled = [...seen].some((one) => calls.test(fileOf(one)?.text ?? ''));
      seen.add(path);
      return !isCalled;
    });
    expect(strangers.map(([path, name]) => `${path} ${name}`)).toEqual([]);
  });

  it('is at most 55 stops long', () => {
    expect(measureWalk(walk).stops).toBeLessThanOrEqual(55);
  });
});

const isUpdate = process.env['UPDATE_WALKS'] === '1';

it('docs/walks.md has the stops with their lines', () => {
  const text = describeWalks(walks, files);
  if (isUpdate) writeFileSync(page, text);
  expect(readFileSync(page, 'utf8')).toBe(text);
});

it('docs/architecture.md has the figures as they are', () => {
  const table = describeFigures();
  const before = readFileSync(architecture, 'utf8');
  if (isUpdate) writeFileSync(architecture, before.replace(/^\| Counted \|[\s\S]*?\n(?!\|)/m, `${table}\n`));
  expect(readFileSync(architecture, 'utf8')).toContain(table);
});
