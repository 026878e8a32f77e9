import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { addressOf, folderAddress, machineFrom } from '../../src/mirror/db/address.ts';
import { readConnectionUrl } from '../../src/mirror/db/database-url.ts';
import { isSameAddress } from '../../src/model/place.ts';
import { temporaryFolder } from '../support/checkout.ts';

const of = (url: string, environment: Readonly<Record<string, string>> = {}) =>
  addressOf(readConnectionUrl(url, environment).parts);

describe('addressOf', () => {
  it.each([
    ['postgres://u:p@db.example.net/m', 'db.example.net:5432/m'],
    ['postgres://other:secret@DB.example.net.:5432/m?sslmode=no-verify', 'db.example.net:5432/m'],
    ['postgres://u:p@db.example.net:6432/m', 'db.example.net:6432/m'],
    ['postgres://u:p@10.0.0.5/m%20n', '10.0.0.5:5432/m n'],
    ['postgres://u:p@db.example.net', 'db.example.net:5432/u'],
  ])('returns the host, port and database of %s as %s', (url, at) => {
    expect(of(url)).toEqual({ at, machine: null });
  });

  it.each(['localhost', '127.0.0.1', '127.0.0.2', '[::1]'])(
    'returns the same address for %s as for localhost',
    (host) => {
      expect(of(`postgres://u:p@${host}/m`)).toEqual(of('postgres://localhost:5432/m'));
      expect(of(`postgres://u:p@${host}/m`).at).toBe('localhost:5432/m');
    },
  );

  it('returns all hosts of a URL, and isSameAddress accepts each of these hosts with its port', () => {
    const both = of('postgres://u:p@db-1.example.net,DB-2.example.net:6432/m');
    expect(both.at).toBe('db-1.example.net:5432/m or db-2.example.net:6432/m');
    const same = ['db-1.example.net', 'db-2.example.net:6432', 'db-2.example.net'].map((host) =>
      isSameAddress(both, of(`postgres://${host}/m`)),
    );
    expect(same).toEqual([true, true, false]);
  });

  it('returns the folder of a socket in place of the host', () => {
    expect(of('postgres:///m?user=u&host=/run/postgresql').at).toBe('/run/postgresql:5432/m');
  });

  it('reads a host, port or database that the URL lacks from PGHOST, PGPORT or PGDATABASE', () => {
    expect(of('postgres:///m', { PGHOST: 'db.example.net', PGPORT: '6432' }).at).toBe(
      'db.example.net:6432/m',
    );
    expect(of('postgres://db.example.net', { PGDATABASE: 'n' }).at).toBe('db.example.net:5432/n');
  });
});

describe('machineFrom', () => {
  it('returns a hash of the first usable machine id in the files, or null if no file has one', () => {
    using folder = temporaryFolder();
    const [id, empty] = ['id', 'empty'].map((name) => join(folder.path, name)) as [string, string];
    const secret = '0123456789abcdef0123456789abcdef';
    writeFileSync(id, `${secret}\n`);
    writeFileSync(empty, 'uninitialized\n');
    const machine = machineFrom(['/nowhere', empty, id]);
    expect(machine).toMatch(/^[0-9a-f]{16}$/);
    expect(secret).not.toContain(machine);
    expect(machineFrom(['/nowhere', empty])).toBe(null);
  });
});

describe('folderAddress', () => {
  it('returns the same address for a data folder and for a link to it', () => {
    using folder = temporaryFolder();
    const [real, link] = ['real', 'link'].map((name) => join(folder.path, name)) as [string, string];
    mkdirSync(real);
    symlinkSync(real, link);
    expect(folderAddress(link)).toEqual(folderAddress(real));
    expect(folderAddress(real).at).toMatch(/^folder \/.*\/real$/);
  });
});
