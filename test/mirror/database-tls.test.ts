import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createSharedQueue } from '../../src/daemon/shared-queue.ts';
import { createDatabase } from '../../src/mirror/db/database.ts';
import { connectionOptions, readConnectionUrl } from '../../src/mirror/db/database-url.ts';
import { type Embedded, openEmbedded } from '../../src/embedded/embedded.ts';
import { createListener } from '../../src/mirror/team/listen.ts';
import { eventually } from '../support/eventually.ts';

/** Certificates are made here, since those in a repository end. */
describe.skipIf(spawnSync('openssl', ['version']).status !== 0)('a connection to a server with TLS', () => {
  let server: Embedded;
  let folder: string;

  const openssl = (args: string) => {
    const { status, stderr } = spawnSync('openssl', args.split(' '), { cwd: folder, encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'musterd-tls-'));
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, 'names'), 'subjectAltName=IP:127.0.0.1');
    openssl('req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=ca');
    openssl('req -newkey rsa:2048 -nodes -keyout key.pem -out request -subj /CN=server');
    const signer = '-CA ca.pem -CAkey ca.key -CAcreateserial';
    openssl(`x509 -req -in request -out cert.pem ${signer} -extfile names`);
    server = await openEmbedded({ ephemeral: true });
    const { uid, gid } = statSync(join(server.dataDir, 'cluster', 'data'));
    if (process.getuid?.() === 0) chownSync(join(folder, 'key.pem'), uid, gid);
    chmodSync(join(folder, 'key.pem'), 0o600);
    const admin = createDatabase({ url: server.url });
    for (const [name, value] of [
      ['ssl_cert_file', join(folder, 'cert.pem')],
      ['ssl_key_file', join(folder, 'key.pem')],
      ['ssl', 'on'],
    ] as const) {
      // ALTER SYSTEM takes no parameters.
      await sql`alter system set ${sql.id(name)} = ${sql.id(value)}`.execute(admin.asTyped);
    }
    await sql`select pg_reload_conf()`.execute(admin.asTyped);
    await eventually('TLS is on', async () => (await connect('sslmode=no-verify')).encrypted);
    await admin.close();
  });
  afterAll(async () => {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function connect(
    query: string,
    host = '127.0.0.1',
  ): Promise<{ encrypted?: boolean; error?: string }> {
    const url = new URL(server.url);
    url.hostname = host;
    url.search = query.replace('CA', join(folder, 'ca.pem'));
    const db = createDatabase({ url: url.href });
    try {
      const { rows } = await sql<{ ssl: boolean }>`
        select ssl from pg_stat_ssl where pid = pg_backend_pid()`.execute(db.kysely);
      return rows[0] === undefined ? {} : { encrypted: rows[0].ssl };
    } catch (error) {
      return { error: error instanceof Error ? error.message : String(error) };
    } finally {
      await db.close();
    }
  }

  /** What a listener for edits is told first. */
  const heardBy = async (search: string) => {
    const url = new URL(server.url);
    url.search = search;
    const heard = Promise.withResolvers<string>();
    const listener = createListener({
      url: url.href,
      onEdit: () => undefined,
      onListening: () => heard.resolve('listening'),
      onLost: ({ message }) => heard.resolve(message),
    });
    const words = await heard.promise;
    await listener.close();
    return words;
  };

  test.each(['require', 'verify-ca', 'verify-full'])(
    'sslmode=%s accepts only a certificate of the given authority for the host of the URL (S55)',
    async (mode) => {
      expect(await connect(`sslmode=${mode}&sslrootcert=CA`)).toEqual({ encrypted: true });
      expect((await connect(`sslmode=${mode}`)).error).toMatch(/certificate/);
      expect((await connect(`sslmode=${mode}&sslrootcert=CA`, 'localhost')).error).toMatch(/altnames/);
    },
  );

  test('sslmode=no-verify encrypts, and sslmode=disable sends plain text', async () => {
    expect(await connect('sslmode=no-verify', 'localhost')).toEqual({ encrypted: true });
    expect(await connect('sslmode=disable')).toEqual({ encrypted: false });
  });

  describe('with NODE_TLS_REJECT_UNAUTHORIZED=0', () => {
    beforeEach(() => {
      vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    });
    afterEach(() => vi.unstubAllEnvs());

    test('sslmode=verify-full still verifies the certificate', async () => {
      expect((await connect('sslmode=verify-full')).error).toMatch(/certificate/);
      expect((await connect('sslmode=verify-full&sslrootcert=CA', 'localhost')).error).toMatch(/altnames/);
      expect(await connect('sslmode=verify-full&sslrootcert=CA')).toEqual({ encrypted: true });
    });

    test('the listener for edits still verifies the certificate', async () => {
      expect(await heardBy('sslmode=verify-full')).toMatch(/certificate/);
    });

    test('the shared queue still verifies the certificate', async () => {
      const url = new URL(server.url);
      url.search = 'sslmode=verify-full';
      const opening = createSharedQueue({
        connection: connectionOptions(readConnectionUrl(url.href)),
        migrate: true,
        concurrency: 1,
        work: async () => undefined,
        onError: () => undefined,
      });
      await expect(opening).rejects.toThrow(/certificate/);
    });
  });

  test('a missing sslrootcert file fails the connection with ENOENT, and the process continues', async () => {
    expect((await connect('sslrootcert=/nowhere/ca.pem')).error).toMatch(/ENOENT/);
    expect(await heardBy('sslrootcert=/nowhere/ca.pem')).toMatch(/ENOENT/);
  });
});
