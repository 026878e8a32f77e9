import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { configSchema, settingPaths } from '../../src/config/config.ts';
import { ownVariables } from '../../src/config/environment.ts';
import { loadConfig } from '../support/load-config.ts';
import { type Environment, useSettingsFile } from './settings-file.ts';

const { file, write, complaint, ...settings } = useSettingsFile();

/** The settings that come of this file and this environment. */
const load = (yaml: string, env: Environment = {}) => settings.load(yaml, env).teams[0];
const fromEnv = (env: Environment) => loadConfig(undefined, env);

describe('loading the settings', () => {
  it('musterd uses the defaults if neither a file nor a variable sets anything', () => {
    expect(fromEnv({})).toEqual(configSchema.parse({}));
    expect(load('')).toEqual(configSchema.parse({}));
    expect(load('# nothing but words\n')).toEqual(configSchema.parse({}));
  });

  it('musterd reads the settings file that the argument names, or else the one that MUSTERD_CONFIG names', () => {
    const path = write('settings.yaml', 'push:\n  batchSize: 7\n');
    expect(loadConfig(path, {}).push.batchSize).toBe(7);
    expect(fromEnv({ MUSTERD_CONFIG: path }).push.batchSize).toBe(7);
    const other = write('other.yaml', 'push:\n  batchSize: 8\n');
    expect(loadConfig(other, { MUSTERD_CONFIG: path }).push.batchSize).toBe(8);
    expect(fromEnv({ MUSTERD_CONFIG: '' }).push.batchSize).toBe(25);
  });

  it('musterd overrides only those settings of the file that a variable sets', () => {
    const yaml = 'team: paper\npush:\n  batchSize: 7\n  quietPeriodMs: 5\n';
    expect(load(yaml, { MUSTERD__push__batchSize: '9', MUSTERD__team: 'air' })).toMatchObject({
      team: 'air',
      push: { batchSize: 9, quietPeriodMs: 5 },
    });
  });

  it('musterd accepts a wrong value in the file if a variable overrides it', () => {
    expect(load('push:\n  batchSize: 700\n', { MUSTERD__push__batchSize: '9' }).push.batchSize).toBe(9);
  });

  it('musterd converts the text of a variable to the type of its setting', () => {
    expect(
      fromEnv({
        MUSTERD__team: '41',
        MUSTERD__database__migrate: 'false',
        MUSTERD__rate__share: '0.25',
        MUSTERD__status__port: '0',
        MUSTERD__schedule__users: '*/10 * * * * *',
        MUSTERD__guard__maxRoleChanges: '0',
        MUSTERD__segments: '[{"name":"vip","body":{"filter":"vip"}},{"name":"all"}]',
      }),
    ).toMatchObject({
      team: '41',
      database: { migrate: false },
      rate: { share: 0.25 },
      status: { port: 0 },
      schedule: { users: '*/10 * * * * *' },
      guard: { maxRows: 25, maxRoleChanges: 0 },
      segments: [
        { name: 'vip', body: { filter: 'vip' } },
        { name: 'all', body: {} },
      ],
    });
  });
});

