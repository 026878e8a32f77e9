/** What each command does for the login of whoever types it: as far as the rights of the login go. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createTeams, type Team } from './agreed/people.ts';
import { everyCommand } from './every-command.ts';
import { ownFolder } from './own-folder.ts';
import { askToStop, runMusterd } from './run-musterd.ts';
import { loginAt } from './stage.ts';

const logins = ['reader', 'editor', 'role editor', 'approver', 'owner'] as const;
type Login = (typeof logins)[number];

const folder = ownFolder();
const sheet = join(folder, 'phones.csv');
const teams = createTeams();
const owns = 'the login that owns the mirror';
const create = 'schedule create --inbox INBOX --at 2031-01-15T09:00:00Z --text Hello --list 5';

/** The command, who may do it, its exit code for them, and what the others are told that it needs. */
const commands: readonly (readonly [command: string, may: readonly Login[], code: number, needs: string])[] =
  [
    ['status', logins, 0, ''],
    ['held', logins, 0, ''],
    ['why USER', logins, 0, ''],
    ['changes', logins, 0, ''],
    ['export', logins, 0, ''],
    ['sql SELECT', logins, 0, ''],
    ['migrate', logins, 0, ''],
    ['plan', logins, 3, ''],
    ['undo 1', logins, 0, ''],
    ['import SHEET --dry-run', logins, 0, ''],
    ['import SHEET --yes --reason x', ['owner'], 0, `${owns} for --reason`],
    ['import SHEET --yes', ['editor', 'owner'], 0, 'the role musterd_editor'],
    ['reject BATCH --only USER --reason x', ['approver', 'owner'], 0, 'the role musterd_approver'],
    ['approve BATCH --only OTHER --reason x', ['approver', 'owner'], 0, 'the role musterd_approver'],
    [
      'resolve THIRD email --take service --if EDITED --if-service WAS',
      ['approver', 'owner'],
      0,
      'the role musterd_approver',
    ],
    [
      'hold USER phone --until 1h --reason x',
      ['editor', 'approver', 'owner'],
      0,
      'the role musterd_editor or musterd_approver',
    ],
    [
      'hold USER phone --end',
      ['editor', 'approver', 'owner'],
      0,
      'the role musterd_editor or musterd_approver',
    ],
    ['verify', ['owner'], 0, owns],
    ['reconcile', ['owner'], 0, owns],
    ['resync --adopt-service', ['owner'], 0, owns],
    ['adopt --reason x --yes', ['owner'], 0, owns],
    ['withdraw', logins, 0, ''],
    ['withdraw 000000000000', logins, 64, ''],
    ['check', ['owner'], 0, owns],
    ['api GET /v1/team', ['owner'], 0, owns],
    ['tag create VIP --yes', ['owner'], 0, owns],
    [`${create} --yes`, ['owner'], 0, owns],
    ['schedule cancel MESSAGE --yes', ['owner'], 0, owns],
    ['conversations read --inbox INBOX --user MEMBER --target 15550100 --yes', ['owner'], 0, owns],
    ['page --port 0', logins, 0, ''],
    ['daemon', ['owner'], 0, owns],
  ];

/** They touch no mirror that is there. */
const elsewhere = ['completion', 'emulator', 'demo'];

const nameOf = (command: string) =>
  everyCommand.find(({ name }) => `${command} `.startsWith(`${name} `))?.name ?? '';

it('the table of this file lists every command that uses a mirror', () => {
  const tried = new Set(commands.map(([command]) => nameOf(command)));
  expect(everyCommand.map(({ name }) => name).filter((name) => !tried.has(name))).toEqual(elsewhere);
});

/** Daemon and page are stopped once they run. */
async function endOf(args: readonly string[], env: Readonly<Record<string, string>>) {
  if (args[0] !== 'daemon' && args[0] !== 'page') return await runMusterd(args, env);
  return await runMusterd(args, { ...env, MUSTERD__log__level: 'info' }, (text) => {
    if (/http:|daemon started/.test(text)) askToStop();
  });
}

