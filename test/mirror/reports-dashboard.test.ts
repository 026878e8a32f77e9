import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CompiledQuery } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { ROOT } from '../support/checkout.ts';
import { fillYear, yearTeam } from '../support/year-of-history.ts';
import { useDatabase } from '../support/use-database.ts';

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly description: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets: readonly { readonly format: string; readonly rawSql: string }[];
}

const board = JSON.parse(readFileSync(join(ROOT, 'config', 'grafana-reports.json'), 'utf8')) as {
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] };
  readonly panels: readonly Panel[];
};
const asked = board.panels.flatMap(({ title, targets }) =>
  targets.map(({ format, rawSql }) => ({ title, format, rawSql })),
);

/** As Grafana does with its macros and the variable, for a month of one team. */
const expand = (text: string, team: string) =>
  text
    .replaceAll(/\$__timeFilter\(([^()]+)\)/g, "$1 between now() - interval '30 days' and now()")
    .replaceAll('$'.concat('{team:csv}'), team);

describe('the Grafana dashboard of reports', () => {
  const database = useDatabase();
  beforeAll(async () => {
    await fillYear(database.db, { ...yearTeam, users: 200, changes: 800, tags: 100, days: 20 });
    const south = { ...yearTeam, team: 'south', teamId: 43, users: 20, changes: 40, tags: 10, days: 5 };
    await fillYear(database.db, south);
    await database.rows(
      `begin; set local musterd.writing = 'on'; update mirror.users set role_id = 4 where id = 23; commit`,
    );
  });

  it.each(asked)('each panel shows only rows of the chosen team: $title', async ({ format, rawSql }) => {
    const text = expand(rawSql, '41');
    expect(text).not.toContain('$');
    const rows = await database.db.transaction(async (tx) => {
      await tx.executeQuery(CompiledQuery.raw('set local role musterd_reader'));
      return (await tx.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text))).rows;
    });
    expect(rows.length).toBeGreaterThan(0);
    if (format === 'time_series') expect(Object.keys(rows[0] ?? {}).slice(0, 2)).toEqual(['time', 'metric']);
    expect(await database.rows(expand(rawSql, '42'))).toEqual([]);
  });

  describe('in a database without a team', () => {
    const empty = useDatabase();
    it.each(asked)('each panel returns an empty result: $title', async ({ rawSql }) => {
      const [team] = board.templating.list;
      expect(await empty.rows(team?.query ?? '')).toEqual([]);
      // All of no teams.
      expect(await empty.rows(expand(rawSql, ''))).toEqual([]);
    });
  });

  it.each(asked.filter(({ title, format }) => format === 'time_series' || title === 'Users by role'))(
    'each chart of two teams shows no point twice: $title',
    async ({ format, rawSql }) => {
      const rows = await database.rows(expand(rawSql, '41,43'));
      const points = rows.map(([first, second]) =>
        String(format === 'time_series' ? [first, second] : [first]),
      );
      expect(new Set(points).size).toBe(points.length);
    },
  );

  it('the team filter lists the teams by name', async () => {
    const [team] = board.templating.list;
    const { head, rows } = await runSqlText(database.db, team?.query ?? '');
    expect([team?.name, head, rows]).toEqual([
      'team',
      ['__text', '__value'],
      [
        ['default', '41'],
        ['south', '43'],
      ],
    ]);
  });

  it('each panel has a description, and covers no other panel', () => {
    expect(new Set(board.panels.map(({ id }) => id)).size).toBe(board.panels.length);
    for (const { title, description } of board.panels) expect(description, title).toMatch(/\.$/);
    const cells = board.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(board.panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
  });
});
