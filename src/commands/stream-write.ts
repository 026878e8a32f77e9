/** Writes no faster than somebody reads. */
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { printableLines } from '../model/in-words.ts';
import type { Stream } from './context.ts';

export type Write = (text: string) => Promise<void>;

/** @returns whether somebody still reads */
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

/** Waits for the reader, so that nothing piles up here. */
export function createStreamWrite(out: Stream, signal: AbortSignal): Write {
  // Other people write names, and a terminal would obey some of the characters in them.
  const show = out.isTTY === true ? printableLines : (text: string) => text;
  return async (text) => {
    if (out.write(show(text)) === false) await waitForRoom(out, signal);
  };
}

/** After this much text a stream says that it is full, and then whether somebody still reads. */
const bulk = 65_536;

export interface BulkWriter {
  /** @returns whether somebody still reads */
  readonly write: (text: string) => Promise<boolean>;
  /** Writes the gathered text. */
  readonly flush: () => Promise<boolean>;
}

/** Gathers much text in small pieces, for a reader who may have had enough. */
export function createBulkWriter(out: Stream, signal: AbortSignal): BulkWriter {
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
