import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { worstExitCode } from '../../src/commands/sync/each-team.ts';
import { createEmulator, type Emulator } from '../../src/emulator/create-emulator.ts';
import { holdRequest } from '../support/hold-request.ts';
import { retryAtOnce } from '../support/retry-at-once.ts';
import { ownFolder } from './own-folder.ts';
import { askToStop, runMusterd } from './run-musterd.ts';
import { createStage, loginAt, type Stage } from './stage.ts';

type Environment = Readonly<Record<string, string>>;

/** Two teams on two services, and one database; a file names both. */
describe('musterd with several teams', () => {
  let stage: Stage;
  let south: Emulator;
  const folder = ownFolder();
  let file: string;

  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const environment = () => ({
    DATABASE_URL: stage.url,
    MUSTERD_CONFIG: file,
    NORTH_KEY: stage.emulator.environment['MUSTERD_SECRET_KEY'] ?? '',
  });
  const musterd = (args: readonly string[], env: Environment = {}) =>
    runMusterd(args, { ...environment(), ...env });
  const runsOf = async () => stage.sql('select team, outcome from sync.runs order by run_id');
  const wrongKey = { NORTH_KEY: 'canary-of-a-wrong-key' };

  beforeAll(async () => {
    stage = await createStage();
    south = await createEmulator({ http: true, teamId: 77, users: 8, tags: 5, fields: 4, ratePerMinute: 0 });
    write('south-key', `${south.environment['MUSTERD_SECRET_KEY']}\n`);
    file = write(
      'teams.yaml',
      `rate: {perMinute: 100000}
teams:
  north:
    service:
      baseUrl: ${stage.emulator.url}
      secretId: ${stage.emulator.environment['MUSTERD_SECRET_ID']}
      secretKey: \${NORTH_KEY}
  south:
    service:
      baseUrl: ${south.url}
      secretId: ${south.environment['MUSTERD_SECRET_ID']}
      secretKeyFile: south-key
`,
    );
  });
  afterAll(async () => {
    await stage.close();
    await south.close();
  });

  it('migrates the database, and reconciles the teams one after the other', async () => {
    const migrated = await musterd(['migrate', '--json']);
    expect(migrated.code).toBe(0);
    expect(JSON.parse(migrated.stdout)).toHaveProperty('applied');
    const { code, stdout } = await musterd(['reconcile']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^north:\nTeam 41 .*complete[\s\S]*\nsouth:\nTeam 77 .*complete/);
    expect(await runsOf()).toEqual([
      ['north', 'complete'],
      ['south', 'complete'],
    ]);
    expect(
      await stage.sql('select team_id, count(*) from mirror.users group by team_id order by team_id'),
    ).toEqual([
      ['41', '30'],
      ['77', '8'],
    ]);
  });

  it('exits 77 if a team has wrong credentials, and still reconciles the next team', async () => {
    const before = (await runsOf()).length;
    const { code, stdout, stderr } = await musterd(['reconcile', '--json'], wrongKey);
    expect(code).toBe(77);
    expect(JSON.parse(stdout)).toMatchObject([
      { name: 'north', exit_code: 77, error: { code: 'credentials' } },
      { name: 'south', exit_code: 0, outcome: 'complete', team: { id: 77 } },
    ]);
    expect(stderr).toMatch(/^musterd: north: /m);
    expect(stdout + stderr).not.toContain('canary');
    expect((await runsOf()).slice(before)).toEqual([
      ['north', 'failed'],
      ['south', 'complete'],
    ]);
  });

  it('exits with the most severe exit code of the teams', async () => {
    retryAtOnce();
    const [user] = south.team.users().filter(({ email }) => email !== null);
    if (user === undefined) throw new Error('no user');
    south.team.editUser(user.id, { email: 'service@example.com' });
    await stage.sql(`update mirror.users set email = 'mirror@example.com' where id = ${user.id}`);
    const { code, stdout } = await musterd(['reconcile', '--json']);
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject([
      { name: 'north', exit_code: 0 },
      { name: 'south', exit_code: 3, held: 1 },
    ]);
    expect(
      (await musterd(['reconcile'], { MUSTERD__teams__north__service__baseUrl: 'http://127.0.0.1:9' })).code,
    ).toBe(1);
    await stage.sql(`update mirror.users set email = 'service@example.com' where id = ${user.id}`);
  });

  it.each([
    ['before the command', ['--team', 'south', 'reconcile', '--json'], {}],
    ['after the command', ['reconcile', '--team', 'south', '--json'], {}],
    ['in the environment', ['reconcile', '--json'], { MUSTERD_TEAM: 'south' }],
  ] as const)('reconciles only the team that is named %s', async (_, args, env) => {
    const before = (await runsOf()).length;
    const { code, stdout } = await musterd(args, env);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ team: { id: 77 }, outcome: 'complete' });
    expect((await runsOf()).slice(before)).toEqual([['south', 'complete']]);
  });

  it('shows all teams in status, or with --team only the named team', async () => {
    const all = await musterd(['status', '--json']);
    expect(all.code).toBe(0);
    expect(JSON.parse(all.stdout)).toMatchObject([
      { team: 'north', team_id: 41, rows: { users: 30, tags: 25, contact_fields: 12 } },
      { team: 'south', team_id: 77, rows: { users: 8 } },
    ]);
    expect((await musterd(['status'])).stdout).toMatch(
      /^team +north: 41 [\s\S]*\nlast success [\s\S]*\n\nteam +south: 77 /,
    );
    const one = await musterd(['status', '--json', '--team', 'north']);
    expect(JSON.parse(one.stdout)).toMatchObject({ team: 'north', team_id: 41 });
  });

  it.each([['plan'], ['check'], ['held'], ['verify'], ['why', '41000001'], ['api', 'GET', '/v1/team']])(
    'exits 64 for %s without --team, and lists the teams',
    async (...args) => {
      const { code, stdout, stderr } = await musterd(args);
      expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
      expect(stderr).toContain('There are several teams: north, south\n  Choose one with --team.');
    },
  );

  it('exits 77 and names the needed login in JSON if the login may only read', async () => {
    const role = `only_reads_${process.pid}`;
    await stage.sql(`create role ${role} login password 'secret' in role musterd_reader`);
    try {
      const { code, stdout } = await musterd(['reconcile', '--json'], {
        DATABASE_URL: loginAt(stage.url, role),
      });
      const denied = {
        code: 'denied',
        message: expect.stringContaining('needs the login that owns') as string,
      };
      expect([code, JSON.parse(stdout)]).toMatchObject([
        77,
        [
          { name: 'north', exit_code: 77, error: denied },
          { name: 'south', exit_code: 77, error: denied },
        ],
      ]);
    } finally {
      await stage.sql(`drop role ${role}`);
    }
  });

  it('exits 1 and starts no run of a further team after a request to stop', async () => {
    const held = holdRequest(stage.emulator, '/v1/contact-fields');
    const before = (await runsOf()).length;
    const running = musterd(['reconcile', '--json']);
    await held.reached();
    askToStop();
    held.letGo();
    const { code, stdout } = await running;
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject([
      { name: 'north', exit_code: 1 },
      { name: 'south', exit_code: 1, error: { code: 'stopped' } },
    ]);
    expect((await runsOf()).slice(before)).toEqual([['north', 'partial']]);
  });

  it.runIf(process.platform !== 'win32')('warns if other accounts can read a token file', async () => {
    writeFileSync(join(folder, 'open-token'), 'a token of ann alone', { mode: 0o644 });
    const { code, stderr } = await runMusterd(['status', '--team', 'north'], {
      MUSTERD_CONFIG: file,
      NORTH_KEY: 'x',
      DATABASE_URL: stage.url,
      MUSTERD__status__people__ann__tokenFile: join(folder, 'open-token'),
    });
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /"level":"warn".*MUSTERD__status__people__ann__tokenFile: .*can be read by accounts other/,
    );
  });
});

describe('worstExitCode', () => {
  it.each([
    [[], 0],
    [[0, 3], 3],
    [[3, 4, 0], 4],
    [[4, 75], 75],
    [[75, 1], 1],
    [[1, 77, 0], 77],
    [[77, 78], 78],
  ] as const)('returns the most severe of the exit codes %j: %i', (codes, expected) => {
    expect(worstExitCode(codes)).toBe(expected);
  });
});
