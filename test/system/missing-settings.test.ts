import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { takeLease } from '../../src/mirror/team/lease.ts';
import { wellUsed } from './every-command.ts';
import { ownFolder } from './own-folder.ts';
import { runMusterd } from './run-musterd.ts';
import { createStage, type Stage } from './stage.ts';

const folder = ownFolder();

/** Those that can do nothing without the service. */
const asking = ['reconcile', 'plan', 'daemon', 'verify', 'why', 'resync', 'check', 'api'];
const baseUrl = { MUSTERD_BASE_URL: 'http://127.0.0.1:9' };
const missing = [
  [{}, 'MUSTERD_BASE_URL'],
  [baseUrl, 'MUSTERD_SECRET_ID'],
  [{ ...baseUrl, MUSTERD_SECRET_ID: 'me' }, 'MUSTERD_SECRET_KEY) is not'],
  [{ ...baseUrl, MUSTERD_SECRET_KEY: 'mine' }, 'MUSTERD_SECRET_ID) is not'],
  [{ ...baseUrl, MUSTERD_API_KEY: 'x', MUSTERD_NEXT_SECRET_ID: 'me' }, 'MUSTERD_NEXT_SECRET_KEY) is not'],
  [{ ...baseUrl, MUSTERD_API_KEY: 'x', MUSTERD_CA_FILE: '/nowhere/ca.pem' }, 'MUSTERD_CA_FILE'],
] as const;

describe.each(asking)('musterd %s', (name) => {
  it.each(missing)(
    'exits 78, names the missing setting and creates no data folder if only %j is set',
    async (env, words) => {
      const data = join(folder, 'data');
      const { code, stdout, stderr } = await runMusterd(wellUsed(name), { ...env, MUSTERD_DATA_DIR: data });
      expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
      expect(stderr).toContain(words);
      expect(existsSync(data)).toBe(false);
    },
  );

  // Whoever does not own the mirror needs no service to read what it knows.
  const isKnown = name === 'plan' || name === 'why';
  it('checks the service settings before the database, but plan and why check the database first', async () => {
    const { code } = await runMusterd(wellUsed(name), { DATABASE_URL: 'postgres://u:p@127.0.0.1:9/x' });
    expect(code).toBe(isKnown ? 1 : 78);
  });
});

describe('a missing key of the service', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await createStage();
  });
  afterAll(() => stage.close());

  it('musterd exits with 78, even if another run holds the lease, and still reconciles a team that has a key', async () => {
    const {
      MUSTERD_BASE_URL: url,
      MUSTERD_SECRET_ID: id,
      MUSTERD_SECRET_KEY: key,
    } = stage.emulator.environment;
    const file = join(folder, 'teams.yaml');
    const north = `north: {service: {baseUrl: "${url}"}}`;
    const south = `south: {service: {baseUrl: "${url}", secretId: "${id}", secretKey: "${key}"}}`;
    const reconcile = (yaml: string, ...args: readonly string[]) => {
      writeFileSync(file, yaml);
      return runMusterd(['reconcile', '--config', file, ...args], {
        DATABASE_URL: stage.url,
      });
    };
    const lease = await takeLease(stage.db, 'north', { ttlMs: 60_000 });
    try {
      expect((await reconcile(`teams:\n  ${north}\n`)).code).toBe(78);
      const { code, stdout } = await reconcile(`teams:\n  ${north}\n  ${south}\n`, '--json');
      expect(code).toBe(78);
      expect(JSON.parse(stdout)).toMatchObject([
        { name: 'north', exit_code: 78, error: { code: 'configuration' } },
        { name: 'south', exit_code: 0, outcome: 'complete' },
      ]);
      expect(await stage.sql('select team from sync.runs')).toEqual([['south']]);
    } finally {
      await lease.release();
    }
  });
});
