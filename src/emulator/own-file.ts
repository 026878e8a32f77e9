/** Files that the emulator writes for whoever started it, in folders that others may write to as well. */
import { randomUUID } from 'node:crypto';
import { existsSync, lstatSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/** Where the file is. Whoever else made a link would choose what is read and overwritten. */
export function targetOf(path: string): string {
  const named = lstatSync(path, { throwIfNoEntry: false });
  if (named?.isSymbolicLink() !== true) return path;
  if (named.uid !== 0 && named.uid !== process.geteuid?.())
    throw new Error(`${path} is a link that somebody else made; name the file itself, or another one.`);
  return existsSync(path) ? realpathSync(path) : path;
}

/** Puts a new file in the place of what is there. */
export function writeOwnFile(path: string, text: string, mode: number): void {
  const target = targetOf(path);
  // Nobody can have put anything under this name before.
  const part = `${target}.${randomUUID()}.new`;
  try {
    writeFileSync(part, text, { mode, flag: 'wx' });
    renameSync(part, target);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}
