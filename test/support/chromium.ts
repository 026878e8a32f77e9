/** The browser comes packed, and unpacks itself where it is first asked for: two at once would start half a program. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './checkout.ts';

const packages = join(ROOT, 'node_modules');
const cache = join(packages, '.cache');

function folderOf(): string {
  const text = readFileSync(join(packages, '@sparticuz', 'chromium', 'package.json'), 'utf8');
  return join(cache, `chromium-${(JSON.parse(text) as { version: string }).version}`);
}

/** The program, once it is unpacked. */
export const chromiumPath = (): string => join(folderOf(), 'chromium');

/** Unpacks it, unless it was unpacked before. */
export async function unpackChromium(): Promise<void> {
  const folder = folderOf();
  if (existsSync(folder)) return;
  mkdirSync(cache, { recursive: true });
  const unpacked = mkdtempSync(`${folder}-`);
  const program = `(await import('@sparticuz/chromium')).default.executablePath()`;
  const options = { cwd: ROOT, env: { ...process.env, TMPDIR: unpacked } };
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', `await ${program}`], options);
  renameSync(unpacked, folder);
}