describe.each(logins)('a login with the rights of the %s', (login) => {
  let team: Team;
  let url: string;
  let known: Record<string, string>;
  const argsOf = (command: string) => command.split(' ').map((word) => known[word] ?? word);
  beforeAll(async () => {
    team = await teams.open({ push: { fourEyes: false } });
    const reader = await team.person('rea', 'musterd_reader');
    const roles = await team.person('rol', 'musterd_role_editor');
    const role = {
      reader: reader.role,
      'role editor': roles.role,
      editor: team.bob.role,
      approver: team.carol.role,
    };
    url = login === 'owner' ? team.url : loginAt(team.url, role[login]);
    const [user = 0, other = 0, third = 0, last = 0] = team.ids;
    for (const id of [user, other, third]) await team.bob.edit(id, `email = 'ada${id}@example.com'`);
    await team.run();
    const inbox = team.emulator.team.inboxes().find(({ members }) => members.length > 0);
    writeFileSync(sheet, `id,phone\n${last},+15550123\n`);
    known = {
      USER: String(user),
      THIRD: String(third),
      EDITED: `ada${third}@example.com`,
      WAS: team.emulator.team.user(third).email ?? '',
      SHEET: sheet,
      BATCH: await team.batchOf(user),
      OTHER: String(other),
      SELECT: 'select 1',
      INBOX: String(inbox?.id),
      MEMBER: String(inbox?.members[0]),
    };
    const without = { ...team.emulator.environment, MUSTERD_DATA_DIR: join(folder, 'none') };
    const { stdout } = await runMusterd([...argsOf(create), '--yes', '--json'], without);
    known['MESSAGE'] = String((JSON.parse(stdout) as { id: number }).id);
  });
  afterAll(() => team.close());

  it.each(commands)('runs "%s" if it is among %s, and exits 77 if not', async (command, may, code, needs) => {
    const args = argsOf(command);
    const env = { ...team.environment(), DATABASE_URL: url, MUSTERD_ACTOR: '' };
    if (login === 'owner' && /^(approve|reject|resolve|import .* --reason) /.test(command)) {
      const unsaid = await runMusterd(args, env);
      expect([unsaid.code, unsaid.stderr]).toEqual([64, expect.stringContaining('Name the person: --as')]);
      env.MUSTERD_ACTOR = 'ada';
    }
    const ended = await endOf(args, env);
    const isMay = may.includes(login);
    expect([ended.code, command === 'check' ? ended.stdout : ended.stderr]).toEqual([
      isMay ? code : 77,
      isMay
        ? expect.not.stringMatching(/permission denied|^ +at .*:\d+:\d+/m)
        : expect.stringContaining(`This login may not run "musterd ${nameOf(command)}": it needs ${needs}`),
    ]);
  });
});

it('musterd sql prints a hint to an editor for each refused statement', async () => {
  const team = await teams.open({ push: { fourEyes: false } });
  onTestFinished(() => team.close());
  const editor = await team.person('edi', 'musterd_editor');
  const env = { DATABASE_URL: loginAt(team.url, editor.role) };
  for (const [statement, hint] of [
    [`update mirror.users set name = 'X'`, 'To change a name, set first_name and last_name.'],
    [`update mirror.users set role_id = 1`, 'musterd_role_editor may update role_id'],
    ['delete from mirror.users', 'The service alone creates and removes users.'],
    [
      `insert into mirror.users (team_id, id, phone) select team_id, id, '15550100' from mirror.users
       on conflict (team_id, id) do update set phone = excluded.phone`,
      'To edit one: update mirror.users set',
    ],
  ] as const) {
    const { code, stderr } = await runMusterd(['sql', '--write', statement], env);
    expect([code, stderr]).toEqual([1, expect.stringContaining(hint)]);
  }
});

