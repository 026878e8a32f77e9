import { describe, expect, it } from 'vitest';
import { type ExplainedFacts, adviceFor } from '../../src/runs/look/explain-fields.ts';
import type { Decisions, Hold, UserCase, UserPlan } from '../../src/model/user-plan.ts';
import { decisions, heldAsBefore, moveOf } from '../support/decisions.ts';
import type { UserState } from '../../src/model/user-state.ts';
import { readUserQuery } from '../../src/mirror/users/user-query.ts';
import { theOnly } from '../../src/runs/named-user.ts';
import { retryAtOnce } from '../support/retry-at-once.ts';
import { runMusterd } from './run-musterd.ts';
import { useStages, type Stage, type StageOptions } from './stage.ts';

const stages = useStages();

interface Field {
  readonly field: string;
  readonly base: unknown;
  readonly mirror: unknown;
  readonly service: unknown;
  readonly rule: string | null;
  readonly decision: string | null;
  readonly because: string | null;
  readonly held: Readonly<Record<string, unknown>> | null;
}

interface Why {
  readonly user: Readonly<Record<string, unknown>>;
  readonly service: Readonly<Record<string, unknown>>;
  readonly presence: string | null;
  readonly fields: readonly Field[];
  readonly open_push: Readonly<Record<string, unknown>> | null;
  readonly batch: Readonly<Record<string, unknown>> | null;
  readonly moves: readonly Readonly<Record<string, unknown>>[];
  readonly next: string;
}

describe('readUserQuery', () => {
  const nothing = { id: null, email: null, phone: null, name: null };
  it.each([
    ['41000001', { ...nothing, id: 41_000_001n, phone: '41000001' }],
    [' 41000001 ', { ...nothing, id: 41_000_001n, phone: '41000001' }],
    ['99999999999999999999', { ...nothing, phone: '99999999999999999999' }],
    ['+1 (555) 0100', { ...nothing, phone: '15550100' }],
    ['+15550100', { ...nothing, phone: '15550100' }],
    ['Ada@Example.com', { ...nothing, email: 'ada@example.com' }],
    ['  Ada   Lovelace ', { ...nothing, name: 'Ada Lovelace' }],
    ['Ada @ Home', { ...nothing, name: 'Ada @ Home' }],
    ['R2D2', { ...nothing, name: 'R2D2' }],
    ['-', { ...nothing, name: '-' }],
  ])('reads a number as id or phone, an email address as email, other text as name: %j', (text, expected) => {
    expect(readUserQuery(text)).toMatchObject(expected);
  });
});

it('theOnly returns undefined for a part of a name, and throws an error with both users if two match', () => {
  const [one, two] = [7n, 8n].map((id) => ({ id, name: 'Twin Double' }));
  expect(theOnly('twin', [{ id: 7n, name: 'Twin Double', isPart: true }])).toBe(undefined);
  expect(() =>
    theOnly(
      'twin double',
      [one, two].flatMap((user) => user ?? []),
    ),
  ).toThrow(
    expect.objectContaining({
      code: 'usage',
      message: '2 users match "twin double"',
      hint: expect.stringMatching(/\n {2}7 {2}Twin Double\n {2}8 {2}Twin Double$/) as string,
    }) as Error,
  );
});

