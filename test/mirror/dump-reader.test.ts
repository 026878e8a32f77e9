import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createDumpReader } from '../../src/mirror/tools/dump-reader.ts';

afterEach(() => vi.restoreAllMocks());

async function* piecesOf(text: string, length: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length; from += length) yield bytes.subarray(from, from + length);
}

const readerOf = (text: string, length: number) =>
  createDumpReader(piecesOf(text, length)[Symbol.asyncIterator](), () => new Error('cut off'));

async function rowsOf(reader: ReturnType<typeof readerOf>): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of reader.rows()) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

describe('the rows of a dump', () => {
  const row = fc
    .string({ unit: fc.constantFrom('a', '\\', '.', '\\.', 'ü') })
    .filter((text) => text !== '\\.')
    .map((text) => `${text}\n`);
  it('end at their marker, wherever the file is cut in pieces', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(row), fc.integer({ min: 1, max: 9 }), async (rows, length) => {
        const reader = readerOf(`head\n${rows.join('')}\\.\nnext\n`, length);
        expect([await reader.line(), await rowsOf(reader), await reader.line(), await reader.line()]).toEqual(
          ['head', rows.join(''), 'next', null],
        );
      }),
    );
  });

  it('that have no marker are cut off', async () => {
    for (const text of ['', 'a', 'a\n', 'a\n\\.', '\\.'])
      await expect(rowsOf(readerOf(text, 2))).rejects.toThrow('cut off');
  });

  it('are copied once, however long one of them is', async () => {
    const concat = vi.spyOn(Buffer, 'concat');
    const reader = readerOf(`${'a'.repeat(100_000)}\n\\.\n`, 100);
    let largest = 0;
    for await (const piece of reader.rows()) largest = Math.max(largest, piece.length);
    const copied = concat.mock.results.reduce((sum, { value }) => sum + (value as Buffer).length, 0);
    expect(copied).toBeLessThan(2 * 100_000);
    expect(largest).toBeLessThan(1_000);
  });
});
