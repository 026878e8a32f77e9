/** What the examples of the report views take, on a mirror with a year of history: row 25. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../test/support/checkout.ts';
import { fillYear, yearTeam } from '../test/support/year-of-history.ts';
import { type Bench, type Group, inWords } from './bench.ts';
import type { BenchDatabase } from './postgres.ts';
import { measure, type RowResult } from './results.ts';

const views =
  'roster roster_changes roster_as_of roster_history role_changes tags tag_growth contact_fields contact_counts contact_counts_daily pending held decisions runs sync_health freshness usage'.split(
    ' ',
  );

/** Of each view the first query of the cookbook that begins with it. */
export function readExamples(): ReadonlyMap<string, string> {
  const cookbook = readFileSync(join(ROOT, 'docs', 'sql-cookbook.md'), 'utf8').split('## Editing')[0] ?? '';
  const queries = [...cookbook.matchAll(/```sql\n([^`]*)```/g)].flatMap(([, block = '']) =>
    block.split(/;\n/),
  );
  const begins = (view: string) => (query: string) => /report\.(\w+)/.exec(query)?.[1] === view;
  return new Map(views.map((view) => [view, queries.find(begins(view)) ?? '']));
}

const reader = 'musterd_bench_reader';
const asWhom = [
  ['owner', ''],
  ['reader', `set local role ${reader};`],
] as const;

async function measureViews({ server, size, repeats, say }: Bench): Promise<RowResult> {
  const database = await server.newDatabase();
  const taken = new Map<string, number[]>();
  const ask = async ({ sql }: BenchDatabase, when: string) => {
    for (const [view, query] of readExamples())
      for (const [who, role] of asWhom) {
        const text = `begin; ${role} ${query}; commit`;
        await sql(text);
        const before = server.cpuMs();
        for (let turn = 0; turn < repeats; turn += 1) await sql(text);
        const key = `${view}, ${who}, ${when}`;
        taken.set(key, [(server.cpuMs() - before) / repeats]);
      }
  };
  await database.sql(`create role ${reader} in role musterd_reader`);
  try {
    await fillYear(database.db, {
      ...yearTeam,
      team: 'north',
      teamId: 8,
      users: size / 50,
      changes: size / 10,
      tags: size / 500,
    });
    await fillYear(database.db, { ...yearTeam, users: size, changes: size * 5, tags: size / 5 });
    await database.sql(
      `insert into mirror.team_roles (role_name, team_id) values ('${reader}', ${yearTeam.teamId})`,
    );
    await database.sql(`delete from mirror.team_roles where role_name = 'public'`);
    say('the mirror is filled');
    await ask(database, 'never analysed');
    await database.sql('analyze');
    await ask(database, 'analysed');
    const of = (...words: readonly string[]) => taken.get(words.join(', ')) ?? [];
    const measures = views.map((view) =>
      measure({
        what: view,
        unit: 'ms',
        product: of(view, 'reader', 'analysed'),
        peers: {
          'as the owner': of(view, 'owner', 'analysed'),
          'as a reader, tables never analysed': of(view, 'reader', 'never analysed'),
          'as the owner, tables never analysed': of(view, 'owner', 'never analysed'),
        },
        goal: 200,
      }),
    );
    return { row: 25, size: inWords(size, 'users, a year'), measures };
  } finally {
    await database.sql(`drop role ${reader}`);
    await database.close();
  }
}

export const reportViews: Group = { rows: [25], measure: async (bench) => [await measureViews(bench)] };
