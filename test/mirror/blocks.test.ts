import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createBlocks } from '../../src/mirror/db/blocks.ts';

describe('createBlocks', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'musterd-test-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const lines = Array.from({ length: 300 }, (_, index) => `${index} ${'é'.repeat(5000)}\n`);
  const textOf = (blocks: Iterable<Buffer>) => Buffer.concat([...blocks]).toString();
  const open = () => readdirSync('/proc/self/fd').length;

  it.each([
    ['memory', 100_000_000, true],
    ['a file', 0, true],
    ['memory and a file', 1_000_000, true],
    ['memory if it cannot create a file', 0, false],
  ])('keeps the added text in %s, returns all of it, and leaves no file behind', (_, inMemory, exists) => {
    const before = open();
    const blocks = createBlocks({ inMemory, folder: exists ? folder : join(folder, 'missing') });
    for (const line of lines) blocks.add(line);
    expect(textOf(blocks.read())).toBe(lines.join(''));
    // A transaction that is run again reads it again, and more may have come.
    blocks.add('last\n');
    expect(textOf(blocks.read())).toBe(`${lines.join('')}last\n`);
    expect(open() - before).toBe(exists && inMemory < 2_000_000 ? 1 : 0);
    // Whatever becomes of this process, nobody's names stay behind.
    expect(readdirSync(folder)).toEqual([]);
    blocks.close();
    expect(open()).toBe(before);
  });

  it('returns the added text in blocks of whole lines', () => {
    const blocks = createBlocks({ inMemory: 1_000_000, folder });
    for (const line of lines) blocks.add(line);
    const read = [...blocks.read()];
    expect(read.length).toBeGreaterThan(5);
    for (const block of read) expect(block.at(-1)).toBe(10);
    blocks.close();
  });
});
