/** The kinds of files that rows are written to and read from. */
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

/** What was asked for; else what the name of the file says; else CSV. @throws MusterdError `usage` */
export function readFormat(asked: string | undefined, file: string | undefined): Format {
  if (asked === undefined) return endings[extname(file ?? '').toLowerCase()] ?? 'csv';
  const format = formats.find((one) => one === asked);
  if (format !== undefined) return format;
  throw new MusterdError('usage', `--format "${asked}": use one of ${formats.join(', ')}`);
}
