import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createEmulator, type Emulator } from '../../src/emulator/emulator.ts';
import { createDatabase } from '../../src/mirror/database.ts';
import { openEmbedded } from '../../src/mirror/embedded.ts';
import { runSqlText } from '../../src/mirror/sql-text.ts';
import { runMusterd } from './run-musterd.ts';

/** D16: an old copy of the data directory, put in place of a newer mirror. */
describe('a mirror restored from an old backup', () => {
  let emulator: Emulator;
  const root = mkdtempSync(join(tmpdir(), 'musterd-backup-'));
  // The server may run as another account than the tests.
  chmodSync(root, 0o755);
  const dataDir = join(root, 'mirror');
  /** With owners and modes, as a backup keeps them. */
  const copy = (from: string, to: string) => expect(spawnSync('cp', ['-a', from, to]).status).toBe(0);
  afterEach(async () => {
    await emulator.close();
    rmSync(root, { recursive: true, force: true });
  });
  const reconcile = () =>
    runMusterd(['reconcile', '--json'], {
      ...emulator.environment,
      MUSTERD_DATA_DIR: dataDir,
      MUSTERD__rate__perMinute: '100000',
    });
  const sql = async (text: string) => {
    const embedded = await openEmbedded({ dataDir });
    const db = createDatabase<unknown>({ url: embedded.url, applicationName: 'musterd test' });
    try {
      return (await runSqlText(db, text)).rows;
    } finally {
      await db.close();
      await embedded.close();
    }
  };

  it('reverts nothing on the service, and catches up', async () => {
    emulator = await createEmulator({ http: true, users: 30, tags: 5, fields: 3, ratePerMinute: 0 });
    expect((await reconcile()).code).toBe(0);
    const [pushed, pulled] = emulator.team.users().filter(({ email }) => email !== null);
    copy(dataDir, join(root, 'old'));

    await sql(`update mirror.users set email = 'pushed@example.com' where id = ${pushed?.id}`);
    emulator.team.editUser(pulled?.id ?? 0, { phone: '15550155' });
    expect((await reconcile()).code).toBe(0);
    expect(emulator.team.user(pushed?.id ?? 0).email).toBe('pushed@example.com');

    rmSync(dataDir, { recursive: true });
    copy(join(root, 'old'), dataDir);
    const before = emulator.team.users();
    emulator.clearRequests();
    expect((await reconcile()).code).toBe(0);
    expect(emulator.requests.filter(({ path }) => path === '/v1/users/update')).toEqual([]);
    expect(emulator.team.users()).toEqual(before);
    expect(await sql(`select email from mirror.users where id = ${pushed?.id}`)).toEqual([
      ['pushed@example.com'],
    ]);
    expect(await sql(`select phone from mirror.users where id = ${pulled?.id}`)).toEqual([['15550155']]);
  });
});
