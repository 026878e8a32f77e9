/** docs/mutation.md is about the code as it is. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../support/checkout.ts';
import { page, pageOf, parsePage } from './survivors.ts';

const text = readFileSync(join(ROOT, page), 'utf8');

it('docs/mutation.md quotes only code that exists in src, and gives a reason for each mutant that no test detects', () => {
  const { survivors } = parsePage(text);
  const isThere = (file: string, code: string) =>
    readFileSync(join(ROOT, 'src', file), 'utf8').includes(code);
  expect(survivors.filter(({ file, code }) => !isThere(file, code))).toEqual([]);
  expect(survivors.filter(({ why }) => why === '')).toEqual([]);
});

it('pageOf omits mutants that a test detects now, and keeps the written reasons for mutants that no test detects', () => {
  const at = (line: number, from: number, to: number) => ({
    start: { line, column: from },
    end: { line, column: to },
  });
  const source = 'a || b;\n`c`;\nd;';
  const mutants = [
    { status: 'Killed', location: at(1, 1, 7) },
    { status: 'Survived', location: at(1, 1, 7) },
    { status: 'Survived', location: at(1, 1, 7) },
    { status: 'Timeout', location: at(1, 1, 2) },
    { status: 'Survived', location: at(2, 1, 4) },
    { status: 'NoCoverage', location: at(3, 1, 2) },
  ];
  const kept = { file: 'room/other.ts', code: 'x', changes: 1, why: 'It is so.' };
  const known = {
    counted: [{ file: 'room/other.ts', reached: 4, noticed: 3 }],
    survivors: [
      kept,
      { file: 'room/one.ts', code: 'a || b', changes: 5, why: 'a | b.' },
      { file: 'room/one.ts', code: 'gone', changes: 1, why: 'It was so.' },
    ],
  };
  const written = pageOf(known, { 'src/room/one.ts': { source, mutants } });
  expect(parsePage(written)).toEqual({
    counted: [
      { file: 'room/one.ts', reached: 5, noticed: 2 },
      { file: 'room/other.ts', reached: 4, noticed: 3 },
    ],
    survivors: [
      { file: 'room/one.ts', code: 'a || b', changes: 2, why: 'a | b.' },
      { file: 'room/one.ts', code: '`c`', changes: 1, why: '' },
      kept,
    ],
  });
  expect(written).toContain('| `room` | 9 | 5 | 55.6 % |');
});
