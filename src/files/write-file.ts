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

/** The path of the file after links are followed. `isFile` is false if the path is, for example, a pipe. */
interface Place {
  readonly target: string;
  readonly isFile: boolean;
  readonly isThere: boolean;
  /** The mode of the written file. A new file can be read by its owner only. */
  readonly mode: number;
}

async function placeOf(path: string): Promise<Place> {
  try {
    const named = await lstat(path);
    const isOurs = ({ uid }: Stats) => uid === 0 || uid === process.geteuid?.();
    const isLink = named.isSymbolicLink();
    // In a shared folder, another user's link or pipe would decide where the text is written, and another user's
    // file would decide who can read it.
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
  /** Renames the finished file to the target. */
  readonly keep: () => Promise<void>;
  /** Removes the unfinished file. */
  readonly drop: () => Promise<void>;
}

/** Syncs a folder, so that the names of its files survive a power failure. A folder that cannot be read is skipped. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined);
  await folder?.sync().catch(ignoreUnsyncable);
  await folder?.close();
}

/** Opens a temporary file beside the target, which gets the target's name once it is complete. */
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
 * Calls `work` with a function that writes to the file. The earlier file stays until all of the new one is written.
 * @param isNew true if the file must not exist yet; only its owner can read the new file
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

/** Ignores the error that a pipe cannot be flushed to disk, because a pipe needs no flush. */
function ignoreUnsyncable(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EINVAL' && error.code !== 'ENOTSUP') throw error;
}
