/** Writes a file that appears whole or not at all. */
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

/** The path where the file ends up, behind any link, and whether there is something else than a file, such as a pipe. */
interface Place {
  readonly target: string;
  readonly isFile: boolean;
  readonly isThere: boolean;
  /** The mode of the file. A new file is for its owner alone. */
  readonly mode: number;
}

async function placeOf(path: string): Promise<Place> {
  try {
    const named = await lstat(path);
    const isOurs = ({ uid }: Stats) => uid === 0 || uid === process.geteuid?.();
    const isLink = named.isSymbolicLink();
    // In a folder that several people share, somebody else's link or pipe would decide where the text is written, and
    // somebody else's file would decide who may read it.
    if (!named.isFile() && !isOurs(named))
      throw new MusterdError('usage', `${path} is a ${isLink ? 'link' : 'pipe'} of another user`, {
        hint: 'Name the file itself, or another file.',
      });
    const target = isLink ? await realpath(path) : path;
    const found = isLink ? await stat(target) : named;
    return {
      target,
      isThere: true,
      isFile: found.isFile(),
      mode: isOurs(found) ? found.mode & 0o777 : 0o600,
    };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      return { target: path, isThere: false, isFile: true, mode: 0o600 };
    throw error;
  }
}

interface OpenFile {
  readonly handle: FileHandle;
  /** Gives the file its name. */
  readonly keep: () => Promise<void>;
  /** Removes the file. */
  readonly drop: () => Promise<void>;
}

/** Makes the names of a folder last through a power failure, if the folder may be read. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined);
  await folder?.sync().catch(ignoreUnsyncable);
  await folder?.close();
}

/** Opens a file beside the place, which gets its name once it is whole. */
async function openBeside(path: string, isNew: boolean): Promise<OpenFile> {
  const { target, isFile, mode, isThere } = await placeOf(path);
  if (isNew && isThere && isFile)
    throw new MusterdError('usage', `${path} is there already`, { hint: 'Name another file.' });
  if (!isFile) return { handle: await open(target, 'w'), keep: async () => {}, drop: async () => {} };
  const part = join(dirname(target), `.${basename(target)}.${randomUUID()}.part`);
  const handle = await open(part, 'wx', 0o600);
  await handle.chmod(isNew ? 0o600 : mode);
  return {
    handle,
    keep: async () => {
      await rename(part, target);
      await syncFolder(dirname(target));
    },
    drop: () => rm(part, { force: true }),
  };
}

/**
 * Calls `work` with a stream to the file. Until all of it is written, the earlier file stays under its name.
 * @param isNew true if no file may have that name yet; only its owner may read the new one
 * @throws what `work` throws; MusterdError `usage` if the file cannot be written
 */
export async function writeWholeFile<R>(
  path: string,
  work: (write: (text: string | Uint8Array) => Promise<void>) => Promise<R>,
  isNew = false,
): Promise<R> {
  const orRefuse = (error: unknown) => {
    throw refused(path, error);
  };
  const { handle, keep, drop } = await openBeside(path, isNew).catch(orRefuse);
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

/** A pipe cannot be flushed to disk, and need not be. */
function ignoreUnsyncable(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EINVAL' && error.code !== 'ENOTSUP') throw error;
}
