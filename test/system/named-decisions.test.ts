import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { resolveCommand } from '../../src/commands/decide/resolve.ts';
import { createTeams, type Team } from './agreed/people.ts';
import { contextFor } from './daemon-here.ts';
import { runMusterd } from './run-musterd.ts';

const teams = createTeams();
afterAll(() => teams.close());

let team: Team;
afterEach(() => team.close());

/** The words of a command line, as a shell reads them. */
const wordsOf = (line: string): readonly string[] =>
  (line.match(/(?:'[^']*'|\\.|[^\s'\\])+/g) ?? []).map((word) =>
    word.replace(/'([^']*)'|\\(.)/g, (_, quoted?: string, escaped?: string) => quoted ?? escaped ?? ''),
  );

interface Conflict {
  readonly values: string;
  readonly other: Parameters<Team['emulator']['team']['editUser']>[1];
}
const ofEmail = { values: `email = 'ada@example.com'`, other: { email: 'eva@example.com' } };
const ofName = { values: `first_name = 'Ada', last_name = 'O''Hara-d''Arc'`, other: { first: 'Eva' } };
const ofPhone = { values: `phone = '15550100'`, other: { phone: '15550123' } };

/** A field that both sides have changed. */
const openConflict = async ({ values, other }: Conflict) => {
  team = await teams.open({ push: { fourEyes: false, approve: 'guarded' } });
  const [id = 0] = team.ids;
  team.emulator.team.editUser(id, other);
  await team.bob.edit(id, values);
  await team.run();
  team.emulator.clearRequests();
  return id;
};
const decisions = `select count(*) from sync.changes where kind = 'resolve'`;
const expectUndecided = async () => {
  expect(await team.sql(decisions)).toEqual([['0']]);
  await team.run();
  expect(team.updates()).toEqual([]);
  expect((await team.held()).length).toBe(1);
};
const numberOf = async (field: string) => {
  const { held } = JSON.parse((await team.musterd('held', '--json')).stdout) as {
    readonly held: readonly { readonly field: string; readonly edit_id: number }[];
  };
  return String(held.find((one) => one.field === field)?.edit_id);
};

