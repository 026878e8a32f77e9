import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../support/checkout.ts';
import { hasTitle } from '../support/has-title.ts';

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

/** `file` › title */
const reference = /^`(test\/[\w/-]+\.test\.ts)` › (\S.*)$/;
const gap = /^not shown: \S/;

describe('docs/faults.md', () => {
  it('has one row for each fault, in order', () => {
    expect(rows.map(([id]) => id)).toEqual(ids);
  });

  it.each(rows)('says all there is to say of %s', (...cells) => {
    expect(cells).toHaveLength(4);
    expect(cells.filter((cell) => cell === '')).toEqual([]);
  });

  it.each(rows.map(([id = '', , , shown = '']) => ({ id, shown })))(
    'names tests of $id that are there, or says why there is none',
    ({ shown }) => {
      const parts = shown.split('<br>');
      const missing = parts.filter((part) => {
        const [, file = '', title = ''] = reference.exec(part) ?? [];
        if (file === '') return !gap.test(part);
        const path = join(ROOT, file);
        return !existsSync(path) || !hasTitle(readFileSync(path, 'utf8'), title);
      });
      expect(missing).toEqual([]);
      // What is not shown is said once, at the end.
      expect(parts.slice(0, -1).filter((part) => gap.test(part))).toEqual([]);
    },
  );
});
