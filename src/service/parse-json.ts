/** Parses the service's JSON, and collects facts about it before it is decoded. */
import { setImmediate } from 'node:timers/promises';
import { fromJson } from '../model/json.ts';
import type { Body } from './body.ts';
import { isSuspicious } from './row-flaws.ts';

export interface ParsedJson {
  /** Integers past 2^53 are `bigint`, all other numbers `number`. */
  readonly value: unknown;
  /** The text of a value that is neither a list nor an object; `null` for lists and objects, whose text is dropped. */
  readonly spelling: string | null;
  /** True if a string may contain a NUL or a lone surrogate. Otherwise no string needs a check. */
  readonly suspicious: boolean;
}

/** @throws SyntaxError if the text is not JSON, or RangeError if it is nested too deep to be read */
export function parseJson(text: string): ParsedJson {
  return parsed(text, isSuspicious(text));
}

const maySurprise = ({ text, wellFormed }: Decoded) => !wellFormed || isSuspicious(text);

function parsed(text: string, suspicious: boolean, isExact?: boolean): ParsedJson {
  const value = fromJson(text, isExact);
  const isWord = typeof value !== 'object' || value === null;
  return { value, spelling: isWord ? text.trim() : null, suspicious };
}

/** Frees the memory of bytes that are no longer needed at once, instead of at the next garbage collection. */
function letGo(bytes: Uint8Array): void {
  if (bytes.buffer instanceof ArrayBuffer && !bytes.buffer.detached) bytes.buffer.transfer(0);
}

const byteOrderMark = [0xef, 0xbb, 0xbf];

/** The text of an answer without a byte order mark, which some programs put first. Releases the bytes. */
function takeText(bytes: Buffer): Decoded {
  const isMarked = byteOrderMark.every((byte, at) => bytes[at] === byte);
  const decoded = decodeUtf8(isMarked ? bytes.subarray(byteOrderMark.length) : bytes);
  letGo(bytes);
  return decoded;
}

/**
 * Reads bytes that claim to be JSON.
 * @param body is empty afterwards
 * @returns `null` if they are not JSON
 */
export function readJson(body: Pick<Body, 'take'>): ParsedJson | null {
  try {
    const decoded = takeText(body.take());
    return parsed(decoded.text, maySurprise(decoded));
  } catch {
    return null;
  }
}

/** Like `readJson`, for a long answer: other work can run between its steps. */
export async function readLongJson(bytes: Buffer, isExact: boolean): Promise<ParsedJson | null> {
  try {
    const decoded = takeText(bytes);
    await setImmediate();
    const suspicious = maySurprise(decoded);
    await setImmediate();
    return parsed(decoded.text, suspicious, isExact);
  } catch {
    return null;
  }
}

export interface Decoded {
  readonly text: string;
  /** True if all bytes were UTF-8. */
  readonly wellFormed: boolean;
}

/**
 * The text of an answer. Bytes that are not UTF-8 become lone surrogates, so that only the rows with them are rejected.
 * A replacement character would be stored as if the service had sent it.
 * @throws TypeError for long answers with such bytes, whose text would take four times the memory
 */
export function decodeUtf8(bytes: Uint8Array): Decoded {
  try {
    return {
      text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes),
      wellFormed: true,
    };
  } catch (error) {
    if (bytes.length > mostBrokenBytes) throw error;
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    const pieces: string[] = [];
    // The bytes are decoded in pieces, because each step needs additional memory in proportion to its length.
    for (let from = 0; from < bytes.length; from += pieceBytes) {
      pieces.push(markBroken(decoder.decode(bytes.subarray(from, from + pieceBytes), { stream: true })));
    }
    pieces.push(markBroken(decoder.decode()));
    return { text: pieces.join(''), wellFormed: false };
  }
}

/** Replaces each replacement character by a lone surrogate. `replaceAll` would take minutes and 30 times the memory. */
function markBroken(text: string): string {
  const utf16 = Buffer.from(text, 'utf16le');
  const units = new Uint16Array(utf16.buffer, utf16.byteOffset, text.length);
  for (let at = 0; at < units.length; at += 1) if (units[at] === 0xfffd) units[at] = 0xd800;
  return utf16.toString('utf16le');
}

const pieceBytes = 65_536;
const mostBrokenBytes = 8_388_608;
