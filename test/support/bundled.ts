/** What a built program is made of, read from its source maps. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

interface SourceMapFile {
  readonly sources: readonly string[];
  readonly sourcesContent: readonly string[];
}

export function readMaps(dist: string): readonly SourceMapFile[] {
  return readdirSync(dist, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.map'))
    .map((path) => JSON.parse(readFileSync(join(dist, path), 'utf8')) as SourceMapFile);
}

/** The fonts of the page are in no source map. */
const fonts = /^inter-.*\.woff2$/;

/** Names of the packages of which it holds code or fonts, in order. */
export function bundledPackages(dist: string): readonly string[] {
  const code = readMaps(dist)
    .flatMap(({ sources }) => sources)
    .flatMap((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' });
  const font = files.some((path) => fonts.test(basename(path))) ? ['@fontsource-variable/inter'] : [];
  return [...new Set([...code, ...font])].toSorted((one, other) => (one < other ? -1 : 1));
}
