/** The shared pagination body of the listings (interface.md, Shared pagination body), all optional. */
export type PaginationBody = Readonly<Record<string, unknown>>;

/** A named question about the contacts: how many answer to this pagination body? */
export interface Segment {
  readonly name: string;
  readonly body: PaginationBody;
}

export interface ContactCount {
  readonly segment: string;
  readonly count: bigint;
}
