import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Readable } from 'node:stream';
import { inspect } from 'node:util';
import { CompiledQuery, sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createSharedQueue } from '../../src/daemon/shared-queue.ts';
import { enter } from '../../src/embedded/own-client.ts';
import { readingUrl } from '../../src/embedded/reading-login.ts';
import { MusterdError } from '../../src/errors.ts';
import { checkServer } from '../../src/mirror/db/check-server.ts';
import {
  createDatabase,
  type Database,
  type DatabaseOptions,
  ping,
  type Queryable,
} from '../../src/mirror/db/database.ts';
import { connectionOptions, readConnectionUrl } from '../../src/mirror/db/database-url.ts';
import { createListener } from '../../src/mirror/team/listen.ts';
import { sqlState } from '../../src/mirror/db/database-errors.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { failureOf } from '../support/failure-of.ts';
import { holdTimers } from '../support/hold-timers.ts';
import { hungAfterMs } from '../support/limits.ts';
import { servers } from '../support/servers.ts';
import { createTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { useDatabase } from '../support/use-database.ts';

describe.each(servers())('createDatabase on $name', (server) => {
  const database = useDatabase({ server, empty: true });
  let db: Database;
  const closers: (() => Promise<void>)[] = [];

  /** Another pool on the same database, closed at the end. */
  function open(options: Partial<DatabaseOptions> = {}): Database {
    const opened = createDatabase({ url: database.url, applicationName: 'musterd test', ...options });
    closers.push(async () => await opened.close());
    return opened;
  }

  async function openProxy(): Promise<{ proxy: TcpProxy; url: string }> {
    const url = new URL(database.url);
    const proxy = await createTcpProxy({ host: url.hostname, port: Number(url.port) });
    closers.push(async () => await proxy.close());
    url.port = String(proxy.port);
    return { proxy, url: url.href };
  }

  beforeAll(async () => {
    db = database.db;
    await sql`create table public.t (id bigint primary key, n int not null)`.execute(db.kysely);
  });
  beforeEach(async () => {
    await sql`truncate public.t`.execute(db.kysely);
    await sql`insert into public.t values (1, 0), (2, 0)`.execute(db.kysely);
  });
  afterAll(async () => {
    for (const closer of closers.toReversed()) await closer();
  });

  const readFrom = async (on: Queryable) =>
    (await sql<{ id: bigint; n: number }>`select id, n from public.t order by id`.execute(on)).rows;
  const read = () => readFrom(db.kysely);

  test('reads bigints, arrays, dates, times, JSON and numerics without loss', async () => {
    const { rows } = await sql`
      select 9007199254740993::bigint as big, null::bigint as none,
             array[[9007199254740993, null], [-1, 2]]::bigint[] as bigs, date '2024-03-31' as day,
             timestamptz '2024-03-31 01:02:03.456+00' as moment, '{"a": [1, null]}'::jsonb as json,
             1.10::numeric as exact`.execute(db.kysely);
    expect(rows).toEqual([
      {
        big: 9007199254740993n,
        none: null,
        bigs: [
          [9007199254740993n, null],
          [-1n, 2n],
        ],
        day: '2024-03-31',
        moment: new Date('2024-03-31T01:02:03.456Z'),
        json: { a: [1, null] },
        exact: '1.10',
      },
    ]);
  });

  test('accepts bigints and arrays of bigints as parameters without loss (D8)', async () => {
    const { rows } = await sql`
      select ${9007199254740993n}::bigint as one, ${[1n, 9007199254740993n]}::bigint[] as many`.execute(
      db.kysely,
    );
    expect(rows).toEqual([{ one: 9007199254740993n, many: [1n, 9007199254740993n] }]);
  });

  test('does not change the type parsers of pg for other code in the process', async () => {
    const { default: pg } = await import('pg');
    expect(pg.types.getTypeParser(20)('12')).toBe('12');
  });

  describe('transaction', () => {
    test('a transaction sets its timeouts, turns JIT off, and restores the settings of the session at its end (D17)', async () => {
      const one = open({
        maxConnections: 1,
        statementTimeoutMs: 1_234,
        lockTimeoutMs: 567,
        idleTimeoutMs: 8_901,
      });
      const settings = sql`
        select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
               current_setting('idle_in_transaction_session_timeout') as idle, current_setting('jit') as jit`;
      await sql`set jit = on`.execute(one.asTyped);
      const before = (await settings.execute(one.asTyped)).rows;
      const limits = [{ statement: '1234ms', lock: '567ms', idle: '8901ms', jit: 'off' }];
      expect(await one.transaction(async (tx) => (await settings.execute(tx)).rows)).toEqual(limits);
      expect((await settings.execute(one.asTyped)).rows).toEqual(before);
      expect((await settings.execute(one.kysely)).rows).toEqual(limits);
      expect((await settings.execute(one.asTyped)).rows).toEqual(before);
    });

    test('fails a transaction whose code swallowed an SQL error, since Postgres rolls the transaction back (D4)', async () => {
      const outcome = db.transaction(async (tx) => {
        await sql`update public.t set n = 9`.execute(tx);
        await sql`select 1/0`.execute(tx).catch(() => undefined);
      });
      expect(await failureOf(outcome)).toMatchObject({
        code: 'mirror',
        message: /swallowed/ as unknown as string,
      });
      expect((await read()).map(({ n }) => n)).toEqual([0, 0]);
    });

    test('fails a transaction if a deferred constraint refuses the commit', async () => {
      await sql`create table if not exists public.child (id bigint references public.t deferrable initially deferred)`.execute(
        db.kysely,
      );
      const outcome = db.transaction(
        async (tx) => await sql`insert into public.child values (99)`.execute(tx),
      );
      await expect(outcome).rejects.toMatchObject({ code: '23503' });
      await sql`drop table public.child`.execute(db.kysely);
    });

    test('rolls a transaction back if its last statement fails, and repeats the transaction after a temporary error (D7)', async () => {
      let runs = 0;
      const add = (id: bigint) =>
        db.transaction(async (tx) => {
          runs += 1;
          await sql`update public.t set n = n + 1`.execute(tx);
          const word = runs < 3 ? '40001' : '00000';
          await sql`insert into public.t select ${id}, 9 where ${word} = '00000' or public.fail(${word})`.execute(
            tx,
          );
        });
      await sql`create or replace function public.fail(code text) returns boolean language plpgsql as
        $$ begin raise exception 'again' using errcode = code; end $$`.execute(db.kysely);
      await expect(add(1n)).rejects.toMatchObject({ code: '23505' });
      expect(runs).toBe(3);
      expect((await read()).map(({ n }) => n)).toEqual([0, 0]);
      runs = 0;
      await add(3n);
      expect(runs).toBe(3);
      expect((await read()).map(({ n }) => n)).toEqual([1, 1, 9]);
      await sql`drop function public.fail(text)`.execute(db.kysely);
    });

    test('repeats a transaction after a deadlock (D7)', async () => {
      const both = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
      let runs = 0;
      const move = (first: bigint, second: bigint, mine: 0 | 1) =>
        db.transaction(async (tx) => {
          runs += 1;
          await sql`set local deadlock_timeout = '10ms'`.execute(tx);
          await sql`update public.t set n = n + 1 where id = ${first}`.execute(tx);
          both[mine].resolve();
          await both[mine === 0 ? 1 : 0].promise;
          await sql`update public.t set n = n + 1 where id = ${second}`.execute(tx);
        });
      await Promise.all([move(1n, 2n, 0), move(2n, 1n, 1)]);
      expect(runs).toBeGreaterThan(2);
      expect((await read()).map(({ n }) => n)).toEqual([2, 2]);
    });

    test.each(['serializable', 'repeatable read'])(
      'runs a transaction at read committed even if the default of the database is %s',
      async (level) => {
        const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(db.kysely);
        const name = sql.id(rows[0]?.name ?? '');
        await sql`alter database ${name} set default_transaction_isolation = ${sql.lit(level)}`.execute(
          db.kysely,
        );
        const strict = open();
        const levelOf = (on: Queryable) => sql`show transaction_isolation`.execute(on);
        try {
          expect((await levelOf(strict.asTyped)).rows).toEqual([{ transaction_isolation: level }]);
          const alone = await levelOf(strict.kysely);
          expect(alone.rows).toEqual([{ transaction_isolation: 'read committed' }]);
          const own = await strict.transaction(levelOf);
          expect(own.rows).toEqual([{ transaction_isolation: 'read committed' }]);
          const asked = await strict.transaction(levelOf, { isolationLevel: 'repeatable read' });
          expect(asked.rows).toEqual([{ transaction_isolation: 'repeatable read' }]);
        } finally {
          await sql`alter database ${name} reset default_transaction_isolation`.execute(db.kysely);
        }
      },
    );

    test('tries three times to get a lock, and then fails with a hint at the locks of another session (D12)', async () => {
      const held = Promise.withResolvers<void>();
      const release = Promise.withResolvers<void>();
      const holder = db.transaction(async (tx) => {
        await sql`lock table public.t`.execute(tx);
        held.resolve();
        await release.promise;
      });
      await held.promise;
      let runs = 0;
      const outcome = db.transaction(
        async (tx) => {
          runs += 1;
          await sql`update public.t set n = 1`.execute(tx);
        },
        { lockTimeoutMs: 30 },
      );
      const error = await failureOf(outcome);
      release.resolve();
      await holder;
      expect(runs).toBe(3);
      expect(error.code).toBe('mirror');
      expect(error.hint).toMatch(/locks/);
      expect(sqlState(error)).toBe('55P03');
    });

    test('a single statement outside a transaction fails with a hint at locks if a lock is not free in time', async () => {
      const impatient = open({ lockTimeoutMs: 30 });
      await db.transaction(async (tx) => {
        await sql`lock table public.t`.execute(tx);
        for (const statement of [sql`select from public.t`, sql`select from public.t where n = ${1}`]) {
          const error = await failureOf(statement.execute(impatient.kysely));
          expect(error.code).toBe('mirror');
          expect(error.hint).toMatch(/locks/);
          expect(sqlState(error)).toBe('55P03');
        }
      });
    });

    test('fails a timed-out single statement with the code "stopped" after a stop signal', async () => {
      const stop = new AbortController();
      const stopped = open({ lockTimeoutMs: 30, statementTimeoutMs: 200, signal: stop.signal });
      stop.abort(new MusterdError('stopped', 'Stopped on request'));
      await db.transaction(async (tx) => {
        await sql`lock table public.t`.execute(tx);
        for (const statement of [sql`select from public.t`, sql`select pg_sleep(30)`])
          expect((await failureOf(statement.execute(stopped.kysely))).code).toBe('stopped');
      });
      expect(await sql`select 1`.execute(stopped.asTyped)).toBeDefined();
    });

    test('fails a statement after its timeout, with a hint that the statement took longer', async () => {
      const outcome = db.transaction(async (tx) => await sql`select pg_sleep(30)`.execute(tx), {
        statementTimeoutMs: 20,
      });
      const error = await failureOf(outcome);
      expect(sqlState(error)).toBe('57014');
      expect(error.hint).toMatch(/took longer/);
    });

    test('fails a transaction that stays idle for longer than its idle timeout (D5)', async () => {
      const impatient = open({ idleTimeoutMs: 20 });
      const outcome = impatient.transaction(async (tx) => {
        const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
        const pid = rows[0]?.pid;
        await eventually('the server ends it', async () => {
          const { rows: found } = await sql`select from pg_stat_activity where pid = ${pid}`.execute(
            db.kysely,
          );
          return found.length === 0;
        });
        await sql`select 1`.execute(tx);
      });
      expect((await failureOf(outcome)).code).toBe('mirror');
    });
  });

  describe('a connection that the server ends', () => {
    const terminate = async (pid: number | undefined) => {
      await sql`select pg_terminate_backend(${pid})`.execute(db.kysely);
      await eventually('it is gone', async () => {
        const { rows } = await sql`select from pg_stat_activity where pid = ${pid}`.execute(db.kysely);
        return rows.length === 0;
      });
    };
    const pidOf = async (from: Parameters<ReturnType<typeof sql>['execute']>[0]) =>
      (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(from)).rows[0]?.pid;

    test('replaces an idle connection that the server ended, and the next query succeeds (D3)', async () => {
      const errors: Error[] = [];
      const other = open({ maxConnections: 1, onConnectionError: (error) => errors.push(error) });
      const pid = await pidOf(other.kysely);
      await terminate(pid);
      await eventually('the pool hears of it', () => errors.length > 0);
      expect(await pidOf(other.kysely)).not.toBe(pid);
    });

    test('fails only the transaction whose connection the server ends (D1, D3)', async () => {
      const other = open({ maxConnections: 1 });
      const outcome = other.transaction(async (tx) => {
        await sql`update public.t set n = 3`.execute(tx);
        await terminate(await pidOf(tx));
        await readFrom(tx);
      });
      expect((await failureOf(outcome)).code).toBe('mirror');
      expect((await readFrom(other.kysely)).map(({ n }) => n)).toEqual([0, 0]);
    });

    test('reports an unknown outcome if the server ends the connection before the commit (D1)', async () => {
      const other = open({ maxConnections: 1 });
      const outcome = other.transaction(async (tx) => {
        await sql`update public.t set n = 3`.execute(tx);
        await terminate(await pidOf(tx));
      });
      expect(await failureOf(outcome)).toMatchObject({
        code: 'mirror',
        hint: expect.stringMatching(/unknown/) as string,
      });
      expect((await read()).map(({ n }) => n)).toEqual([0, 0]);
    });
  });

  describe('when all connections are in use', () => {
    /** Holds the only connection until it is let go. */
    const occupy = async (busy: Database) => {
      const taken = Promise.withResolvers<void>();
      const release = Promise.withResolvers<void>();
      const work = busy.transaction(async () => {
        taken.resolve();
        await release.promise;
      });
      await taken.promise;
      return { release: release.resolve, work };
    };

    test('queries wait for a free connection even beyond the connect timeout, and run in the order of their calls', async () => {
      const busy = open({ maxConnections: 1, connectTimeoutMs: hungAfterMs, freeTimeoutMs: 3 * hungAfterMs });
      const { release, work } = await occupy(busy);
      const timers = holdTimers();
      const order: number[] = [];
      const waiting = [1, 2, 3].map((n) =>
        sql`select 1`.execute(busy.kysely).then(() => {
          order.push(n);
        }),
      );
      await eventually('all of them wait', () => timers.count() === 3);
      await timers.pass(2 * hungAfterMs);
      timers.letGo();
      expect(order).toEqual([]);
      release();
      await Promise.all([work, ...waiting]);
      expect(order).toEqual([1, 2, 3]);
    });

    test('a query fails if no connection becomes free in time, and the next query works once a connection is free', async () => {
      const busy = open({ maxConnections: 1, freeTimeoutMs: 100 });
      const { release, work } = await occupy(busy);
      const error = await failureOf(sql`select 1`.execute(busy.kysely));
      expect(error).toMatchObject({
        code: 'mirror',
        message: expect.stringMatching(/^None of the 1 connections to .* was free within 0.1 s$/) as string,
        hint: expect.stringContaining('daemon.concurrency') as string,
      });
      release();
      await work;
      // Whoever gave up is not let in, and keeps nobody out.
      for (const _ of [1, 2]) await sql`select 1`.execute(busy.kysely);
    });

    test('a connection that failed to open does not occupy a place in the pool', async () => {
      const { proxy, url } = await openProxy();
      const broken = open({ url, maxConnections: 1, freeTimeoutMs: hungAfterMs });
      proxy.onClientBytes = () => 'forward-and-cut';
      for (const _ of [1, 2])
        expect((await failureOf(ping(broken))).message).toMatch(/^Could not connect to Postgres/);
      proxy.onClientBytes = () => 'forward';
      await ping(broken);
    });
  });

  test('reports an unknown outcome if the answer to COMMIT is lost (D2)', async () => {
    const { proxy, url } = await openProxy();
    const other = open({ url });
    proxy.onClientBytes = (bytes) => (bytes.includes('commit\0') ? 'forward-and-cut' : 'forward');
    const outcome = other.transaction(async (tx) => await sql`update public.t set n = 4`.execute(tx));
    expect(await failureOf(outcome)).toMatchObject({
      code: 'mirror',
      message: expect.stringMatching(/commit/) as string,
    });
    await eventually('it is committed', async () => (await read()).every(({ n }) => n === 4));
  });

  test('fails a transaction if the server stops answering, sends no ROLLBACK, and works again afterwards (D6)', async () => {
    const { proxy, url } = await openProxy();
    const other = open({ url, queryTimeoutMs: hungAfterMs, maxConnections: 1 });
    await sql`select 1`.execute(other.kysely);
    const unheard: string[] = [];
    proxy.onClientBytes = (bytes) => {
      unheard.push(bytes.toString('latin1'));
      return 'swallow';
    };
    const timers = holdTimers();
    const outcome = failureOf(other.transaction(async (tx) => await sql`select 1`.execute(tx)));
    await eventually('it is asked', () => unheard.length > 0);
    await timers.pass(hungAfterMs);
    timers.letGo();
    expect((await outcome).code).toBe('mirror');
    // It is waited for once, and not once more for the ROLLBACK.
    expect(unheard.join('')).toMatch(/begin isolation level/i);
    expect(unheard.join('')).not.toMatch(/rollback/i);
    proxy.onClientBytes = () => 'forward';
    expect((await sql`select 1 as one`.execute(other.kysely)).rows).toEqual([{ one: 1 }]);
  });

  test('fails a COPY if the server stops answering, and can copy again afterwards', async () => {
    const { proxy, url } = await openProxy();
    const other = open({ url, queryTimeoutMs: hungAfterMs, maxConnections: 1 });
    const copy = (lines: readonly string[]) =>
      other.transaction(async (tx) => {
        await tx.executeQuery(CompiledQuery.raw('create temp table few (n int)'));
        const source = Readable.from(lines.map((line) => Buffer.from(line)));
        return tx.executeQuery(CompiledQuery.raw('copy few from stdin', [source]));
      });
    let isCopied = false;
    proxy.onClientBytes = (bytes) => {
      isCopied ||= bytes.includes('copy few');
      return bytes.includes('copy few') ? 'swallow' : 'forward';
    };
    const timers = holdTimers();
    const outcome = failureOf(copy(['1\n']));
    await eventually('it is copied', () => isCopied);
    await timers.pass(hungAfterMs);
    timers.letGo();
    expect((await outcome).code).toBe('mirror');
    proxy.onClientBytes = () => 'forward';
    expect((await copy(['1\n2\n', '3\n'])).numAffectedRows).toBe(3n);
  });

  test('sends no startup parameter that a PgBouncer would refuse (D17)', async () => {
    const { proxy, url } = await openProxy();
    const other = open({ url, statementTimeoutMs: hungAfterMs });
    await sql`select 1`.execute(other.kysely);
    const bytes = proxy.seen();
    const startup = bytes.subarray(8, bytes.readInt32BE(0)).toString('latin1').split('\0');
    const names = startup.filter((_, index) => index % 2 === 0).filter((name) => name !== '');
    expect(names.toSorted()).toEqual(['application_name', 'client_encoding', 'database', 'user']);
  });

  test('close() waits for a running transaction, and can be called twice', async () => {
    const other = open();
    const inside = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const work = other.transaction(async (tx) => {
      inside.resolve();
      await goOn.promise;
      return (await sql<{ n: number }>`select 1 as n`.execute(tx)).rows;
    });
    await inside.promise;
    const closing = other.close();
    // Whoever does not wait has closed by then.
    await new Promise(setImmediate);
    goOn.resolve();
    await closing;
    expect(await work).toEqual([{ n: 1 }]);
    await other.close();
    await createDatabase({ url: database.url }).close();
  });

  describe('a connection that fails', () => {
    const password = 'S3cret-canary';
    const attempt = async (change: (url: URL) => void, options: Partial<DatabaseOptions> = {}) => {
      const url = new URL(database.url);
      change(url);
      const other = open({ url: url.href, ...options });
      const error = await failureOf(checkServer(other));
      expect(error.code).toBe('mirror');
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(url.password || 'S3cret-canary');
      return error;
    };

    test('fails with a hint at the password if the password is wrong', async () => {
      const error = await attempt((url) => {
        url.password = password;
      });
      expect(error.hint).toMatch(/password/);
      expect(error.message).toContain(new URL(database.url).host);
    });

    test.each<[string, { [Part in 'password' | 'pathname' | 'port' | 'search']?: string }, RegExp, RegExp]>([
      ['the password if it is missing', { password: '' }, /./, /password/],
      ['creating the database if it does not exist', { pathname: '/nowhere' }, /./, /Create the database/],
      ['DATABASE_URL if nobody listens at the port', { port: '9' }, /ECONNREFUSED/, /DATABASE_URL/],
      ['sslmode=disable if the server has no TLS', { search: 'sslmode=require' }, /./, /sslmode=disable/],
      ['a missing certificate', { search: 'sslmode=verify-full&sslrootcert=/nowhere/ca.pem' }, /ENOENT/, /./],
    ])('fails with a hint at the cause or the remedy: %s', async (_, change, message, hint) => {
      const error = await attempt((url) => Object.assign(url, change));
      expect(error.message).toMatch(message);
      expect(error.hint).toMatch(hint);
    });

    test('fails with a timeout if the server never answers (D6)', async () => {
      const { proxy, url } = await openProxy();
      proxy.onClientBytes = () => 'swallow';
      const error = await attempt(
        (other) => {
          other.port = new URL(url).port;
        },
        { connectTimeoutMs: 100 },
      );
      expect(error.message).toMatch(/timeout/);
    });

    const messages = { cleartext: [0, 0, 0, 3], MD5: [0, 0, 0, 5, 1, 2, 3, 4] };
    test.each(Object.entries(messages))(
      'sends no password to a foreign server that requests the password as %s (S21)',
      async (_, asked) => {
        let heard = '';
        const impostor = createServer((socket) => {
          socket.on('data', (bytes: Buffer) => {
            heard += bytes.toString('latin1');
          });
          socket.on('error', () => {});
          socket.once('data', () => socket.write(Buffer.from([0x52, 0, 0, 0, asked.length + 4, ...asked])));
        }).listen(0, '127.0.0.1');
        await once(impostor, 'listening');
        onTestFinished(() => void impostor.close());
        const { port } = impostor.address() as AddressInfo;
        const listener = new URL(server.url);
        const error = await attempt((url) => {
          [url.port, url.password] = [String(port), 'a-canary'];
          listener.href = url.href;
        });
        expect([error.message, error.hint]).toEqual([
          expect.stringContaining('it asks for the password or its MD5'),
          expect.stringContaining('scram-sha-256'),
        ]);
        const lost = await new Promise<Error>((resolve) => {
          const listening = createListener({
            url: listener.href,
            onEdit: () => {},
            onListening: () => {},
            onLost: resolve,
          });
          onTestFinished(() => listening.close());
        });
        expect(lost.message).toContain('it asks for the password or its MD5');
        const queue = createSharedQueue({
          connection: connectionOptions(readConnectionUrl(listener.href)),
          migrate: true,
          concurrency: 1,
          work: async () => {},
          onError: () => {},
        });
        await expect(queue).rejects.toThrow('it asks for the password or its MD5');
        const own = enter('a-canary', port);
        await expect(own).rejects.toThrow('not our Postgres');
        await expect(readingUrl(listener.href)).rejects.toThrow('not our Postgres');
        // What is heard is who wants in, each time, and no message with a password or what is made of it.
        expect(heard.match(/user\0/g)?.length).toBeGreaterThanOrEqual(5);
        expect(heard).not.toMatch(/canary|md5|p\0\0/);
      },
    );
  });

  describe('checkServer', () => {
    test('accepts a supported server', async () => {
      await expect(checkServer(db)).resolves.toBeUndefined();
    });

    test.each([
      { setting: sql`default_transaction_read_only = on`, words: /read-only/ },
      { setting: sql`datestyle = 'German'`, words: /Dates/ },
    ])(
      'refuses a server that is read-only or has another date style, with an error that matches $words (D10, D14)',
      async ({ setting, words }) => {
        const other = await createTestDatabase({ server, empty: true });
        try {
          const name = new URL(other.url).pathname.slice(1);
          await sql`alter database ${sql.id(name)} set ${setting}`.execute(other.db.kysely);
          const fresh = createDatabase({ url: other.url });
          const error = await failureOf(checkServer(fresh));
          await fresh.close();
          expect(error.message).toMatch(words);
        } finally {
          await other.close();
        }
      },
    );

    test('refuses a database with the encoding LATIN1 (D14)', async () => {
      const name = `latin_${process.pid}`;
      const provider = server.major >= 17 ? sql`locale_provider 'libc'` : sql``;
      await sql`
        create database ${sql.id(name)} encoding 'LATIN1' locale 'C' ${provider} template template0`.execute(
        db.asTyped,
      );
      const url = new URL(database.url);
      url.pathname = `/${name}`;
      const latin = createDatabase({ url: url.href });
      const error = await failureOf(checkServer(latin));
      await latin.close();
      await sql`drop database ${sql.id(name)} with (force)`.execute(db.asTyped);
      expect(error.message).toMatch(/LATIN1/);
    });
  });
});
