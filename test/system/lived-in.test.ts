/** A mirror in a database in which others live: their publications, columns, tables, triggers, indexes and privileges. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSharedQueue } from '../../src/daemon/shared-queue.ts';
import { createDatabase } from '../../src/mirror/db/database.ts';
import { createIsOurs, migrate } from '../../src/mirror/migrations.ts';
import { missingPrivileges } from '../../src/mirror/team/probes.ts';
import { createStage, loginAt, type Stage } from './stage.ts';

const others = [
  'create publication everything for all tables',
  'alter table mirror.users add column department text',
  "alter table mirror.tags add column colour text default 'red'",
  'create table mirror.desks (user_id bigint, desk text)',
  'create view report.desks as select u.name, d.desk from mirror.users u join mirror.desks d on d.user_id = u.id',
  'create index users_by_department on mirror.users (department)',
  `create function mirror.trim_phone() returns trigger language plpgsql as $$ begin new.phone := replace(new.phone, ' ', ''); return new; end $$`,
  "alter table mirror.users add constraint users_sit_somewhere check (department <> '')",
  'create sequence mirror.desk_numbers',
  "create type mirror.storey as enum ('ground')",
  'create policy lodgers_see_all on mirror.users for select using (true)',
  'create trigger a_trim_phone before update on mirror.users for each row execute function mirror.trim_phone()',
  'alter default privileges in schema mirror, report grant select on tables to public',
];

describe('a mirror in a database with objects of other owners', () => {
  let stage: Stage;
  let ids: readonly number[];
  beforeAll(async () => {
    stage = await createStage();
    await stage.run();
    const queue = await createSharedQueue({
      connection: { connectionString: stage.url, ssl: false },
      migrate: true,
      concurrency: 1,
      work: () => Promise.resolve(),
      onError: () => {},
    });
    await queue.close();
    for (const statement of others) await stage.sql(statement);
    ids = stage.emulator.team.users().map(({ id }) => id);
    await stage.sql(`update mirror.users set department = 'Sales'`);
  });
  afterAll(() => stage.close());

  it('musterd gives each of its tables a primary key', async () => {
    expect(
      await stage.sql(`select c.oid::regclass from pg_class c
        where c.relkind in ('r', 'p') and c.relnamespace::regnamespace::text not in ('pg_catalog', 'information_schema')
          and c.relname <> 'desks' and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary)`),
    ).toEqual([]);
  });

  it('missingPrivileges ignores tables that musterd did not create', async () => {
    await stage.sql(`create role lodger login password 'secret'; grant usage on schema mirror, sync to lodger;
      grant all on all tables in schema mirror, sync to lodger; revoke delete on mirror.desks from lodger`);
    const db = createDatabase({ url: loginAt(stage.url, 'lodger'), applicationName: 'musterd test' });
    expect(await missingPrivileges(db, () => true)).toEqual(['DELETE on mirror.desks']);
    expect(await missingPrivileges(db, createIsOurs())).toEqual([]);
    await db.close();
    await stage.sql('drop owned by lodger; drop role lodger');
  });

  it('musterd pushes a phone that a foreign trigger changed, pulls an email, and keeps foreign columns', async () => {
    const [one = 0, two = 0] = ids;
    await stage.sql(`update mirror.users set phone = '1555 0123' where id = ${one}`);
    stage.emulator.team.editUser(two, { email: 'two@example.com' });
    expect((await stage.run()).outcome).toBe('complete');
    expect(stage.updates()).toEqual([{ id: one, phone: '15550123' }]);
    expect(await stage.sql(`select email, department from mirror.users where id = ${two}`)).toEqual([
      ['two@example.com', 'Sales'],
    ]);
    expect(await stage.sql(`select distinct colour from mirror.tags`)).toEqual([['red']]);
  });

  it('musterd keeps the foreign columns of a user who leaves the team and returns', async () => {
    const [, , gone = 0] = ids;
    stage.emulator.team.showUser(gone, { listed: false, answered: false });
    for (let pass = 0; pass < 3; pass += 1) await stage.run({ absence: { confirmAfterMs: 0 } });
    expect(await stage.sql(`select gone_at is not null from mirror.users where id = ${gone}`)).toEqual([
      ['true'],
    ]);
    stage.emulator.team.showUser(gone, { listed: true, answered: true });
    await stage.run();
    expect(await stage.sql(`select gone_at, department from mirror.users where id = ${gone}`)).toEqual([
      ['', 'Sales'],
    ]);
  });

  it('musterd applies no migration again, and check lists all foreign objects in one finding', async () => {
    const before = await stage.musterd('check', '--json');
    await stage.sql('create role neighbour; alter table mirror.desks owner to neighbour');
    const { code, stdout } = await stage.musterd('check', '--json');
    await stage.sql('reassign owned by neighbour to current_user; drop role neighbour');
    expect([before.code, code, await migrate(stage.db)]).toEqual([0, 0, { applied: [] }]);
    const { findings } = JSON.parse(stdout) as { findings: { check: string; detail: string }[] };
    expect(findings.find(({ check }) => check.startsWith('others'))).toEqual({
      check: "others' objects in our schemas",
      verdict: 'ok',
      detail:
        'column mirror.tags.colour, column mirror.users.department, constraint mirror.users.users_sit_somewhere, function mirror.trim_phone, index mirror.users_by_department, policy mirror.users.lodgers_see_all, sequence mirror.desk_numbers, table mirror.desks, trigger mirror.users.a_trim_phone, type mirror.storey, view report.desks',
    });
  });
});
