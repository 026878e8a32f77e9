import { readFileSync } from 'node:fs';

let version: string | undefined;

/** The version of this program, from package.json. */
export function programVersion(): string {
  version ??= readVersion();
  return version;
}

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return (manifest as { version: string }).version;
}
