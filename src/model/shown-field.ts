/** A held field as a page showed it. A decision names the field in this form. */
import { createHash } from 'node:crypto';
import type { Id } from './id.ts';
import { toJson } from './json.ts';
import type { NamePair } from './name.ts';

export interface ShownField {
  /** The held edit; absent if the field has no edit. */
  readonly edit: Id | null | undefined;
  readonly mirror: unknown;
  readonly service: unknown;
}

/** Identifies a held field as it was shown: its edit, and the values of both sides. It has twelve hex digits. */
export function shownDigest({ edit, mirror, service }: ShownField): string {
  const text = toJson([edit ?? null, inOrder(mirror), service ?? null]);
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

/** The database may return the halves of a name in any order. */
function inOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value ?? null;
  const { first, last } = value as Partial<NamePair>;
  return { first, last };
}
