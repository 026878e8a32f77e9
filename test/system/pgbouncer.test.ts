import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase } from '../../src/mirror/db/database.ts';
import { giveFolder } from '../../src/embedded/account.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { eventually } from '../support/eventually.ts';
import { holdRequest } from '../support/hold-request.ts';
import { freePort } from '../support/postgres-process.ts';
import { runMusterd, startMusterd } from './run-musterd.ts';
import { createStage, type Stage } from './stage.ts';

/** Debian's folder for it is often in nobody's PATH. */
const program = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']
  .map((folder) => join(folder, 'pgbouncer'))
  .find((path) => existsSync(path));

const poolSize = 2;

/** D17 */
describe.skipIf(program === undefined)('musterd behind PgBouncer in transaction mode (if installed)', () => {
  let stage: Stage;
  let bouncer: ChildProcess;
  let url: string;
  let root: string;

  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'musterd-bouncer-'));
    chmodSync(root, 0o755);
    stage = await createStage();
    const target = new URL(stage.url);
    const port = await freePort();
    const [name, host] = [target.pathname.slice(1), target.hostname];
    const account = giveFolder(join(root, 'home'));
    const settings = join(root, 'pgbouncer.ini');
    const login = `user=${target.username} password=${target.password}`;
    // Anybody may come in here; nothing is ignored of what a client says at the start.
    writeFileSync(
      settings,
      `[databases]
${name} = host=${host} port=${target.port} dbname=${name} ${login}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${poolSize}
`,
      { mode: 0o600 },
    );
    if (account !== undefined) chownSync(settings, account.uid, account.gid);
    const identity = account === undefined ? {} : { uid: account.uid, gid: account.gid };
    bouncer = spawn(program ?? '', [settings], { ...identity, cwd: '/', stdio: 'ignore' });
    target.port = String(port);
    url = target.href;
    await eventually('PgBouncer lets us in', async () => {
      const db = createDatabase({ url, applicationName: 'musterd test' });
      try {
        return (await runSqlText(db, 'select 1')).rows.length === 1;
      } catch {
        return false;
      } finally {
        await db.close();
      }
    });
  });
  afterAll(async () => {
    if (bouncer.exitCode === null && bouncer.signalCode === null) {
      const ended = once(bouncer, 'exit');
      bouncer.kill('SIGINT');
      await ended;
    }
    await stage.close();
    rmSync(root, { recursive: true, force: true });
  });

  const environment = () => ({
    ...stage.emulator.environment,
    DATABASE_URL: url,
  });
  const musterd = (...args: string[]) => runMusterd(args, environment());
  const person = () => {
    const user = stage.emulator.team.users().find(({ email }) => email !== null);
    if (user === undefined) throw new Error('no such user');
    return user;
  };

  it('creates the schema and mirrors the whole service with no more sessions than the pool has', async () => {
    await stage.sql('drop schema report cascade; drop schema mirror cascade; drop schema sync cascade');
    const { code, stdout } = await musterd('reconcile', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: 'complete',
      counts: { adopted: 30, tags_added: 25 },
    });
    expect(
      await stage.sql(
        `select count(*) between 1 and ${poolSize} from pg_stat_activity where datname = current_database() and application_name <> 'musterd test'`,
      ),
    ).toEqual([['true']]);
  });

  it('plans and pushes an edit, and pulls a new tag that status then counts (D17)', async () => {
    const { id } = person();
    await stage.sql(`update mirror.users set email = 'robin@example.com' where id = ${id}`);
    stage.emulator.team.addTag('meanwhile');
    stage.emulator.clearRequests();
    expect((await musterd('plan', '--exit-code')).code).toBe(2);
    expect(stage.updates()).toEqual([]);
    expect((await musterd('reconcile')).code).toBe(0);
    expect(stage.updates()).toEqual([{ id, email: 'robin@example.com' }]);
    expect((await musterd('plan', '--exit-code')).code).toBe(0);
    const { code, stdout } = await musterd('status', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ team_id: 41, rows: { users: 30, tags: 26 } });
  });

  it('leaves no run setting in a pooled session, so that triggers still reject an update of mirror.users.name', async () => {
    const db = createDatabase({ url, applicationName: 'musterd test' });
    try {
      for (const _ of [1, 2, 3, 4]) {
        await expect(runSqlText(db, `update mirror.users set name = 'Somebody Else'`)).rejects.toThrow(
          'can be edited',
        );
        expect((await runSqlText(db, 'show statement_timeout')).rows).toEqual([['0']]);
      }
    } finally {
      await db.close();
    }
  });

  it('exits 75 while another run holds the lease, although both share server sessions (D17)', async () => {
    const held = holdRequest(stage.emulator, '/v1/tags');
    const first = startMusterd(['reconcile'], environment());
    await held.reached();
    expect((await musterd('reconcile')).code).toBe(75);
    held.letGo();
    expect((await first.ended).code).toBe(0);
  });
});
