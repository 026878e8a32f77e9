import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const inMemory = '/dev/shm';
const enoughBytes = 6 * 2 ** 30;

function hasRoom(): boolean {
  try {
    const mounted = readFileSync('/proc/mounts', 'utf8').split('\n');
    const options = mounted.map((line) => line.split(' ')).find(([, folder]) => folder === inMemory)?.[3];
    const { bavail, bsize } = statfsSync(inMemory);
    // Some tests run what they have written.
    return options?.split(',').includes('noexec') === false && bavail * bsize >= enoughBytes;
  } catch {
    return false;
  }
}

/**
 * What tests write for a moment is kept in memory where there is room: on a disk, to drop a database that was written
 * just now takes longer than all that a test did with it. Workers and processes of tests inherit it.
 * @returns removes what is left there
 */
export function useTemporaryFolder(): () => Promise<void> {
  if (process.env['TMPDIR'] !== undefined || !hasRoom()) return async () => undefined;
  const made = mkdtempSync(join(inMemory, 'musterd-'));
  // As of any such folder: the server of root's tests has an account of its own, and removes what it made.
  chmodSync(made, 0o1777);
  process.env['TMPDIR'] = made;
  return async () => rmSync(made, { recursive: true, force: true });
}
