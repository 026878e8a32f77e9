import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { everyCommand, wellUsed } from './every-command.ts';
import { runMusterd } from './run-musterd.ts';
import { useSettingsFile } from './settings-file.ts';

const { file, complaintOf } = useSettingsFile();

/** The demo and the emulator have settings of their own; what a shell is told needs none. */
const withSettings = everyCommand
  .map(({ name }) => name)
  .filter((name) => !['completion', 'demo', 'emulator'].includes(name));

describe('error messages about a settings file', () => {
  it.each([
    ['guard: {maxRows: many}\n', '1:18: guard.maxRows: a whole number, not "many"'],
    ['guard: {maxRows: -1}\n', '1:18: guard.maxRows: a whole number of at least 0, not -1'],
    ['guard: {maxRows: 1.5}\n', '1:18: guard.maxRows: a whole number, not 1.5'],
    ['guard:\n  maxRows:\n', '2:11: guard.maxRows: a whole number, not nothing'],
    ['guard: {maxRows: [3]}\n', '1:18: guard.maxRows: a whole number, not a list'],
    [
      'push: {batchsize: 3}\n',
      '1:19: push.batchsize: there is no such setting; did you mean push.batchSize?',
    ],
    ['lease: {ttlMs: 1}\n', '1:16: lease.ttlMs: a whole number from 1000 to 2147483647, not 1'],
    ['status: {people: {ann: {}}}\n', '1:24: status.people.ann: tokenFile is missing for this person'],
    [
      'status: {people: {ann: {token: a token of the two}, bo: {token: a token of the two}}}\n',
      '1:24: status.people.ann: another person has the same token\n1:57: status.people.bo: another person has the same token',
    ],
    [
      "status: {people: {' ann': {token: a token of ann alone}}}\n",
      '1:27: status.people. ann: a name is expected, without white space around it',
    ],
    [
      "status: {people: {'hr:ann': {token: a token of ann alone}}}\n",
      '1:29: status.people.hr:ann: a name must not contain a colon: browsers cut it off there',
    ],
    [
      'status: {people: {ann: {token: a token of ann alone, may: all}}}\n',
      '1:59: status.people.ann.may: one of look, decide, not "all"',
    ],
    ['roles: {admin: [one]}\n', '1:17: roles.admin.0: a whole number, not "one"'],
    ['guard: {maxShare: most}\n', '1:19: guard.maxShare: a number, not "most"'],
    ['rate: {share: 0}\n', '1:15: rate.share: a number above 0 and at most 1, not 0'],
    ['database: {migrate: no}\n', '1:21: database.migrate: true or false, not "no"'],
    ['database: {migrate: {}}\n', '1:21: database.migrate: true or false, not a mapping'],
    ['log: {level: loud}\n', '1:14: log.level: one of debug, info, warn, error, silent, not "loud"'],
    ["team: ''\n", '1:7: team: text is expected, but it is empty'],
    ['team: [a]\n', '1:7: team: text, not a list'],
    ['database: {url: 5}\n', '1:17: database.url: text is expected'],
    ["service: {apiKey: ''}\n", '1:19: service.apiKey: text is expected, but it is empty'],
    ['service: {apiKey: 5}\n', '1:19: service.apiKey: text is expected: write it in quotes'],
    [
      'retention: {changes: 90 dayz}\n',
      '1:22: retention.changes: a number of days such as 90d, or forever, is expected',
    ],
    ['rate: 3\n', '1:7: rate: a mapping is expected'],
    ['segments: 3\n', '1:11: segments: a list is expected'],
    ['segments: []\n', '1:11: segments: at least one segment is expected'],
    ['segments: [{name: a, body: {limit: x}}]\n', '1:36: segments.0.body.limit: a number is expected'],
    [
      'segments: [{name: a, body: {limit: 1.5}}]\n',
      '1:36: segments.0.body.limit: a whole number is expected',
    ],
    ['segments: [{name: a, body: {date: 5}}]\n', '1:35: segments.0.body.date: text is expected'],
    [
      'segments: [{name: a, body: {archived: x}}]\n',
      '1:39: segments.0.body.archived: true or false is expected',
    ],
    [
      `guard: {maxRows: ${'9'.repeat(20)}x${'y'.repeat(60)}}\n`,
      `1:18: guard.maxRows: a whole number, not "${'9'.repeat(20)}x${'y'.repeat(37)}…`,
    ],
  ])('the message for %j names the position, the setting and the expected value', (yaml, said) => {
    expect(complaintOf(yaml)).toBe(said);
  });

  it.each([
    ['pusch:\n  batchSize: 3\n', '1:1: pusch: '],
    ['team: a\nguard:\n  maxRows:\n    many\n', '3:3: guard.maxRows: '],
    ['push:\n  - 3\n', '1:1: push: '],
    ['# words\n\nschedule:\n  users: often\n', '4:10: schedule.users: '],
    ['teams:\n  north:\n    pusch:\n      batchSize: 3\n', '3:5: teams.north.pusch: '],
    ['teams:\n  north:\n    schedule:\n      users: often\n', '4:14: teams.north.schedule.users: '],
    [
      'schedule:\n  users: often\nteams:\n  a:\n  b:\n',
      '2:10: teams.a.schedule.users (and of another team): ',
    ],
  ])('the message for %j begins with line, column and setting: "%s"', (yaml, start) => {
    expect(complaintOf(yaml).slice(0, start.length)).toBe(start);
  });

  it.each([
    ['schedule: {users: often}\n', '1:19: schedule.users: a cron expression, not "often" ('],
    [
      'schedule: {listings: "0 0 5 * 1#2"}\n',
      '1:22: schedule.listings: an expression with a future time, not "0 0 5 * 1#2"',
    ],
    ['schedule: {counts: "61 * * * *"}\n', '1:20: schedule.counts: a cron expression, not "61 * * * *" ('],
    ['service: {baseUrl: nowhere}\n', "1:20: service.baseUrl: The service's base URL is not a URL. Give it"],
    [
      'database: {url: "mysql://canary@x"}\n',
      '1:17: database.url: DATABASE_URL does not begin with postgres:// or',
    ],
    [
      'database: {url: "postgres://canary@x/y?sslmode=x"}\n',
      '1:17: database.url: DATABASE_URL has an unknown sslmode',
    ],
    ['ping: {url: "http://canary.example"}\n', '1:13: ping.url: The address must be https'],
    [
      'ping: {url: "https://canary:x@a.example"}\n',
      '1:13: ping.url: The address must not contain a name or a password',
    ],
    ['notify: {url: "http://canary.example"}\n', '1:15: notify.url: The address must be https'],
    [
      'notify: {secret: "whsec_canary of no base64"}\n',
      '1:18: notify.secret: After whsec_, base64 of at least 16',
    ],
    [
      'notify: {secret: "whsec_Y2FuYXJ5IHRoYXQ="}\n',
      '1:18: notify.secret: After whsec_, base64 of at least 16',
    ],
  ])('musterd rejects %j with one line that begins with "%s" and repeats no secret', (yaml, start) => {
    const said = complaintOf(yaml);
    expect(said.slice(0, start.length)).toBe(start);
    expect(said.split('\n')).toHaveLength(1);
    expect(said).not.toContain('canary');
  });

  it('musterd reports no mistake in correct schedules, addresses and secrets', () => {
    const yaml = `schedule: {users: "*/5 * * * *", listings: "0 0 3 * * *", counts: "0 * * * 1-5"}
service: {baseUrl: https://service.example/path, secretId: a, secretKey: b, nextSecretId: c, nextSecretKey: d}
database: {url: "postgresql://u:p@h/d?sslmode=require"}
ping: {url: https://alarms.example/x}
notify: {url: "http://localhost:1/x", secret: whsec_MDEyMzQ1Njc4OWFiY2RlZg==}
`;
    expect(complaintOf(yaml)).toBe('');
    expect(complaintOf('service: {apiKey: x}\nping: {url: "http://127.0.0.1:1/x"}\n')).toBe('');
  });
});