describe('adviceFor', () => {
  const plan = (userCase: UserCase, some: Partial<Decisions> = {}): UserPlan => ({
    id: 7n,
    case: userCase,
    fields: decisions(some),
    write: null,
  });
  const mirror = { name: { first: 'Anne', last: 'Berg' }, email: null, phone: null, roleId: 4n };
  const state: UserState = {
    id: 7n,
    service: { id: 7n, name: 'Anne Berg', roleId: 4n, raw: {} },
    base: { ...mirror, joined: 'Anne Berg' },
    mirror: { ...mirror, split: 'known', joined: 'Anne Berg', role: null, resolved: true, gone: false },
    held: [],
    edits: {},
    hasOpenIntent: false,
    missingForMs: undefined,
    observedDiffers: false,
  };
  const facts = (given: Partial<ExplainedFacts>): ExplainedFacts => ({
    plan: plan('merge'),
    state,
    open: null,
    quietUntil: 'noon',
    held: [],
    absenceMs: 600_000,
    ...given,
  });
  const values = { base: null, mirror: null, service: null };
  const waits = { kind: 'held', shown: null } as const;
  const heldBy = (more: Partial<Hold>): Pick<ExplainedFacts, 'plan' | 'state'> => ({
    plan: plan('merge', { email: waits }),
    state: { ...state, held: [{ field: 'email', reason: 'limit', detail: '', ...values, ...more }] },
  });
  const batched = heldBy({ batch: 'abc' }).state;
  const [push, pull] = [moveOf('push'), moveOf('pull')] as const;
  const conflict = { field: 'name', reason: 'conflict', detail: '', ...values, base: undefined } as const;
  it.each<readonly [string, Partial<ExplainedFacts>, string]>([
    ['a service that does not answer', { plan: undefined }, 'until the service answers'],
    ['equal sides', {}, 'Nothing: both sides agree.'],
    [
      'an unreadable field',
      { plan: plan('merge', { name: { kind: 'wait' } }) },
      'Name waits until the service shows a value that can be read.',
    ],
    [
      'a pull and a push',
      { plan: plan('merge', { roleId: pull, email: push }) },
      'The next run pulls role_id and pushes email, unless a guard stops it.',
    ],
    [
      'a push that waits in a batch',
      { plan: plan('merge', { roleId: pull, email: waits }), state: batched },
      'The next run pulls role_id; the push of email waits for an approval of batch abc.',
    ],
    [
      'one push that waits in a batch and one that does not',
      { plan: plan('merge', { email: waits, phone: push }), state: batched },
      'The next run pushes phone, unless a guard stops it; the push of email waits for an approval of batch abc.',
    ],
    ['a push that waits, and is in no batch yet', heldBy({}), 'The push of email waits for an approval.'],
    [
      'a held push whose service value changed',
      heldBy({ shown: 'moved@example.com' }),
      'Email stays held until one of the two values changes or somebody decides.',
    ],
    [
      'a conflict',
      { plan: plan('merge', { name: { kind: 'hold', hold: conflict } }) },
      'The next run holds name.',
    ],
    [
      'held fields',
      {
        plan: plan('merge', { name: heldAsBefore, phone: heldAsBefore }),
        held: [
          { field: 'name', until: null },
          { field: 'phone', until: new Date('2100-01-01T00:00:00Z') },
        ],
      },
      'Phone stays held until 2100-01-01T00:00:00Z; name stays held until one of the two values changes or somebody decides.',
    ],
    [
      'a rejected field',
      {
        plan: plan('merge', { email: heldAsBefore, phone: heldAsBefore }),
        state: {
          ...state,
          held: [
            { ...conflict, field: 'email', reason: 'rejected' },
            { ...conflict, field: 'phone' },
          ],
        },
      },
      "Phone stays held until one of the two values changes or somebody decides; email stays held until the mirror's value changes or somebody decides.",
    ],
    [
      'a hold that ends',
      { plan: plan('merge', { name: { kind: 'same', ends: true } }) },
      'The next run ends the hold of name.',
    ],
    [
      'a hold that ends with a push',
      { plan: plan('merge', { email: { ...push, ends: true } }) },
      'The next run pushes email, unless a guard stops it.',
    ],
    ['a new user', { plan: plan('adopt') }, 'The next run adopts the user from the service.'],
    [
      'a new user whom only the team listing has',
      { plan: plan('adopt'), state: { ...state, service: undefined } },
      'from the team listing',
    ],
    [
      'a user who returned',
      { plan: plan('return') },
      "The user is back: the next run adopts the service's values again.",
    ],
    [
      'a user who returned and has an earlier edit',
      { plan: plan('return', { name: { kind: 'hold', hold: conflict } }) },
      'holds the earlier edit of name.',
    ],
    ['a user whom no lookup answers', { plan: plan('unresolved') }, 'mirror.user_lookups'],
    ['a user whom the service no longer lists', { plan: plan('missing') }, '600.0 s apart'],
    ['a user whom only the mirror has', { plan: plan('stranger') }, 'waits for a person'],
    ['a user whom neither side has', { plan: plan('forget') }, 'removes it there'],
    ['a user who has left the team', { plan: plan('waiting') }, 'has left the team'],
    [
      'a user whom the service shows in an older version',
      { plan: plan('waiting'), state: { ...state, stale: true } },
      'The service shows an older version of the user',
    ],
    [
      'a user whom only the ledger has',
      { plan: plan('waiting'), state: { ...state, mirror: undefined } },
      'only the ledger',
    ],
    [
      'an open push that the service shows',
      { plan: plan('waiting'), open: { email: 'confirmed' } },
      'confirms the push of email.',
    ],
    [
      'an open push that the service shows only in part',
      { plan: plan('waiting'), open: { email: 'confirmed', phone: 'unknown' } },
      'confirms the push of email and waits for a sign of phone, which is given up as not applied after noon.',
    ],
    [
      'an open push that had no effect',
      { plan: plan('waiting'), open: { email: 'unanswered' } },
      'gives up the push of email',
    ],
    [
      'an open push after which the service shows another value',
      { plan: plan('waiting'), open: { email: 'changed' } },
      'does not show what was sent as email',
    ],
  ])('returns a sentence on what the next run does about %s', (_, given, expected) => {
    expect(adviceFor(facts(given))).toContain(expected);
  });
});

