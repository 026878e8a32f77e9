import { spawn, spawnSync } from 'node:child_process';
import fs, {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { findBinaries } from '../../src/embedded/binaries.ts';
import { type Embedded, type EmbeddedOptions, openEmbedded } from '../../src/embedded/embedded.ts';
import { usableFolder } from '../../src/embedded/account.ts';
import { findPostmaster } from '../../src/embedded/postgres-server.ts';
import { MusterdError } from '../../src/errors.ts';
import { checkServer } from '../../src/mirror/db/check-server.ts';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { migrate } from '../../src/mirror/migrations.ts';
import { type Elsewhere, type ElsewhereOptions, openElsewhere } from '../support/embedded-process.ts';
import { startMusterd } from '../system/run-musterd.ts';
import { eventually } from '../support/eventually.ts';
import { failureOf } from '../support/failure-of.ts';
import { patient } from '../support/limits.ts';
import { installedBindir } from '../support/servers.ts';

const isRoot = process.getuid?.() === 0;
const bindir = installedBindir();

let folder: string;
let made: string;
let lockOfMade: string;
const closers: (() => unknown)[] = [];

beforeAll(async () => {
  made = mkdtempSync(join(tmpdir(), 'musterd-made-'));
  const opened = await openEmbedded({ dataDir: made });
  await use(opened.url, (db) => sql`create table public.made ()`.execute(db.kysely));
  lockOfMade = readFileSync(join(dataOf(opened), 'postmaster.pid'), 'utf8');
  await opened.close();
  // No test here cuts the power.
  appendFileSync(join(made, 'cluster', 'data', 'postgresql.conf'), 'fsync = off\n');
});
afterAll(() => rmSync(made, { recursive: true, force: true }));
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'musterd-test-'));
});
afterEach(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
  // A killed process and its server end a moment apart.
  const error = await stopped({ dataDir: folder }).catch((thrown: unknown) => thrown);
  if (error !== true) process.kill(serverOf({ dataDir: folder }).pid, 'SIGQUIT');
  rmSync(folder, { recursive: true, force: true });
  expect(error, 'a server was left behind').toBe(true);
});

/** Puts a mirror into the folder that was made before: making one takes a second, copying it does not. */
function seed(): void {
  const { status } = spawnSync('cp', ['-a', `${made}/.`, folder]);
  if (status !== 0) throw new Error('cp failed');
}

async function open(options: EmbeddedOptions = {}): Promise<Embedded> {
  const opened = await openEmbedded({ dataDir: folder, ...options });
  closers.push(async () => await opened.close());
  return opened;
}

async function openChild(options: ElsewhereOptions = {}): Promise<Elsewhere> {
  const embedded = { dataDir: folder, ...options.embedded };
  const opened = await openElsewhere({ ...options, embedded });
  closers.push(async () => await opened.kill());
  return opened;
}

