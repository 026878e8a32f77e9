import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { printTable } from '../../src/commands/print-table.ts';
import { watched } from '../../src/commands/progress.ts';
import { showUnderWay } from '../../src/commands/under-way.ts';
import { createLog } from '../../src/log.ts';
import { countVisits } from '../support/count-visits.ts';
import { eventually } from '../support/eventually.ts';

type Rows = Parameters<typeof printTable>[2];

function tableOf(head: readonly string[], rows: Rows, env: Readonly<Record<string, string>> = {}): string {
  const written: string[] = [];
  printTable({ out: { isTTY: true, write: (text) => written.push(text) }, env }, head, rows);
  return written.join('');
}

describe('a table on a terminal', () => {
  const rows = [
    ['Robin', 7],
    ['日本', null],
    ['a\x1b[2Jb', 123n],
  ];
  const plain = [
    '┌────────┬─────┐',
    '│ name   │ n   │',
    '│ Robin  │ 7   │',
    '│ 日本   │     │',
    '│ a [2Jb │ 123 │',
    '└────────┴─────┘',
    '',
  ].join('\n');

  it('makes each column as wide as its widest cell, double-width letters included, and the head bold', () => {
    const table = tableOf(['name', 'n'], rows);
    expect(stripVTControlCharacters(table)).toBe(plain);
    expect(table.replaceAll('\x1b[1m', '<').replaceAll('\x1b[22m', '>')).toContain('│ <name  > │ <n  > │');
    expect(tableOf(['name', 'n'], rows, { NO_COLOR: '' })).toBe(table);
  });

  it('prints no escape sequence with NO_COLOR', () => {
    expect(tableOf(['name', 'n'], rows, { NO_COLOR: '1' })).toBe(plain);
  });

  it('pads a short row with empty cells, and prints only the head if there are no rows', () => {
    expect(tableOf(['a', 'b'], [['1']], { NO_COLOR: '1' })).toContain('│ 1 │   │');
    expect(tableOf(['a', 'b'], [], { NO_COLOR: '1' }).split('\n').length).toBe(4);
  });

  it('does at most 2.5 times the work for twice as many rows', async () => {
    const visitsOf = async (count: number) => {
      const many = Array.from({ length: count }, (_, at) => [at, `Zoë ${at}`, `user${at}@example.com`]);
      return await countVisits(() => tableOf(['id', 'name', 'email'], many));
    };
    const [some, twice] = [await visitsOf(1_000), await visitsOf(2_000)];
    expect(some).toBeGreaterThan(1_000);
    expect(twice / some).toBeLessThan(2.5);
  });
});

it('musterd shows on a terminal that a command is running, and the step of a run', async () => {
  const written: string[] = [];
  const err = { isTTY: true, write: (text: string) => written.push(text) };
  const sign = showUnderWay(err, 'musterd check');
  const shows = async (words: string) => await eventually('it shows', () => written.join('').includes(words));
  await shows('musterd check … ');
  const { signal } = new AbortController();
  await watched({ err, signal, waitMs: 0, sign }, createLog({ level: 'silent' }), async ({ onEvent }) => {
    onEvent?.({ kind: 'step', step: 'tags' });
    await shows('tags 0');
  });
  sign.close();
});
