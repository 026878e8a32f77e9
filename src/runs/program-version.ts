import { readFileSync } from 'node:fs';

let version: string | undefined;

/** Of this program, as its package says. */
export function programVersion(): string {
  version ??= readVersion();
  return version;
}

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return (manifest as { version: string }).version;
}
