import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { type Account, asAccount } from '../../src/embedded/account.ts';

const victimText = 'what only root may read and write\n';

// Only root has more rights than the account that the server runs as.
describe.runIf(process.getuid?.() === 0)('openEmbedded as root, on a data folder of another account', () => {
  let base = '';
  let folder = '';
  let victim = '';
  let account: Account;

  // To make a mirror takes a second, to copy one does not.
  let made = '';
  beforeAll(async () => {
    made = mkdtempSync(join(tmpdir(), 'musterd-made-'));
    chmodSync(made, 0o755);
    await (await openEmbedded({ dataDir: join(made, 'data') })).close();
  });
  afterAll(() => rmSync(made, { recursive: true, force: true }));
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'musterd-root-'));
    chmodSync(base, 0o755);
    folder = join(base, 'data');
    victim = join(base, 'victim');
    writeFileSync(victim, victimText, { mode: 0o600 });
    expect(spawnSync('cp', ['-a', join(made, 'data'), folder]).status).toBe(0);
    const { uid, gid } = statSync(folder);
    expect(uid).not.toBe(0);
    account = { uid, gid };
  });
  afterEach(() => rmSync(base, { recursive: true, force: true }));

  const theyPut = (script: string) => {
    const done = spawnSync('/bin/sh', ['-ec', script, 'sh', folder, victim], {
      ...account,
      env: {},
      encoding: 'utf8',
    });
    expect(done.stderr).toBe('');
  };

  it.each([
    ['the log', 'rm -f "$1/server.log"; ln -s "$2" "$1/server.log"'],
    ['the log to a file that does not exist', 'rm -f "$1/server.log"; ln -s "$2.new" "$1/server.log"'],
    ['the rotated log', 'head -c 1100000 /dev/zero > "$1/server.log"; ln -s "$2" "$1/server.log.1"'],
    ['the lock file', 'rm -f "$1/cluster/data/postmaster.pid"; ln -s "$2" "$1/cluster/data/postmaster.pid"'],
    ['the password file', 'rm "$1/cluster/pgpass"; ln -s "$2" "$1/cluster/pgpass"'],
    ['the version file', 'rm "$1/cluster/data/PG_VERSION"; ln -s "$2" "$1/cluster/data/PG_VERSION"'],
    ['the cluster folder', 'mv "$1/cluster" "$1/other"; ln -s "$2" "$1/cluster"'],
    [
      'the remains of a killed start',
      'ln -s "$2" "$1/cluster.new-x"; touch -h -d "2 days ago" "$1/cluster.new-x"; rm -r "$1/cluster"',
    ],
  ])('does not follow a link in place of %s', async (_what, script) => {
    theyPut(script);
    const before = statSync(victim);
    const words = await openEmbedded({ dataDir: folder }).then(
      async (embedded) => {
        await embedded.close();
        return '';
      },
      (error: unknown) => JSON.stringify(error, ['message', 'hint', 'cause']) + String(error),
    );
    expect(readFileSync(victim, 'utf8')).toBe(victimText);
    expect(statSync(victim)).toMatchObject({
      uid: 0,
      gid: before.gid,
      mode: before.mode,
      mtimeMs: before.mtimeMs,
    });
    expect(existsSync(`${victim}.new`)).toBe(false);
    expect(words).not.toContain(victimText.trim());
  });

  it('asAccount restores the process’s own rights, also after an error', () => {
    const ids = () => [process.geteuid?.(), process.getegid?.(), process.getgroups?.()];
    const before = ids();
    expect(asAccount(account, () => ids())).toEqual([account.uid, account.gid, [account.gid]]);
    expect(() => asAccount(account, () => readFileSync(victim))).toThrow(/EACCES/);
    expect(ids()).toEqual(before);
  });

  it('removes the folder of an ephemeral server even if only root can enter TMPDIR', async () => {
    const before = process.env['TMPDIR'];
    chmodSync(base, 0o700);
    process.env['TMPDIR'] = base;
    try {
      const embedded = await openEmbedded({ ephemeral: true });
      await embedded.close();
      expect(existsSync(embedded.dataDir)).toBe(false);
    } finally {
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
    }
  });

  it('does not change the owner of a folder that another user’s link points to (S20)', async () => {
    const target = join(base, 'empty');
    spawnSync('mkdir', [target], { env: { PATH: '/usr/bin:/bin' } });
    const open = join(base, 'open');
    spawnSync('install', ['-d', '-o', String(account.uid), open], { env: { PATH: '/usr/bin:/bin' } });
    spawnSync('ln', ['-s', target, join(open, 'data')], { ...account, env: { PATH: '/usr/bin:/bin' } });
    await expect(openEmbedded({ dataDir: join(open, 'data') })).rejects.toThrow(/could not be opened/);
    expect(statSync(target).uid).toBe(0);
  });
});
