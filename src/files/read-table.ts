/** Reads a file of rows in any of the formats. */
import { createReadStream } from 'node:fs';
import { MusterdError } from '../errors.ts';
import type { FileTable } from '../model/file-table.ts';
import type { TableWishes } from './choose-columns.ts';
import { decodeText } from './decode-text.ts';
import type { Format } from './format.ts';
import { readCsv } from './read-csv.ts';
import { readJsonList, readNdjson, readYaml } from './read-objects.ts';

const longestMiB = 64;

const readers = {
  csv: readCsv,
  json: readJsonList,
  ndjson: readNdjson,
  yaml: readYaml,
} as const satisfies Readonly<Record<Format, (text: string, wishes: TableWishes) => Promise<FileTable>>>;

/**
 * @param file `-` for stdin
 * @throws MusterdError `usage`
 */
export async function readBytes(file: string, signal: AbortSignal): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    const stream = createReadStream(file, { ...(file === '-' ? { fd: 0, autoClose: false } : {}), signal });
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > longestMiB * 1024 * 1024)
        throw new MusterdError('usage', `${file} is longer than ${longestMiB} MiB`);
      chunks.push(chunk);
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof MusterdError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new MusterdError('usage', `${file} cannot be read (${code ?? message})`, { cause: error });
  }
  return Buffer.concat(chunks);
}

/** @throws MusterdError `usage` if the content is not in this format */
export async function readTable(bytes: Uint8Array, format: Format, wishes: TableWishes): Promise<FileTable> {
  const { text, encoding } = decodeText(bytes, format === 'csv');
  const table = await readers[format](text, wishes);
  const notes = encoding === 'UTF-8' ? [] : [`read as ${encoding}: it is not UTF-8`];
  return { ...table, notes: [...notes, ...table.notes] };
}
