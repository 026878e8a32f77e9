import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../support/checkout.ts';
import { titlesWith } from '../support/has-title.ts';

/** How many faults each group of the model has. */
const groups = { N: 25, A: 30, D: 19, R: 13, O: 10 };
const ids = Object.entries(groups).flatMap(([group, count]) =>
  Array.from({ length: count }, (_, index) => `${group}${index + 1}`),
);

const rows = readFileSync(join(ROOT, 'docs', 'faults.md'), 'utf8')
  .split('\n')
  .filter((line) => /^\|\s*[A-Z]\d/.test(line))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

const reference = /^`(test\/[\w/-]+\.test\.ts)`$/;
const gap = /^not shown: \S/;

const sources = globSync('test/**/*.test.ts', { cwd: ROOT }).map((file) => ({
  file,
  text: readFileSync(join(ROOT, file), 'utf8'),
}));
/** The files with tests that have this id in their title. */
const filesWith = (id: string) =>
  sources.filter(({ text }) => titlesWith(text, id).length > 0).map(({ file }) => file);

describe('docs/faults.md', () => {
  it('lists each fault in one row, in the order of the ids', () => {
    expect(rows.map(([id]) => id)).toEqual(ids);
  });

  it.each(rows)('fills all four cells in the row of fault %s', (...cells) => {
    expect(cells).toHaveLength(4);
    expect(cells.filter((cell) => cell === '')).toEqual([]);
  });

  it.each(rows.map(([id = '', , , shown = '']) => ({ id, shown })))(
    'names every test file with $id in a title, or says why no test shows the fault',
    ({ id, shown }) => {
      const parts = shown.split('<br>');
      const missing = parts.filter((part) => {
        const [, file = ''] = reference.exec(part) ?? [];
        return file === '' ? !gap.test(part) : !filesWith(id).includes(file);
      });
      expect(missing).toEqual([]);
      expect(filesWith(id).filter((file) => !parts.includes(`\`${file}\``))).toEqual([]);
      // What is not shown is said once, at the end.
      expect(parts.slice(0, -1).filter((part) => gap.test(part))).toEqual([]);
    },
  );
});
