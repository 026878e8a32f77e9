/** Hashes the rows of a long answer while they are decoded, and lets go of those that nobody needs to look at. */
import type { Id } from '../model/id.ts';
import { hashOfRow, packHashes, type RowsBefore } from '../model/row-hashes.ts';

interface HasId {
  readonly id: Id;
}

export interface RowSieve {
  /** @returns which of the next rows are kept: all, if nothing is known of them */
  keep<Row extends HasId>(rows: readonly Row[]): readonly Row[];
  /** The hashes of all rows; empty if the answer is the same as before. */
  packed(): Buffer;
  /** Whose rows are others than before; `null` unless the rows are those of the same ids, each once. */
  changed(): ReadonlySet<Id> | null;
}

/** @param before absent: nothing is known */
export function createRowSieve(before?: RowsBefore): RowSieve {
  const pieces: Buffer[] = [];
  const changed = new Set<Id>();
  const left = before?.hashes;
  let isStrange = before === undefined;
  const isWanted = (id: Id, hash: string): boolean => {
    if (before === undefined) return true;
    const known = left?.get(id);
    left?.delete(id);
    isStrange ||= known === undefined;
    if (known !== hash) changed.add(id);
    return known !== hash || before.besides.has(id);
  };
  return {
    keep: (rows) => {
      if (before !== undefined && left === undefined) return rows.filter(({ id }) => before.besides.has(id));
      const hashes = rows.map(hashOfRow);
      pieces.push(packHashes(rows, hashes));
      return rows.filter(({ id }, at) => isWanted(id, hashes[at] ?? ''));
    },
    packed: () => Buffer.concat(pieces),
    changed: () => (isStrange || (left?.size ?? 0) > 0 ? null : changed),
  };
}
