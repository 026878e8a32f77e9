/** Words for the columns of truth tables, so that a table is a `Record` and a missing row does not compile. */
export type YesNo = 'yes' | 'no';

export const isYes = (word: string): boolean => word === 'yes';

/** The rows of a table, with their keys as they are typed. */
export function rowsOf<Key extends string, Value>(
  table: Readonly<Record<Key, Value>>,
): readonly (readonly [Key, Value])[] {
  return Object.entries(table) as [Key, Value][];
}
