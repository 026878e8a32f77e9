/** The whole mirror as SQL, as of one moment. */
import { writeDump } from '../mirror/tools/write-dump.ts';
import { type Mirror, requireSchema } from './open.ts';

/** @returns its text in pieces. @param onRows called with the number of rows so far */
export async function dumpMirror(
  { db, url }: Pick<Mirror, 'db' | 'url'>,
  version: string,
  onRows: (count: number) => void,
): Promise<AsyncIterable<Buffer>> {
  await requireSchema(db);
  return writeDump({ url, version, onRows });
}
