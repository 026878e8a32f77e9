/** Lets Node keep what it compiled, so that the next command starts sooner. */
import { lstatSync, mkdirSync, statSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { isAbsolute, join } from 'node:path';
import type { Context } from './context.ts';

/**
 * In `musterd` of the cache folder of whoever runs this (`XDG_CACHE_HOME`, or `.cache` of the home folder), and only
 * where nobody else can write: what is read from there is run. Not in /tmp, which is Node's own choice. Without such a
 * folder, or room in it, nothing is kept. `NODE_COMPILE_CACHE` and `NODE_DISABLE_COMPILE_CACHE` decide where they are set.
 */
export function keepCompiledCode(env: Context['env']): void {
  const { HOME: home = '', XDG_CACHE_HOME: caches = '' } = env;
  if (env['NODE_COMPILE_CACHE'] || env['NODE_DISABLE_COMPILE_CACHE'] || !isAbsolute(home)) return;
  const user = process.getuid?.();
  try {
    if (statSync(home).uid !== user) return;
    const folder = join(isAbsolute(caches) ? caches : join(home, '.cache'), 'musterd');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const found = lstatSync(folder);
    if (found.isDirectory() && found.uid === user && (found.mode & 0o022) === 0) enableCompileCache(folder);
  } catch {
    // A home that cannot be written to is none.
  }
}
