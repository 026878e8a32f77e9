/** Writes no faster than the reader of the stream reads. */
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { printableLines } from '../model/in-words.ts';
import type { Stream } from './context.ts';

/** @returns false if the reader has closed the stream */
export async function waitForRoom(out: Stream, signal: AbortSignal): Promise<boolean> {
  if (out.room !== undefined) return out.room(signal);
  if (!(out instanceof Writable)) return true;
  if (out.destroyed) return false;
  try {
    await once(out, 'drain', { signal });
    return true;
  } catch (error) {
    signal.throwIfAborted();
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') return false;
    throw error;
  }
}

/** The characters to gather before a write. Only a write that fills the stream reveals whether it still has a reader. */
const bulk = 65_536;

export interface BulkWriter {
  /** @returns false if the reader has closed the stream */
  readonly write: (text: string) => Promise<boolean>;
  /** Writes the gathered text. */
  readonly flush: () => Promise<boolean>;
}

/** Gathers small pieces of a long text, and waits for a slow reader, so that unread text does not fill the memory. */
export function createBulkWriter(out: Stream, signal: AbortSignal): BulkWriter {
  // Names come from other people, and can contain control characters that a terminal would obey.
  const show = out.isTTY === true ? printableLines : (text: string) => text;
  let gathered = '';
  const flush = async () => {
    const text = gathered;
    gathered = '';
    return text === '' || out.write(show(text)) !== false || (await waitForRoom(out, signal));
  };
  const write = async (text: string) => {
    gathered += text;
    return gathered.length < bulk || (await flush());
  };
  return { write, flush };
}
