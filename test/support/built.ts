/** The program as `npm run build` makes it: a process of it starts in half of the time that its sources take. */
import { execFile } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './checkout.ts';

/** One folder deep, as `dist` is, so that it finds `migrations`. */
const folder = join(ROOT, '.cache');

/** The entry of the built program: give it to Node. */
export const MUSTERD = join(folder, 'main.js');

/** The same from its sources, for what only these show. */
export const SOURCES = join(ROOT, 'src', 'main.ts');

/** Builds it, unless nothing changed since it was built. */
export async function buildMusterd(): Promise<void> {
  const sources = ['package.json', 'package-lock.json', ...filesOf('scripts'), ...filesOf('src')];
  const newest = Math.max(...sources.map(changedAt));
  if (changedAt(join('.cache', 'main.js')) > newest) return;
  await promisify(execFile)(process.execPath, ['scripts/bundle.ts', folder], { cwd: ROOT });
}

function filesOf(name: string): readonly string[] {
  return readdirSync(join(ROOT, name), { recursive: true, encoding: 'utf8' }).map((path) => join(name, path));
}

/** In milliseconds; 0 where there is no such file. */
function changedAt(path: string): number {
  return statSync(join(ROOT, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
