/** What a built program is made of, read from its source maps. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface SourceMapFile {
  readonly sources: readonly string[];
  readonly sourcesContent: readonly string[];
}

export function readMaps(dist: string): readonly SourceMapFile[] {
  return readdirSync(dist, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.map'))
    .map((path) => JSON.parse(readFileSync(join(dist, path), 'utf8')) as SourceMapFile);
}

/** Names of the packages of which it holds code, in order. */
export function bundledPackages(dist: string): readonly string[] {
  const names = readMaps(dist)
    .flatMap(({ sources }) => sources)
    .flatMap((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  return [...new Set(names)].toSorted((one, other) => (one < other ? -1 : 1));
}
