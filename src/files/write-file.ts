/** A file that is there whole or not at all. */
import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { type FileHandle, lstat, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { MusterdError } from '../errors.ts';

function refused(path: string, error: unknown): MusterdError {
  if (error instanceof MusterdError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  return new MusterdError('usage', `${path} cannot be written (${code ?? message})`, { cause: error });
}

/** The path that the file ends up at, behind any link, and whether something else than a file stands there, such as a pipe. */
interface Place {
  readonly target: string;
  readonly isFile: boolean;
  /** The mode that says who may read and write it. A new file is for its owner alone. */
  readonly mode: number;
}

async function placeOf(path: string): Promise<Place> {
  try {
    const named = await lstat(path);
    const isOurs = ({ uid }: Stats) => uid === 0 || uid === process.geteuid?.();
    const isLink = named.isSymbolicLink();
    // In a folder of many, whoever made a link or a pipe would choose where it is written, and of a file who may read it.
    if (!named.isFile() && !isOurs(named))
      throw new MusterdError('usage', `${path} is a ${isLink ? 'link' : 'pipe'} that somebody else made`, {
        hint: 'Name the file itself, or another one.',
      });
    const target = isLink ? await realpath(path) : path;
    const found = isLink ? await stat(target) : named;
    return { target, isFile: found.isFile(), mode: isOurs(found) ? found.mode & 0o777 : 0o600 };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      return { target: path, isFile: true, mode: 0o600 };
    throw error;
  }
}

interface OpenFile {
  readonly handle: FileHandle;
  /** Gives it its name. */
  readonly keep: () => Promise<void>;
  /** Leaves nothing of it. */
  readonly drop: () => Promise<void>;
}

/** Opens it under another name beside its own, which it gets when it is whole. */
async function openBeside(path: string, own?: number): Promise<OpenFile> {
  const { target, isFile, mode } = await placeOf(path);
  if (!isFile) return { handle: await open(target, 'w'), keep: async () => {}, drop: async () => {} };
  const part = join(dirname(target), `.${basename(target)}.${randomUUID()}.part`);
  const handle = await open(part, 'wx', 0o600);
  await handle.chmod(own ?? mode);
  return {
    handle,
    keep: () => rename(part, target),
    drop: () => rm(part, { force: true }),
  };
}

/**
 * Calls `work` with what writes to the file. Under its name stands what was there before until all of it is written.
 * @param mode who may read and write it, also where another file stood there
 * @throws what `work` throws; MusterdError `usage` where the file cannot be written
 */
export async function writeWholeFile<R>(
  path: string,
  work: (write: (text: string | Uint8Array) => Promise<void>) => Promise<R>,
  { mode }: { readonly mode?: number } = {},
): Promise<R> {
  const orRefuse = (error: unknown) => {
    throw refused(path, error);
  };
  const { handle, keep, drop } = await openBeside(path, mode).catch(orRefuse);
  try {
    const result = await work((text) => handle.appendFile(text).catch(orRefuse));
    await handle.sync().catch(ignoreUnsyncable).catch(orRefuse);
    await handle.close().catch(orRefuse);
    await keep().catch(orRefuse);
    return result;
  } catch (error) {
    await handle.close().catch(() => {});
    await drop().catch(() => {});
    throw error;
  }
}

/** A pipe has nothing to bring to the disk. */
function ignoreUnsyncable(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EINVAL' && error.code !== 'ENOTSUP') throw error;
}