async function use<T>(url: string, work: (db: Database) => Promise<T>): Promise<T> {
  const db = createDatabase({ url, applicationName: 'musterd test' });
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

const note = async (url: string, words: string) =>
  await use(url, async (db) => {
    await db.transaction(async (tx) => {
      await sql`create table if not exists public.notes (words text)`.execute(tx);
      await sql`insert into public.notes values (${words})`.execute(tx);
    });
  });
const notes = async (url: string) =>
  await use(url, async (db) => {
    const { rows } = await sql<{ words: string }>`select words from public.notes`.execute(db.kysely);
    return rows.map(({ words }) => words);
  });

const dataOf = (embedded: { dataDir: string }) => join(embedded.dataDir, 'cluster', 'data');
const serverOf = (embedded: { dataDir: string }) => {
  const running = findPostmaster(dataOf(embedded));
  if (running === undefined) throw new Error('no server runs');
  return running;
};
const stopped = async (embedded: { dataDir: string }) =>
  await eventually('the server has stopped', () => findPostmaster(dataOf(embedded)) === undefined);

describe.each([
  { name: 'the server from npm', from: undefined },
  ...(bindir === undefined ? [] : [{ name: 'an installed server', from: bindir }]),
])('openEmbedded with $name', ({ from }) => {
  let dataDir: string;
  beforeAll(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'musterd-test-'));
  });
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

  test('starts in an empty folder, and finds its data again after a restart', async () => {
    const steps: string[] = [];
    const first = await open({ dataDir, bindir: from, onProgress: (step) => steps.push(step) });
    expect(first).toMatchObject({ attached: false, dataDir });
    expect(steps).toContain('creating the database');
    await use(first.url, async (db) => await checkServer(db));
    await note(first.url, 'kept');
    await first.close();
    expect(findPostmaster(dataOf(first))).toBeUndefined();

    const second = await open({ dataDir, bindir: from, onProgress: (step) => steps.push(step) });
    expect(await notes(second.url)).toEqual(['kept']);
    expect(steps.filter((step) => step === 'creating the database')).toHaveLength(1);
  });

  test('listens only on 127.0.0.1, requires the password, and sorts text the same way on every host (O10, S19)', async () => {
    const { url } = await open({ dataDir, bindir: from });
    const settings = await use(url, async (db) => {
      const { rows } = await sql<{ name: string; setting: string }>`
        select name, setting from pg_settings
         where name in ('listen_addresses', 'unix_socket_directories', 'password_encryption', 'fsync')`.execute(
        db.kysely,
      );
      return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
    });
    expect(settings).toEqual({
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      password_encryption: 'scram-sha-256',
      fsync: 'on',
    });
    const file = join(dataDir, 'cluster', 'pgpass');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(dataDir, 'cluster')).mode & 0o077).toBe(0);
    expect(readFileSync(file, 'utf8')).toContain(new URL(url).password);
    const wrong = new URL(url);
    wrong.password = 'guess';
    await expect(use(wrong.href, async (db) => await checkServer(db))).rejects.toThrow(/password/);
    const { rows } = await use(
      url,
      async (db) =>
        await sql`select lower('ÄÉ') as folded, array(select w from unnest(array['b', 'B', 'ä', 'a']) w order by w) as sorted`.execute(
          db.kysely,
        ),
    );
    expect(rows).toEqual([{ folded: 'äé', sorted: ['B', 'a', 'b', 'ä'] }]);
  });
});

test.skipIf(spawnSync('psql', ['--version']).status !== 0)('psqlCommand asks for no password', async () => {
  seed();
  const { psqlCommand } = await open();
  const answer = spawnSync('/bin/sh', ['-c', `${psqlCommand} -w -tAc 'select 6 * 7'`], { encoding: 'utf8' });
  expect(answer).toMatchObject({ stdout: '42\n', status: 0 });
});

describe('several processes on one data folder', () => {
  test('one of three processes starts the server in an empty folder, and two processes attach to the server', async () => {
    const children = await Promise.all([openChild(), openChild(), openChild()]);
    expect(children.filter(({ attached }) => attached)).toHaveLength(2);
    expect(new Set(children.map(({ url }) => url)).size).toBe(1);
    expect(readdirSync(folder).filter((name) => name.startsWith('cluster'))).toEqual(['cluster']);
    const [starter, ...others] = children.toSorted((a, b) => Number(a.attached) - Number(b.attached));
    for (const other of others) expect(await other.close()).toBe(0);
    await note(starter?.url ?? '', 'still there');
    expect(await starter?.close()).toBe(0);
    expect(findPostmaster(join(folder, 'cluster', 'data'))).toBeUndefined();
  });

  test('three calls of openEmbedded in one process start one server', async () => {
    seed();
    const all = await Promise.all([open(), open(), open()]);
    expect(all.filter(({ attached }) => !attached)).toHaveLength(1);
  });

  describe('with an existing mirror', () => {
    beforeEach(seed);

    test('the server survives the process that started it, and stops with the last attached process', async () => {
      const starter = await openChild();
      const [longer, shorter] = [await openChild(), await openChild()];
      expect(await starter.close()).toBe(0);
      const { pid } = serverOf(starter);
      await note(longer.url, 'in peace');
      expect(await shorter.close()).toBe(0);
      expect(await notes(longer.url)).toEqual(['in peace']);
      expect(serverOf(starter).pid).toBe(pid);
      expect(await longer.close()).toBe(0);
      expect(findPostmaster(dataOf(starter))).toBeUndefined();
    });

    test('a page runs on after the process that started the server has ended, and the server stops with the page', async () => {
      const starter = await openChild();
      await use(starter.url, migrate);
      const env = {
        MUSTERD_DATA_DIR: folder,
        MUSTERD__log__level: 'silent',
        API_SECRET_ID: '',
        API_SECRET: '',
      };
      const page = startMusterd(['page', '--port', '0'], env);
      closers.push(() => page.process.kill('SIGKILL'));
      const url = await eventually('the page is served', () => /http:\S+/.exec(page.output().stdout)?.[0]);
      expect(await starter.close()).toBe(0);
      expect((await fetch(url)).status).toBe(200);
      page.process.kill('SIGTERM');
      expect(await page.ended).toMatchObject({ code: 0, stderr: '' });
      expect(findPostmaster(dataOf(starter))).toBeUndefined();
    });

    test('openEmbedded returns a running server even while the server is being stopped, and no write is lost', async () => {
      const starter = await open();
      await note(starter.url, 'first');
      const rounds = Array.from({ length: 4 }, async () => {
        const child = await openChild();
        await note(child.url, 'here');
        expect(await child.close()).toBe(0);
      });
      await starter.close();
      await Promise.all(rounds);
      const last = await open();
      expect(await notes(last.url)).toEqual(['first', 'here', 'here', 'here', 'here']);
    });

    test('a process that is killed while it starts the server leaves no server behind', async () => {
      for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
        const starting = startMusterd(['sql', 'select 1'], { MUSTERD_DATA_DIR: folder });
        await eventually('the server is starting', () => findPostmaster(join(folder, 'cluster', 'data')));
        starting.process.kill(signal);
        await starting.ended;
        await stopped({ dataDir: folder });
      }
      expect(await (await open()).close()).toBeUndefined();
    });
  });
});

