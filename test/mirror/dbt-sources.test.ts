import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { ROOT } from '../support/checkout.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { dbtSources, joinOf, type Relation, readRelations, violations } from '../support/dbt-sources.ts';
import { fillYear, yearTeam } from '../support/year-of-history.ts';

const folder = join(ROOT, 'docs', 'dbt');
const file = join(folder, 'sources.yml');
/** Of which a row may be there twice: two columns of a tag that moved at once, by runs of the same moment. */
const withoutKey = ['report.listing_history', 'report.tag_history'];

describe('the sources of dbt', () => {
  let database: TestDatabase;
  let relations: readonly Relation[];
  beforeAll(async () => {
    database = await createTestDatabase();
    relations = await readRelations(database.db);
    const small = { ...yearTeam, users: 200, changes: 600, tags: 100, days: 20 };
    await fillYear(database.db, small);
    await fillYear(database.db, { ...small, team: 'south', teamId: 42 });
  });
  afterAll(() => database.close());

  it('are the tables and views that there are (UPDATE_DBT=1 writes them)', () => {
    const text = dbtSources(relations);
    if (process.env['UPDATE_DBT']) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(file, text);
    }
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('know what a row is of each table, and of each view but where rows may be alike', () => {
    expect(
      relations.filter(({ key }) => key.length === 0).map(({ schema, name }) => `${schema}.${name}`),
    ).toEqual(withoutKey);
    for (const { schema, name, about } of relations)
      if (schema === 'report') expect([name, about]).toEqual([name, expect.stringMatching(/: a row per /)]);
  });

  it('name only columns that are there as places to join', () => {
    const known = relations.flatMap(({ schema, name, columns }) =>
      columns.map((column) => `${schema}.${name}.${column.name}`),
    );
    const named = relations
      .flatMap(({ columns }) => columns.map(joinOf))
      .filter((one) => one !== undefined)
      .map(({ schema, relation, field }) => `${schema}.${relation}.${field}`);
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter((one) => !known.includes(one))).toEqual([]);
  });

  it('promise nothing that a mirror of two teams does not keep', async () => {
    const all = relations.flatMap(violations);
    expect(all.length).toBeGreaterThan(60);
    for (const query of all) {
      const { rows } = await runSqlText(database.db, query);
      expect([query, rows.length]).toEqual([query, 0]);
    }
  });
});
