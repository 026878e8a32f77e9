import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDatabase } from '../../src/mirror/db/database.ts';
import { type Embedded, openEmbedded } from '../../src/embedded/embedded.ts';
import { rolesForPeople } from '../../src/mirror/db/roles-for-people.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { retryAtOnce } from '../support/retry-at-once.ts';
import { runMusterd } from './run-musterd.ts';

/** Of its own: roles are of a server, and those of the tests have them. */
let server: Embedded;
beforeAll(async () => {
  server = await openEmbedded({ ephemeral: true });
});
afterAll(() => server.close());
// There is no service.
beforeEach(retryAtOnce);

async function asAdministrator(...statements: readonly string[]): Promise<void> {
  const db = createDatabase({ url: server.url, applicationName: 'test', maxConnections: 1 });
  try {
    for (const statement of statements) await runSqlText(db, statement);
  } finally {
    await db.close();
  }
}

async function mirrorOf(role: string, rights = ''): Promise<string> {
  await asAdministrator(
    `create role ${role} login password 'pw' ${rights}`,
    `create database ${role} owner ${role} encoding 'UTF8' template template0`,
  );
  const url = new URL(server.url);
  Object.assign(url, { username: role, password: 'pw', pathname: `/${role}` });
  return url.href;
}

const statements = rolesForPeople.map((name) => `create role ${name} nologin;`);
const check = async (url: string) => {
  const { stdout } = await runMusterd(['check', '--json'], {
    DATABASE_URL: url,
    MUSTERD_BASE_URL: 'http://127.0.0.1:9',
    MUSTERD_API_KEY: 'any',
  });
  const { findings } = JSON.parse(stdout) as { findings: readonly Readonly<Record<string, string>>[] };
  return findings.find((finding) => finding['check'] === 'roles for people');
};

describe('musterd migrate and check, if the roles for people are missing', () => {
  it('print the "create role" statements for an administrator if the login may not create roles', async () => {
    const url = await mirrorOf('plain');
    const before = await check(url);
    expect(before?.['verdict']).toBe('note');
    for (const statement of statements) expect(before?.['detail']).toContain(statement);
    const then = 'Then "musterd migrate" grants them their rights';
    expect(before?.['detail']).toContain(then);

    const { code, stdout, stderr } = await runMusterd(['migrate', '--json'], { DATABASE_URL: url });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ applied: expect.any(Array) as unknown });
    expect(stderr).toContain('plain may not create roles');
    expect(stderr.split('\n').filter((line) => line.includes('create role '))).toEqual(
      statements.map((statement) => `  ${statement}`),
    );
    expect((await check(url))?.['detail']).toContain(then);

    await asAdministrator(...statements);
    expect((await runMusterd(['migrate'], { DATABASE_URL: url })).stderr).toBe('');
    expect(await check(url)).toBeUndefined();
    const owner = createDatabase({ url, applicationName: 'test', maxConnections: 1 });
    const granted = await runSqlText(
      owner,
      `select ${rolesForPeople.map((name) => `has_table_privilege('${name}', 'report.roster', 'select')`).join(' and ')}`,
    );
    await owner.close();
    expect(granted.rows).toEqual([[true]]);
    await asAdministrator(
      'drop database plain with (force)',
      ...rolesForPeople.map((name) => `drop role ${name}`),
    );
  });

  it('report nothing about roles if the login may create roles', async () => {
    const url = await mirrorOf('grown', 'createrole');
    expect(await check(url)).toBeUndefined();
    expect((await runMusterd(['migrate'], { DATABASE_URL: url })).stderr).toBe('');
    expect(await check(url)).toBeUndefined();
  });
});
