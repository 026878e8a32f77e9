import { inspect } from 'node:util';
import pg from 'pg';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { connectionOptions, readConnectionUrl } from '../../src/mirror/db/database-url.ts';
import { failureOf } from '../support/failure-of.ts';

/** What pg makes of it: no TLS, or TLS with or without proof. */
function taken(text: string, environment: Record<string, string> = {}): string {
  const connection = readConnectionUrl(text, environment);
  const ssl: unknown = Reflect.get(new pg.Client(connectionOptions(connection)), 'ssl');
  const made = ssl === false ? 'disable' : JSON.stringify(ssl);
  const meant = {
    disable: 'disable',
    'no-verify': '{"rejectUnauthorized":false}',
    'verify-full': '{"rejectUnauthorized":true}',
  };
  expect(made).toBe(meant[connection.tls]);
  return connection.tls;
}

test.each([
  ['postgres://u:p@db.example.net/m', 'verify-full'],
  ['postgresql://u:p@10.0.0.5:6432/m', 'verify-full'],
  ['postgres://u:p@127.0.0.1/m', 'disable'],
  ['postgres://u:p@localhost/m', 'disable'],
  ['postgres://u:p@[::1]/m', 'disable'],
  ['postgres:///m?user=u&host=/run/postgresql', 'disable'],
  ['postgres://%2Frun%2Fpostgresql/m', 'disable'],
  ['postgres:///m', 'disable'],
  ['postgres://u:p@127.evil.example/m', 'verify-full'],
  ['postgres://u:p@localhost/m?host=db.example.net', 'verify-full'],
  ['postgres://u:p@db.example.net/m?sslrootcert=system', 'verify-full'],
  ['postgres://u:p@localhost/m?sslrootcert=system', 'verify-full'],
  ['postgres://u:p@db.example.net/m?uselibpqcompat=', 'verify-full'],
  ['postgres://u:p@localhost/m?sslnegotiation=direct', 'verify-full'],
  ['postgres://u:p@db.example.net/m?SSLMODE=disable', 'verify-full'],
])('readConnectionUrl(%s) chooses the TLS mode %s', (text, expected) => {
  expect(taken(text)).toBe(expected);
});

describe('all combinations of sslmode, ssl and PGSSLMODE', () => {
  const proven = ['allow', 'prefer', 'require', 'verify-ca', 'verify-full'];
  const modes = [undefined, '', 'disable', 'no-verify', ...proven, 'on', 'VERIFY-FULL'];
  const ssls = [undefined, '', 'true', '1', '0', 'false', 'no-verify'];
  const hosts = ['db.example.net', '127.0.0.1'];
  const cases = hosts.flatMap((host) =>
    modes.flatMap((mode) => ssls.flatMap((ssl) => modes.map((setting) => ({ host, mode, ssl, setting })))),
  );

  /** The rule once more, in other words: the first that is said decides. */
  function expected({ host, mode, ssl, setting }: (typeof cases)[number]): string {
    const known = (word: string | undefined) => !word || /^[a-z-]{5,}$/.test(word);
    if (!known(mode) || (ssl && ssl !== 'true' && ssl !== '1')) return 'refused';
    const lowered = ['disable', 'no-verify'];
    if (ssl && mode && lowered.includes(mode)) return 'refused';
    if (mode) return lowered.includes(mode) ? mode : 'verify-full';
    if (ssl) return 'verify-full';
    if (!known(setting)) return 'refused';
    if (setting) return lowered.includes(setting) ? setting : 'verify-full';
    return host === '127.0.0.1' ? 'disable' : 'verify-full';
  }

  afterEach(() => vi.unstubAllEnvs());

  test.each(modes)('readConnectionUrl uses sslmode, else ssl, else PGSSLMODE: PGSSLMODE=%j', (setting) => {
    vi.stubEnv('PGSSLMODE', setting);
    const mine = cases.filter((one) => one.setting === setting);
    const seen = mine.map((one) => {
      const words = Object.entries({ sslmode: one.mode, ssl: one.ssl }).flatMap(([name, value]) =>
        value === undefined ? [] : [`${name}=${value}`],
      );
      try {
        const environment = setting === undefined ? {} : { PGSSLMODE: setting };
        return taken(`postgres://u:p@${one.host}/m?${words.join('&')}`, environment);
      } catch (error) {
        expect(error).toMatchObject({ code: 'configuration' });
        return 'refused';
      }
    });
    expect(mine.map((one, at) => ({ ...one, is: seen[at] }))).toEqual(
      mine.map((one) => ({ ...one, is: expected(one) })),
    );
  });
});

