import type { Id } from './id.ts';

/** interface.md, Tag. Everything but the id may be missing. */
export interface Tag {
  readonly id: Id;
  readonly teamId: Id | null;
  readonly tag: string | null;
  readonly color: string | null;
  readonly rev: Id | null;
  /** Kept as the service wrote them, because the timestamp format of tags is not documented. */
  readonly created: string | null;
  readonly updated: string | null;
  readonly raw: Readonly<Record<string, unknown>>;
}
