/** Lets Node cache compiled code, so that the next command starts sooner. */
import { lstatSync, mkdirSync, statSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { isAbsolute, join } from 'node:path';
import type { Context } from './context.ts';

/**
 * The cache is the folder `musterd` in the user's cache folder (`XDG_CACHE_HOME`, or `.cache` in the home folder).
 * Node will run the code in it, so no other user may have write access to it. Node's default, /tmp, does not ensure that.
 * If there is no such folder, or no space in it, nothing is cached. `NODE_COMPILE_CACHE` and
 * `NODE_DISABLE_COMPILE_CACHE` take precedence.
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
    // The folder cannot be read or created, so nothing is cached.
  }
}
