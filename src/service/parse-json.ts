/** Parses the service's JSON, and collects facts about it before it is decoded. */
import { fromJson } from '../model/json.ts';
import type { Body } from './body.ts';
import { inspectJson, markNumbers, restoreNumbers } from './json-bounds.ts';
import { decodeLongList, type Frame } from './decoded-rows.ts';
import { isObject } from './json-object.ts';
import type { LongList, RowSieve } from './page.ts';
import { isSuspicious } from './row-flaws.ts';
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';

/** Bytes to hash before the event loop gets a turn: a few milliseconds. */
const bytesPerTurn = 4_194_304;

/** A digest of the bytes. How they are read depends on the version of the program, which records keep as well. */
async function digestOf(bytes: Uint8Array): Promise<string> {
  const hash = createHash('sha256');
  for (let from = 0; from < bytes.length; from += bytesPerTurn) {
    if (from > 0) await setImmediate();
    hash.update(bytes.subarray(from, from + bytesPerTurn));
  }
  return hash.digest('base64url');
}

export interface ParsedJson {
  /** Integers past 2^53 are `bigint`, all other numbers `number`. A long list that was asked for is `DecodedRows`. */
  readonly value: unknown;
  /** The spelling of a value that is neither a list nor an object. The text of lists and objects is dropped. */
  readonly spelling: string | null;
  /** Whether a string may contain a NUL or a lone surrogate. If not, no string needs a check. */
  readonly suspicious: boolean;
  /** A digest of the bytes, present only if the answer was asked for as a list. */
  readonly digest?: string;
  /** The number of bytes, present with the digest. */
  readonly bytes?: number;
  /**
   * Reads an answer that was left unread, of which `value` has nothing. It uses the bytes up, so it works once.
   * @param sieve chooses what is kept of its list
   * @returns `null` if it cannot be read
   */
  readonly read?: (sieve?: RowSieve) => Promise<ParsedJson | null>;
}

/** An answer with a list in it. */
export interface ExpectedList {
  /** If absent, the answer itself is the list. */
  readonly long?: LongList;
  /** Whether an answer with this digest is left unread until somebody asks for it. */
  readonly isLeft?: ((digest: string) => boolean) | undefined;
}

/** @throws SyntaxError if it is no JSON, or RangeError if it is nested too deep to be read */
export function parseJson(text: string): ParsedJson {
  return parseText({ text, wellFormed: true, parse: fromJson });
}

/** The text of an answer, and how it is to be parsed. */
interface JsonText extends Decoded {
  readonly parse: (text: string) => unknown;
}

function parseText({ text, wellFormed, parse }: JsonText): ParsedJson {
  const value = parse(text);
  const isWord = typeof value !== 'object' || value === null;
  const suspicious = !wellFormed || isSuspicious(text);
  return { value, spelling: isWord ? text.trim() : null, suspicious };
}

/** A text of at most this length takes little memory, whatever it contains. */
const harmlessBytes = 262_144;

function readText(bytes: Uint8Array, maxBytes: number): JsonText | { readonly excess: string } {
  if (bytes.length <= harmlessBytes) return { ...decodeUtf8(bytes), parse: fromJson };
  const { excess, longNumbers } = inspectJson(bytes, maxBytes);
  if (excess !== null) return { excess };
  if (longNumbers.length === 0) return { ...decodeUtf8(bytes), parse: JSON.parse };
  // A reviver would keep the source of every value: 32 MB with one long number in them took over 512 MB. No answer can
  // know the mark that turns a string into a number.
  const mark = `${Math.random().toString(36).slice(2)}:`;
  const marked = markNumbers(bytes, longNumbers, mark);
  letGo(bytes);
  const decoded = decodeUtf8(marked);
  letGo(marked);
  return { ...decoded, parse: (text) => restoreNumbers(JSON.parse(text), mark) };
}

/** Frees the memory of bytes that nobody reads any more now, instead of at the next garbage collection. */
function letGo(bytes: Uint8Array): void {
  if (bytes.buffer instanceof ArrayBuffer && !bytes.buffer.detached) bytes.buffer.transfer(0);
}

/** The byte order mark of UTF-8. */
const byteOrderMark = [0xef, 0xbb, 0xbf];

