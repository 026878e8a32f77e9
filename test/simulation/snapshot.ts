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

type Bytes = Uint8Array | Int8Array;
const isBytes = (contents: unknown): contents is Bytes => ArrayBuffer.isView(contents);
const isEqual = (one: Bytes, other: Bytes): boolean =>
  Buffer.from(one.buffer, one.byteOffset, one.length).equals(
    new Uint8Array(other.buffer, other.byteOffset, other.length),
  );
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
    if (isBytes(kept)) node.contents = putBackBytes(node, kept);
    else node.contents = isFolder(node) ? { ...(kept as object) } : kept;
    Object.assign(node, { name, mode, parent, usedBytes, name_next });
    Object.assign(node, { atime, mtime, ctime });
  };
}

/** Most files are as they were. The others keep their place in memory, if they have it still. */
function putBackBytes({ contents, usedBytes }: Node, kept: Bytes): Bytes {
  if (!isBytes(contents) || contents.length < kept.length) return kept.slice();
  const isSame = usedBytes === kept.length && isEqual(contents.subarray(0, usedBytes), kept);
  if (!isSame) contents.set(kept);
  return contents.fill(0, kept.length);
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
  const blocks = saveBlocks(new Uint8Array(wasmMemory.buffer));
  const putBackFiles = saveFiles(FS);
  return () => {
    const now = new Uint8Array(wasmMemory.buffer);
    for (let at = 0; at < now.length; at += blockBytes)
      putBackBlock(now.subarray(at, at + blockBytes), blocks.get(at));
    putBackFiles();
    asDatabase(() => useUpRandom(FS));
  };
}

const blockBytes = 65_536;
const zeros = new Uint8Array(blockBytes);

/** What is not all zeros, by its place: of the server's memory most has never been used. */
function saveBlocks(memory: Uint8Array): ReadonlyMap<number, Uint8Array> {
  const blocks = new Map<number, Uint8Array>();
  for (let at = 0; at < memory.length; at += blockBytes) {
    const block = memory.subarray(at, at + blockBytes);
    if (!isEqual(block, zeros)) blocks.set(at, block.slice());
  }
  return blocks;
}

/** It is read before it is written, which takes less time, since most are as they were. */
function putBackBlock(block: Uint8Array, kept: Uint8Array = zeros): void {
  if (!isEqual(block, kept)) block.set(kept);
}
