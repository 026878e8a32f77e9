/** The files of src, and which of them imports which: as text, so that a comment cannot count as an import. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('../..', import.meta.url));

export interface SourceFile {
  /** Under src. */
  readonly path: string;
  readonly text: string;
  /** The folder under src; the file's own name where it lies at the top. */
  readonly room: string;
  readonly imports: readonly string[];
  /** What it imports of src, as paths under it. */
  readonly inside: readonly string[];
  /** Names of what it defines and exports. */
  readonly names: readonly string[];
}

/** An import or export from a file or package, or one that is loaded where it is used. */
const importing = /(?:^(?:import|export)\b[^;']*?\bfrom\s*|^import\s*|\bimport\()'([^']+)'/gm;
const exporting = /^export (?:async )?(?:abstract )?(?:function|const|let|interface|type|class|enum) (\w+)/gm;

export const roomOf = (path: string): string => path.split('/')[0] ?? '';

export function readSourceFiles(checkout = here): readonly SourceFile[] {
  const root = join(checkout, 'src');
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => {
      const text = readFileSync(join(root, path), 'utf8');
      const imports = [...text.matchAll(importing)].map(([, name]) => name ?? '');
      const inside = imports
        .filter((name) => name.startsWith('.'))
        .map((name) => relative(root, join(root, dirname(path), name)));
      const names = [...text.matchAll(exporting)].map(([, name]) => name ?? '');
      return { path, text, room: roomOf(path), imports, inside, names };
    });
}

/** Which rooms each room imports from. */
export function readArrows(files: readonly SourceFile[]): ReadonlyMap<string, ReadonlySet<string>> {
  const arrows = new Map<string, Set<string>>();
  for (const { room, inside } of files) {
    const targets = arrows.get(room) ?? new Set<string>();
    for (const target of inside.map(roomOf)) if (target !== room) targets.add(target);
    arrows.set(room, targets);
  }
  return arrows;
}

/** How many rooms stand above each other: the longest way down. A circle has no height: it throws. */
export function countFloors(arrows: ReadonlyMap<string, ReadonlySet<string>>): number {
  const heightOf = (room: string, way: readonly string[]): number => {
    if (way.includes(room)) throw new Error(`a circle: ${[...way, room].join(' → ')}`);
    return 1 + Math.max(0, ...[...(arrows.get(room) ?? [])].map((next) => heightOf(next, [...way, room])));
  };
  return Math.max(...[...arrows.keys()].map((room) => heightOf(room, [])));
}

/** Circles of files, each as the way around it. */
export function findCircles(files: readonly SourceFile[]): readonly string[] {
  const insideOf = new Map(files.map(({ path, inside }) => [path, inside]));
  const over = new Set<string>();
  const circles: string[] = [];
  const visit = (path: string, way: readonly string[]) => {
    if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(' → '));
    if (way.includes(path) || over.has(path)) return;
    for (const next of insideOf.get(path) ?? []) visit(next, [...way, path]);
    over.add(path);
  };
  for (const { path } of files) visit(path, []);
  return circles;
}

/** All that a file imports, itself included, and all that these import. */
export function closureOf(files: readonly SourceFile[], start: string): readonly SourceFile[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const found = new Set<SourceFile>();
  const visit = (path: string) => {
    const file = byPath.get(path);
    if (file === undefined || found.has(file)) return;
    found.add(file);
    for (const next of file.inside) visit(next);
  };
  visit(start);
  return [...found];
}

/** Those that come again after their first time. */
export function repeated(names: readonly string[]): readonly string[] {
  return names.filter((name, at) => names.indexOf(name) !== at);
}
