import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runReconcile } from '../../src/runs/sync/reconcile-team.ts';
import { createEmulator, type Emulator } from '../../src/emulator/create-emulator.ts';
import { createLog } from '../../src/log.ts';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { migrate } from '../../src/mirror/migrations.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { servers } from '../support/servers.ts';
import { configFor } from '../system/stage.ts';

/** musterd as the ordinary owner of its tables, and as a role that only has privileges on them. */
describe.each(servers())('musterd under row-level security on $name', (server) => {
  const suffix = randomBytes(4).toString('hex');
  const [owner, daemon, name] = [`test_owner_${suffix}`, `test_daemon_${suffix}`, `musterd_test_${suffix}`];
  let emulator: Emulator;
  let admin: Database;
  let asOwner: Database;
  let asDaemon: Database;

  const connect = (role: string) => {
    const url = new URL(server.url);
    [url.username, url.password, url.pathname] = [role, 'secret', `/${name}`];
    return createDatabase({ url: url.href, applicationName: 'musterd test' });
  };
  const run = (db: Database) =>
    runReconcile(db, configFor(emulator.environment), 'reconcile', { log: createLog({ level: 'silent' }) });
  const rows = async (text: string) => (await runSqlText(asOwner, text)).rows;

  beforeAll(async () => {
    emulator = await createEmulator({ http: true, users: 6, tags: 3, fields: 2, ratePerMinute: 0 });
    admin = createDatabase({ url: server.url });
    await runSqlText(admin, `create role ${owner} login password 'secret'`);
    await runSqlText(admin, `create role ${daemon} login password 'secret'`);
    await runSqlText(admin, `create database ${name} owner ${owner} template template0`);
    [asOwner, asDaemon] = [connect(owner), connect(daemon)];
    await migrate(asOwner);
    await runSqlText(
      asOwner,
      `grant usage on schema mirror, sync, report to ${daemon};
       grant select, insert, update, delete on all tables in schema mirror, sync to ${daemon};
       grant select on all tables in schema report to ${daemon}`,
    );
  });
  afterAll(async () => {
    await Promise.all([asOwner.close(), asDaemon.close(), emulator.close()]);
    await runSqlText(admin, `drop database ${name} with (force)`);
    await runSqlText(admin, `drop role ${owner}, ${daemon}`);
    await admin.close();
  });

  it('a run under the owner of the tables works even if mirror.team_roles is empty', async () => {
    await runSqlText(asOwner, 'delete from mirror.team_roles');
    expect(await run(asOwner)).toMatchObject({ outcome: 'complete' });
    await runSqlText(
      asOwner,
      `update mirror.users set phone = '15550111' where id = (select min(id) from mirror.users)`,
    );
    expect(await run(asOwner)).toMatchObject({ outcome: 'complete' });
    expect(emulator.team.users().filter(({ phone }) => phone === '15550111')).toHaveLength(1);
    expect(await rows('select count(*)::int from report.roster')).toEqual([[6]]);
    expect(await rows('select count(*)::int from report.pending')).toEqual([[0]]);
  });

  it('Postgres applies no policy to statements of the owner', async () => {
    const plan = (
      await rows('explain select * from mirror.users join sync.user_base using (team_id, id)')
    ).join('\n');
    expect(plan).not.toMatch(/InitPlan|SubPlan/);
  });

  it('a run under a role that mirror.team_roles lacks fails, and leaves no record', async () => {
    const runs = await rows('select max(run_id) from sync.runs');
    await expect(run(asDaemon)).rejects.toThrow('row-level security');
    expect(await rows('select max(run_id) from sync.runs')).toEqual(runs);
  });

  it.each(['public', daemon])('a run under a daemon role works if %s may see all teams', async (listed) => {
    await runSqlText(asOwner, 'delete from mirror.team_roles');
    await runSqlText(
      asOwner,
      `insert into mirror.team_roles (role_name, all_teams) values ('${listed}', true)`,
    );
    const phone = listed === 'public' ? '15550112' : '15550113';
    await runSqlText(
      asDaemon,
      `update mirror.users set phone = '${phone}' where id = (select max(id) from mirror.users)`,
    );
    expect(await run(asDaemon)).toMatchObject({ outcome: 'complete' });
    expect(emulator.team.users().filter((user) => user.phone === phone)).toHaveLength(1);
  });

  it('a run under a role that mirror.team_roles lacks ends well if the role has bypassrls', async () => {
    await runSqlText(asOwner, 'delete from mirror.team_roles');
    await runSqlText(admin, `alter role ${daemon} bypassrls`);
    expect(await run(asDaemon)).toMatchObject({ outcome: 'complete' });
    expect((await runSqlText(asDaemon, 'select count(*)::int from report.roster')).rows).toEqual([[6]]);
  });
});
