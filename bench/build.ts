import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../test/support/checkout.ts';

export interface Built {
  /** The program as it is installed. */
  readonly musterd: string;
  remove(): void;
}

/** Builds the program into a folder of its own. */
export async function build(): Promise<Built> {
  const folder = mkdtempSync(join(tmpdir(), 'musterd-bench-dist-'));
  for (const name of ['node_modules', 'migrations', 'package.json'])
    symlinkSync(join(ROOT, name), join(folder, name));
  await promisify(execFile)(process.execPath, ['scripts/bundle.ts', join(folder, 'dist')], { cwd: ROOT });
  return {
    musterd: join(folder, 'dist', 'main.js'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
