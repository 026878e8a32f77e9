/**
 * Reads `breaks.txt`, the one list of what is broken on purpose:
 *
 * - `= file : tests` begins the breaks of a file, with the tests that concern it.
 * - `- text` stands in that file once, and `+ text` takes its place; `\n` ends a line.
 * - `# name : what notices it : title` stands before the break of a guard, which `docs/reliability.md` names. What notices it is
 *   the cheapest tier that does: a file of tests, so many thousands of random states, or so many seeds.
 */
import { readFileSync } from 'node:fs';

const invariants = 'test/simulation/invariants.ts';
/** What plays seeds, until one breaks a promise with `--stop`, and where its promises stand. */
export const players = {
  simulation: { script: 'test/simulation/run.ts', promises: [invariants] },
  stepper: { script: 'test/stepper/run.ts', promises: [invariants, 'test/stepper/promises.ts'] },
} as const;

export const specification = 'test/reconcile/specification.test.ts';

/** What notices that a guard is missing: the title of a test, or of a promise that the last of the seeds breaks. */
export type Watch =
  | { readonly tier: 'test'; readonly file: string; readonly by: string }
  | { readonly tier: 'specification' | keyof typeof players; readonly seeds: number; readonly by: string };

export interface Break {
  readonly nr: number;
  readonly file: string;
  readonly tests: readonly string[];
  readonly from: string;
  readonly to: string;
  /** Present if it takes out a guard. */
  readonly guard?: { readonly name: string; readonly watch: Watch };
}

export type Guard = Break & Required<Pick<Break, 'guard'>>;

const testFile = (name: string) => `test/${name}.test.ts`;

function readWatch(where: string, by: string): Watch {
  const [tier = '', seeds] = where.split(' ');
  if (seeds === undefined) return { tier: 'test', file: testFile(where), by };
  return { tier: tier as Exclude<Watch['tier'], 'test'>, seeds: Number(seeds), by };
}

export function readBreaks(): readonly Break[] {
  const breaks: Break[] = [];
  let [file, from] = ['', ''];
  let tests: readonly string[] = [];
  let guard: Break['guard'];
  for (const line of readFileSync(new URL('breaks.txt', import.meta.url), 'utf8').split('\n')) {
    const [mark, rest] = [line.slice(0, 1), line.slice(2).replaceAll(String.raw`\n`, '\n')];
    const [first = '', second = '', ...others] = rest.split(' : ');
    if (mark === '=') [file, tests] = [first, second.split(' ').map(testFile)];
    if (mark === '#') guard = { name: first, watch: readWatch(second, others.join(' : ')) };
    if (mark === '-') from = rest;
    if (mark !== '+') continue;
    const one = { nr: breaks.length + 1, file, tests, from, to: rest };
    breaks.push(guard === undefined ? one : { ...one, guard });
    guard = undefined;
  }
  return breaks;
}

const isGuard = (one: Break): one is Guard => one.guard !== undefined;

export const readGuards = (): readonly Guard[] => readBreaks().filter(isGuard);

/** How often the text stands in the file, where it has to stand once. */
export const placesOf = ({ file, from }: Break): number => readFileSync(file, 'utf8').split(from).length - 1;

/** When it is noticed that a guard is missing, and by what. */
function noticed(watch: Watch): readonly [string, string] {
  switch (watch.tier) {
    case 'specification':
      return [`${watch.seeds},000 states`, `\`${specification}\` › ${watch.by}`];
    case 'simulation':
    case 'stepper':
      return [`${watch.seeds} seeds`, `the ${watch.tier}: ${watch.by}`];
    case 'test':
      return ['one run of its test', `\`${watch.file}\` › ${watch.by}`];
    default:
      return watch satisfies never;
  }
}

/** The rows of the table in `docs/reliability.md`. */
export function guardTable(): string {
  const rows = readGuards().map(({ file, guard: { name, watch } }) =>
    [name, `\`${file}\``, ...noticed(watch)].join(' | '),
  );
  return ['|---|---|---|---|', ...rows.map((row) => `| ${row} |`)].join('\n');
}