describe('musterd resolve in a script', () => {
  it.each([
    { field: 'role_id', values: 'role_id = 17', other: { roleId: 23 }, sent: { role_id: 17 } },
    { field: 'phone', values: 'phone = null', other: ofPhone.other, sent: { phone: '' } },
    { field: 'name', ...ofName, sent: { first_name: 'Ada', last_name: `O'Hara-d'Arc` } },
  ])('exits 64 without --if and prints the command: $values (O8)', async ({ field, values, other, sent }) => {
    const id = await openConflict({ values, other });
    const unsaid = await team.musterd('resolve', String(id), field, '--take', 'mirror');
    expect([unsaid.code, unsaid.stdout]).toEqual([64, '']);
    for (const value of Object.values(other)) expect(unsaid.stderr).toContain(String(value));
    const [, line = ''] = /: (musterd .*?)\n/.exec(unsaid.stderr) ?? [];
    for (const command of ['held', 'why']) {
      const env = { ...team.environment(), MUSTERD_ACTOR: 'kim' };
      const { stdout, stderr } = await runMusterd([command, String(id)], env);
      expect(stdout + stderr).toContain(`: ${line}, or --take service\n`);
    }
    expect(await team.musterd(...wordsOf(line).slice(1))).toMatchObject({ code: 0, stderr: '' });
    await team.run();
    expect(team.updates()).toEqual([{ id, ...sent }]);
  });

  it.each(['mirror', 'service'])('accepts --take %s only if --edit names the current edit', async (side) => {
    const id = await openConflict(ofEmail);
    const number = await numberOf('email');
    const take = ['resolve', String(id), 'email', '--take', side, '--edit'];
    const other = await team.musterd(...take, String(Number(number) + 1));
    expect(other.code).toBe(64);
    expect(other.stderr).toMatch(/ada@example\.com.*eva@example\.com/);
    expect(other.stderr).toContain(`the edit is number ${number}\n`);
    await expectUndecided();
    const why = JSON.parse((await team.musterd('why', String(id), '--json')).stdout) as object;
    expect(why).toMatchObject({
      fields: expect.arrayContaining([
        expect.objectContaining({ held: expect.objectContaining({ edit_id: Number(number) }) as unknown }),
      ]) as unknown,
    });
    expect(await team.musterd(...take, number)).toMatchObject({ code: 0 });
    await team.run();
    const email = side === 'mirror' ? 'ada@example.com' : 'eva@example.com';
    expect(await team.sql(`select email from mirror.users where id = ${id}`)).toEqual([[email]]);
    expect(team.emulator.team.user(id).email).toBe(email);
  });

  it('refuses --edit with the number of an ended edit, although the new edit has the same value (O8)', async () => {
    const id = await openConflict(ofEmail);
    const number = await numberOf('email');
    await team.bob.edit(id, `email = 'ina@example.com'`);
    await team.bob.edit(id, ofEmail.values);
    await team.run();
    const take = ['resolve', String(id), 'email', '--take', 'mirror', '--edit', number];
    expect(await team.musterd(...take)).toMatchObject({ code: 64 });
    await expectUndecided();
  });

  it('refuses an outdated name in --if-service, and accepts the current name with extra spaces (O8)', async () => {
    const id = await openConflict(ofName);
    const before = team.emulator.team.user(id);
    const take = async (side: string, ...seen: readonly string[]) =>
      await team.musterd('resolve', String(id), 'name', '--take', side, ...seen);
    const edit = ['--edit', await numberOf('name'), '--if-service'];
    team.emulator.team.editUser(id, { first: 'Ina' });
    await team.run();
    const now = `Ina ${before.last}`;
    for (const side of ['mirror', 'service'])
      for (const seen of [edit, ['--if', `Ada|O'Hara-d'Arc`, '--if-service']]) {
        const { code, stderr } = await take(side, ...seen, `Eva ${before.last}`);
        expect([code, stderr]).toEqual([64, expect.stringContaining(`the service "${now}"`)]);
      }
    await expectUndecided();
    expect(await take('service', ...edit, ` ${now} `)).toMatchObject({ code: 0 });
  });

  it('refuses a typed value if --if differs from the mirror, and accepts the typed value without --if', async () => {
    const id = await openConflict(ofEmail);
    const take = ['resolve', String(id), 'email', '--take', 'new@example.com'];
    const other = await team.musterd(...take, '--if', 'ina@example.com');
    expect([other.code, other.stderr]).toEqual([64, expect.stringContaining('"ada@example.com"')]);
    await expectUndecided();
    expect(await team.musterd(...take)).toMatchObject({ code: 0 });
    await team.run();
    expect(team.emulator.team.user(id).email).toBe('new@example.com');
  });
});

describe('musterd resolve on a terminal', () => {
  const resolve = async (id: number, ask: (shown: string, question: string) => Promise<boolean>) => {
    const shown: string[] = [];
    const stream = { isTTY: true, write: (text: string) => shown.push(text) };
    const env = { ...team.environment(), MUSTERD_ACTOR: 'kim' };
    const context = contextFor(env, stream, new AbortController().signal);
    const decided = resolveCommand(context, { take: 'mirror' }, String(id), 'email', (question) =>
      ask(shown.join(''), question),
    );
    return [await decided.catch((error: unknown) => error), shown.join('')] as const;
  };

  it('shows base, mirror and service value and the editor, and sends the mirror value if the person says yes', async () => {
    const before = await openConflict(ofEmail);
    const [[base = ''] = []] = await team.sql('select base_value #>> array[]::text[] from report.held');
    const asked: string[] = [];
    const [code] = await resolve(before, async (shown, question) => {
      asked.push(shown, question);
      return true;
    });
    expect(code).toBe(0);
    for (const value of [base, 'ada@example.com', 'eva@example.com', team.bob.role])
      expect(asked[0]).toContain(value);
    await team.run();
    expect(team.updates()).toEqual([{ id: before, email: 'ada@example.com' }]);
  });

  it('decides nothing if the person answers no', async () => {
    const id = await openConflict(ofEmail);
    expect(await resolve(id, async () => false)).toEqual([0, expect.stringContaining('Nothing is decided')]);
    await expectUndecided();
  });

  it.each([
    [
      'the mirror',
      (id: number) => team.bob.edit(id, `email = 'ina@example.com'`),
      /was edited since.*ina@example\.com/,
    ],
    [
      'the service',
      async (id: number) => {
        team.emulator.team.editUser(id, { email: 'ina@example.com' });
        await team.run();
      },
      /has changed since it was shown/,
    ],
  ])('decides nothing if the value of %s changes before the person says yes (O8)', async (_, move, words) => {
    const id = await openConflict(ofEmail);
    const [error] = await resolve(id, async () => {
      await move(id);
      return true;
    });
    expect(error).toMatchObject({ code: 'usage', message: expect.stringMatching(words) });
    await expectUndecided();
  });
});

