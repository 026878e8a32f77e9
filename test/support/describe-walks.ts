/** `docs/walks.md`, and the figures of `docs/architecture.md`. */
import type { Figure } from './measure-structure.ts';
import { measureWalk, type Walk } from './record-walks.ts';

/** What a walk enters each room for. */
const purposes: Readonly<Record<string, string>> = {
  'main.ts': 'The program begins here, and its exit code ends it.',
  'errors.ts': 'An error has a code, what happened, and what to do next.',
  'clock.ts': 'Durations come from here, so that a test can turn the clock.',
  'secret.ts': 'Secrets are wrapped, so that nothing prints them.',
  'log.ts': 'What is logged goes through here, without secrets.',
  commands: 'The arguments find their command; what it has done is printed.',
  config: 'Settings are read from file and environment, and checked.',
  runs: 'A run takes the lease, opens service and mirror, and keeps its record.',
  service: 'Requests go out in their pace and order; answers are judged and decoded.',
  mirror: 'SQL compares and writes, in transactions that look whether the lease is still held.',
  reconcile: 'Users are read, merged, guarded, written and pushed.',
  model: 'The nouns that every room knows.',
  embedded: 'A Postgres of its own, where no other is named.',
  files: 'Files are read and written.',
  verify: 'Both sides are compared without the code of a run.',
  daemon: 'Runs begin when they are due.',
};

const groupBy = <T>(
  all: readonly T[],
  keyOf: (one: T) => string,
): readonly (readonly [string, readonly T[]])[] => [...Map.groupBy(all, keyOf)];
const roomOf = (file: string) => file.split('/')[0] ?? '';

function describeWalk(walk: Walk): string {
  const { functions, files, returns } = measureWalk(walk);
  const rooms = groupBy(walk.calls, ({ file }) => roomOf(file)).map(([room, calls]) => {
    const lines = groupBy(calls, ({ file }) => file).map(
      ([file, inFile]) => `* \`${file}\`: ${inFile.map(({ name }) => `\`${name}\``).join(', ')}`,
    );
    return `### ${room}\n\n${purposes[room] ?? ''}\n\n${lines.join('\n')}\n`;
  });
  const measured = `${functions} functions in ${files} files; ${returns} returns to a file that was left before.`;
  return `## ${walk.title}\n\n${walk.story}\n${measured}\n\n${rooms.join('\n')}`;
}

export function describeWalks(walks: readonly Walk[]): string {
  return `# Two walks through the code

These are the named functions of \`src\` that ran, as \`npm run measure\` records them: rooms and files stand in the order
in which they are entered, functions in the order of their first call. Where two things happen at once, the order is
that of one run. After a change run \`UPDATE_WALKS=1 npx vitest run test/system/walks.test.ts\`.

${walks.map(describeWalk).join('\n')}`;
}

/** The same figures of two earlier commits, taken by the same command. */
const earlier: Readonly<Record<string, readonly [at7bb7ffd: number, at2cb639b: number]>> = {
  'src: files': [267, 488],
  'src: lines': [26_380, 48_436],
  'tests: lines': [29_442, 60_106],
  'of them support': [2_502, 4_392],
  'migrations: files': [15, 43],
  'migrations: lines': [1_130, 4_242],
  'functions and views stated again by a later migration': [4, 30],
  'closure of plan-user.ts: files': [13, 18],
  'closure of plan-user.ts: lines': [992, 1_322],
  'methods of ServicePort': [7, 7],
  'methods of MirrorPort': [15, 29],
  'methods of MirrorWriter': [17, 22],
  'optional members of types': [237, 438],
  'spreads of an object or nothing': [44, 73],
  'branches of one function, most': [20, 26],
  'files on one level of mirror/': [44, 89],
  settings: [64, 70],
  rooms: [29, 21],
  floors: [9, 6],
  arrows: [103, 59],
  circles: [1, 0],
  'exported names defined twice': [39, 0],
  'file names used twice': [20, 3],
  'tables in sync, besides sync.migrations': [17, 15],
  'lines of README.md': [520, 200],
  'a user is pulled: named functions that run': [452, 747],
  'a user is pulled: files': [96, 152],
  'a user is pulled: returns to a file left before': [175, 309],
  'a user is pushed: named functions that run': [520, 828],
  'a user is pushed: files': [104, 167],
  'a user is pushed: returns to a file left before': [216, 353],
};

/** As a table in Markdown. */
export function describeFigures(figures: readonly Figure[]): string {
  const shown = (value: number | null | undefined) => value?.toLocaleString('en') ?? '–';
  const rows = figures.map(({ what, value, limit }) => {
    const [first, second] = earlier[what] ?? [];
    return `| ${[what, ...[first, second, value, limit].map(shown)].join(' | ')} |`;
  });
  return ['| Counted | 7bb7ffd | 2cb639b | Now | At most |', '|---|---|---|---|---|', ...rows].join('\n');
}
