/** Text that is written once and read in order. It is kept in memory, and in a file once it gets large. */
import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Blocks {
  add(text: string): void;
  /** Yields each block unchanged. It can be called repeatedly. */
  read(): Iterable<Buffer>;
  close(): void;
}

export interface BlocksOptions {
  readonly folder?: string;
  /** Number of bytes to keep in memory. */
  readonly inMemory?: number;
}

const charactersPerBlock = 256 * 1024;

/** A block in memory, or the position of a block in the file. */
type KeptBlock = Buffer | { readonly at: number; readonly length: number };

/** Opens a file and deletes its name. So no other process can open the file, and it disappears with this process. */
function openUnnamed(folder: string): number {
  const path = join(folder, `musterd-${randomUUID()}`);
  const file = openSync(path, 'wx+', 0o600);
  unlinkSync(path);
  return file;
}

export function createBlocks({ folder = tmpdir(), inMemory = 8 * 1024 * 1024 }: BlocksOptions = {}): Blocks {
  const kept: KeptBlock[] = [];
  let pending = '';
  let bytes = 0;
  let file: number | undefined;
  /** Once the disk turned out to be full or read-only, all further blocks stay in memory. */
  let isRefused = false;
  const keep = (block: Buffer): KeptBlock => {
    if (isRefused || bytes + block.length <= inMemory) return block;
    try {
      file ??= openUnnamed(folder);
      for (let done = 0; done < block.length; )
        done += writeSync(file, block, done, block.length - done, bytes + done);
      return { at: bytes, length: block.length };
    } catch {
      isRefused = true;
      return block;
    }
  };
  const flush = () => {
    if (pending === '') return;
    const block = Buffer.from(pending);
    kept.push(keep(block));
    bytes += block.length;
    pending = '';
  };
  return {
    add: (text) => {
      pending += text;
      if (pending.length >= charactersPerBlock) flush();
    },
    read: function* () {
      flush();
      for (const block of kept) yield Buffer.isBuffer(block) ? block : readBlock(file, block);
    },
    close: () => {
      if (file !== undefined) closeSync(file);
      file = undefined;
      kept.length = 0;
    },
  };
}

function readBlock(file: number | undefined, { at, length }: Exclude<KeptBlock, Buffer>): Buffer {
  const block = Buffer.allocUnsafe(length);
  let done = 0;
  while (file !== undefined && done < length) {
    const read = readSync(file, block, done, length - done, at + done);
    if (read === 0) break;
    done += read;
  }
  if (done < length) throw new Error('A temporary file of rows for Postgres has lost some rows');
  return block;
}
