import { expect, it } from 'vitest';
import { importInJson, printPreview, printPreviewInMarkdown } from '../../src/commands/show-import.ts';
import type { ImportPreview } from '../../src/runs/import/import-users.ts';

const previewWith = (bad: number): ImportPreview => ({
  teamId: 41n,
  hash: 'aaaaaaaaaaaa',
  rows: bad,
  matched: 0,
  changing: 0,
  problems: Array.from({ length: bad }, (_, n) => ({ line: n + 2, kind: 'unreadable', reason: 'no cells' })),
  changes: [],
  edits: [],
  ignored: [],
  notes: [],
  notInFile: [],
  refused: [],
  limited: [],
  cost: { users: 0, requests: 0, seconds: 0 },
});

function shown(print: (out: { write(text: string): boolean }) => void): readonly string[] {
  const written: string[] = [];
  print({ write: (text) => written.push(text) > 0 });
  return written
    .join('')
    .split('\n')
    .filter((line) => /no cells|more that/.test(line));
}

it.each([
  [200, []],
  [201, ['and 1 more that cannot be used']],
  [200_000, ['and 199800 more that cannot be used']],
])('of %i rows that cannot be used 200 are named, and how many more there are', (bad, more) => {
  const preview = previewWith(bad);
  const text = shown((out) => printPreview({ out, env: {} } as never, preview, []));
  const markdown = shown((out) => printPreviewInMarkdown({ out }, preview, { guard: [], why: 'no' }));
  expect([text.slice(200), markdown.slice(200)]).toEqual([more, more]);
  expect([text[199], markdown[199]]).toEqual([
    '201\tunreadable\tno cells',
    '| 201 | unreadable | `no cells` |',
  ]);
});

it.each([
  [10_000, 0],
  [10_001, 1],
])('of %i the first 10,000 are in the JSON, which says that %i are left out', (bad, leftOut) => {
  const said = importInJson(previewWith(bad), undefined, null);
  expect(said).toMatchObject({ rows: bad, problems_left_out: leftOut });
  expect((said as { problems: unknown[] }).problems).toHaveLength(10_000);
});
