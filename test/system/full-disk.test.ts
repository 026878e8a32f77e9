import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEmulator, type Emulator } from '../../src/emulator/create-emulator.ts';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { type Embedded, openEmbedded } from '../../src/embedded/embedded.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { runMusterd } from './run-musterd.ts';

/** A folder on a file system of this size, or nothing where we may not mount one. */
function mountSmall(megabytes: number): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'musterd-full-'));
  const args = ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=755`, 'musterd-test', folder];
  if (spawnSync('mount', args, { stdio: 'ignore' }).status === 0) return folder;
  rmSync(folder, { recursive: true });
  return undefined;
}

function unmount(folder: string): void {
  expect(spawnSync('umount', [folder]).status).toBe(0);
  rmSync(folder, { recursive: true });
}

const disk = mountSmall(160);

/** D9 */
describe.skipIf(disk === undefined)('a mirror on a full disk (needs root to mount a small disk)', () => {
  let emulator: Emulator;
  let embedded: Embedded;
  let db: Database;
  const root = disk ?? '';
  const ballast = join(root, 'ballast');
  const sql = async (text: string) => (await runSqlText(db, text)).rows;
  const reconcile = () =>
    runMusterd(['reconcile', '--json'], {
      ...emulator.environment,
      DATABASE_URL: embedded.url,
    });
  const sent = () => emulator.requests.filter(({ path }) => path === '/v1/users/update').length;
  const fill = () => {
    const { bavail, bsize } = statfsSync(root);
    writeFileSync(ballast, Buffer.alloc(Number(bavail) * Number(bsize)));
    expect(statfsSync(root).bavail).toBe(0);
  };

  beforeAll(async () => {
    emulator = await createEmulator({ http: true, users: 30, tags: 3, fields: 2, ratePerMinute: 0 });
    embedded = await openEmbedded({ dataDir: join(root, 'mirror') });
    db = createDatabase({ url: embedded.url, applicationName: 'musterd test' });
    expect((await reconcile()).code).toBe(0);
  });
  afterAll(async () => {
    rmSync(ballast, { force: true });
    await db.close();
    await embedded.close();
    await emulator.close();
    unmount(root);
  });

  it('fails to create a mirror on a disk that is too small, and leaves no file behind', async () => {
    const small = mountSmall(8) ?? '';
    try {
      const dataDir = join(small, 'mirror');
      await expect(openEmbedded({ dataDir })).rejects.toThrow(/No space left on device/);
      expect(readdirSync(dataDir)).toEqual([]);
    } finally {
      unmount(small);
    }
  });

  it('sends no edit while the push cannot be recorded, and sends the edit once the disk has room (D9)', async () => {
    const id = emulator.team.users().find(({ email }) => email !== null)?.id ?? 0;
    // Too long for a page, for compression and for an editor: to write it down takes room that a table does not have yet.
    const first = randomBytes(20_000).toString('hex');
    await sql(`begin; set local musterd.writing = 'on';
        update mirror.users set first_name = '${first}', last_name = 'Doe', name_split = 'known' where id = ${id}; commit`);
    emulator.clearRequests();
    fill();
    for (const _ of [1, 2]) {
      const { code, stderr } = await reconcile();
      expect(stderr).toMatch(/No space left on device/);
      expect(code).toBe(1);
    }
    expect(emulator.requests.length).toBeGreaterThan(0);
    expect(sent()).toBe(0);
    expect(await sql(`select count(*) from sync.changes where kind = 'push'`)).toEqual([[0n]]);

    rmSync(ballast);
    expect((await reconcile()).code).toBe(0);
    expect(sent()).toBe(1);
    expect(emulator.team.user(id)).toMatchObject({ first, last: 'Doe' });
    expect(await sql(`select state from sync.changes where kind = 'push'`)).toEqual([['closed']]);
  });
});
