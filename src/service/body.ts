/** Collects the bytes of an answer as they come in, and copies them only if they are read. */
import { createHash } from 'node:crypto';

export interface Body {
  /** @returns true while the length is allowed; otherwise the bytes are released */
  add(chunk: Uint8Array): boolean;
  /** The number of bytes so far. */
  size(): number;
  /** The digest of all bytes. */
  digest(): string;
  /** Returns all bytes and releases them. */
  take(): Buffer;
}

/** Chunks shorter than `shortBytes` are copied into blocks, because a small chunk keeps more memory than its bytes. */
const [shortBytes, blockBytes] = [32_768, 65_536];

export function createBody(maxBytes: number): Body {
  let parts: Uint8Array[] = [];
  let block = Buffer.alloc(0);
  let used = 0;
  let size = 0;
  const endBlock = () => {
    if (used > 0) parts.push(block.subarray(0, used));
    block = block.subarray(used);
    used = 0;
  };
  const release = () => {
    parts = [];
    used = 0;
    size = 0;
  };
  return {
    add: (chunk) => {
      size += chunk.length;
      if (size > maxBytes) {
        release();
        return false;
      }
      if (chunk.length >= shortBytes) {
        endBlock();
        parts.push(chunk);
        return true;
      }
      if (used + chunk.length > block.length) {
        endBlock();
        block = Buffer.allocUnsafeSlow(blockBytes);
      }
      block.set(chunk, used);
      used += chunk.length;
      return true;
    },
    size: () => size,
    digest: () => {
      endBlock();
      const hash = createHash('sha256');
      for (const part of parts) hash.update(part);
      return hash.digest('base64url');
    },
    take: () => {
      endBlock();
      const bytes = Buffer.allocUnsafeSlow(size);
      let at = 0;
      for (const part of parts) {
        bytes.set(part, at);
        at += part.length;
      }
      release();
      return bytes;
    },
  };
}
