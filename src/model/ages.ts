/** The kinds of rows that are removed when they are old, in the order of removal. */
export const prunable = ['changes', 'edits', 'runs', 'counts'] as const;
export type Prunable = (typeof prunable)[number];

/** The number of days for which each kind of row is kept; `null` if it is kept forever. */
export type Ages = Readonly<Record<Prunable, number | null>>;

export type Pruned = Readonly<Record<Prunable, number>>;

const daysOf = (text: string) => (text === 'forever' ? null : Number.parseInt(text, 10));

/** The days for which runs and counts of contacts are kept. The last count of each day is never removed. */
const days = 90;

/** Returns how long rows of each kind are kept, by the settings. Edits are kept as long as changes. */
export function agesOf({ changes }: Readonly<Record<'changes', string>>): Ages {
  const kept = daysOf(changes);
  return { changes: kept, edits: kept, runs: days, counts: days };
}
