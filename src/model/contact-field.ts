import type { Id } from './id.ts';

/** interface.md, Contact field: the definition of a custom field. Everything but the id may be missing. */
export interface ContactField {
  readonly id: Id;
  readonly op: string | null;
  readonly rev: Id | null;
  /** `tid` and `uid` of the interface: the team and the user that it belongs to. */
  readonly tid: Id | null;
  readonly title: string | null;
  readonly uid: Id | null;
  readonly raw: Readonly<Record<string, unknown>>;
}
