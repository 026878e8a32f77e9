import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';

/** Bytes to hash before the event loop gets a turn: a few milliseconds. */
const bytesPerTurn = 4_194_304;

/** Stands for the bytes of an answer. How they are read is told by the version of the program, which records keep as well. */
export async function digestOf(bytes: Uint8Array): Promise<string> {
  const hash = createHash('sha256');
  for (let from = 0; from < bytes.length; from += bytesPerTurn) {
    if (from > 0) await setImmediate();
    hash.update(bytes.subarray(from, from + bytesPerTurn));
  }
  return hash.digest('base64url');
}
