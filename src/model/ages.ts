/** The kinds of rows that are removed when they are old, in this order. */
export const prunable = ['changes', 'edits', 'runs', 'counts'] as const;
export type Prunable = (typeof prunable)[number];

/** The number of days for which each is kept; `null` for ever. */
export type Ages = Readonly<Record<Prunable, number | null>>;

export type Pruned = Readonly<Record<Prunable, number>>;

const daysOf = (text: string) => (text === 'forever' ? null : Number.parseInt(text, 10));

/** How long runs and counts of contacts are kept; the last count of each day stays. */
const days = 90;

/** The ages in the settings. Edits are kept as long as the changes that they became. */
export function agesOf({ changes }: Readonly<Record<'changes', string>>): Ages {
  const kept = daysOf(changes);
  return { changes: kept, edits: kept, runs: days, counts: days };
}