describe('musterd why', () => {
  let stage: Stage;
  const open = async (options: StageOptions = {}) => {
    stage = await stages.open(options);
    stage.emulator.clearRequests();
  };
  const musterd = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    runMusterd(args, { ...stage.env, MUSTERD__log__level: 'error', ...env });
  const why = async (who: string, env: Readonly<Record<string, string>> = {}) => {
    const { code, stdout, stderr } = await musterd(['why', who, '--json'], env);
    if (stdout === '') throw new Error(`exit ${code}: ${stderr}`);
    return { code, report: JSON.parse(stdout) as Why };
  };
  const fieldOf = (report: Why, field: string) => {
    const found = report.fields.find((candidate) => candidate.field === field);
    if (found === undefined) throw new Error(`no ${field}`);
    return found;
  };
  const subject = () => stage.userAt();
  /** All that a reading command must leave alone. */
  const writes = () =>
    stage.versions(
      'mirror.users',
      'sync.user_base',
      'sync.changes',
      'sync.held_fields',
      'sync.runs',
      "sync.learned where topic ~ '^listing '",
      'sync.leases',
    );

  it('shows for each field whether the next run pulls, pushes, settles or holds it, and writes nothing', async () => {
    await open();
    const { id, email, roleId } = subject();
    const role = [...stage.emulator.team.roles.keys()].find((other) => other !== roleId) ?? 0;
    stage.emulator.team.editUser(id, { email: 'service@example.com', phone: '15550111', roleId: role });
    await stage.sql(
      `update mirror.users set email = 'mirror@example.com', role_id = ${role}, first_name = 'Robin', last_name = 'Reed' where id = ${id}`,
    );
    const before = await writes();
    const { code, report } = await why(String(id));
    expect(code).toBe(0);
    expect(report.fields.map(({ field, rule, decision }) => [field, rule, decision])).toEqual([
      ['name', 'push', 'push'],
      ['email', 'conflict', 'hold'],
      ['phone', 'pull', 'pull'],
      ['role_id', 'settle', 'settle'],
    ]);
    expect(fieldOf(report, 'email')).toMatchObject({
      base: email,
      mirror: 'mirror@example.com',
      service: 'service@example.com',
      because: 'conflict: both sides changed it since they last agreed',
      held: null,
    });
    expect(fieldOf(report, 'name').mirror).toEqual({ first: 'Robin', last: 'Reed' });
    expect(report.next).toBe(
      'The next run pulls phone, settles role_id, holds email and pushes name, unless a guard stops it.',
    );
    expect(await writes()).toEqual(before);
    expect(stage.updates()).toEqual([]);
    const { stdout } = await musterd(['why', String(id)]);
    expect(stdout).toContain('Next: The next run pulls phone');
    expect(stdout).toContain('mirror@example.com\tservice@example.com\tconflict\thold');
  });

  it('shows values, start and end condition of a held conflict, and the end of a requested hold', async () => {
    await open();
    const { id } = subject();
    stage.emulator.team.editUser(id, { email: 'service@example.com' });
    await stage.sql(`update mirror.users set email = 'mirror@example.com' where id = ${id}`);
    const { runId } = await stage.run();
    const { report } = await why('mirror@example.com');
    expect(fieldOf(report, 'email')).toMatchObject({
      rule: 'conflict',
      decision: 'held',
      mirror: 'mirror@example.com',
      service: 'service@example.com',
      held: {
        reason: 'conflict',
        run_id: Number(runId),
        since: expect.stringMatching(/^\d{4}-.*Z$/) as string,
        until: null,
        mirror_value: 'mirror@example.com',
        service_value: 'service@example.com',
      },
    });
    expect(report.moves.at(-1)).toMatchObject({ kind: 'hold', field: 'email', run_id: Number(runId) });
    expect(report.next).toBe('Email stays held until one of the two values changes or somebody decides.');
    await stage.sql(
      `insert into sync.held_fields (team_id, user_id, field, reason, detail, until)
       values (41, ${id}, 'phone', 'asked', 'on leave', clock_timestamp() + interval '1 day')`,
    );
    const asked = (await why(String(id))).report;
    expect(fieldOf(asked, 'phone')).toMatchObject({
      decision: 'held',
      because: 'asked: on leave',
      held: { reason: 'asked', run_id: null, until: expect.stringMatching(/Z$/) as string },
    });
    expect(asked.next).toMatch(/^Phone stays held until \d{4}-.*Z; email stays held until /);
    const byPolicy = await why(String(id), { MUSTERD__policy__email: 'service-wins' });
    expect(fieldOf(byPolicy.report, 'email').decision).toBe('held');
  });

  it('shows an open push, and whether the next run waits for it, gives it up or confirms it', async () => {
    await open({ config: { push: { quietPeriodMs: 3_600_000 } } });
    const { id } = subject();
    const env = { MUSTERD__push__quietPeriodMs: '3600000' };
    const clear = stage.emulator.addFault({
      kind: 'status',
      path: '/v1/users/update',
      code: 503,
      times: 'always',
    });
    await stage.sql(`update mirror.users set phone = '15550144' where id = ${id}`);
    const { runId } = await stage.run();
    clear();
    const waiting = await why(String(id), env);
    expect(waiting.report.presence).toBe('waiting');
    expect(waiting.report.open_push).toMatchObject({
      run_id: Number(runId),
      sent: { phone: '15550144' },
      shows: { phone: 'unknown' },
    });
    expect(waiting.report.next).toMatch(
      /^The outcome of a push is not known: the next run reads the user back and waits for a sign of phone, which is given up as not applied after \d{4}-.*Z\.$/,
    );
    const late = await why(String(id), { MUSTERD__push__quietPeriodMs: '0' });
    expect(late.report.next).toContain('gives up the push of phone as not applied');
    stage.emulator.team.editUser(id, { phone: '15550144' });
    expect((await why(String(id), env)).report.next).toContain('confirms the push of phone');
  });

  it('shows which field waits in a batch for approval, and which field the next run pushes', async () => {
    await open();
    const { id, email } = subject();
    await stage.sql(`update mirror.users set email = 'new@example.com' where id = ${id}`);
    await stage.sql(`insert into sync.held_fields
        (team_id, user_id, field, edit_id, reason, base_value, mirror_value, service_value, shown_value, detail, batch)
      values (41, ${id}, 'email', sync.find_edit(41, ${id}, 'email'), 'limit', '"${email}"', '"new@example.com"', '"${email}"', '"${email}"', 'too many', 'abcdef012345')`);
    const { report } = await why(String(id));
    expect(report.batch).toMatchObject({
      hash: 'abcdef012345',
      has_user: true,
      fields: ['email'],
      reasons: ['too many'],
    });
    expect(report.next).toBe('The push of email waits for an approval of batch abcdef012345.');
    const other = stage.emulator.team.users().find((user) => user.id !== id);
    expect((await why(String(other?.id))).report.batch).toBeNull();
    await stage.sql(`update mirror.users set phone = '15550155' where id = ${id}`);
    const both = 'The next run pushes phone, unless a guard stops it; the push of email waits for';
    expect((await why(String(id))).report.next).toContain(both);
    expect(await stage.run()).toMatchObject({ refusal: { users: 1 }, counts: { pushed: 1 } });
    expect(stage.updates().map((body) => body['phone'])).toEqual(['15550155']);
  });

  it('shows who edited the row last, and the run and the X-Request-Id of the push', async () => {
    await open();
    const { id } = subject();
    expect((await why(String(id))).report.user).toMatchObject({ edited_at: null, edited_by: null });
    await stage.sql(`update mirror.users set phone = '15550155' where id = ${id}`);
    const [[who = ''] = []] = await stage.sql(`select edited_by from mirror.users where id = ${id}`);
    expect(who).not.toBe('');
    const { user } = (await why(String(id))).report;
    expect(user).toMatchObject({ edited_at: expect.stringMatching(/Z$/) as string, edited_by: who });
    const { stdout } = await musterd(['why', String(id)]);
    const second = String(user['edited_at']).replace(/\.\d+Z$/, 'Z');
    expect(stdout).toContain(`Last edited here at ${second} by ${who}`);
    const { runId } = await stage.run();
    const [[requestId] = []] = await stage.sql(`select request_id from sync.changes where kind = 'push'`);
    expect(requestId).toBeTruthy();
    expect((await why(String(id))).report.moves.at(-1)).toMatchObject({
      kind: 'push',
      field: 'phone',
      new_value: '15550155',
      outcome: 'confirmed',
      run_id: Number(runId),
      request_id: requestId,
    });
  });

  it('exits 1 and shows base and mirror values if the service cannot be reached', async () => {
    retryAtOnce();
    await open();
    const { id, email } = subject();
    await stage.sql(`update mirror.users set email = 'mirror@example.com' where id = ${id}`);
    const away = { MUSTERD_BASE_URL: 'http://127.0.0.1:9' };
    const { code, report } = await why(String(id), away);
    expect(code).toBe(1);
    expect(report.service).toMatchObject({ reached: false, problem: expect.any(String) as string });
    expect(fieldOf(report, 'email')).toMatchObject({
      base: email,
      mirror: 'mirror@example.com',
      service: null,
      rule: null,
      decision: null,
    });
    const words = await musterd(['why', String(id)], away);
    expect(words.stdout).toContain('The service could not be read');
    expect((await musterd(['why', String(id)], { MUSTERD_SECRET_KEY: 'nobody-knows-this' })).code).toBe(77);
  });

  it('looks a user up by all known addresses if the service answers only requests with a filter', async () => {
    await open({ emulator: { variants: { 'unfiltered-users': 'none', 'member-extras': 'email-phone' } } });
    const { id } = subject();
    stage.emulator.setVariants({ 'member-extras': 'none' });
    stage.emulator.team.editUser(id, { email: 'moved@example.com' });
    const { report } = await why(String(id));
    expect(fieldOf(report, 'email')).toMatchObject({ service: 'moved@example.com', decision: 'pull' });
    stage.emulator.team.editUser(id, { phone: '15550166' });
    const lost = await why(String(id));
    expect(lost.report.presence).toBe('unresolved');
    expect(lost.report.service).toMatchObject({ seen: false, listed: true });
    expect(lost.report.next).toContain('mirror.user_lookups');
    await stage.sql(`insert into mirror.user_lookups (team_id, email) values (41, 'moved@example.com')`);
    expect(fieldOf((await why(String(id))).report, 'phone').service).toBe('15550166');
  });

  it('shows "adopt" for a user whom only the service has, and "missing" for a user whom only the mirror has', async () => {
    await open();
    const { id } = subject();
    const fresh = stage.emulator.team.addUser({ first: 'New', last: 'Comer', email: 'new@example.com' });
    for (const name of ['new@example.com', String(fresh.id), 'new comer']) {
      const { report } = await why(name);
      expect(report).toMatchObject({ user: { id: fresh.id, gone: null }, presence: 'adopt', moves: [] });
      expect(report.next).toBe('The next run adopts the user from the service.');
    }
    stage.emulator.team.removeUser(id);
    const { report } = await why(String(id));
    expect(report.presence).toBe('missing');
    expect(report.next).toContain('marked as gone once');
  });
});
