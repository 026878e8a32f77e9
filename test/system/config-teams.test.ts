import { chmodSync, chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { compareConfigurations } from '../../src/config/compare-configurations.ts';
import { loadConfig, loadConfiguration } from '../support/load-config.ts';
import { type Environment, useSettingsFile } from './settings-file.ts';

const { folder, file, write, load, complaint, complaintOf } = useSettingsFile();

const inBraces = (text: string) => `\${${text}}`;

const two =
  'push: {batchSize: 7, quietPeriodMs: 5}\nteams:\n  south: {}\n  north:\n    push: {batchSize: 9}\n';

describe('the section "teams" of a settings file', () => {
  it('gives each team the common settings and its own settings, and keeps the order of the teams', () => {
    const { teams, file: path } = load(two);
    expect(path).toBe(file);
    const south = configSchema.parse({ team: 'south', push: { batchSize: 7, quietPeriodMs: 5 } });
    expect(teams).toEqual([south, { ...south, team: 'north', push: { ...south.push, batchSize: 9 } }]);
  });

  it('keeps the order of the teams if some of their names are numbers', () => {
    expect(load('teams: {9: {}, b: {}, 1: {}}\n').teams.map(({ team }) => team)).toEqual(['9', 'b', '1']);
  });

  it('merges the settings of a team into the common settings, but replaces a common list as a whole', () => {
    const yaml = `
      policy: {email: mirror-wins, phone: mirror-wins}
      roles: {admin: [1, 2]}
      segments: [{name: all}, {name: vip}]
      teams:
        a:
          policy: {email: service-wins}
          roles: {admin: [7]}
          segments: [{name: mine}]
          # an empty section is no setting
          push:
        b:
    `;
    expect(load(yaml).teams).toMatchObject([
      {
        team: 'a',
        policy: { email: 'service-wins', phone: 'mirror-wins' },
        roles: { admin: [7] },
        segments: [{ name: 'mine', body: {} }],
        push: { batchSize: 25 },
      },
      { team: 'b', policy: { email: 'mirror-wins', phone: 'mirror-wins' }, roles: { admin: [1, 2] } },
    ]);
  });

  it('accepts a YAML alias, and a mistake beside an alias is reported with line and column', () => {
    const yaml = `teams:\n  a: &a {service: {baseUrl: "${inBraces('URL')}"}}\n  b: *a\n`;
    const { teams } = load(yaml, { URL: 'https://service.example' });
    expect(teams.map(({ service }) => service.baseUrl)).toEqual(Array(2).fill('https://service.example'));
    expect(complaintOf('teams:\n  a: {push: &p {batchSize: 2}}\n  b: {push: *p, pusch: 1}\n')).toBe(
      '3:24: teams.b.pusch: there is no such setting; did you mean push?',
    );
  });

  it('yields a single team if it names one team, is empty or is missing', () => {
    const config = loadConfig(write('settings.yaml', 'teams: {north: {push: {batchSize: 3}}}\n'), {
      MUSTERD_SECRET_ID: 'an-id',
      MUSTERD_SECRET_KEY: 'a-key',
    });
    expect(config).toMatchObject({ team: 'north', service: { secretId: 'an-id' }, push: { batchSize: 3 } });
    expect(load('teams:\npush: {batchSize: 3}\n').teams).toEqual([
      configSchema.parse({ push: { batchSize: 3 } }),
    ]);
    expect(loadConfiguration(undefined, {})).toEqual({
      teams: [configSchema.parse({})],
      file: undefined,
      warnings: [],
    });
  });
});

describe('choosing one of several teams', () => {
  const north = (env: Environment, name?: string) => loadConfig(write('settings.yaml', two), env, name);

  it('musterd chooses the team named by --team, or else the team named by MUSTERD_TEAM', () => {
    expect(north({}, 'north').team).toBe('north');
    expect(north({ MUSTERD_TEAM: 'north' }).push.batchSize).toBe(9);
    expect(north({ MUSTERD_TEAM: 'north' }, 'south').team).toBe('south');
  });

  it('musterd lists the teams and asks for --team if no team is chosen', () => {
    const said = complaint(() => north({ MUSTERD_TEAM: '' }), 'usage');
    expect(said).toBe('There are several teams: south, north / Choose one with --team.');
  });

  it('musterd rejects an unknown team and lists the known teams', () => {
    expect(complaint(() => north({}, 'west'), 'usage')).toBe(
      'There is no team "west" in the configuration / The teams are: south, north.',
    );
    expect(complaint(() => loadConfig(undefined, {}, 'west'), 'usage')).toContain('The teams are: default.');
    expect(loadConfig(undefined, { MUSTERD__team: 'west' }, 'west').team).toBe('west');
  });
});

describe('environment variables with several teams', () => {
  it('musterd applies a variable to all teams, or only to the team in its name', () => {
    const env = {
      MUSTERD__push__batchSize: '11',
      MUSTERD__teams__north__push__batchSize: '12',
      MUSTERD__teams__south__segments: '[{"name":"south"}]',
      MUSTERD_BASE_URL: 'https://service.example',
      DATABASE_URL: 'postgres://database.example/x',
    };
    const { teams } = load(two, env);
    const common = {
      service: { baseUrl: 'https://service.example' },
      database: { url: 'postgres://database.example/x' },
    };
    expect(teams).toMatchObject([
      { team: 'south', push: { batchSize: 11, quietPeriodMs: 5 }, segments: [{ name: 'south' }], ...common },
      { team: 'north', push: { batchSize: 12, quietPeriodMs: 5 }, segments: [{ name: 'all' }], ...common },
    ]);
  });

  it('musterd reads the teams from variables if no settings file is given', () => {
    const { teams } = loadConfiguration(undefined, {
      MUSTERD__teams__north__service__secretId: 'north-id',
      MUSTERD__teams: '{"south":{"service":{"secretId":"south-id"}}}',
    });
    const pairs = teams.map(({ team, service }) => [team, service.secretId]);
    expect(Object.fromEntries(pairs)).toEqual({ north: 'north-id', south: 'south-id' });
  });

  it.each([
    ['MUSTERD_SECRET_ID', 'x'],
    ['MUSTERD_SECRET_KEY', 'x'],
    ['MUSTERD_NEXT_SECRET_ID', 'x'],
    ['MUSTERD_NEXT_SECRET_KEY', 'x'],
    ['MUSTERD_API_KEY', 'x'],
    ['MUSTERD_SECRET_KEY_FILE', join(folder, 'key')],
    ['MUSTERD__service__secretKeyFile', 'key'],
    ['MUSTERD__service', '{"secretId":"x"}'],
  ])('musterd rejects %s, which would give all teams the same credentials', (name, value) => {
    write('key', 'x');
    const said = complaintOf(two, { [name]: value });
    expect(said).toMatch(new RegExp(`^${name}: this setting would apply to all teams \\(south, north\\)`));
    expect(said).toContain('MUSTERD__teams__south__service__secretId');
  });

  it.each([
    [
      { MUSTERD__teams__north__push__batchSize: '99' },
      'MUSTERD__teams__north__push__batchSize: a whole number from 1 to 25, not 99',
    ],
    [{ MUSTERD__push__batchSize: '99' }, 'MUSTERD__push__batchSize: a whole number from 1 to 25, not 99'],
    [
      { MUSTERD__teams__west__push__batchSize: '9' },
      'MUSTERD__teams__west__push__batchSize: the file names no',
    ],
    [{ MUSTERD__teams__north__pusch__a: '9' }, 'MUSTERD__teams__north__pusch__a: there is no such setting'],
    [{ MUSTERD__teams__north__status__port: '9' }, 'MUSTERD__teams__north__status__port: cannot differ'],
    [{ MUSTERD__teams__north: '9' }, 'MUSTERD__teams__north: a mapping of settings is expected'],
    [
      { MUSTERD__teams__north: '{"push":{"batchSize":99}}' },
      'MUSTERD__teams__north: push.batchSize: a whole',
    ],
    [{ MUSTERD__segments: `[{"body":{}}]` }, 'MUSTERD__segments: segments.0.name: text, not nothing'],
    [{ MUSTERD__team: 'north' }, 'MUSTERD__team: the teams are named under "teams"; to choose'],
  ])('musterd rejects %j with one line that begins with "%s"', (env, start) => {
    const said = complaintOf(two, env as Environment);
    expect(said.startsWith(start)).toBe(true);
    expect(said.split('\n')).toHaveLength(1);
  });
});

describe('error messages about a team', () => {
  it.each([
    [
      'teams:\n  north:\n    push:\n      batchSize: 26\n',
      '4:18: teams.north.push.batchSize: a whole number from 1 to 25, not 26',
    ],
    [
      'push:\n  batchSize: 26\nteams:\n  north:\n    push:\n      quietPeriodMs: 2\n',
      '2:14: teams.north.push.batchSize: a whole number from 1 to 25, not 26',
    ],
    [
      'push:\n  batchSize: 26\nteams:\n  a:\n  b:\n    push: {batchSize: 2}\n  c:\n',
      '2:14: teams.a.push.batchSize (and of another team): a whole number from 1 to 25, not 26',
    ],
    ['teams:\n  north:\n    pusch: 3\n', '3:12: teams.north.pusch: there is no such setting'],
    [
      'teams:\n  north:\n    push:\n      batch: 3\n',
      '4:14: teams.north.push.batch: there is no such setting',
    ],
    ['pusch: 3\nteams: {a: {}, b: {}}\n', '1:8: pusch: there is no such setting'],
    [
      'database: {migrate: perhaps}\nteams: {a: {}, b: {}}\n',
      '1:21: database.migrate: true or false, not "perhaps"',
    ],
    ['teams:\n  north: 3\n', '2:10: teams.north: a mapping of settings is expected'],
    ['teams: {}\n', '1:8: teams: a mapping is expected'],
    ['teams: [north]\n', '1:8: teams: a mapping is expected'],
    ["teams: {' north': {}}\n", '1:19: teams. north: a name is expected'],
    ['team: a\nteams: {north: {}}\n', '1:7: team: the teams are named under "teams"; leave this out'],
    [
      'teams:\n  north:\n    database: {url: postgres://x}\n',
      '3:15: teams.north.database: cannot differ from team to team',
    ],
    ['teams: {north: {team: a}}\n', '1:23: teams.north.team: cannot differ from team to team'],
    [
      'segments: [{name: a}, {name: 3}]\nteams: {n: {segments: [{name: all}, {body: {}}]}}\n',
      '2:37: teams.n.segments.1.name: ',
    ],
    [
      'teams:\n  41: {push: {batchSize: 0}}\n',
      '2:26: teams.41.push.batchSize: a whole number from 1 to 25, not 0',
    ],
    ['teams: {a: {}, a: {}}\n', '1:16: this is not YAML (duplicate key)'],
  ])('the message for %j begins with line and column of the mistake: "%s"', (yaml, start) => {
    const said = complaintOf(yaml);
    expect(said.slice(0, start.length)).toBe(start);
    expect(said.split('\n')).toHaveLength(1);
  });
});

describe('two teams with the same credentials', () => {
  const shared = (first: string, second: string, common = '') =>
    complaintOf(`${common}teams:\n  a: {${first}}\n  b: {${second}}\n`);

  it.each([
    ["service: {secretId: 'x'}", "service: {secretId: 'x'}", '3:27: teams.b.service.secretId: teams.a has'],
    [
      "service: {secretId: 'x'}",
      "service: {nextSecretId: 'x'}",
      '3:31: teams.b.service.nextSecretId: teams.a',
    ],
    [
      "service: {apiKey: 'x'}",
      "service: {apiKey: 'x'}",
      '3:25: teams.b.service.apiKey: teams.a has the same API key',
    ],
  ])('musterd rejects two teams that share a credential: %s and %s', (first, second, start) => {
    const said = shared(first, second);
    expect(said.startsWith(start)).toBe(true);
    expect(said).not.toContain('sixteen');
  });

  it('musterd rejects a secret that two teams inherit, even if their base URLs differ by a final slash', () => {
    const common = "service: {secretId: 'x', baseUrl: 'https://service.example'}\n";
    expect(shared('', '', common)).toMatch(
      /^1:21: teams\.b\.service\.secretId: teams\.a has the same API Secret/,
    );
    expect(shared('', "service: {baseUrl: 'https://service.example/'}", common)).toContain(
      'the same API Secret',
    );
  });

  it('musterd accepts the same secret id for two teams at different services', () => {
    const yaml = `service: {secretId: 'x'}\nteams:
      a: {service: {baseUrl: 'https://a.example'}}
      b: {service: {baseUrl: 'https://b.example'}}\n`;
    expect(load(yaml).teams).toHaveLength(2);
  });
});

describe('variables in a settings file', () => {
  const put = (text: string, env: Environment) => load(`service:\n  caFile: ${text}\n`, env).teams[0].service;

  it.each([
    [inBraces('KEY'), 'the-key'],
    [`'a ${inBraces('KEY')} and ${inBraces('OTHER')}'`, 'a the-key and other'],
    [inBraces('MISSING:-a default'), 'a default'],
    [inBraces('EMPTY:-a default'), 'a default'],
    [inBraces('KEY:-a default'), 'the-key'],
    [`${inBraces('MISSING:-')}x`, 'x'],
    [`$${inBraces('KEY')}`, inBraces('KEY')],
    [`$KEY $$ ${inBraces('KEY')}`, '$KEY $$ the-key'],
  ])('musterd expands %s to %s', (text, expected) => {
    expect(put(text, { KEY: 'the-key', OTHER: 'other', EMPTY: '' }).caFile).toBe(expected);
  });

  it.each(['0012', 'true', '{a: 1}', 'a: b # c', "it's\n- two", inBraces('KEY'), '$$'])(
    'musterd reads the value %j of a variable as text, not as YAML',
    (value) => {
      expect(put(inBraces('VALUE'), { VALUE: value }).caFile).toBe(value);
    },
  );

  it('musterd reads a variable as a number if the setting expects a number', () => {
    expect(load(`push: {batchSize: "${inBraces('SIZE')}"}\n`, { SIZE: '4' }).teams[0].push.batchSize).toBe(4);
  });

  it('musterd expands variables in values, but not in keys', () => {
    const yaml = `teams:\n  "${inBraces('KEY')}": {}\n`;
    expect(load(yaml, { KEY: 'x' }).teams[0].team).toBe(inBraces('KEY'));
  });

  it('musterd expands variables in lists', () => {
    const yaml = `segments:\n  - name: all\n  - name: ${inBraces('KEY')}\n`;
    expect(load(yaml, { KEY: 'vip' }).teams[0].segments[1]?.name).toBe('vip');
  });

  it.each([
    [inBraces('MISSING'), 'the environment variable MISSING is not set'],
    [inBraces('a-canary'), 'begin the name of a variable'],
    [inBraces(''), 'begin the name of a variable'],
    [`${inBraces('KEY').slice(0, -1)}-canary`, 'begin the name of a variable'],
  ])('musterd rejects the variable reference %s and reports "%s"', (text, message) => {
    const said = complaintOf(`teams:\n  north:\n    service:\n      secretKey: ${text}\n`, { KEY: 'x' });
    expect(said.startsWith('4:18: teams.north.service.secretKey: ')).toBe(true);
    expect(said).toContain(message);
    expect(said).not.toContain('canary');
  });

  it('musterd reports all missing variables at once', () => {
    const yaml = `service: {secretId: "${inBraces('A')}", secretKey: "${inBraces('B')}"}\n`;
    expect(complaintOf(yaml).split('\n')).toHaveLength(2);
  });
});

describe('secrets in files', () => {
  const credentials = () => {
    const path = join(folder, 'credentials');
    mkdirSync(path, { recursive: true });
    return path;
  };

  it('musterd trims the secret in a file, and finds the file beside the settings file or by an absolute path', () => {
    const key = write('north-key', '  the key of the north\r\n');
    for (const name of ['north-key', key]) {
      const [config] = load(`service: {secretKeyFile: ${name}}\n`).teams;
      expect(config.service).toMatchObject({ secretKey: 'the key of the north', secretKeyFile: name });
    }
  });

  it('musterd reads the token of each person from a file, and rejects a missing file', () => {
    write('anns', 'a secret of ann alone\n');
    write('bos', 'a secret of bo alone\n');
    const people = (bo: string) =>
      `status: {people: {ann: {tokenFile: anns, may: decide}, bo: {tokenFile: ${bo}}}}\n`;
    expect(load(people('bos')).teams[0].status.people).toEqual({
      ann: { token: 'a secret of ann alone', tokenFile: 'anns', may: 'decide' },
      bo: { token: 'a secret of bo alone', tokenFile: 'bos', may: 'look' },
    });
    expect(complaintOf(people('none'))).toContain('none cannot be read (ENOENT)');
  });

  it('musterd looks for a secret file in the systemd credentials first, then beside the settings file (S36)', () => {
    write('beside', 'beside');
    write('both', 'beside');
    const env = { CREDENTIALS_DIRECTORY: credentials() };
    write('credentials/both', 'of systemd');
    const read = (name: string) =>
      load(`service: {secretKeyFile: ${name}}\n`, env).teams[0].service.secretKey;
    expect([read('both'), read('beside')]).toEqual(['of systemd', 'beside']);
  });

  it('musterd rejects a secret that is given both as a value and as a file', () => {
    write('key', 'x');
    const both = "service: {secretKey: 'x', secretKeyFile: key}";
    const message = 'service.secretKeyFile: service.secretKey is set as well: give one of the two';
    expect(complaintOf(`${both}\n`)).toBe(`1:42: ${message}`);
    expect(complaintOf(`teams: {a: {${both}}}\n`)).toBe(`1:54: teams.a.${message}`);
    expect(complaintOf('', { MUSTERD_SECRET_KEY: 'x', MUSTERD__service__secretKeyFile: 'y' })).toContain(
      'MUSTERD__service__secretKeyFile: service.secretKey is set as well',
    );
  });

  it('musterd prefers the secret of a team or a variable to the common secret, whether value or file', () => {
    write('key', 'of a file');
    const yaml = `service: {secretKeyFile: key}
teams:
  a: {service: {secretKey: of a}}
  b: {service: {baseUrl: https://b.example}}\n`;
    expect(load(yaml).teams.map(({ service }) => service.secretKey)).toEqual(['of a', 'of a file']);
    expect(
      load("service: {secretKey: 'x'}\nteams: {a: {service: {secretKeyFile: key}}}\n").teams[0].service,
    ).toMatchObject({
      secretKey: 'of a file',
    });
    const byEnv = load('service: {secretKeyFile: nowhere}\n', { MUSTERD_SECRET_KEY: 'of the environment' });
    expect(byEnv.teams[0].service).toMatchObject({ secretKey: 'of the environment' });
  });

  it('musterd names the setting in the error if its secret file is empty, missing or too short', () => {
    write('short', 'canary');
    write('empty', '\n');
    for (const setting of ['token: short', 'tokenFile: short'])
      expect(complaintOf(`status: {people: {ann: {${setting}}}}\n`)).toContain(': at least 16 characters');
    expect(complaintOf('service: {secretKeyFile: empty}\n')).toBe(
      `1:26: service.secretKeyFile: ${join(folder, 'empty')} is empty`,
    );
    expect(complaintOf('service: {secretKeyFile: nowhere}\n')).toBe(
      `1:26: service.secretKeyFile: ${join(folder, 'nowhere')} cannot be read (ENOENT)`,
    );
    expect(complaintOf('service: {secretKeyFile: 3}\n')).toMatch(/^1:26: service\.secretKeyFile: /);
    expect(complaintOf('', { MUSTERD__service__secretKeyFile: 'nowhere' })).toMatch(
      /^MUSTERD__service__secretKeyFile: /,
    );
  });

  it.runIf(process.getuid?.() === 0)(
    'musterd warns about a secret file that another account can change or replace',
    () => {
      const theirs = write('theirs', 'x', 0o600);
      chownSync(theirs, 65_534, 65_534);
      const warnings = (yaml: string) => load(yaml).warnings;
      expect(warnings('service: {secretKeyFile: theirs}\n')).toEqual([
        `${file}:1:26: service.secretKeyFile: ${theirs} belongs to another account (uid 65534), which can change it`,
      ]);
      mkdirSync(join(folder, 'open-to-all'));
      const ours = write('open-to-all/ours', 'x', 0o600);
      for (const [mode, isTold] of [
        [0o777, true],
        [0o770, true],
        [0o1777, false],
        [0o755, false],
      ] as const) {
        chmodSync(join(folder, 'open-to-all'), mode);
        expect([mode, warnings('service: {secretKeyFile: open-to-all/ours}\n')]).toEqual([
          mode,
          isTold
            ? [
                `${file}:1:26: service.secretKeyFile: ${ours} can be replaced by other accounts: they may write to its folder`,
              ]
            : [],
        ]);
      }
    },
  );

  describe.runIf(process.platform !== 'win32')('the mode of a file with secrets', () => {
    const variables = [
      'DATABASE_URL_FILE',
      'MUSTERD_SECRET_KEY_FILE',
      'MUSTERD_NEXT_SECRET_KEY_FILE',
      'MUSTERD_API_KEY_FILE',
      'MUSTERD_NOTIFY_URL_FILE',
      'MUSTERD_NOTIFY_SECRET_FILE',
    ];
    /** Where not every text is one. */
    const values: Readonly<Record<string, string>> = {
      DATABASE_URL_FILE: 'postgres://y',
      MUSTERD_NOTIFY_URL_FILE: 'https://y.example',
      MUSTERD_NOTIFY_SECRET_FILE: 'a-secret-of-some-length',
    };
    const modes = Array.from({ length: 0o100 }, (_, others) => 0o600 + others);

    it.each(['service.secretKeyFile', ...variables])(
      'musterd warns if other accounts can read the file of %s, and rejects it if they can write it (S37)',
      (named) => {
        for (const mode of modes) {
          const path = write('of-a-mode', values[named] ?? 'z', mode);
          chmodSync(path, mode);
          const isVariable = variables.includes(named);
          const [yaml, env] = isVariable
            ? ['', { [named]: path }]
            : ['service: {secretKeyFile: of-a-mode}\n', {}];
          const where = isVariable ? named : `${file}:1:26: service.secretKeyFile`;
          const words = (deed: string) =>
            `${where}: ${path} can be ${deed} by accounts other than its owner (mode ${mode.toString(8)}); run "chmod 600"`;
          if ((mode & 0o022) !== 0) expect(() => load(yaml, env)).toThrow(words('changed'));
          else expect(load(yaml, env).warnings).toEqual((mode & 0o044) === 0 ? [] : [words('read')]);
        }
      },
    );

    it('musterd checks the mode of the settings file only if the file contains a secret (S38)', () => {
      const secrets = [
        'service: {secretKey: abc}',
        'teams: {a: {service: {secretKey: abc}}}',
        'database: {url: "postgres://u:abc@db.example/x"}',
        'notify: {url: "https://hooks.example/abc"}',
        'status: {people: {ann: {token: a token of sixteen}}}',
      ];
      const none = [
        'service: {secretId: abc}',
        `service: {secretKey: "${inBraces('KEY')}"}`,
        'database: {url: "postgres://u@db.example/x"}',
        'service: {secretKeyFile: beside}',
      ];
      write('beside', 'x');
      const at = (yaml: string, mode: number) =>
        loadConfiguration(write('settings.yaml', yaml, mode), { KEY: 'x' }).warnings;
      const words = (deed: string, mode: string) =>
        `settings: ${file} can be ${deed} by accounts other than its owner (mode ${mode}); run "chmod 600"`;
      for (const yaml of secrets) {
        expect([yaml, at(yaml, 0o600)]).toEqual([yaml, []]);
        expect(at(yaml, 0o644)).toEqual([words('read', '644')]);
        for (const mode of [0o602, 0o620])
          expect(() => at(yaml, mode)).toThrow(words('changed', mode.toString(8)));
      }
      for (const yaml of none) expect([yaml, at(yaml, 0o666)]).toEqual([yaml, []]);
    });

    it('musterd accepts any mode of a systemd credential and of a file without a secret', () => {
      const places = { CREDENTIALS_DIRECTORY: credentials() };
      const env = { ...places, MUSTERD_SECRET_KEY_FILE: write('credentials/of-systemd', 'z', 0o440) };
      expect(load('', env).warnings).toEqual([]);
      const id = write('an-id', 'x', 0o600);
      chmodSync(id, 0o666);
      expect(load('', { MUSTERD_SECRET_ID_FILE: id }).warnings).toEqual([]);
    });
  });
});

describe('compareConfigurations', () => {
  const compare = (before: string, after: string, env: Environment = {}) =>
    compareConfigurations(load(before), load(after, env));

  it('reports no difference if only comments, default values or the order of teams change', () => {
    const none = { added: [], removed: [], changed: [], needsRestart: [] };
    expect(compare(two, two)).toEqual(none);
    expect(compare(two, `# words\nrate: {perMinute: 500}\n${two}`)).toEqual(none);
    expect(compare('teams: {a: {}, b: {}}\n', 'teams: {b: {}, a: {}}\n')).toEqual(none);
  });

  it('reports which teams were added, removed and changed', () => {
    const after =
      'push: {batchSize: 7, quietPeriodMs: 5}\nteams:\n  west: {}\n  north: {roles: {admin: [3]}}\n';
    expect(compare(two, after)).toEqual({
      added: ['west'],
      removed: ['south'],
      changed: ['north'],
      needsRestart: [],
    });
    expect(compare(two, two, { MUSTERD__push__batchSize: '1' }).changed).toEqual(['south', 'north']);
  });

  it('lists a changed status.port, database or log setting under needsRestart, and no team as changed', () => {
    const after = `status: {port: 8080}\ndatabase: {url: 'postgres://x', migrate: false}\nlog: {level: debug}\n${two}`;
    expect(compare(two, after)).toEqual({
      added: [],
      removed: [],
      changed: [],
      needsRestart: expect.arrayContaining([
        'status.port',
        'database.url',
        'database.migrate',
        'log.level',
      ]) as unknown,
    });
  });

  it('reports a team as changed if its secret file has new content', () => {
    const yaml = 'teams: {a: {service: {secretKeyFile: turning}}}\n';
    write('turning', 'old');
    const before = load(yaml);
    write('turning', 'new');
    expect(compareConfigurations(before, load(yaml)).changed).toEqual(['a']);
  });
});
