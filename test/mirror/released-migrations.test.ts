import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { changedMigrations, hashMigrations } from '../../scripts/release.ts';
import { ROOT } from '../support/checkout.ts';

const folder = join(ROOT, 'migrations');
const released = JSON.parse(readFileSync(join(folder, 'released.json'), 'utf8')) as Record<string, string>;
const now = hashMigrations(folder);

test('each released migration file has the checksum of its release', () => {
  expect(changedMigrations(released, now)).toEqual([]);
});

test('changedMigrations reports a changed or removed file, and accepts a new file', () => {
  const [[name, hash] = ['', '']] = Object.entries(now);
  expect(name).toBe('0001_baseline.sql');
  expect(hash).toMatch(/^[0-9a-f]{64}$/);
  const before = { [name]: 'another', '0000_gone.sql': hash };
  expect(changedMigrations(before, now)).toEqual([
    'migrations/0001_baseline.sql was released, and has changed since',
    'migrations/0000_gone.sql was released, and is gone',
  ]);
  expect(changedMigrations({}, now)).toEqual([]);
});
