import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { ROOT } from '../support/checkout.ts';
import { createTestDatabase } from '../support/database.ts';
import { fillYear, yearTeam } from '../support/year-of-history.ts';
import { useDatabase } from '../support/use-database.ts';

const cookbook = readFileSync(join(ROOT, 'docs', 'sql-cookbook.md'), 'utf8');
const questions = [
  ...cookbook.matchAll(/^### (\d+)\. (.+\?)$((?:(?!^#)[\s\S])*?)```sql\n([^`]*?);?\n```$/gm),
].map(([, number = '', question = '', , text = '']) => ({ number: Number(number), question, text }));

describe('the twenty questions of docs/sql-cookbook.md', () => {
  const database = useDatabase();
  const query = async (text: string) => await runSqlText(database.db, text);
  beforeAll(async () => {
    await fillYear(database.db, { ...yearTeam, users: 200, changes: 800, tags: 100, days: 20 });
    await query(`begin; set local musterd.writing = 'on';
      insert into mirror.users (team_id, id, name, phone, role_id, role, resolved) values (41, 900, 'Ana Berg', '15550000150', 2, 'Agent', true);
      update mirror.users set gone_at = now() where id = 21;
      update mirror.users set role_id = 4, role = 'Guest' where id = 23;
      update mirror.roles set members = 0, gone_at = now() where role_id = 3; commit`);
    await query(`update mirror.users set phone = '15559999999' where id = 25`);
  });

  it('the questions have the numbers 1 to 20 in order', () => {
    expect(questions.map(({ number }) => number)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
  });

  it.each(questions)('the query of question $number has no empty column: $question', async ({ text }) => {
    const { head: columns, rows } = await query(text);
    expect(rows.length).toBeGreaterThan(0);
    expect(columns).not.toContain('?column?');
    // Something is said in each column of it, of somebody.
    const silent = columns.filter((_, place) => rows.every((row) => row[place] === null));
    expect(silent.filter((column) => !mayBeSilent.includes(column))).toEqual([]);
  });

  it.each<[number, string, unknown[]]>([
    [1, 'user_name', ['Ana Berg']],
    [2, 'user_id', [21n]],
    [4, 'user_id', [900n]],
    [5, 'names', ['Ana Berg, Robin Reed150']],
    [6, 'fields', [1n, 53n]],
    [8, 'new_value', ['15559999999']],
    [18, 'role', ['Analyst']],
  ])('the query of question %i finds the prepared values in column %s', async (number, column, expected) => {
    const { text = '' } = questions.find((one) => one.number === number) ?? {};
    const { head: columns, rows } = await query(text);
    expect(rows.map((row) => row[columns.indexOf(column)])).toEqual(expect.arrayContaining(expected));
  });
});

it('the cookbook query of counts by week cuts the weeks by UTC days, in a session of any time zone', async () => {
  const text = /### Contact counts by week\n\n```sql\n([^`]*?);\n```/.exec(cookbook)?.[1] ?? '';
  const database = await createTestDatabase();
  try {
    await runSqlText(
      database.db,
      `begin; set local musterd.writing = 'on';
       insert into mirror.contact_counts (team_id, segment, counted_at, count) values
       (41, 'all', '2026-03-01T23:30Z', 90), (41, 'all', '2026-03-02T00:30Z', 10), (41, 'all', '2026-03-03T12:00Z', 70),
       (41, 'all', '2026-03-03T20:00Z', 20), (41, 'all', '2026-03-08T23:30Z', 30), (41, 'all', '2026-03-09T00:30Z', 40); commit`,
    );
    for (const zone of ['UTC', 'Pacific/Auckland', 'America/Los_Angeles']) {
      const { rows } = await runSqlText(database.db, `set timezone = '${zone}'; ${text}`);
      expect(rows.map((row) => row.slice(2).map(Number))).toEqual([
        [40, 40, 10],
        [70, 30, -60],
        [90, 90, 0],
      ]);
    }
  } finally {
    await database.close();
  }
});

/** Nothing is stale, failing, or known of runs that came to their end. */
const mayBeSilent = ['stale_since', 'why'];