/** The processes of the server that hold the shared lock, by which others see who uses it. */
const presentOf = async (url: string) =>
  await use(url, async (db) => {
    const { rows } = await sql<{ pid: number }>`
      select pid from pg_locks where locktype = 'advisory' and mode = 'ShareLock' and granted`.execute(
      db.kysely,
    );
    return rows.map(({ pid }) => pid);
  });
const isPresent = async (url: string) => (await presentOf(url).catch(() => [])).length > 0;

describe('after a crash', () => {
  beforeEach(seed);

  test('an attached process warns and starts the server again when the process that started the server is killed', async () => {
    const starter = await openChild();
    await note(starter.url, 'before');
    const warnings: string[] = [];
    const guest = await open({ onWarning: (words) => warnings.push(words) });
    expect(guest.attached).toBe(true);
    const { pid } = serverOf(guest);
    await starter.kill();
    await eventually('another server', () => {
      const running = findPostmaster(dataOf(guest));
      return running?.status === 'ready' && running.pid !== pid;
    });
    expect(await notes(guest.url)).toEqual(['before']);
    expect(warnings).toEqual([expect.stringMatching(/has ended/)]);
    await eventually('there again', async () => await isPresent(guest.url));
    await guest.close();
    expect(findPostmaster(dataOf(guest))).toBeUndefined();
  });

  test('musterd finds all data when it is killed and started again at once', async () => {
    const child = await openChild();
    await note(child.url, 'before');
    await child.kill();
    const next = await open();
    expect(await notes(next.url)).toEqual(['before']);
  });

  test('close() succeeds after the server was killed, and the next start finds all data', async () => {
    const first = await open();
    await note(first.url, 'before');
    process.kill(serverOf(first).pid, 'SIGKILL');
    await first.close();
    const next = await open();
    expect(next.attached).toBe(false);
    expect(await notes(next.url)).toEqual(['before']);
  });

  test('the mirror loses only the open transaction when musterd and the server are killed during a write', async () => {
    const child = await openChild();
    await note(child.url, 'before');
    const db = createDatabase({ url: child.url, ...patient });
    closers.push(async () => await db.close());
    const writes = db.transaction(async (tx) => {
      await sql`insert into public.notes select 'lost' from generate_series(1, 1000000)`.execute(tx);
      // It does not come to the commit before it is killed.
      await sql`select pg_sleep(3600)`.execute(tx);
    });
    const committed = writes.then(
      () => true,
      (error: unknown) => error instanceof MusterdError && 'unknown',
    );
    await eventually('it writes', async () => {
      const { rows } = await use(
        child.url,
        async (other) =>
          await sql`
            select from pg_locks where relation = 'public.notes'::regclass and mode = 'RowExclusiveLock'`.execute(
            other.kysely,
          ),
      );
      return rows.length > 0;
    });
    const { pid } = serverOf(child);
    process.kill(pid, 'SIGKILL');
    await child.kill();
    expect(await committed).toBe('unknown');
    const next = await open();
    expect(await notes(next.url)).toEqual(['before']);
  });

  test('attached processes register again when the server restarts after one of its backends was killed', async () => {
    const starter = await openChild();
    const guest = await open();
    const before = await eventually('present', async () => await presentOf(guest.url));
    expect(before).toHaveLength(2);
    process.kill(before[0] ?? 0, 'SIGKILL');
    await eventually('present again', async () => {
      const now = await presentOf(guest.url).catch(() => []);
      return now.length === 2 && !now.some((pid) => before.includes(pid));
    });
    expect(await starter.close()).toBe(0);
    expect(serverOf(guest).status).toBe('ready');
  });

  describe('openEmbedded with a stale lock file', () => {
    const owner = () => statSync(join(folder, 'cluster', 'data'));
    const identity = () => (isRoot ? { uid: owner().uid, gid: owner().gid } : {});
    /** Starts over such a lock file, and finds what was there. */
    const startOver = async (content: string, writtenAt = new Date()) => {
      const lock = join(folder, 'cluster', 'data', 'postmaster.pid');
      writeFileSync(lock, content, { mode: 0o600 });
      utimesSync(lock, writtenAt, writtenAt);
      if (isRoot) chownSync(lock, owner().uid, owner().gid);
      const { url } = await open();
      await use(url, (db) => sql`select from public.made`.execute(db.kysely));
    };
    const claim = (pid = 0) =>
      startOver(lockOfMade.replace(/^\d+/, String(pid)).replaceAll(made, folder), new Date(0));

    test('starts if the process in the file has ended', () => claim(spawnSync('true').pid));

    test('starts if another process of the user has the process id in the file', async () => {
      const stranger = spawn('sleep', ['600'], { ...identity(), stdio: 'ignore' });
      closers.push(() => stranger.kill('SIGKILL'));
      await claim(stranger.pid);
      expect(stranger.exitCode).toBeNull();
    });

    test('starts if the process in the file is a zombie', async () => {
      const careless = spawn('/bin/sh', ['-c', 'sleep 1 & echo $!; exec sleep 600'], {
        ...identity(),
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      closers.push(() => careless.kill('SIGKILL'));
      const zombie = Number(
        await new Promise<Buffer>((resolve) => {
          careless.stdout.once('data', resolve);
        }),
      );
      await eventually('it is a zombie', () => {
        const state = spawnSync('ps', ['-o', 'stat=', '-p', String(zombie)], { encoding: 'utf8' }).stdout;
        const stat = `/proc/${zombie}/stat`;
        return state?.startsWith('Z') || (existsSync(stat) && / Z /.test(readFileSync(stat, 'utf8')));
      });
      await claim(zombie);
    });

    test.each(['', 'garbage'])('starts if the file contains only %j', (content) => startOver(content));
  });
});

describe('the port of the embedded server', () => {
  const portOf = ({ url }: { url: string }) => Number(new URL(url).port);
  const file = () => join(folder, 'cluster', 'port');

  test('musterd chooses a port between 20000 and 29999, and uses the same port at the next start', async () => {
    seed();
    rmSync(file());
    const ports = [];
    for (const _ of [1, 2]) {
      const opened = await open();
      ports.push(portOf(opened));
      await opened.close();
    }
    const [port = 0] = ports;
    expect(ports).toEqual([port, port]);
    expect(port).toBeGreaterThanOrEqual(20_000);
    expect(port).toBeLessThan(30_000);
    expect(readFileSync(file(), 'utf8')).toBe(`${port}\n`);
  });

  test('a copied data folder gets another port, with a warning, while the server of the original folder uses the port', async () => {
    seed();
    const original = await open();
    await note(original.url, 'before');
    const copy = join(folder, 'copy');
    spawnSync('cp', ['-a', made, copy]);
    spawnSync('cp', ['-a', join(folder, 'cluster'), copy]);
    const warnings: string[] = [];
    const opened = await open({ dataDir: copy, onWarning: (words) => warnings.push(words) });
    expect(opened.attached).toBe(false);
    await note(opened.url, 'in the copy');
    expect(await notes(original.url)).toEqual(['before']);
    const [taken, chosen] = [portOf(original), portOf(opened)];
    expect(warnings).toEqual([
      expect.stringMatching(new RegExp(`port ${taken} .*on ${chosen} .*the number in .*/port$`)),
    ]);
    await original.close();
    await opened.close();
    expect(portOf(await open({ dataDir: copy }))).toBe(taken);
  });

  test.each(['', 'nonsense', '70000'])('musterd replaces a port file that contains %j', async (content) => {
    seed();
    writeFileSync(file(), content);
    const opened = await open();
    expect(readFileSync(file(), 'utf8')).toBe(`${portOf(opened)}\n`);
  });
});

describe('an error of openEmbedded', () => {
  test('hints at pg_dump if another version of Postgres made the mirror', async () => {
    seed();
    writeFileSync(join(folder, 'cluster', 'data', 'PG_VERSION'), '14\n');
    const error = await failureOf(openEmbedded({ dataDir: folder }));
    expect(error.message).toMatch(/initialized by PostgreSQL version 14, which is not compatible/);
    expect(error.hint).toMatch(/pg_dump/);
  });

  test('hints at DATABASE_URL on a platform without Postgres binaries', async () => {
    const platform = Object.getOwnPropertyDescriptor(process, 'arch') ?? {};
    Object.defineProperty(process, 'arch', { ...platform, value: 'pdp11' });
    try {
      const error = await failureOf(openEmbedded({ dataDir: folder }));
      expect(error.code).toBe('mirror');
      expect(error.hint).toMatch(/DATABASE_URL/);
    } finally {
      Object.defineProperty(process, 'arch', platform);
    }
  });

  test('names the folder in the option bindir if the folder contains no Postgres', async () => {
    const error = await failureOf(openEmbedded({ dataDir: folder, bindir: folder }));
    expect(error.message).toContain(folder);
  });

  test('carries the code "mirror" if the data folder is a file', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    expect((await failureOf(openEmbedded({ dataDir: file }))).code).toBe('mirror');
  });

  test.runIf(isRoot)('names MUSTERD_DATA_DIR if the server’s account cannot reach the folder', async () => {
    chmodSync(folder, 0o700);
    const below = join(folder, 'mirror');
    const error = await failureOf(openEmbedded({ dataDir: below }));
    expect(error.hint).toMatch(/MUSTERD_DATA_DIR/);
  });

  test.runIf(isRoot)('leaves foreign files unchanged, and carries the code "mirror"', async () => {
    writeFileSync(join(folder, 'thesis.txt'), '');
    const error = await failureOf(openEmbedded({ dataDir: folder }));
    expect(error.code).toBe('mirror');
    expect(statSync(folder).uid).toBe(0);
    expect(readdirSync(folder)).toEqual(['thesis.txt']);
  });
});

describe('an ephemeral server', () => {
  const gone = async (embedded: { dataDir: string }) =>
    await eventually('its folder is gone', () => !existsSync(embedded.dataDir));

  test('removes its folder when it is closed', async () => {
    const opened = await openEmbedded({ ephemeral: true });
    await note(opened.url, 'brief');
    await opened.close();
    expect(existsSync(opened.dataDir)).toBe(false);
    await opened.close();
  });

  test('stops, and its folder is removed, when the process that opened the server is killed', async () => {
    const child = await openElsewhere({ embedded: { ephemeral: true } });
    const { pid } = serverOf(child);
    await child.kill();
    await gone(child);
    await eventually('its server is gone', () => {
      try {
        process.kill(pid, 0);
        return false;
      } catch {
        return true;
      }
    });
  });
});

describe('unpacking the Postgres binaries', () => {
  const cache = () => {
    const path = join(folder, 'cache');
    mkdirSync(path);
    chmodSync(path, 0o755);
    chmodSync(folder, 0o755);
    return path;
  };
  const data = (name: string) => {
    const path = join(folder, name);
    spawnSync('cp', ['-a', made, path]);
    return path;
  };

  test('deletes no folder if the cache was empty, because another process may just have finished a copy', () => {
    vi.stubEnv('CACHE_DIRECTORY', cache());
    const deletes = vi.spyOn(fs, 'rmSync');
    syncBuiltinESMExports();
    try {
      expect(existsSync(findBinaries(() => undefined))).toBe(true);
      expect(deletes).not.toHaveBeenCalled();
    } finally {
      deletes.mockRestore();
      syncBuiltinESMExports();
      vi.unstubAllEnvs();
    }
  });

  test('two processes at once leave one complete copy, and the next start repairs a copy that lacks files', async () => {
    const environment = { CACHE_DIRECTORY: cache() };
    const children = await Promise.all(
      ['a', 'b'].map(async (name) => await openChild({ environment, embedded: { dataDir: data(name) } })),
    );
    for (const child of children) expect(await child.close()).toBe(0);
    const copies = readdirSync(environment.CACHE_DIRECTORY);
    expect(copies).toEqual([expect.stringMatching(/^pg-18\.[^.]+/)]);

    rmSync(join(environment.CACHE_DIRECTORY, copies[0] ?? '', 'share'), { recursive: true });
    const child = await openChild({ environment, embedded: { dataDir: join(folder, 'a') } });
    expect(child.steps).toEqual([expect.stringMatching(/^unpacking/)]);
    expect(await child.close()).toBe(0);
    expect(readdirSync(environment.CACHE_DIRECTORY)).toEqual(copies);
  });
});

describe('usableFolder', () => {
  test('returns the folders in STATE_DIRECTORY and CACHE_DIRECTORY of systemd', () => {
    expect(usableFolder('data', { STATE_DIRECTORY: `${folder}/s:/other` })).toBe(`${folder}/s`);
    expect(usableFolder('cache', { CACHE_DIRECTORY: `${folder}/c` })).toBe(`${folder}/c`);
  });

  test.skipIf(isRoot)('returns the folders in XDG_DATA_HOME and XDG_CACHE_HOME', () => {
    expect(usableFolder('data', { XDG_DATA_HOME: folder })).toBe(join(folder, 'musterd'));
    expect(usableFolder('cache', { XDG_CACHE_HOME: folder })).toBe(join(folder, 'musterd'));
  });
});

/** As a user without rights: who runs the tests, or for root `nobody`. */
describe('openEmbedded as a user other than root', () => {
  const nobody = () => {
    const [uid, gid] = ['-u', '-g'].map((flag) =>
      Number(spawnSync('id', [flag, 'nobody'], { encoding: 'utf8' }).stdout),
    );
    return { uid: uid ?? 65_534, gid: gid ?? 65_534 };
  };
  /** Where that user may write; and, for root, binaries that they can read even if they cannot read node_modules. */
  const prepare = () => {
    const home = join(folder, 'home');
    mkdirSync(home, { mode: 0o700 });
    if (!isRoot) return { home, options: {}, embedded: {} };
    const user = nobody();
    chmodSync(folder, 0o755);
    chownSync(home, user.uid, user.gid);
    return { home, options: { user }, embedded: { bindir: findBinaries(() => undefined) } };
  };
  const plain = (home: string) => ({
    HOME: home,
    XDG_DATA_HOME: undefined,
    XDG_CACHE_HOME: undefined,
    MUSTERD_DATA_DIR: undefined,
    STATE_DIRECTORY: undefined,
    CACHE_DIRECTORY: undefined,
    TMPDIR: home,
  });
  const start = async (environment: Record<string, string | undefined>, before = () => {}) => {
    const { options, embedded } = prepare();
    before();
    const child = await openElsewhere({ ...options, embedded, environment });
    closers.push(async () => await child.kill());
    return child;
  };

  test('uses a folder in the user’s home, and root later runs the server of the folder with the user’s account', async () => {
    const child = await start(plain(join(folder, 'home')));
    expect(child.dataDir).toBe(join(folder, 'home', '.local', 'share', 'musterd'));
    await note(child.url, 'mine');
    expect(await child.close()).toBe(0);
    if (!isRoot) return;
    chmodSync(join(folder, 'home'), 0o755);
    for (const part of ['.local', '.local/share']) chmodSync(join(folder, 'home', part), 0o755);
    const { uid } = statSync(dataOf(child));
    const root = await open({ dataDir: child.dataDir });
    expect(await notes(root.url)).toEqual(['mine']);
    expect(statSync(join(dataOf(child), 'postmaster.pid')).uid).toBe(uid);
    await root.close();
  });

  test('uses a private folder in TMPDIR if the user has no home', async () => {
    const child = await start({ ...plain(join(folder, 'home')), HOME: '/nonexistent' });
    const uid = isRoot ? nobody().uid : process.getuid?.();
    expect(child.dataDir).toBe(join(folder, 'home', `musterd-${uid}`, 'data'));
    expect(statSync(join(child.dataDir, '..')).mode & 0o777).toBe(0o700);
    expect(await child.close()).toBe(0);
  });

  test('refuses a folder below TMPDIR if every user may write to the folder', async () => {
    const uid = isRoot ? nobody().uid : process.getuid?.();
    const home = join(folder, 'home');
    const trap = join(home, `musterd-${uid}`);
    const outcome = start({ ...plain(home), HOME: '/nonexistent' }, () => {
      mkdirSync(trap);
      chmodSync(trap, 0o777);
    });
    await expect(outcome).rejects.toThrow(/No folder is usable/);
  });
});