it('musterd suggests approve, reject and resolve with --as to the owner, and without --as to an approver', async () => {
  const team = await teams.open({ push: { fourEyes: false } });
  onTestFinished(() => team.close());
  const [user = 0, clashing = 0] = team.ids;
  await team.bob.edit(user, `email = 'ada@example.com'`);
  await team.bob.edit(clashing, `phone = '15550123'`);
  team.emulator.team.editUser(clashing, { phone: '15550999' });
  await team.run();
  const approver = loginAt(team.url, team.carol.role);
  const asOwner = { ...team.environment(), MUSTERD_ACTOR: '' };
  const printed = async (line: string, env: Readonly<Record<string, string>>) => {
    const { stdout, stderr } = await runMusterd(line.split(' '), env);
    return [...`${stdout}${stderr}`.matchAll(/musterd (?:approve|reject|resolve) [^\n"]*/g)].flat();
  };
  const reading = ['held', 'held --json', `held ${user}`, 'status', `why ${user}`, `why ${clashing}`];
  const unseen = `resolve ${clashing} phone --take mirror`;
  for (const line of [...reading, unseen, 'plan', 'reconcile']) {
    const words = await printed(line, asOwner);
    expect([line, words]).toEqual([
      line,
      expect.arrayContaining([expect.stringContaining(' --as <person>')]),
    ]);
    expect([line, words.filter((one) => !one.includes(' --as <person>'))]).toEqual([line, []]);
    for (const env of [
      { ...asOwner, MUSTERD_ACTOR: 'ann' },
      ...(line === 'plan' || line === 'reconcile' ? [] : [{ ...asOwner, DATABASE_URL: approver }]),
    ]) {
      const own = await printed(line, env);
      expect([line, own.length, own.join()]).toEqual([
        line,
        words.length,
        expect.not.stringContaining('--as'),
      ]);
    }
  }
  const note = 'To take back your own edits: musterd withdraw <batch>';
  const asEditor = { ...asOwner, DATABASE_URL: loginAt(team.url, team.bob.role) };
  expect((await runMusterd(['held'], asEditor)).stderr).toContain(note);
  for (const url of [team.url, approver])
    expect((await runMusterd(['held'], { ...asOwner, DATABASE_URL: url })).stderr).not.toContain(note);
  const [command = ''] = await printed('held', asOwner);
  const args = command.replace('<person>', 'ann').replace('…', 'seen').split(' ').slice(1);
  // The phone, which both sides have changed, waits on.
  expect(await runMusterd(args, asOwner)).toMatchObject({ code: 3, stderr: '' });
  expect(await team.sql('select decided_by, decided_role from report.decisions')).toEqual([
    [expect.stringMatching(/^ann, said by /), expect.any(String)],
  ]);
});

it('musterd refuses --as from an approver, and records the login as the person who approved', async () => {
  const team = await teams.open({ push: { fourEyes: false } });
  onTestFinished(() => team.close());
  const [user = 0] = team.ids;
  await team.bob.edit(user, `email = 'ada@example.com'`);
  await team.run();
  const batch = await team.batchOf(user);
  const own = { DATABASE_URL: loginAt(team.url, team.carol.role), MUSTERD_ACTOR: '' };
  const env = { ...team.environment(), ...own };
  const said = await runMusterd(['approve', batch, '--as', 'dora'], env);
  expect([said.code, said.stderr]).toEqual([
    64,
    expect.stringContaining(`Only the owner of the mirror may use --as: ${team.carol.role} acts as`),
  ]);
  expect((await runMusterd(['approve', batch, '--reason', 'seen'], env)).code).toBe(0);
  expect(
    await team.sql('select kind, decided_by, decided_why from report.changes where decided_by is not null'),
  ).toEqual([['approve', team.carol.role, 'seen']]);
});

it('musterd plan and why read only the mirror for a reader, without an address or a key of the service', async () => {
  const team = await teams.open({ push: { fourEyes: false } });
  onTestFinished(() => team.close());
  const [held = 0, waiting = 0, rejected = 0, gone = 0] = team.ids;
  await team.bob.edit(rejected, `email = 'no@example.com'`);
  await team.run();
  await team.carol.reject(await team.batchOf(rejected));
  await team.bob.edit(held, `email = 'ada@example.com'`);
  await team.run();
  for (const id of [waiting, gone]) await team.bob.edit(id, `phone = '15550123'`);
  await team.sql(
    `begin; set local musterd.writing = 'on'; update mirror.users set gone_at = now() where id = ${gone}; commit`,
  );
  const reader = await team.person('rea', 'musterd_reader');
  const env = { DATABASE_URL: loginAt(team.url, reader.role), MUSTERD__log__level: 'silent' };
  team.emulator.clearRequests();
  const { code, stdout } = await runMusterd(['plan', '--json'], env);
  const user = (id: number) => team.emulator.team.user(id);
  const whole = { base: user(held).email, mirror: 'ada@example.com', service: user(held).email };
  expect([code, JSON.parse(stdout)]).toMatchObject([
    3,
    {
      complete: false,
      held: 1,
      batches: [await team.batchOf(held)],
      changes: [
        { user_id: held, change: 'hold', field: 'email', state: 'held', reason: 'review', ...whole },
        { user_id: waiting, change: 'push', state: 'waiting', reason: null, mirror: '15550123' },
        { user_id: rejected, change: 'hold', state: 'rejected', reason: null },
      ],
    },
  ]);
  for (const flags of [[], ['--markdown'], ['--exit-code']])
    expect((await runMusterd(['plan', ...flags], env)).stdout).toContain('the service was not asked');
  // On its way, it still goes from the service's value to the mirror's.
  await team.sql(`insert into sync.changes (team_id, user_id, kind, state, base, old, new, edits)
    select team_id, user_id, 'push', 'open', '{}', '{}', '{"phone": "15550123"}', jsonb_build_object('phone', edit_id)
    from sync.edits where user_id = ${waiting} and ended_at is null`);
  expect((await runMusterd(['plan'], env)).stdout).toMatch(
    new RegExp(`push\\s+phone\\s+${user(waiting).phone ?? ''}\\s+15550123`),
  );
  expect((await runMusterd(['why', String(held)], env)).code).toBe(0);
  const [[name = ''] = []] = await team.sql(`select name from mirror.users where id = ${held}`);
  const part = await runMusterd(['why', name.slice(1)], env);
  expect([part.code, part.stderr]).toEqual([64, expect.stringContaining(`Did you mean one of these?`)]);
  expect(part.stderr).toContain(`${held}  ${name}`);
  const nobody = await runMusterd(['why', 'no such person'], env);
  expect([nobody.code, nobody.stderr]).toEqual([64, expect.stringContaining('No user matches')]);
  expect(team.emulator.requests).toEqual([]);
  const owner = await runMusterd(['plan'], { ...env, DATABASE_URL: team.url });
  expect([owner.code, owner.stderr]).toEqual([78, expect.stringContaining('MUSTERD_BASE_URL')]);
});

afterAll(() => teams.close());

it('musterd plan exits 4 for a reader and for the owner while the guard holds a batch', async () => {
  const push = { approve: 'guarded', fourEyes: false } as const;
  const team = await teams.open({ push, config: { guard: { maxRows: 1, maxShare: 0 } } });
  onTestFinished(() => team.close());
  for (const id of team.ids) await team.bob.edit(id, `email = 'ada${id}@example.com'`);
  await team.run();
  const reader = await team.person('rae', 'musterd_reader');
  for (const url of [team.url, loginAt(team.url, reader.role)])
    expect((await runMusterd(['plan'], { ...team.environment(), DATABASE_URL: url })).code).toBe(4);
});
