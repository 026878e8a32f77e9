import { describe, expect, it } from 'vitest';
import { configSchema, settingPaths } from '../../src/config/config.ts';
import { goneSettings } from '../../src/config/complaints.ts';
import { createLog } from '../../src/log.ts';
import { createService } from '../../src/runs/open-service.ts';
import {
  type Connections,
  type ConnectionSettings,
  createConnections,
} from '../../src/service/connections.ts';
import { useSettingsFile } from './settings-file.ts';

const { complaintOf } = useSettingsFile();

describe('a removed setting', () => {
  it('shares its name with no current setting, and at most 50 settings exist', () => {
    expect(Object.keys(goneSettings).filter((name) => settingPaths.includes(name))).toEqual([]);
    // With the list of teams.
    expect(settingPaths.length + 1).toBeLessThanOrEqual(50);
  });

  it.each(Object.entries(goneSettings))(
    'musterd refuses the removed setting %s and names its replacement',
    (name, instead) => {
      const [section = '', key = 'anything'] = name.split('.');
      const [said = '', ...others] = complaintOf(`${section}: {${key}: such and such}\n`).split('\n');
      expect(others).toEqual([]);
      expect(said).toMatch(/^1:\d+: /);
      expect(said).toContain(`${name}: this setting no longer exists: ${instead}. Leave it out`);
    },
  );

  it('musterd reports the line of the settings file, or the environment variable, that sets a removed setting', () => {
    const yaml =
      'push: {maxTries: 5}\nteams:\n  north: {push: {maxTries: 4}, rate: {burst: 1}}\n  south: {}\n';
    const refused = complaintOf(yaml, { MUSTERD__clock__warnAboveMs: '1', MUSTERD__pages__size: '7' });
    expect(refused.split('\n').map((line) => line.replace(/ this setting .*/, ''))).toEqual([
      '3:28: teams.north.push.maxTries:',
      '3:46: teams.north.rate.burst:',
      'MUSTERD__clock__warnAboveMs:',
      '1:18: teams.south.push.maxTries:',
    ]);
  });

  it('musterd reports "there is no such setting" for an unknown setting beside a removed setting', () => {
    expect(complaintOf('push: {maxTries: 5, maxtries: 5}\n')).toContain(
      'push.maxtries: there is no such setting',
    );
    expect(complaintOf('clocks: {}\n')).toContain('there is no such setting');
  });
});

it('createService sets the timeout for response headers to half of the total deadline', async () => {
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
