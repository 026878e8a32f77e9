/** Lets Node keep what it compiled, so that the next command starts sooner. */
import { lstatSync, mkdirSync, statSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { isAbsolute, join } from 'node:path';
import type { Context } from './context.ts';

/**
 * Keeps it in `musterd` of the user's cache folder (`XDG_CACHE_HOME`, or `.cache` of the home folder), and only if
 * nobody else can write there, because it is code that will run. /tmp, which is Node's own choice, would not do.
 * Without such a folder, or space in it, nothing is kept. `NODE_COMPILE_CACHE` and `NODE_DISABLE_COMPILE_CACHE` take
 * precedence.
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
    // The home cannot be written to, so nothing is kept.
  }
}
