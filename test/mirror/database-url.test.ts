import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { readConnectionUrl } from '../../src/mirror/database-url.ts';

const mode = (text: string, environment = {}) =>
  new URL(readConnectionUrl(text, environment).url).searchParams.get('sslmode');

test.each([
  ['postgres://u:p@db.example.net/m', 'verify-full'],
  ['postgresql://u:p@10.0.0.5:6432/m', 'verify-full'],
  ['postgres://u:p@db.example.net/m?sslmode=prefer', 'verify-full'],
  ['postgres://u:p@db.example.net/m?sslmode=require', 'verify-full'],
  ['postgres://u:p@db.example.net/m?sslmode=verify-ca', 'verify-full'],
  ['postgres://u:p@db.example.net/m?sslmode=verify-full', 'verify-full'],
  ['postgres://u:p@db.example.net/m?sslmode=disable', 'disable'],
  ['postgres://u:p@db.example.net/m?sslmode=no-verify', 'no-verify'],
  ['postgres://u:p@db.example.net/m?sslmode=require&uselibpqcompat=true', 'require'],
  ['postgres://u:p@db.example.net/m?ssl=0', null],
  ['postgres://u:p@127.0.0.1/m', null],
  ['postgres://u:p@localhost/m', null],
  ['postgres://u:p@[::1]/m', null],
  ['postgres:///m?user=u&host=/run/postgresql', null],
  ['postgres:///m', null],
  ['postgres://u:p@127.0.0.1/m?sslmode=require', 'verify-full'],
  ['postgres://u:p@127.evil.example/m', 'verify-full'],
])('%s has sslmode %s', (text, expected) => {
  expect(mode(text)).toBe(expected);
});

test('the environment of libpq counts where the URL says nothing', () => {
  expect(mode('postgres:///m', { PGHOST: 'db.example.net' })).toBe('verify-full');
  expect(mode('postgres://db.example.net/m', { PGSSLMODE: 'disable' })).toBeNull();
});

test('shows neither user nor password', () => {
  const { shown } = readConnectionUrl('postgres://anna:canary@db.example.net/m?sslmode=disable', {});
  expect(shown).toBe('db.example.net:5432/m');
});

test.each(['', 'mysql://u:canary@h/m', 'canary', 'postgres://u:canary@h:99999/m'])('refuses %j', (text) => {
  const error = (() => {
    try {
      return readConnectionUrl(text, {});
    } catch (reason) {
      return reason;
    }
  })();
  expect(error).toMatchObject({ code: 'configuration' });
  expect(inspect(error, { showHidden: true, depth: 9 }).split('\n')[0]).not.toContain('canary');
});

test('refuses an sslmode that does not exist', () => {
  expect(() => readConnectionUrl('postgres://h/m?sslmode=on', {})).toThrow(/sslmode "on"/);
});
