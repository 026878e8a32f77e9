import { chmodSync, cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** For NODE_COMPILE_CACHE: Node finds a source here by its content, which spares half of what a start costs. */
export const COMPILED = join(ROOT, 'node_modules', '.cache', 'node');

/** What a clone does not have. */
const MADE = new Set(['node_modules', 'dist', 'coverage', '.git', '.cache', 'release']);

/** A folder for temporary files, removed by `using`; other accounts (an embedded server's) may pass. */
export function temporaryFolder(): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'musterd-system-'));
  chmodSync(path, 0o755);
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** The project's files as they are, without what was made from them; its packages by a link. */
export function copyCheckout(folder: string): void {
  for (const name of readdirSync(ROOT)) {
    if (!MADE.has(name)) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
}

/**
 * The environment of a command that a person types: the Node that runs the tests comes first, settings of
 * ours and of the npm that started the tests are gone, nothing says that this is CI, packages come from npm's cache where they
 * are in it, and what this machine trusts it trusts still.
 */
export function plainEnvironment(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    ([name]) =>
      !/^(MUSTERD|DATABASE_URL|CI$|GITHUB_ACTIONS$|npm_(lifecycle|package|command|execpath|node|config_(strict|local|save))|VITEST|NODE_(?!EXTRA_CA_CERTS))/.test(
        name,
      ),
  );
  return {
    ...Object.fromEntries(kept.map(([name, value]) => [name, value ?? ''])),
    PATH: [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
    npm_config_prefer_offline: 'true',
    NO_COLOR: '1',
    ...more,
  };
}