/** The bytes of an answer without the byte order mark, which some programs put before them. */
function takeBytes(body: Pick<Body, 'take'>): Buffer {
  const bytes = body.take();
  return byteOrderMark.every((byte, at) => bytes[at] === byte) ? bytes.subarray(byteOrderMark.length) : bytes;
}

/**
 * Reads bytes that claim to be JSON.
 * @param body is empty afterwards
 * @param maxBytes the longest allowed answer
 * @returns `null` if they are not JSON; they are not parsed if that would take too much memory
 */
export function readJson(
  body: Pick<Body, 'take'>,
  maxBytes: number,
): ParsedJson | { readonly excess: string } | null {
  try {
    return readBytes(takeBytes(body), maxBytes);
  } catch {
    return null;
  }
}

function readBytes(bytes: Uint8Array, maxBytes: number): ReturnType<typeof readJson> {
  const read = readText(bytes, maxBytes);
  letGo(bytes);
  return 'excess' in read ? read : parseText(read);
}

export interface Decoded {
  readonly text: string;
  /** Whether all of it was UTF-8. */
  readonly wellFormed: boolean;
}

/**
 * The text of an answer. Bytes that are not UTF-8 become lone surrogates, so that only the rows with them are rejected.
 * A replacement character would be stored as if the service had sent it.
 * @throws TypeError for long ones, whose text would take four times the memory
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
    // Piece by piece, because each step takes memory of its own.
    for (let from = 0; from < bytes.length; from += pieceBytes) {
      pieces.push(markBroken(decoder.decode(bytes.subarray(from, from + pieceBytes), { stream: true })));
    }
    pieces.push(markBroken(decoder.decode()));
    return { text: pieces.join(''), wellFormed: false };
  }
}

/** Puts a lone surrogate in place of each replacement character. `replaceAll` takes 30 times as much memory, and minutes. */
function markBroken(text: string): string {
  const utf16 = Buffer.from(text, 'utf16le');
  const units = new Uint16Array(utf16.buffer, utf16.byteOffset, text.length);
  for (let at = 0; at < units.length; at += 1) if (units[at] === 0xfffd) units[at] = 0xd800;
  return utf16.toString('utf16le');
}

const pieceBytes = 65_536;
const mostBrokenBytes = 8_388_608;

/** The answer with `list` in place of its list; `null` if the mark is elsewhere. */
function parseFrame({ text, mark }: Frame, property: string | null, list: unknown): ParsedJson | null {
  const parsed = parseJson(text);
  const { value } = parsed;
  if (property === null) return value === mark ? { ...parsed, value: list, spelling: null } : null;
  // If the property is given twice, the last one counts.
  return isObject(value) && value[property] === mark
    ? { ...parsed, value: { ...value, [property]: list } }
    : null;
}

/** The same with the rows of its long list decoded; `null` if it has none that can be decoded. */
async function readLong(bytes: Buffer, long: LongList | undefined): Promise<ParsedJson | null> {
  const decoded = long === undefined ? null : await decodeLongList(bytes, long);
  return decoded === null ? null : parseFrame(decoded.frame, long?.property ?? null, decoded.rows);
}

/** Like {@link readJson}, for an answer with a list. @param body is empty afterwards */
export async function readList(
  body: Pick<Body, 'take'>,
  maxBytes: number,
  { long, isLeft }: ExpectedList,
): Promise<ReturnType<typeof readJson>> {
  const bytes = takeBytes(body);
  const about = { digest: await digestOf(bytes), bytes: bytes.length };
  const read = async (list: LongList | undefined) => {
    try {
      const decoded = await readLong(bytes, list);
      if (decoded !== null) letGo(bytes);
      const parsed = decoded ?? readBytes(bytes, maxBytes);
      return parsed === null || 'excess' in parsed ? parsed : { ...parsed, ...about };
    } catch {
      return null;
    }
  };
  if (isLeft?.(about.digest) !== true) return await read(long);
  const readLater = async (sieve?: RowSieve) => {
    const parsed = await read(long === undefined ? long : { ...long, sieve });
    return parsed === null || 'excess' in parsed ? null : parsed;
  };
  return { value: null, spelling: null, suspicious: false, ...about, read: readLater };
}
