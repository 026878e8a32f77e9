/** An id of the service: a 64-bit integer, exact. A JavaScript number would round ids past 2^53. */
export type Id = bigint;

/** The largest id that Postgres' `bigint` can hold. */
export const maxId: Id = 2n ** 63n - 1n;
