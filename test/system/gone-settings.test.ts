import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configSchema, settingPaths } from '../../src/config/config.ts';
import { goneSettings } from '../../src/config/complaints.ts';
import { loadConfiguration } from '../../src/config/load.ts';
import { createLog } from '../../src/log.ts';
import { createService } from '../../src/runs/open-service.ts';
import {
  type Connections,
  type ConnectionSettings,
  createConnections,
} from '../../src/service/connections.ts';
import { ownFolder } from './own-folder.ts';

const file = join(ownFolder(), 'team.yaml');

const load = (yaml: string, env: Readonly<Record<string, string>> = {}) => {
  writeFileSync(file, yaml);
  return loadConfiguration(file, env, () => []);
};

const refusal = (yaml: string, env: Readonly<Record<string, string>> = {}): readonly string[] => {
  try {
    load(yaml, env);
    return [];
  } catch (error) {
    return (error as Error).message.replaceAll(file, 'team.yaml').split('\n');
  }
};

describe('a setting that went', () => {
  it('is none that there is, and there are few enough of those', () => {
    expect(Object.keys(goneSettings).filter((name) => settingPaths.includes(name))).toEqual([]);
    // With the list of teams.
    expect(settingPaths.length + 1).toBeLessThanOrEqual(50);
  });

  it.each(Object.entries(goneSettings))(
    'is refused, and what there is in its place is said: %s',
    (name, instead) => {
      const [section = '', key = 'anything'] = name.split('.');
      expect(refusal(`${section}: {${key}: such and such}\n`)).toEqual([
        expect.stringMatching(/^team\.yaml:1:\d+: /) as string,
      ]);
      expect(refusal(`${section}: {${key}: such and such}\n`)[0]).toContain(
        `${name}: this setting no longer exists: ${instead}. Leave it out`,
      );
    },
  );

  it('is told of where it stands: in the environment, or below a team', () => {
    const yaml =
      'push: {maxTries: 5}\nteams:\n  north: {push: {maxTries: 4}, rate: {burst: 1}}\n  south: {}\n';
    const refused = refusal(yaml, { MUSTERD__clock__warnAboveMs: '1', MUSTERD__pages__size: '7' });
    expect(refused.map((line) => line.replace(/ this setting .*/, ''))).toEqual([
      'team.yaml:3:28: teams.north.push.maxTries:',
      'team.yaml:3:46: teams.north.rate.burst:',
      'MUSTERD__clock__warnAboveMs:',
      'team.yaml:1:18: teams.south.push.maxTries:',
    ]);
  });

  it('makes no other stranger welcome', () => {
    expect(() => load('push: {maxTries: 5, maxtries: 5}\n')).toThrow(
      'push.maxtries: there is no such setting',
    );
    expect(() => load('clocks: {}\n')).toThrow('there is no such setting');
  });
});

it('an answer has half of its deadline to begin', async () => {
  const config = configSchema.parse({
    service: { baseUrl: 'http://127.0.0.1:9', secretId: 'an id', secretKey: 'a key' },
    http: { totalDeadlineMs: 4_000 },
  });
  const own = createConnections();
  const asked: ConnectionSettings[] = [];
  const connections: Connections = {
    ...own,
    to: (origin, settings) => {
      asked.push(settings);
      return own.to(origin, settings);
    },
  };
  const options = { log: createLog({ level: 'silent' }), pace: null, connections };
  await createService(config, 'read-write', options).close();
  await own.close();
  expect(asked).toMatchObject([{ headersTimeoutMs: 2_000, totalDeadlineMs: 4_000 }]);
});
