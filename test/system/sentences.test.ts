import { expect, test } from 'vitest';
import { readSourceFiles } from '../support/source-files.ts';

/** The beginning of what an error says, and of its hint. */
const said = /(?:new MusterdError\(\s*'[\w-]+',|\bhint:(?:[^'"`\n]*\?)?)\s*(['"`])(.*?)\1/gs;
/** What is not a word: a setting, a view, what stands in braces. */
const isName = /^(?:\w+\.\w+|\$)/;

test('musterd begins the message and the hint of each error with a capital letter', () => {
  const found = readSourceFiles()
    // It shares nothing with the program, and its errors are the service's.
    .filter(({ room }) => room !== 'emulator')
    .flatMap(({ path, text }) => [...text.matchAll(said)].map(([, , words = '']) => ({ path, words })));
  expect(found.length).toBeGreaterThan(100);
  expect(found.filter(({ words }) => /^[a-z]/.test(words) && !isName.test(words))).toEqual([]);
});
