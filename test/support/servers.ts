import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';

/** A Postgres that the tests can use, with a migrated template database in it. */
export interface TestServer {
  /** For the titles of tests, such as `Postgres 18 (embedded)`. */
  readonly name: string;
  readonly major: number;
  /** Of a database that is only for making and dropping others; a superuser's. */
  readonly url: string;
  readonly template: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    servers: readonly TestServer[];
  }
}

/**
 * The servers at hand: the embedded one always; Postgres 15 where its programs are found (TEST_PG_BINDIR,
 * or Debian's folder); any other at TEST_DATABASE_URL. For `describe.each(servers())('… on $name', …)`.
 */
export function servers(): readonly TestServer[] {
  return inject('servers');
}

/** The embedded server, for tests that gain nothing from a second one. */
export function embeddedServer(): TestServer {
  const [first] = servers();
  if (first === undefined) throw new Error('global-setup.ts started no server');
  return first;
}

/**
 * The server of the oldest version at hand, for what any Postgres does alike: what it takes, a newer one takes, and the
 * tests of the whole program show that on the embedded one. Tests of plans, rights, migrations and connections run on all.
 */
export function oldestServer(): TestServer {
  return servers().reduce((oldest, server) => (server.major < oldest.major ? server : oldest));
}

/** The programs of an installed Postgres, if there are any. */
export function installedBindir(): string | undefined {
  const bindir = process.env['TEST_PG_BINDIR'] ?? '/usr/lib/postgresql/15/bin';
  return existsSync(join(bindir, 'initdb')) ? bindir : undefined;
}
