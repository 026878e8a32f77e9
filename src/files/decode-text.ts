/** Decodes bytes in the encodings that spreadsheets write. */
import { MusterdError } from '../errors.ts';

export interface DecodedText {
  readonly text: string;
  readonly encoding: 'UTF-8' | 'UTF-16' | 'Windows-1252';
}

function decode(label: string, bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Decodes UTF-16 by its byte order mark, else UTF-8, else, if `isOldAllowed`, the code page of older spreadsheets. */
function decodeAny(bytes: Uint8Array, isOldAllowed: boolean): DecodedText | undefined {
  const [first, second] = bytes;
  const wide =
    first === 0xff && second === 0xfe
      ? 'utf-16le'
      : first === 0xfe && second === 0xff
        ? 'utf-16be'
        : undefined;
  if (wide !== undefined) {
    const text = decode(wide, bytes);
    return text === undefined ? undefined : { text, encoding: 'UTF-16' };
  }
  const text = decode('utf-8', bytes);
  if (text !== undefined) return { text, encoding: 'UTF-8' };
  const old = isOldAllowed ? decode('windows-1252', bytes) : undefined;
  return old === undefined ? undefined : { text: old, encoding: 'Windows-1252' };
}

/** @throws MusterdError `usage` if the bytes are not text */
export function decodeText(bytes: Uint8Array, isOldAllowed: boolean): DecodedText {
  const decoded = decodeAny(bytes, isOldAllowed);
  if (decoded === undefined || decoded.text.includes('\0'))
    throw new MusterdError('usage', 'The file is not text', {
      hint: 'Save it as CSV UTF-8; a workbook (.xlsx) is not read.',
    });
  return decoded;
}
