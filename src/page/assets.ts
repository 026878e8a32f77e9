/** All static files of the page. No page loads anything from another server. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface Asset {
  readonly type: string;
  readonly body: Buffer;
  readonly isFont: boolean;
}

/** In the bundle, all assets are beside this file. In a checkout, the typeface is in its package, the guide in docs. */
const typeface = '../../node_modules/@fontsource-variable/inter/';
const places = ['./assets/', typeface, `${typeface}files/`, '../../docs/'];

function readBeside(name: string): Buffer {
  for (const [at, place] of places.entries()) {
    try {
      return readFileSync(fileURLToPath(new URL(`${place}${name}`, import.meta.url)));
    } catch (error) {
      if (at === places.length - 1) throw error;
    }
  }
  throw new Error(`${name} is missing`);
}

/** The typeface's style sheet maps letters to font files, so that a browser loads only the files that a page needs. */
export function readAssets(): ReadonlyMap<string, Asset> {
  const own = (type: string, file: string): Asset => ({ type, body: readBeside(file), isFont: false });
  const letters = own('text/css; charset=utf-8', 'index.css');
  const fonts = [...String(letters.body).matchAll(/files\/([\w-]+\.woff2)/g)];
  return new Map([
    ['style.css', own('text/css; charset=utf-8', 'style.css')],
    ['letters.css', letters],
    ['script.js', own('text/javascript; charset=utf-8', 'script.js')],
    ['alive.js', own('text/javascript; charset=utf-8', 'alive.js')],
    ['icon.svg', own('image/svg+xml', 'icon.svg')],
    ['guide.md', own('text/plain; charset=utf-8', 'guide.md')],
    ...fonts.map(
      ([path, file = '']) => [path, { ...own('font/woff2', file), isFont: true }] satisfies [string, Asset],
    ),
  ]);
}