test.each([
  ['sslmode=verify-full&sslmode=disable', 'sslmode'],
  ['sslmode=disable&sslmode=disable', 'sslmode'],
  ['ssl=true&ssl=0', 'ssl'],
  ['host=127.0.0.1&host=db.example.net', 'host'],
  ['x=1&canary=1&canary=2', 'a parameter'],
])('readConnectionUrl refuses the repeated parameter in ?%s', (query, name) => {
  expect(() => readConnectionUrl(`postgres://u:p@db.example.net/m?${query}`, {})).toThrow(
    `DATABASE_URL has ${name} more than once.`,
  );
});

test('readConnectionUrl refuses uselibpqcompat=true, since sslmode=require would then verify nothing', () => {
  const url = 'postgres://u:p@db.example.net/m?sslmode=require&uselibpqcompat=true';
  expect(() => readConnectionUrl(url, {})).toThrow(/uselibpqcompat/);
});

test('a connection with sslnegotiation=direct verifies the certificate', () => {
  const url = 'postgres://u:p@localhost/m?sslnegotiation=direct';
  const client = new pg.Client(connectionOptions(readConnectionUrl(url, {})));
  expect(Reflect.get(client, 'sslNegotiation')).toBe('direct');
  expect(Reflect.get(client, 'ssl')).toEqual({ rejectUnauthorized: true });
});

test('readConnectionUrl reads a host or TLS mode that the URL lacks from PGHOST or PGSSLMODE', () => {
  expect(taken('postgres:///m', { PGHOST: 'db.example.net' })).toBe('verify-full');
  expect(taken('postgres://db.example.net/m', { PGSSLMODE: 'disable' })).toBe('disable');
  expect(taken('postgres://db.example.net/m?sslrootcert=system', { PGSSLMODE: 'disable' })).toBe(
    'verify-full',
  );
});

test.each([
  ['postgres://u:p@/m?host=/run/postgresql', '/run/postgresql:5432/m'],
  ['postgres://u:p@a:1,b/m', 'a:1,b:5432/m'],
  ['postgres://a,b:2/m', 'a:5432,b:2/m'],
  ['postgres://[::1]:1,%2Frun/m', '[::1]:1,/run:5432/m'],
  ['postgres:///m?host=a,b&port=7', 'a:7,b:7/m'],
  ['postgres:///m?host=a,b&port=7,8', 'a:7,b:8/m'],
  ['postgres://a?dbname=m', 'a:5432/m'],
])('readConnectionUrl reads %s as the address %s, like libpq', (text, shown) => {
  expect(readConnectionUrl(text, {}).shown).toBe(shown);
});

test('readConnectionUrl turns TLS off for several hosts on this machine, but not if one host is elsewhere', () => {
  expect(taken('postgres://127.0.0.1,localhost/m')).toBe('disable');
  expect(taken('postgres://127.0.0.1,db.example.net/m')).toBe('verify-full');
});

test.each([
  ['', /./],
  ['canary', /does not begin with postgres:/],
  ['mysql://u:canary@h/m', /does not begin with postgres:/],
  ['host=/run user=u', /does not begin with postgres:/],
  ['postgres://u:x/canary@h/m', /an @ or a # after its host/],
  ['postgres://u:canary@h:70000/m', /has the port 70000\. A port/],
  ['postgres://u:canary', /a port that is not a number/],
  ['postgres://[::1]x/m', /host that is not valid/],
  ['postgres://u:p@canary%zz/m', /host that is not valid/],
  ['postgres:///m?host=a,b,c&port=1,2', /3 hosts and 2 ports/],
  ['postgres://h/m?target_session_attrs=x', /unknown target_session_attrs "x"/],
  ['postgres://h/m?sslmode=on', /sslmode "on"/],
])('readConnectionUrl(%s) fails: the error names the invalid part, and no password', async (text, part) => {
  const error = await failureOf(Promise.resolve(text).then((url) => readConnectionUrl(url, {})));
  expect(error.code).toBe('configuration');
  expect(`${error.message} ${error.hint}`).toMatch(part);
  expect(inspect(error, { showHidden: true, depth: 9 }).split('\n')[0]).not.toContain('canary');
  expect(`${error.message} ${error.hint}`).not.toContain('canary');
});