describe('musterd approve and reject with --only', () => {
  /** Email and phone of two users, who are in one batch. */
  const openBatch = async () => {
    team = await teams.open({ push: { fourEyes: false } });
    const [a = 0, b = 0] = team.ids;
    await team.bob.sql(`update mirror.users set email = 'ada' || id || '@example.com', phone = '1555' || id
      where id in (${a}, ${b})`);
    await team.run();
    const batch = await team.batchOf(a);
    const approve = (...only: readonly string[]) =>
      team.musterd('approve', batch, ...only.flatMap((one) => ['--only', one]));
    return { a, b, batch, approve };
  };
  const sent = async () => {
    await team.run();
    return team
      .updates()
      .map(({ id, ...values }) => [Number(id), ...Object.keys(values)] as const)
      .toSorted(([one], [other]) => one - other);
  };

  it('approve --only "<name of a user>.phone" sends only the phone of that user', async () => {
    const { a, approve } = await openBatch();
    const { first, last } = team.emulator.team.user(a);
    expect(await approve(`${first} ${last}.phone`)).toMatchObject({ code: 0 });
    expect(await sent()).toEqual([[a, 'phone']]);
  });

  it('approve --only "<id>.email" approves all fields of the user whose name is exactly "<id>.email"', async () => {
    const { a, b, approve } = await openBatch();
    await team.sql(`alter table mirror.users disable trigger user`);
    await team.sql(`update mirror.users set name = '${a}.email' where id = ${b}`);
    await team.sql(`alter table mirror.users enable trigger user`);
    expect(await approve(`${a}.email`)).toMatchObject({ code: 0 });
    expect(await sent()).toEqual([[b, 'email', 'phone']]);
  });

  it('approve sends nothing if one --only names a field or user outside the batch', async () => {
    const { a, b, approve } = await openBatch();
    const [, , c = 0] = team.ids;
    for (const [only, words, hint] of [
      [[`${a}.name`, String(b)], 'The name of user', 'The batch has these fields of the user: email, phone.'],
      [[`${a}.nonsense`, String(b)], 'No user matches', 'whole name'],
      [[`${a}.email`, String(c)], `User ${c} is not in batch`, ''],
    ] as const) {
      const { code, stderr } = await approve(...only);
      expect([only, code, stderr]).toEqual([only, 64, expect.stringContaining(words)]);
      expect(stderr).toContain(hint);
    }
    expect(await sent()).toEqual([]);
  });

  it('reject --only keeps one field of an approved batch from being sent by the next run', async () => {
    const { a, b, batch, approve } = await openBatch();
    expect(await approve()).toMatchObject({ code: 0 });
    const rejected = await team.musterd('reject', batch, '--only', `${a}.phone`);
    expect(rejected).toMatchObject({ code: 0, stdout: expect.stringContaining('1 user rejected') });
    expect(await sent()).toEqual([
      [a, 'email'],
      [b, 'email', 'phone'],
    ]);
  });

  it.each([[[]], [['--json']]])('reject exits 3 if the field is being sent (options %j)', async (args) => {
    const { a, batch, approve } = await openBatch();
    expect(await approve(`${a}.email`)).toMatchObject({ code: 0 });
    team.emulator.addFault({ kind: 'late', answer: '504', requests: 1000, path: '/v1/users/update' });
    expect((await team.run()).outcome).toBe('partial');
    const { code, stdout } = await team.musterd('reject', batch, '--only', `${a}.email`, ...args);
    expect(code).toBe(3);
    if (args.length > 0)
      expect(JSON.parse(stdout)).toMatchObject({
        approved: 0,
        rejected: 0,
        left: [{ user_id: a, field: 'email', outcome: 'on its way' }],
      });
    else expect(stdout).toMatch(/^0 users rejected.*\n.*1 field being sent.*next run reads their outcome/);
    team.emulator.applyLateWrites();
    await team.run();
    expect(team.emulator.team.user(a).email).toBe(`ada${a}@example.com`);
  });
});
