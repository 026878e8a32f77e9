/**
 * Another listing is one file in `src/model/listed` and a migration that makes its table: `docs/adding-a-listing.md`. A copy of
 * the program gets one, for a service that lists templates.
 */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { copyCheckout, temporaryFolder } from '../support/checkout.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { createIndependentService, type IndependentService } from '../system/independent-service.ts';
import { spawnMusterd } from '../system/run-musterd.ts';

const listing = `import type { ListedResource } from '../listed-resource.ts';

const templates: ListedResource = {
  name: 'templates',
  noun: 'template',
  list: { method: 'POST', path: '/v1/templates', isPaged: true },
  columns: { title: 'text', uses: 'integer', shared: 'boolean', keywords: 'texts', rev: 'integer', updated: 'text' },
};

export default templates;
`;

const migration = `create table mirror.templates (
  team_id       bigint not null,
  id            bigint not null,
  title         text,
  uses          bigint,
  shared        boolean,
  keywords      jsonb,
  rev           bigint,
  updated       text,
  first_seen_at timestamptz not null default now(),
  gone_at       timestamptz,
  raw           jsonb not null default '{}',
  constraint templates_pkey primary key (team_id, id)
);
comment on table mirror.templates is 'Texts to be sent again and again. Read-only.';
comment on column mirror.templates.team_id is 'The team. In mirror.teams.team_id.';
comment on column mirror.templates.id is 'The service''s id of the template.';
comment on column mirror.templates.title is 'Its title.';
comment on column mirror.templates.uses is 'How often it was sent.';
comment on column mirror.templates.shared is 'Whether all of the team may use it.';
comment on column mirror.templates.keywords is 'A list of words to find it by.';
comment on column mirror.templates.rev is 'Revision number.';
comment on column mirror.templates.updated is 'Time of the last change, as the service writes it.';
comment on column mirror.templates.first_seen_at is 'When a run first saw it.';
comment on column mirror.templates.gone_at is 'When it was proven that it is gone. The row stays.';
comment on column mirror.templates.raw is 'Whatever else the service said of it when the row last changed.';
`;

describe('a new listing (templates)', () => {
  const folder = temporaryFolder();
  const rows = new Map<string, string>();
  let service: IndependentService;
  let database: TestDatabase;

  const musterd = async (...args: readonly string[]) => {
    const env = { ...service.environment, DATABASE_URL: database.url, MUSTERD__absence__confirmAfterMs: '0' };
    return await spawnMusterd(args, env, '', join(folder.path, 'src', 'main.ts'));
  };
  const json = async (...args: readonly string[]) =>
    JSON.parse((await musterd(...args, '--json')).stdout) as Record<string, unknown>;
  const sql = async (text: string) => (await runSqlText(database.db, text)).rows;
  const give = (id: number, row: object) => rows.set(String(id), JSON.stringify({ id, ...row }));

  beforeAll(async () => {
    copyCheckout(folder.path);
    writeFileSync(join(folder.path, 'src', 'model', 'listed', 'templates.ts'), listing);
    writeFileSync(join(folder.path, 'migrations', '0999_templates.sql'), migration);
    service = await createIndependentService();
    service.more.set('POST /v1/templates', rows);
    for (let id = 1; id <= 12; id += 1)
      give(id, { title: `Title ${id}`, uses: id, shared: id % 2 === 0, keywords: ['a', 'b'], odd: 1 });
    // A mirror that is at work already, and was made without it.
    database = await createTestDatabase();
    await sql(`insert into mirror.user_lookups (team_id, email)
      select 8812, 'p' || n || '@ind.example' from generate_series(0, 19) n`);
  });
  afterAll(async () => {
    await database.close();
    await service.close();
    folder[Symbol.dispose]();
  });

  it('needs at most 60 lines: one source file and one migration', () => {
    expect(`${listing}${migration}`.split('\n').length).toBeLessThanOrEqual(60);
    expect(readdirSync(join(folder.path, 'src', 'model', 'listed'))).toHaveLength(5);
  });

  it('appears in plan, in the mirror and in the counts of status', async () => {
    expect((await musterd('migrate')).code).toBe(0);
    expect(await json('plan')).toMatchObject({
      listings: expect.arrayContaining([
        { resource: 'templates', added: 12, changed: 0, absent: 0 },
      ]) as unknown,
    });
    expect(await json('reconcile')).toMatchObject({ outcome: 'complete', counts: { templates_added: 12 } });
    expect(await sql('select * from mirror.templates where id = 4')).toMatchObject([
      [8812n, 4n, 'Title 4', 4n, true, ['a', 'b'], null, null, expect.any(Date), null, { odd: 1 }],
    ]);
    expect(await json('status')).toMatchObject({ rows: { templates: 12, tags: 29 } });
    expect(await json('reconcile')).toMatchObject({ counts: { templates_read: 12 } });
  });

  it('appears in a report view that musterd_reader may read and that has a comment on each column', async () => {
    expect(
      await sql(
        `select template_id, title, uses, shared, present from report.templates where template_id = 2`,
      ),
    ).toEqual([[2n, 'Title 2', 2n, true, true]]);
    const uncommented = `select attname from pg_attribute where attrelid = 'report.templates'::regclass and attnum > 0
      and col_description(attrelid, attnum) is null`;
    expect(await sql(uncommented)).toEqual([]);
    expect(
      await sql(`select has_table_privilege('musterd_reader', place, 'select') as reads, has_table_privilege('musterd_reader', place, 'update') as edits
        from unnest('{mirror.templates, report.templates}'::text[]) place`),
    ).toEqual([
      [true, false],
      [true, false],
    ]);
  });

  it('can be exported as CSV, but a delete of its rows by SQL fails', async () => {
    const [head, first] = (await musterd('export', 'templates')).stdout.split('\r\n');
    expect(head).toBe('\ufeffid,title,uses,shared,keywords,updated,first_seen_at');
    expect(first).toMatch(/^1,Title 1,1,false,"\[""a"",""b""\]",,/);
    await expect(sql(`delete from mirror.templates`)).rejects.toThrow(
      'DELETE on mirror.templates is not possible',
    );
  });

  it('follows changes on the service, and records the history of its rows', async () => {
    give(3, { title: 'Another', uses: 3 });
    rows.delete('5');
    await musterd('reconcile');
    await musterd('reconcile');
    expect(
      await sql(`select id, name, kind, field, old_value, new_value from report.listing_history
        where resource = 'templates' and id in (3, 5) order by id, kind, field`),
    ).toEqual([
      [3n, 'Another', 'changed', 'shared', 'false', null],
      [3n, 'Another', 'changed', 'title', 'Title 3', 'Another'],
      [5n, 'Title 5', 'gone', null, null, null],
    ]);
    // A list that is left out is as it was.
    expect(await sql(`select keywords from mirror.templates where id = 3`)).toEqual([[['a', 'b']]]);
  });

  it('verify compares the new listing, and reports a value that differs from the service’s value', async () => {
    expect(await json('verify')).toMatchObject({ equal: true, compared: { templates: 11 } });
    await sql(
      `begin; set local musterd.writing = 'on'; update mirror.templates set uses = 7 where id = 2; commit`,
    );
    expect(await json('verify')).toMatchObject({
      equal: false,
      differences: [{ resource: 'templates', id: 2, name: 'Title 2', field: 'uses', mirror: 7, service: 2 }],
    });
  });
});
