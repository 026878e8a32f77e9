/** How long the page takes to answer each view, in a large team with a year of history: row 28. */
import { configSchema } from '../src/config/config.ts';
import { createPage } from '../src/page/serve/create-page.ts';
import type { Setup } from '../src/runs/open.ts';
import { createPageServer } from '../src/http/server.ts';
import { pageRoutes } from '../src/page/serve/page-routes.ts';
import { fillYear, yearTeam } from '../test/support/year-of-history.ts';
import { type Bench, type Group, inWords } from './bench.ts';
import type { BenchDatabase } from './postgres.ts';
import { measure, type RowResult } from './results.ts';

const token = 'a token of the page for benches';
const batch = 'b7f30d1c22ab';

/** A field of each hundredth user is held, and what was decided has numbers. */
const holdMore = (users: number) => `
  begin; set local musterd.writing = 'on';
  insert into sync.held_fields (team_id, user_id, field, reason, base_value, mirror_value, service_value, shown_value)
  select team_id, id, 'phone', 'conflict', to_jsonb(phone), to_jsonb('41' || phone), to_jsonb('43' || phone), to_jsonb('43' || phone)
  from mirror.users where team_id = ${yearTeam.teamId} and id % 100 = 7 and id > 200 limit ${Math.max(0, users / 100 - 155)};
  update sync.changes c set decision_id = d.number
  from (select batch, min(change_id) as number from sync.changes where batch is not null group by batch) d
  where c.batch = d.batch and c.kind in ('approve', 'reject', 'resolve'); commit`;

async function addresses({ sql }: BenchDatabase): Promise<Readonly<Record<string, string>>> {
  const [[run, decision] = []] = await sql(
    'select (select max(run_id) from report.runs) as run, (select max(decision_id) from sync.changes) as decision',
  );
  return {
    'at a glance': '/',
    'what waits': '/waiting',
    'a list of conflicts': '/waiting?state=conflict',
    'a batch': `/waiting/${batch}`,
    'a receipt': `/waiting?done=${String(decision)}`,
    runs: '/runs',
    'one run': `/runs/${String(run)}`,
    people: '/people',
    'people by name': '/people?sort=name',
    'people searched for': '/people?q=reed5',
    'one person': `/people/${yearTeam.team}/7`,
    'counts of 90 days': '/counts',
    'counts of a year': '/counts?days=365',
    tags: '/tags',
    changes: '/changes',
    'changes of a decision': `/changes?decision=${String(decision)}`,
  };
}

async function measurePage({ server, size, repeats, say }: Bench): Promise<RowResult> {
  const database = await server.newDatabase();
  const { db, sql } = database;
  const config = configSchema.parse({ status: { people: { kim: { token, may: 'decide' } }, details: true } });
  const mirror = { db } as Setup['mirror'];
  const log = { warn: say } as unknown as Setup['log'];
  const page = createPage({ db, configs: () => [config], version: '0', decide: { mirror, log } });
  const pageServer = await createPageServer({ host: '127.0.0.1', port: 0, page: pageRoutes(page) });
  const headers = { authorization: `Basic ${Buffer.from(`kim:${token}`).toString('base64')}` };
  try {
    await fillYear(db, { ...yearTeam, users: size, changes: size * 5, tags: size / 5 });
    await sql(holdMore(size));
    await sql('analyze');
    say('the mirror is filled');
    const measures = [];
    for (const [what, path] of Object.entries(await addresses(database))) {
      const product: number[] = [];
      for (let turn = 0; turn <= 2 * repeats; turn += 1) {
        const began = performance.now();
        const answer = await fetch(`http://127.0.0.1:${pageServer.port}${path}`, { headers });
        await answer.text();
        if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`);
        if (turn > 0) product.push(performance.now() - began);
      }
      // Everybody is sorted and searched without an index of it.
      const goal = what.startsWith('people') ? 400 : 150;
      measures.push(measure({ what, unit: 'ms', product, goal }));
    }
    return { row: 28, size: inWords(size, 'users, a year'), measures };
  } finally {
    await pageServer.close();
    await database.close();
  }
}

export const pageViews: Group = { rows: [28], measure: async (bench) => [await measurePage(bench)] };
