/** What people and the program ask of a large history: row 21. */
import { readStatus } from '../src/mirror/runs/read-status.ts';
import { fillMirror, largeTeam } from '../test/support/large-mirror.ts';
import { type Bench, type Group, inWords } from './bench.ts';
import type { BenchDatabase } from './postgres.ts';
import { measure, type RowResult } from './results.ts';

const asReader = (text: string) => `begin; set local role musterd_reader; ${text}; commit`;

const questions = [
  ['latest 20 rows of report.changes', 20, 'select * from report.changes order by change_id desc limit 20'],
  [
    'counts of the last week',
    100,
    `select * from report.contact_counts_daily where day > current_date - 7 order by day`,
  ],
] as const;

async function ask({ db, sql }: BenchDatabase, turns: number) {
  const took = new Map<string, number[]>();
  const timed = async (what: string, work: () => Promise<unknown>) => {
    const began = performance.now();
    await work();
    took.set(what, [...(took.get(what) ?? []), performance.now() - began]);
  };
  for (let turn = 0; turn < turns; turn += 1) {
    for (const [what, , text] of questions) await timed(what, () => sql(asReader(text)));
    await timed('status', () => readStatus(db, largeTeam.team));
  }
  return took;
}

async function measureReports({ server, size, repeats }: Bench): Promise<RowResult> {
  const database = await server.newDatabase();
  const changes = size * 5;
  try {
    await fillMirror(database.db, [{ ...largeTeam, users: size, changes, tags: size / 5 }]);
    const goals: Readonly<Record<string, number>> = { status: 50 };
    const measures = [];
    for (const when of ['never analysed', 'analysed']) {
      if (when === 'analysed') await database.sql('analyze');
      for (const [what, product] of await ask(database, repeats + 1)) {
        const goal = goals[what] ?? questions.find(([name]) => name === what)?.[1] ?? 0;
        measures.push(measure({ what: `${what}, tables ${when}`, unit: 'ms', product, goal }));
      }
    }
    return { row: 21, size: inWords(changes, 'changes, a year'), measures };
  } finally {
    await database.close();
  }
}

export const reports: Group = { rows: [21], measure: async (bench) => [await measureReports(bench)] };
