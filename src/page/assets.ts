/** The files that pages ask for: all of them are here, and nothing comes from elsewhere. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface Asset {
  readonly type: string;
  readonly body: Buffer;
  /** Whether what it holds never changes. */
  readonly isFont: boolean;
}

/** Beside this file in the bundle, where all of them are; in a checkout the fonts lie in their package, the guide in docs. */
const places = ['./assets/', '../../node_modules/@fontsource-variable/inter/files/', '../../docs/'];

/** Parts of the typeface: a browser asks for those of whose letters there are any on the page. */
const scripts = [
  'latin',
  'latin-ext',
  'cyrillic',
  'cyrillic-ext',
  'greek',
  'greek-ext',
  'vietnamese',
] as const;

/** By name, and where it lies. Of the bundle the same files are listed in `bundle.ts`. */
const files: Readonly<Record<string, readonly [type: string, file: string]>> = {
  'style.css': ['text/css; charset=utf-8', 'style.css'],
  'script.js': ['text/javascript; charset=utf-8', 'script.js'],
  'alive.js': ['text/javascript; charset=utf-8', 'alive.js'],
  'icon.svg': ['image/svg+xml', 'icon.svg'],
  'guide.md': ['text/plain; charset=utf-8', 'guide.md'],
  ...Object.fromEntries(
    scripts.map((one) => [`inter-${one}.woff2`, ['font/woff2', `inter-${one}-wght-normal.woff2`] as const]),
  ),
};

function readBeside(name: string): Buffer {
  for (const [at, place] of places.entries()) {
    try {
      return readFileSync(fileURLToPath(new URL(`${place}${name}`, import.meta.url)));
    } catch (error) {
      if (at === places.length - 1) throw error;
    }
  }
  throw new Error(`${name} is nowhere`);
}

export function readAssets(): ReadonlyMap<string, Asset> {
  return new Map(
    Object.entries(files).map(([name, [type, file]]) => [
      name,
      { type, body: readBeside(file), isFont: type === 'font/woff2' },
    ]),
  );
}
