import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { byText } from '../support/by-text.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { createIndependentService, type IndependentService, insertLookupsOf } from './independent-service.ts';
import { runMusterd } from './run-musterd.ts';

/** The program as its user runs it, against a service that nobody here wrote it for. */
describe('an independently written service', () => {
  let service: IndependentService;
  let database: TestDatabase;
  const environment = () => ({
    ...service.environment,
    DATABASE_URL: database.url,
  });
  const musterd = (...args: string[]) => runMusterd(args, environment());
  const sql = async (text: string) =>
    (await runSqlText(database.db, text)).rows.map((row) =>
      row.map((value) => (value === null ? null : `${value as string}`)),
    );
  beforeAll(async () => {
    service = await createIndependentService();
    database = await createTestDatabase({ empty: true });
  });
  afterAll(async () => {
    await database.close();
    await service.close();
  });

  it('musterd finds all users by given addresses, and mirrors every user, tag and contact field', async () => {
    expect(await musterd('migrate')).toMatchObject({ code: 0 });
    await sql(insertLookupsOf(service));
    const { code, stdout } = await musterd('reconcile', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: 'complete',
      counts: { users_read: 22, tags_added: 29, contact_fields_added: 15 },
    });
    expect((await sql('select id from mirror.tags')).flat().toSorted(byText)).toEqual(
      [...service.tags.keys()].toSorted(byText),
    );
    expect((await sql('select id from mirror.contact_fields')).flat().toSorted(byText)).toEqual(
      [...service.fields.keys()].toSorted(byText),
    );
    expect(await sql(`select raw #>> '{kind,max}', count(*) from mirror.contact_fields group by 1`)).toEqual([
      ['9007199254740993', '15'],
    ]);
    expect(await sql('select count from mirror.contact_counts')).toEqual([['4711']]);
    expect(
      await sql('select first_name, last_name, role from mirror.users where id = 9007199254740993'),
    ).toEqual([['Plato', '', 'r77']]);
    expect(await sql('select count(*) from mirror.users where resolved')).toEqual([['22']]);
  });

  it('musterd writes no row and sends no update in a second run (O10)', async () => {
    const rows = () =>
      sql(
        `select (select md5(string_agg(u::text || u.xmin, ',' order by id)) from mirror.users u), (select md5(string_agg(t::text || t.xmin, ',' order by id)) from mirror.tags t) as t`,
      );
    const before = await rows();
    expect((await musterd('reconcile')).code).toBe(0);
    expect(await rows()).toEqual(before);
    expect(service.updates).toEqual([]);
  });

  it('musterd pushes edited names and emails, pulls a changed phone, and then finds nothing more to do', async () => {
    await sql(`update mirror.users set first_name = 'Grace' where id = 101`);
    await sql(`update mirror.users set email = 'The.Plato@Ind.Example' where id = 9007199254740993`);
    await sql(`update mirror.users set email = 'moved@ind.example' where id = 102`);
    const other = service.people.get('102');
    if (other !== undefined) other.phone = '447900999999';
    expect((await musterd('plan', '--exit-code')).code).toBe(2);
    expect(service.updates).toEqual([]);
    expect((await musterd('reconcile')).code).toBe(0);
    expect(service.people.get('101')).toMatchObject({ first: 'Grace', last: 'Family1' });
    expect(service.people.get('9007199254740993')).toMatchObject({
      first: 'Plato',
      last: '',
      email: 'the.plato@ind.example',
    });
    expect(service.people.get('102')).toMatchObject({ email: 'moved@ind.example', phone: '447900999999' });
    expect(
      await sql(
        'select id, first_name, email, phone from mirror.users where id in (101, 102, 9007199254740993) order by id',
      ),
    ).toEqual([
      ['101', 'Grace', 'p1@ind.example', '+447900000011'],
      ['102', 'Given2', 'moved@ind.example', '+447900999999'],
      ['9007199254740993', 'Plato', 'the.plato@ind.example', null],
    ]);
    expect(service.updates.toSorted(byText)).toEqual([
      { id: '101', keys: ['first_name', 'id', 'last_name'] },
      { id: '102', keys: ['email', 'id'] },
      { id: '9007199254740993', keys: ['email', 'id'] },
    ]);
    service.updates.length = 0;
    expect((await musterd('reconcile')).code).toBe(0);
    expect((await musterd('plan', '--exit-code')).code).toBe(0);
    expect(service.updates).toEqual([]);
  });
});
