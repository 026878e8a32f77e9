import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { type Figure, measureStructure, measureWalks } from '../support/measure-structure.ts';
import { recordWalks, type Walk } from '../support/record-walks.ts';
import { readSourceFiles } from '../support/source-files.ts';
import { allOf, namedFunctions, parse } from '../support/syntax.ts';

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
});
afterAll(() => expect(walks).toHaveLength(2));

/** What a walk calls, whatever comes first where two things happen at once. */
const called = (calls: Walk['calls']) => calls.map(({ file, name }) => `${file} ${name}`).toSorted();

it('recordWalks records only calls of functions that src defines', () => {
  const defined = new Set(
    readSourceFiles().flatMap(({ path, text }) =>
      namedFunctions(allOf(parse(text))).map(({ name }) => `${path} ${name}`),
    ),
  );
  for (const { calls } of walks) {
    expect(called(calls).filter((call) => !defined.has(call))).toEqual([]);
  }
});

it('measureStructure and measureWalks return no figure above its limit', () => {
  expect(figures.filter(({ value, limit }) => limit !== null && value > limit)).toEqual([]);
});
