/** What a page showed of a held field, as a decision about it has to name it. */
import { createHash } from 'node:crypto';
import type { Id } from './id.ts';
import { toJson } from './json.ts';
import type { NamePair } from './name.ts';

export interface ShownField {
  /** The edit that is held; none where nobody has edited the field. */
  readonly edit: Id | null | undefined;
  readonly mirror: unknown;
  readonly service: unknown;
}

/** Stands for what is shown of a held field: its edit, and the values of both sides. Twelve hex digits. */
export function shownDigest({ edit, mirror, service }: ShownField): string {
  const text = toJson([edit ?? null, inOrder(mirror), service ?? null]);
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

/** The halves of a name come in any order from the database. */
function inOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value ?? null;
  const { first, last } = value as Partial<NamePair>;
  return { first, last };
}
