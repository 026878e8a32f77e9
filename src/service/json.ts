/** JSON as the service writes it, and what there is to know of it before it is decoded. */
import { fromJson } from '../model/json.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export interface ParsedJson {
  /** Integers past 2^53 are `bigint`, all other numbers `number`. */
  readonly value: unknown;
  /** The text itself, for where a value's spelling counts. */
  readonly text: string;
  /** Whether a string may hold a NUL or a lone surrogate; if not, no string needs to be looked at. */
  readonly suspicious: boolean;
}

const suspiciousEscape = /\\u(?:0000|[dD][89a-fA-F])/;

/** @throws SyntaxError (no JSON) or RangeError (nested too deep to be read). */
export function parseJson(text: string): ParsedJson {
  const suspicious = text.includes('\\u') && suspiciousEscape.test(text);
  return { value: fromJson(text), text, suspicious };
}

/**
 * The text of an answer. Bytes that are no UTF-8 become lone surrogates, so that only the rows that hold
 * them are rejected: a replacement character would be stored as if the service had said it.
 */
export function decodeUtf8(bytes: Uint8Array): { readonly text: string; readonly wellFormed: boolean } {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), wellFormed: true };
  } catch {
    return { text: new TextDecoder('utf-8').decode(bytes).replaceAll('\ufffd', '\ud800'), wellFormed: false };
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
