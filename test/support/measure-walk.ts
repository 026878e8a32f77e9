/** Where the stops of a walk are, and how far the walk goes. */
import type { SourceFile } from './source-files.ts';
import type { Walk } from './walks.ts';

/** The line on which a file defines a function, from 1; 0: nowhere. */
export function lineOf({ text }: SourceFile, name: string): number {
  const defines = new RegExp(`^(?:export )?(?:async )?(?:function ${name}\\b|const ${name}\\b)`, 'm');
  const at = text.search(defines);
  return at < 0 ? 0 : text.slice(0, at).split('\n').length;
}

/** Files on the way, and how often it comes back to one that it had left. */
export function measureWalk({ stops }: Walk): { stops: number; files: number; returns: number } {
  const way = stops.map(([file]) => file);
  const entered = way.filter((file, at) => file !== way[at - 1]);
  const files = new Set(way).size;
  return { stops: stops.length, files, returns: entered.length - files };
}

/** The walks as `docs/walks.md` has them. */
export function describeWalks(walks: readonly Walk[], files: readonly SourceFile[]): string {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const sections = walks.map((walk) => {
    const lines = walk.stops.map(([path, name, does], at) => {
      const file = byPath.get(path);
      return `${at + 1}. \`${path}:${file === undefined ? 0 : lineOf(file, name)}\` \`${name}\`: ${does}`;
    });
    const { stops, files: count, returns } = measureWalk(walk);
    const measured = `${stops} stops in ${count} files; ${returns} returns to a file that was left before.`;
    return `## ${walk.title}\n\n${walk.story}\n\n${lines.join('\n')}\n\n${measured}\n`;
  });
  const head = `# Two walks through the code

Each stop is a function that handles the user, with its line in \`src\`. This page is generated from
\`test/support/walks.ts\`; after a change run \`UPDATE_WALKS=1 npx vitest run test/system/walks.test.ts\`.
`;
  return `${head}\n${sections.join('\n')}`;
}
