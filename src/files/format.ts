/** The file formats in which rows are written and read. */
import { extname } from 'node:path';
import { MusterdError } from '../errors.ts';

export const formats = ['csv', 'json', 'ndjson', 'yaml'] as const;
export type Format = (typeof formats)[number];

const endings: Readonly<Record<string, Format>> = {
  '.csv': 'csv',
  '.tsv': 'csv',
  '.txt': 'csv',
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.yaml': 'yaml',
  '.yml': 'yaml',
};

/** The requested format; without one, the format of the file's ending; else CSV. @throws MusterdError `usage` */
export function readFormat(wanted: string | undefined, file: string | undefined): Format {
  if (wanted === undefined) return endings[extname(file ?? '').toLowerCase()] ?? 'csv';
  const format = formats.find((name) => name === wanted);
  if (format !== undefined) return format;
  throw new MusterdError('usage', `--format "${wanted}": use one of ${formats.join(', ')}`);
}

/** Like `readFormat`, for a file to write. @throws MusterdError `usage`, also for an unknown ending without a format */
export function readFormatToWrite(wanted: string | undefined, file: string | undefined): Format {
  const ending = extname(file ?? '').toLowerCase();
  if (wanted === undefined && ending !== '' && !Object.hasOwn(endings, ending))
    throw new MusterdError('usage', `No output format has the ending ${ending}`, {
      hint: `Give the file one of the endings ${Object.keys(endings).join(', ')}, or choose the format with --format.`,
    });
  return readFormat(wanted, file);
}
