/**
 * `node scripts/sbom.ts` prints what the program is made of, as CycloneDX: npm's own bill of materials of a copy without
 * development tools. (`npm sbom --omit dev` leaves out what such a tool needs as well.)
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const cwd = mkdtempSync(join(tmpdir(), 'musterd-sbom-'));
const npm = (...args: readonly string[]) => execFileSync('npm', args, { cwd, encoding: 'utf8' });
try {
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(name, join(cwd, name));
  npm('pkg', 'delete', 'devDependencies');
  npm('install', '--package-lock-only', '--ignore-scripts', '--offline');
  process.stdout.write(npm('sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'));
} finally {
  rmSync(cwd, { recursive: true });
}
