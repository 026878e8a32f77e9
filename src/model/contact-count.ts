import type { Id } from './id.ts';

/** The shared pagination body of the listings (interface.md, Shared pagination body). All fields are optional. */
export interface PaginationBody {
  readonly archived?: boolean | undefined;
  readonly ascending?: boolean | undefined;
  readonly assigned?: Id | number | undefined;
  readonly date?: string | undefined;
  readonly filter?: string | undefined;
  /** The fields that are specific to the listed resource. */
  readonly filters?: Readonly<Record<string, unknown>> | undefined;
  readonly id?: Id | number | undefined;
  readonly limit?: number | undefined;
  readonly order?: string | undefined;
  readonly page?: number | undefined;
  readonly parent_id?: Id | number | undefined;
}

/** A named group of contacts that runs count: all contacts that match this pagination body. */
export interface Segment {
  readonly name: string;
  readonly body: PaginationBody;
}

export interface ContactCount {
  readonly segment: string;
  readonly count: bigint;
}
