/** The state of a PGlite, taken once and put back for each seed: its memory, and its files in memory. */
import type { PGlite } from '@electric-sql/pglite';
import { asDatabase } from './world.ts';

interface Node {
  readonly id: number;
  name: string;
  mode: number;
  parent: Node;
  contents: unknown;
  usedBytes: number;
  atime: number;
  mtime: number;
  ctime: number;
  name_next: Node | undefined;
}
interface Stream {
  readonly shared: Record<string, unknown>;
}
interface Files {
  readonly root: Node;
  nextInode: number;
  readonly nameTable: (Node | undefined)[];
  readonly streams: (Stream | null)[];
  open(path: string, flags: string): unknown;
  close(stream: unknown): void;
  read(stream: unknown, into: Uint8Array, at: number, length: number): number;
}
interface Module {
  readonly wasmMemory: { readonly buffer: ArrayBuffer };
  readonly FS: Files;
}

const moduleOf = (pglite: PGlite) => pglite.Module as unknown as Module;

const isBytes = (contents: unknown): contents is Uint8Array => ArrayBuffer.isView(contents);
const isFolder = (node: Node): node is Node & { contents: Record<string, Node> } =>
  (node.mode & 0o170_000) === 0o040_000 && typeof node.contents === 'object' && node.contents !== null;

function everyNode(root: Node): readonly Node[] {
  const found: Node[] = [];
  const seen = new Set<Node>();
  const walk = (node: Node) => {
    if (seen.has(node)) return;
    seen.add(node);
    found.push(node);
    if (isFolder(node)) for (const child of Object.values(node.contents)) walk(child);
    const mounted = (node as { mounted?: { root: Node } }).mounted;
    if (mounted) walk(mounted.root);
  };
  walk(root);
  return found;
}

function saveNode(node: Node): () => void {
  const { name, mode, parent, contents, usedBytes, atime, mtime, ctime, name_next } = node;
  const kept = isBytes(contents)
    ? contents.slice(0, usedBytes)
    : isFolder(node)
      ? { ...node.contents }
      : contents;
  return () => {
    Object.assign(node, { name, mode, parent, usedBytes, name_next });
    Object.assign(node, { atime, mtime, ctime });
    node.contents = isBytes(kept) ? kept.slice() : isFolder(node) ? { ...(kept as object) } : kept;
  };
}

function saveFiles(files: Files): () => void {
  const nodes = everyNode(files.root).map(saveNode);
  const names = [...files.nameTable];
  const { nextInode } = files;
  const streams = files.streams.map((stream) => ({
    stream,
    own: stream === null || stream === undefined ? {} : { ...stream },
    shared: stream?.shared === undefined ? {} : { ...stream.shared },
  }));
  return () => {
    for (const putBack of nodes) putBack();
    // Its length is what names are hashed by.
    for (const [at, node] of names.entries()) files.nameTable[at] = node;
    files.nextInode = nextInode;
    files.streams.length = 0;
    for (const [at, { stream, own, shared }] of streams.entries()) {
      files.streams[at] = stream;
      if (stream === null || stream === undefined) continue;
      Object.assign(stream, own);
      if (stream.shared !== undefined) Object.assign(stream.shared, shared);
    }
  };
}

/** Random bytes are kept ahead where a snapshot does not reach: they are used up, so that the seed decides about the next. */
function useUpRandom(files: Files): void {
  const stream = files.open('/dev/urandom', 'r');
  const one = new Uint8Array(1);
  const { crypto } = globalThis;
  const original: unknown = Reflect.get(crypto, 'getRandomValues');
  let left = -1;
  const count = (view: Uint8Array) => {
    left = view.byteLength;
    return (original as (into: Uint8Array) => Uint8Array).call(crypto, view);
  };
  const replace = (value: unknown) =>
    Object.defineProperty(crypto, 'getRandomValues', { value, configurable: true, writable: true });
  replace(count);
  for (let tries = 0; left !== 0 && tries < 100_000; tries += 1) {
    files.read(stream, one, 0, 1);
    left -= left < 0 ? 0 : 1;
  }
  replace(original);
  files.close(stream);
}

/** @returns what puts the state back */
export function takeSnapshot(pglite: PGlite): () => void {
  const { wasmMemory, FS } = moduleOf(pglite);
  const memory = new Uint8Array(wasmMemory.buffer).slice();
  const putBackFiles = saveFiles(FS);
  return () => {
    const now = new Uint8Array(wasmMemory.buffer);
    now.set(memory);
    now.fill(0, memory.length);
    putBackFiles();
    asDatabase(() => useUpRandom(FS));
  };
}
