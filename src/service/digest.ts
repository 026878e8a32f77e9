import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';

/**
 * Version of how users and members are decoded from bytes. It goes up with every change of that: digests stored with
 * another version do not count.
 */
export const decoderVersion = 6;

/** Bytes to hash before the event loop gets a turn: a few milliseconds. */
const bytesPerTurn = 4_194_304;

/** Digest of these bytes and of the decoder version. */
export async function digestOf(bytes: Uint8Array): Promise<string> {
  const hash = createHash('sha256');
  for (let from = 0; from < bytes.length; from += bytesPerTurn) {
    if (from > 0) await setImmediate();
    hash.update(bytes.subarray(from, from + bytesPerTurn));
  }
  return `${decoderVersion}:${hash.digest('base64url')}`;
}
