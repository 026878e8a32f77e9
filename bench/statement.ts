/** What a statement that edits many users takes of its backend, beside the same before edits had numbers: row 28. */
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase } from '../src/mirror/database.ts';
import { migrate } from '../src/mirror/migrations.ts';
import { runSqlText } from '../src/mirror/sql-text.ts';
import { type Bench, type Group, inWords } from './bench.ts';
import type { BenchDatabase } from './postgres.ts';
import { measure } from './results.ts';

/** The first migration after the schema that it is compared with. */
const first = '0060';
const values = (text: string) => `email = '${text}' || id || '@example.com'`;
const two = (text: string, digits: string) => `${values(text)}, phone = '1555${digits}' || id`;

/** What is set, and what was set before by an edit that waits. */
const cases: readonly (readonly [what: string, set: string, before?: string])[] = [
  ['nothing changes', 'email = email'],
  ['one field', values('new')],
  ['two fields', two('new', '1')],
  ['four fields', `first_name = 'Ada', last_name = 'Berg' || id, role_id = 3, ${two('new', '1')}`],
  ['one field again', values('other'), values('new')],
  ['two fields again', two('other', '2'), two('new', '1')],
];

const seed = (users: number) => `begin;
  set local musterd.writing = 'on';
  insert into sync.teams (team, team_id) values ('main', 41);
  insert into mirror.roles (team_id, role_id, name, members) values (41, 2, 'member', ${users}), (41, 3, 'admin', 0);
  insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone, role_id)
    select 41, id, 'Anne Old' || id, 'Anne', 'Old' || id, 'old' || id || '@example.com', '15550' || id, 2
    from generate_series(1, ${users}) id;
  insert into mirror.users (team_id, id, name, first_name, last_name, name_split, email, phone, role_id, resolved)
    select team_id, id, name, first_name, last_name, 'known', email, phone, role_id, true from sync.user_base;
  commit`;

/** Runs this in one session. @returns ms of CPU that the last statement took of its backend */
async function cpuOfLast(url: string, texts: readonly string[]): Promise<number> {
  const db = createDatabase({ url, applicationName: 'musterd bench', maxConnections: 1 });
  try {
    const [[pid] = []] = (await runSqlText(db, 'select pg_backend_pid()')).rows;
    const cpuMs = () => Number(readFileSync(`/proc/${String(pid)}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
    let beganMs = cpuMs();
    for (const text of texts) {
      beganMs = cpuMs();
      await runSqlText(db, text);
    }
    return cpuMs() - beganMs;
  } finally {
    await db.close();
  }
}

/** A database to make others of, with nobody connected to it. */
async function createTemplate(bench: Bench, users: number, isBefore: boolean): Promise<BenchDatabase> {
  const template = await bench.server.newDatabase(isBefore ? 'template0' : undefined);
  const folder = mkdtempSync(join(tmpdir(), 'musterd-bench-migrations-'));
  const names = readdirSync('migrations').filter((name) => !isBefore || name < first);
  for (const name of names) copyFileSync(join('migrations', name), join(folder, name));
  const db = createDatabase({ url: template.url, applicationName: 'musterd bench' });
  try {
    await migrate(db, { folder });
    await runSqlText(db, seed(users));
  } finally {
    await db.close();
    rmSync(folder, { recursive: true });
  }
  return template;
}

export const statement: Group = {
  rows: [28],
  measure: async (bench) => {
    const users = bench.size / 10;
    const templates = [await createTemplate(bench, users, true), await createTemplate(bench, users, false)];
    const cpuOf = async (template: BenchDatabase | undefined, texts: readonly string[]) => {
      const database = await bench.server.newDatabase(template?.name);
      const cpuMs = await cpuOfLast(database.url, texts);
      await database.close();
      return cpuMs;
    };
    const measures = [];
    for (const isAnalysed of [false, true])
      for (const [what, set, before = 'email = email'] of cases) {
        const all = 'update mirror.users set';
        const texts = [
          `${all} ${before}`,
          ...(isAnalysed ? ['analyze'] : []),
          `begin; ${all} ${set} where id = 1; rollback`,
          `${all} ${set}`,
        ];
        const [limit, product]: [number[], number[]] = [[], []];
        for (let i = 0; i < bench.repeats; i += 1) {
          limit.push(await cpuOf(templates[0], texts));
          product.push(await cpuOf(templates[1], texts));
        }
        measures.push(
          measure({ what: isAnalysed ? `${what}, analysed` : what, unit: 'ms', product, limit, goal: 1.15 }),
        );
      }
    for (const template of templates) await template.close();
    return [{ row: 28, size: inWords(users, 'users'), measures }];
  },
};
