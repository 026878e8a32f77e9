/** JSON in which integers past 2^53 stay exact: a `bigint` is written as a JSON integer. */

/** It is in Node 24, and not yet in the compiler's library. */
const exactJson = JSON as typeof JSON & { rawJSON(text: string): unknown };

export function toJson(value: unknown, indent?: number): string {
  const exact = (_key: string, inner: unknown) =>
    typeof inner === 'bigint' ? exactJson.rawJSON(inner.toString()) : inner;
  return JSON.stringify(value, exact, indent);
}
