/** What became of a decision, said once on the page that it leads to. A seal tells that it comes from here. */
import { type Html, html, none } from './html.ts';
import type { Decide, PageContext } from './view.ts';
import { many } from './words.ts';

/** One sentence of each thing that can become of what was decided about, of so many. */
const words = {
  approved: (n: number) => `${many(n, 'edit was', 'edits were')} approved.`,
  rejected: (n: number) => `${many(n, 'edit was', 'edits were')} rejected.`,
  moved: (n: number) =>
    `${many(n, 'edit was', 'edits were')} left alone, since the mirror or the service has changed ${n === 1 ? 'it' : 'them'}.`,
  'on-its-way': (n: number) => `${many(n, 'edit is', 'edits are')} on the way to the service already.`,
  asked: (n: number) => `${many(n, 'edit stays', 'edits stay')} held, since somebody asked for that.`,
  held: (n: number) => `${many(n, 'edit stays', 'edits stay')} held for another reason.`,
  gone: (n: number) => `${many(n, 'edit belongs', 'edits belong')} to people who have left.`,
  left: (n: number) => `${many(n, 'row has', 'rows have')} nothing that can be rejected.`,
  missing: (n: number) =>
    `${many(n, 'missing row', 'missing rows')} will be called gone if the next complete run does not find ${n === 1 ? 'it' : 'them'}.`,
  mirror: () => 'The mirror’s value was taken: the next run sends it.',
  service: () => 'The service’s value was taken: the mirror has it, and nothing is sent.',
  edited: () => 'The mirror has the value: the next run looks at it as at any other edit.',
  decision: (n: number) =>
    `This is decision ${n}. “musterd undo --decision ${n}” shows what can be taken back of it.`,
  'edited-waits': () => 'The mirror has the value, and it is not sent before somebody approves it.',
} as const satisfies Readonly<Record<string, (n: number) => string>>;

export type Fate = keyof typeof words;

/** How many of what. */
export type Receipt = ReadonlyMap<Fate, number>;

/** The number of the decision, where there is one. */
export const numberIn = ({ decision }: { readonly decision: bigint | null }): [Fate, number][] =>
  decision === null ? [] : [['decision', Number(decision)]];

const isFate = (word: string): word is Fate => Object.hasOwn(words, word);

type Seals = Pick<Decide, 'token'>;

const sealOf = (text: string, { token }: Seals): string => token(`receipt ${text}`);

/** The query of the page that shows it. */
export function receiptQuery(receipt: Receipt, seals: Seals): string {
  const text = [...receipt].map(([fate, n]) => `${fate}.${n}`).join(' ');
  return new URLSearchParams({ receipt: text, seal: sealOf(text, seals) }).toString();
}

/** Nothing where there is none, or it is not from here. */
export function receiptCard({ query, decide }: Pick<PageContext, 'query' | 'decide'>): Html {
  const text = query.get('receipt');
  if (decide === null || text === null || query.get('seal') !== sealOf(text, decide)) return none;
  const said = text.split(' ').flatMap((part) => {
    const [fate = '', n = ''] = part.split('.');
    return isFate(fate) ? [words[fate](Number(n))] : [];
  });
  if (said.length === 0) return none;
  return html`<div class="card" role="status" id="receipt"><h2 class="h3">What became of it</h2>${said.map((one) => html`<p>${one}</p>`)}</div>`;
}
