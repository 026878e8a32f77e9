/** `node scripts/bundle.ts [folder]` builds the program and the packages that it uses, in few files: docs/decisions/0009-one-bundle.md */
import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';
import { entryPoints, libraryFolder } from './entry-points.ts';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly author?: string | { readonly name: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** A package of which the program has code, and the text of its licence. */
interface Bundled extends Manifest {
  readonly text: string;
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
const own = readJson('package.json') as Manifest;

/** Whether a module is of one of these packages. */
const isOf = (packages: Readonly<Record<string, string>> | undefined) => (id: string) =>
  Object.keys(packages ?? {}).some((name) => id === name || id.startsWith(`${name}/`));

/** From its files, else from its README; where it only names the MIT licence: our copy of that, in its name. */
function readLicence(folder: string, { name, license, author = name }: Manifest): string {
  const read = (file: string) => readFileSync(join(folder, file), 'utf8').trim();
  const files = readdirSync(folder);
  const texts = files.filter((file) => /^(licen[cs]e|copying|notice)/i.test(file)).map(read);
  if (texts.length > 0) return texts.join('\n\n');
  const readme = files.filter((file) => /^readme/i.test(file)).map(read)[0] ?? '';
  const [, section = ''] = readme.split(/^#+ *licen[cs]e *$/im);
  if (/permission is hereby granted/i.test(section)) return section.trim();
  if (license !== 'MIT') throw new Error(`${folder}: no text of its licence`);
  const holder = typeof author === 'string' ? author : author.name;
  return readFileSync('LICENSE', 'utf8')
    .trim()
    .replace(/^Copyright .*$/m, `Copyright (c) ${holder}`);
}

function readPackage(folder: string): Bundled {
  const manifest = readJson(join(folder, 'package.json')) as Manifest;
  if (manifest.license === undefined) throw new Error(`${folder}: no licence`);
  return { ...manifest, text: readLicence(folder, manifest) };
}

function writeLicences(packages: readonly Bundled[]): string {
  const parts = packages.map(({ name, version, license, text }) =>
    [`${name} ${version}`, `Licence: ${license}`, text].join('\n\n'),
  );
  const head = `musterd ${own.version} is made with these ${packages.length} packages, each under its own licence.`;
  return `${[head, ...parts].join(`\n\n${'='.repeat(80)}\n\n`)}\n`;
}

/** Says of which packages the code is made, each under its licence: what is in the bundle, and nothing that is only installed. */
const namePackages = (besides: readonly string[]): Plugin => ({
  name: 'name-packages',
  generateBundle(_, bundle) {
    const modules = Object.values(bundle).flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
    const folders = modules.flatMap(
      (id) => /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1] ?? [],
    );
    const byName = (one: Bundled, other: Bundled) => (one.name < other.name ? -1 : 1);
    const packages = [...new Set([...folders, ...besides])].map(readPackage).toSorted(byName);
    this.emitFile({
      type: 'asset',
      fileName: 'third-party-licences.txt',
      source: writeLicences(packages),
    });
  },
});

/** What the page's readers ask for lies beside the code that hands it out (`src/page/assets.ts`). */
const fonts = 'node_modules/@fontsource-variable/inter';
const copyAssets: Plugin = {
  name: 'copy-assets',
  generateBundle() {
    const own = readdirSync('src/page/assets').map((file) => join('src/page/assets', file));
    const inter = readdirSync(`${fonts}/files`)
      .filter((file) => file.endsWith('-wght-normal.woff2'))
      .map((file) => join(fonts, 'files', file));
    for (const path of [...own, ...inter, `${fonts}/index.css`, 'docs/guide.md'])
      this.emitFile({
        type: 'asset',
        fileName: `chunks/assets/${basename(path)}`,
        source: readFileSync(path),
      });
  },
};

/** Listings are found by their folder (`src/model/listed-resources.ts`): here they are imported by their names. */
const nameListings: Plugin = {
  name: 'name-listings',
  load(id) {
    if (!id.endsWith('/src/model/listed-resources.ts')) return null;
    const files = readdirSync('src/model/listed').toSorted();
    const imports = files.map((file, at) => `import listed${at} from './listed/${file}';`);
    const all = files.map((_, at) => `listed${at}`);
    return `${imports.join('\n')}\nexport const listedResources = [${all.join(', ')}];`;
  },
};

/**
 * Node reads every property of a built-in module that is imported, also those that load others, such as the streams of
 * `fs` and `process`. Of one that is asked for in this way it reads what is used.
 */
const askForBuiltIns: Plugin = {
  name: 'ask-for-built-ins',
  generateBundle(_, bundle) {
    const imported =
      /^import (?:(?:\* as )?(?<all>[\w$]+)(?:, | ))?(?:\{ (?<some>.*) \} )?from "(?<module>node:[\w/]+)";$/gm;
    const asked = (_line: string, all = '', some = '', module = '') =>
      [all, some && `{ ${some.replaceAll(' as ', ': ')} }`]
        .filter((names) => names !== '')
        .map((names) => `const ${names} = globalThis.process.getBuiltinModule("${module}");`)
        .join(' ');
    // No line comes or goes, so the source maps stay as they are.
    for (const part of Object.values(bundle))
      if (part.type === 'chunk') part.code = part.code.replaceAll(imported, asked);
  },
};

/** What plays the service is in a folder of its own, which the image leaves out. */
const isOfEmulator = (id: string) => id.includes('/src/emulator/');

const folder = process.argv[2] ?? 'dist';

/** The program has all packages in it but those that are optional. */
const program = await rolldown({
  input: { main: 'src/main.ts', healthcheck: 'src/healthcheck.ts' },
  platform: 'node',
  external: isOf(own.optionalDependencies),
  plugins: [nameListings, askForBuiltIns, namePackages([realpathSync(fonts)]), copyAssets],
});
await program.write({
  dir: folder,
  cleanDir: true,
  sourcemap: true,
  entryFileNames: '[name].js',
  // What every command loads is one file: each more takes longer to find and open than to run.
  codeSplitting: { groups: [{ name: 'command-line', test: /\/src\/commands\/command-line\.ts$/ }] },
  // One folder deep, as in src: `../../migrations` is the same place from there.
  chunkFileNames: ({ moduleIds }) => `${moduleIds.some(isOfEmulator) ? 'emulator' : 'chunks'}/[name].js`,
});
await program.close();

/** What other programs import has its packages beside it, so that whoever installs it sees them. */
const library = await rolldown({
  input: entryPoints,
  platform: 'node',
  external: isOf({ ...own.dependencies, ...own.optionalDependencies }),
  plugins: [nameListings],
});
await library.write({
  dir: join(folder, libraryFolder),
  sourcemap: true,
  entryFileNames: '[name].js',
  chunkFileNames: 'chunks/[name].js',
});
await library.close();
