/** Recognizes values that lost letters when a spreadsheet saved or opened them. */
import { canonicalName } from '../../../model/name.ts';

/** True if `text` is `now` with question marks in place of letters that a code page lacks. */
function isCutToCodePage(text: string, now: string): boolean {
  // A lost letter may have been one character, or several with combining characters, so both forms are compared.
  return ['NFC', 'NFD'].some((form) => {
    const [units, before] = [text, now.normalize(form)];
    return (
      text !== before &&
      units.length === before.length &&
      [...units.split('').entries()].every(
        ([at, unit]) =>
          unit === before[at] || ((unit === '?' || unit === '\ufffd') && before.charCodeAt(at) > 127),
      )
    );
  });
}

/** Code pages other than Windows-1252 in which spreadsheets save CSV. A file that is not UTF-8 is read as Windows-1252. */
const codePages = [
  'windows-1250',
  'windows-1251',
  'windows-1253',
  'windows-1254',
  'windows-1257',
  'macintosh',
] as const;

/** The byte of each letter beyond ASCII in this code page. */
function bytesOf(codePage: string): ReadonlyMap<string, number> {
  const high = Array.from({ length: 128 }, (_, n) => n + 128);
  const letters = new TextDecoder(codePage).decode(Uint8Array.from(high));
  return new Map(Array.from(letters, (letter, n) => [letter, n + 128]));
}

function encode(text: string, bytes: ReadonlyMap<string, number>): Uint8Array {
  const byteOf = (letter: string) =>
    letter <= '\x7f' ? letter.charCodeAt(0) : (bytes.get(letter) ?? '?'.charCodeAt(0));
  return Uint8Array.from(text, byteOf);
}

let tables: readonly ReadonlyMap<string, number>[] | undefined;

/** True if bytes of another code page, or of UTF-8, were read as Windows-1252: Šimić has become Šimiæ, or Å imiÄ‡. */
function isMisread(text: string, now: string): boolean {
  if (/^[\x20-\x7e]*$/.test(now)) return false;
  tables ??= codePages.map(bytesOf);
  const read = canonicalName(text);
  const west = new TextDecoder('windows-1252');
  const ways = [new TextEncoder().encode(now), ...tables.map((bytes) => encode(now, bytes))];
  return ways
    .map((bytes) => canonicalName(west.decode(bytes)))
    .some((misread) => read === misread || isCutToCodePage(read, misread));
}

/** True if `text` is the present value `now` after letters were lost or mixed up between code pages. */
export const hasLostLetters = (text: string, now: string): boolean =>
  text !== now && (isCutToCodePage(text, now) || isMisread(text, now));

/** True if a text has a question mark or letters beyond ASCII, which may be wrong if the file has lost letters. */
export const mayHaveLostLetters = (text: string): boolean => /[^\x20-\x3e\x40-\x7e]/.test(text);
