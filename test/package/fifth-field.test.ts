/**
 * Another writable field is a row of the table in `src/model/fields.ts` and a migration. A copy of the program gets one: the title
 * of a user, for a service that has such a thing.
 *
 * By hand, and not here: what an editor may write of it (`mirror.check_user_edit`), what limits it (`field-limits.ts`), what
 * else calls it something (the words of the page and of the guide), and what is a promise as it stands: the columns of
 * `report.roster` and its history, of `export` and of `import`, and the generated `schema.ts` and `musterd.schema.json`.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { copyCheckout, temporaryFolder } from '../support/checkout.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import {
  createIndependentService,
  type IndependentService,
  insertLookupsOf,
} from '../system/independent-service.ts';
import { spawnMusterd } from '../system/run-musterd.ts';

const row = `
  title: text({
    column: 'title',
    noun: 'title',
    canBeEmptied: true,
    canonical: (title) => (title ?? '').trim(),
    flaw: noFlaw,
    encode: (title) => title ?? '',
  }),
};

type Singles`;

const migration = `
alter table mirror.users add column title text;
alter table sync.user_base add column title text;
alter table sync.user_periods add column title text;
alter table sync.edits drop constraint edits_field_check,
  add constraint edits_field_check check (field in ('name', 'name_split', 'email', 'phone', 'role_id', 'title'));
alter table sync.held_fields drop constraint held_fields_field_check,
  add constraint held_fields_field_check check (field in ('name', 'email', 'phone', 'role_id', 'title'));
`;

describe('a fifth writable field of a user (title)', () => {
  const folder = temporaryFolder();
  let service: IndependentService;
  let database: TestDatabase;

  const musterd = (args: readonly string[]) => {
    const env = { ...service.environment, DATABASE_URL: database.url, MUSTERD__rate__perMinute: '100000' };
    return spawnMusterd(args, env, '', join(folder.path, 'src', 'main.ts'));
  };
  const reconcile = async (code = 0) => expect(await musterd(['reconcile'])).toMatchObject({ code });
  const sql = async (text: string) => (await runSqlText(database.db, text)).rows;
  const titles = () =>
    sql(
      `select u.title, b.title as agreed from mirror.users u join sync.user_base b using (team_id, id) where id in (101, 102) order by id`,
    );
  const onService = (id: string) => service.people.get(id)?.more?.['title'];
  const give = (id: string, title: string) =>
    Object.assign(service.people.get(id) ?? {}, { more: { title } });

  beforeAll(async () => {
    copyCheckout(folder.path);
    const table = join(folder.path, 'src', 'model', 'fields.ts');
    const text = readFileSync(table, 'utf8');
    writeFileSync(table, text.replace('\n};\n\ntype Singles', row));
    writeFileSync(join(folder.path, 'migrations', '0999_title.sql'), migration);
    service = await createIndependentService();
    for (const person of service.people.values()) person.more = { title: 'Nurse' };
    database = await createTestDatabase({ empty: true });
    expect(await musterd(['migrate'])).toMatchObject({ code: 0 });
    await sql(insertLookupsOf(service));
  });
  afterAll(async () => {
    await database.close();
    await service.close();
    folder[Symbol.dispose]();
  });

  it('compiles after one added row in src/model/fields.ts', async () => {
    const config = join(folder.path, 'tsconfig.json');
    const ofAll = JSON.parse(readFileSync(config, 'utf8')) as object;
    writeFileSync(config, JSON.stringify({ ...ofAll, include: ['src'] }));
    const compiler = join(folder.path, 'node_modules', 'typescript', 'bin', 'tsc');
    const { stdout } = await promisify(execFile)(process.execPath, [compiler], { cwd: folder.path });
    expect(stdout).toBe('');
  });

  it('gets its value from the service, and appears in the ledger and in the history of users', async () => {
    await reconcile();
    expect(await titles()).toEqual([
      ['Nurse', 'Nurse'],
      ['Nurse', 'Nurse'],
    ]);
    give('102', 'Surgeon');
    await reconcile();
    expect((await titles())[1]).toEqual(['Surgeon', 'Surgeon']);
    expect(
      await sql(
        `select kind, old -> 'title' as old, new -> 'title' as new from sync.changes where user_id = 102 order by change_id`,
      ),
    ).toEqual([
      ['adopt', null, 'Nurse'],
      ['pull', 'Nurse', 'Surgeon'],
    ]);
    expect(await sql(`select title from sync.user_periods where user_id = 102 order by valid_from`)).toEqual([
      ['Nurse'],
      ['Surgeon'],
    ]);
  });

  it('reaches the service after an edit, in a request with this field only', async () => {
    await sql(`update mirror.users set title = 'Doctor' where id = 101`);
    expect(await sql('select user_id, field, base_value, mirror_value, state from report.pending')).toEqual([
      [101n, 'title', 'Nurse', 'Doctor', 'waiting'],
    ]);
    service.updates.length = 0;
    await reconcile();
    expect(onService('101')).toBe('Doctor');
    expect(service.updates).toEqual([{ id: '101', keys: ['id', 'title'] }]);
    expect((await titles())[0]).toEqual(['Doctor', 'Doctor']);
    expect(await sql(`select new, outcome from sync.changes where kind = 'push'`)).toEqual([
      [{ title: 'Doctor' }, { title: 'confirmed' }],
    ]);
    expect(await sql(`select field, old_value, new_value, ended_how from sync.edits`)).toEqual([
      ['title', 'Nurse', 'Doctor', 'agreed'],
    ]);
    expect(await sql('select * from report.pending')).toEqual([]);
  });

  it('becomes empty on the service after an edit has emptied it in the mirror', async () => {
    await sql(`update mirror.users set title = null where id = 101`);
    await reconcile();
    expect(onService('101')).toBe('');
    expect((await titles())[0]).toEqual([null, null]);
  });

  it('waits as a conflict if both sides changed the value, until a person resolves the conflict', async () => {
    give('102', 'Head nurse');
    await sql(`update mirror.users set title = 'Dean' where id = 102`);
    await reconcile(3);
    expect(
      await sql('select field, reason, base_value, mirror_value, service_value from report.held'),
    ).toEqual([['title', 'conflict', 'Surgeon', 'Dean', 'Head nurse']]);
    expect((await titles())[1]).toEqual(['Dean', 'Surgeon']);
    expect(await musterd(['resolve', '102', 'title', '--take', 'service', '--if', 'Dean'])).toMatchObject({
      code: 0,
    });
    expect((await titles())[1]).toEqual(['Head nurse', 'Head nurse']);
    expect(await sql('select * from report.held')).toEqual([]);
  });

  it('returns to its earlier value after undo, and verify then finds both sides equal', async () => {
    const [[run] = []] = await sql(`select max(run_id) from sync.changes where kind = 'push'`);
    expect(await musterd(['undo', `${run as bigint}`, '--apply'])).toMatchObject({ code: 0 });
    expect((await titles())[0]).toEqual(['Doctor', null]);
    await reconcile();
    expect(onService('101')).toBe('Doctor');
    expect(await musterd(['verify'])).toMatchObject({ code: 0 });
  });
});
