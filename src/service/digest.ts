import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';

/**
 * Which users and members are made of the same bytes. It goes up with every change of how they are read: what was
 * known of an answer under another number says nothing.
 */
export const decoderVersion = 4;

/** Bytes that are hashed before others have their turn: some milliseconds' worth. */
const bytesPerTurn = 4_194_304;

/** Stands for these bytes, and for how they are read. */
export async function digestOf(bytes: Uint8Array): Promise<string> {
  const hash = createHash('sha256');
  for (let from = 0; from < bytes.length; from += bytesPerTurn) {
    if (from > 0) await setImmediate();
    hash.update(bytes.subarray(from, from + bytesPerTurn));
  }
  return `${decoderVersion}:${hash.digest('base64url')}`;
}
