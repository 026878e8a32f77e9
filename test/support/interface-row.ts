import type { VariantName } from '../../src/emulator/faults/variants.ts';

/** What a cell says where the interface names a thing and no way to it. */
export const noPath = 'the interface documents no endpoint for this row';

/**
 * File from `src/` on, a declaration in it (or `declaration.word`, `declaration word` for something inside
 * it), and what happens there, where the names do not say it.
 */
export type Source = readonly [file: string, symbol: string, says?: string];

/** File from `test/` on, and a title in it as it is written there; `describe › test` where that is clearer. */
export type Proof = readonly [file: string, title: string];

export interface Row {
  /** The heading of interface.md. */
  readonly section: string;
  /** What it says, in few words of our own. */
  readonly name: string;
  readonly client: Source | typeof noPath;
  readonly emulator: Source | typeof noPath;
  readonly tests: readonly Proof[] | typeof noPath;
  /** Options of the emulator that play what the interface leaves open here. */
  readonly variants?: readonly VariantName[];
  /** Of a field: where docs/openapi.json has it, and of which type. */
  readonly field?: { readonly at: readonly string[]; readonly path: string; readonly type: string };
  /** Of an error: the key of its response in docs/openapi.json. */
  readonly status?: string;
}

interface Proved extends Pick<Row, 'variants' | 'status'> {
  readonly client: Source;
  readonly emulator: Source;
  readonly tests: readonly Proof[];
}

export function rule(section: string, name: string, proved: Proved): Row {
  return { section, name, ...proved };
}

export function withoutPath(section: string, ...names: readonly string[]): readonly Row[] {
  return names.map((name) => ({ section, name, client: noPath, emulator: noPath, tests: noPath }));
}

/** A check of the conformance suite. */
export const conforms = (check: string): Proof => ['emulator/conformance.ts', check];
