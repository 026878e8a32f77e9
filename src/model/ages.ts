/** What is removed when it is old: the parts of it, in this order, and how many days each is kept. */
export const prunable = ['changes', 'edits', 'runs', 'counts'] as const;
export type Prunable = (typeof prunable)[number];

/** Days; `null`: for ever. */
export type Ages = Readonly<Record<Prunable, number | null>>;

/** How many rows. */
export type Pruned = Readonly<Record<Prunable, number>>;

const daysOf = (text: string) => (text === 'forever' ? null : Number.parseInt(text, 10));

/** How long counts of contacts are kept; the last one of each day stays. */
const countsDays = 90;

/** As the settings say it. Edits go with the changes that they became. */
export function agesOf({ runs, changes }: Readonly<Record<'runs' | 'changes', string>>): Ages {
  return { changes: daysOf(changes), edits: daysOf(changes), runs: daysOf(runs), counts: countsDays };
}