describe('variables with a short name', () => {
  /** Where not every text is one. */
  const valid: Environment = {
    DATABASE_URL: 'postgres://db.example/musterd',
    MUSTERD_BASE_URL: 'https://service.example',
    MUSTERD_NOTIFY_URL: 'https://hooks.example/musterd',
    MUSTERD_NOTIFY_SECRET: 'a-secret-of-some-length',
  };

  it.each(Object.entries(ownVariables))('the variable %s or its _FILE form sets %j', (name, path) => {
    const [section = '', key = ''] = path.map(String);
    const value = valid[name] ?? 'the-value';
    const expected = { [section]: { [key]: value } };
    expect(fromEnv({ [name]: value })).toMatchObject(expected);
    const inFile = write('value', `${value}\n`);
    expect(fromEnv({ [`${name}_FILE`]: inFile })).toMatchObject(expected);
    expect(complaint(() => fromEnv({ [`${name}_FILE`]: inFile, [name]: 'another' }))).toContain('both set');
    expect(load(`${section}:\n  ${key}: from-the-file\n`, { [name]: value })).toMatchObject(expected);
  });

  it('MUSTERD_BASE_URL overrides MUSTERD__service__baseUrl', () => {
    const env = {
      MUSTERD_BASE_URL: 'https://own.example',
      MUSTERD__service__baseUrl: 'https://long.example',
    };
    expect(fromEnv(env).service.baseUrl).toBe('https://own.example');
  });

  it('an empty MUSTERD_SECRET_KEY does not override the secret in the file', () => {
    expect(load("service: {secretKey: 'a-key'}\n", { MUSTERD_SECRET_KEY: '' }).service.secretKey).toBe(
      'a-key',
    );
  });
});

describe('error messages about wrong settings', () => {
  it('musterd reports each mistake of the file and the environment in a separate line (R10)', () => {
    const said = complaint(() =>
      load('push:\n  batchSize: 26\nrate:\n  share: 2\n', { MUSTERD__lease__ttlMs: '1' }),
    );
    expect(said.split('\n').map((line) => line.split(': ')[0])).toEqual([
      '2:14',
      '4:10',
      'MUSTERD__lease__ttlMs',
    ]);
  });

  it.each([
    [{ MUSTERD_CONFIG: '/nonexistent/team.yaml' }, '/nonexistent/team.yaml'],
    [{ MUSTERD_SECRET_KEY_FILE: '/nonexistent/key' }, 'MUSTERD_SECRET_KEY_FILE: /nonexistent/key'],
  ])('musterd names the missing file in its message if the environment is %j', (env, mention) => {
    expect(complaint(() => fromEnv(env as Environment))).toContain(mention);
  });

  it.each(['team: [\n', 'team: a\nteam: b\n', '- team\n', 'just words\n'])(
    'musterd names the settings file in its message for the wrong content %j',
    (yaml) => {
      expect(() => load(yaml)).toThrow(file);
    },
  );

  it.each(settingPaths.filter((path) => path.endsWith('Ms')))(
    'musterd rejects more than 2147483647 milliseconds for %s',
    (path) => {
      const name = `MUSTERD__${path.replace('.', '__')}`;
      expect(fromEnv({ [name]: '2147483647' })).toBeDefined();
      expect(complaint(() => fromEnv({ [name]: '9000000000' }))).toMatch(/from \d+ to 2147483647, not/);
    },
  );

  it.each(['utf16le', 'latin1'] as const)('musterd asks for UTF-8 if a secret file is in %s', (encoding) => {
    writeFileSync(file, Buffer.from('the kéy of the team\n', encoding), { mode: 0o600 });
    expect(complaint(() => fromEnv({ MUSTERD_SECRET_KEY_FILE: file }))).toMatch(
      /^MUSTERD_SECRET_KEY_FILE: it has control characters.*UTF-8$/,
    );
  });

  it.each(['\0', '\u001b', '\u007f'])('musterd rejects a token with the character %j', (character) => {
    const token = `a token of sixteen${character}and more`;
    expect(complaint(() => fromEnv({ MUSTERD__notify__secret: token }))).toContain('control characters');
  });

  it('musterd leaves every value that may be a secret out of its message (S59)', () => {
    const secret = 'canary-of-a-secret';
    const said = [
      complaint(() => load(`service:\n  secretKey: {a: ${secret}}\n`)),
      complaint(() => load(`service:\n  secretKeys: ${secret}\n`)),
      complaint(() => fromEnv({ MUSTERD__service__secret: secret })),
      complaint(() => fromEnv({ MUSTERD_SECRET_KEY: secret, MUSTERD__push__batchSize: '0' })),
    ];
    expect(said).not.toContain('');
    expect(said.join('\n')).not.toContain(secret);
  });
});
