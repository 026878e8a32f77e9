import { expect, it } from 'vitest';
import { importInJson, printPreview, printPreviewInMarkdown } from '../../src/commands/files/show-import.ts';
import type { ImportPreview } from '../../src/runs/files/import/import-users.ts';

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
])('musterd import lists the first 200 of %i unusable rows, and counts further rows', (bad, more) => {
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
])('musterd import --json lists 10,000 of %i unusable rows, and counts %i more', (bad, leftOut) => {
  const said = importInJson(previewWith(bad), undefined, null);
  expect(said).toMatchObject({ rows: bad, problems_left_out: leftOut });
  expect((said as { problems: unknown[] }).problems).toHaveLength(10_000);
});

it.each([
  [2, 3, ['2 users of the team not in the file: Ann Lee (1), Ann Lee (2)']],
  [12, 12, [expect.stringMatching(/^12 users of the team not in the file: (Ann Lee \(\d+\), ){10}…$/)]],
  [2, 1, ['2 users of the team not in the file']],
  [0, 1, []],
])(
  'musterd import counts %i users missing in a file of %i rows, and names ten at most, or none if users outnumber rows',
  (users, rows, notes) => {
    const notInFile = Array.from({ length: users }, (_, n) => ({ user_id: BigInt(n + 1), name: 'Ann Lee' }));
    const written: string[] = [];
    const out = { write: (text: string) => written.push(text) > 0 };
    printPreview({ out, env: {} } as never, { ...previewWith(0), rows, notInFile }, []);
    const said = written
      .join('')
      .split('\n')
      .filter((line) => line.startsWith('note: '));
    expect(said.map((line) => line.slice('note: '.length))).toEqual(notes);
  },
);