describe('environment variables', () => {
  it.each([
    ['MUSTERD_BASEURL', 'MUSTERD_BASE_URL'],
    ['MUSTERD_SECERT_KEY', 'MUSTERD_SECRET_KEY'],
    ['MUSTERD_SECRET_KEYFILE', 'MUSTERD_SECRET_KEY_FILE'],
    ['MUSTERD_PUSH_BATCHSIZE', 'MUSTERD__push__batchSize'],
    ['MUSTERD_push__batchSize', 'MUSTERD__push__batchSize'],
    ['MUSTERD_TEAMS', 'MUSTERD_TEAM'],
    ['MUSTERD_STATUS_PORT', 'MUSTERD__status__port'],
  ])('musterd rejects the variable %s and suggests %s', (name, meant) => {
    expect(complaintOf('', { [name]: 'a-canary' })).toBe(
      `${name}: there is no such variable; did you mean ${meant}?`,
    );
  });

  it.each([
    ['MUSTERD__push__batchsize', 'push.batchSize'],
    ['MUSTERD__pusch__batchSize', 'push'],
    ['MUSTERD__service__secretKey_FILE', 'service.secretKeyFile'],
  ])('musterd rejects the unknown setting in %s and suggests %s', (name, meant) => {
    expect(complaintOf('', { [name]: '3' })).toBe(
      `${name}: there is no such setting; did you mean ${meant}?`,
    );
  });

  it.each(['MUSTERD_X', 'MUSTERD_', 'MUSTERD_SOMETHING_ELSE_ALTOGETHER', 'MUSTERD_CONFIG_FILE_FILE_FILE'])(
    'musterd rejects the unknown variable %s without a suggestion',
    (name) => {
      expect(complaintOf('', { [name]: '' })).toBe(`${name}: there is no such variable`);
    },
  );

  it.each(['MUSTERD_CONFIG', 'MUSTERD_TEAM', 'MUSTERD_IMAGE'])('musterd accepts the variable %s', (name) => {
    expect(complaintOf('', { [name]: '' })).toBe('');
  });

  it.each([
    ['MUSTERD_SERVICE_HOST', '10.0.0.1'],
    ['MUSTERD_SERVICE_PORT', '8080'],
    ['MUSTERD_SERVICE_PORT_METRICS', '8080'],
    ['MUSTERD_PORT', 'tcp://10.0.0.1:8080'],
    ['MUSTERD_PORT_8080_TCP_ADDR', '10.0.0.1'],
    ['MUSTERD_POSTGRES_PORT', 'tcp://10.0.0.1:5432'],
    ['musterd_other', 'x'],
    ['OTHER_MUSTERD_X', 'x'],
  ])('musterd ignores %s=%s, a variable of another program', (name, value) => {
    expect(complaintOf('', { [name]: value })).toBe('');
  });

  it('musterd accepts an unknown variable if the settings file refers to it', () => {
    const inFile = `service: {apiKey: "\${MUSTERD_NORTH_KEY}", baseUrl: "\${MUSTERD_NORTH_URL:-https://x.example}"}\n`;
    expect(complaintOf(inFile, { MUSTERD_NORTH_KEY: 'x', MUSTERD_NORTH_URL: '' })).toBe('');
    expect(complaintOf('service: {apiKey: "$${MUSTERD_NORTH_KEY}"}\n', { MUSTERD_NORTH_KEY: 'x' })).toContain(
      'MUSTERD_NORTH_KEY: there is no such variable',
    );
  });

  it.each([
    ['MUSTERD_BASEURL', 'https://service.example', 'did you mean MUSTERD_BASE_URL?'],
    ['MUSTERD__schedule__users', 'every now and then', 'a cron expression, not "every now and then"'],
  ])('every command with settings exits 78 for the wrong variable %s=%s', async (variable, value, words) => {
    for (const name of withSettings) {
      // No data folder can be made below a file: whoever starts a server fails with another code.
      const env = { MUSTERD_DATA_DIR: join(file, 'none'), [variable]: value };
      const { code, stderr } = await runMusterd(wellUsed(name), env);
      expect([name, code, stderr]).toEqual([name, 78, expect.stringContaining(words)]);
    }
  });
});
