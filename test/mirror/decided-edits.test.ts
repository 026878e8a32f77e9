import { sql as text } from 'kysely';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { EditAnswer } from '../../src/mirror/users/decide-edits.ts';
import { readBatchFields } from '../../src/mirror/users/held-batches.ts';
import { readSnapshot } from '../../src/mirror/users/verify-read.ts';
import { oldestServer } from '../support/servers.ts';
import { useDatabase } from '../support/use-database.ts';

const batch = 'aaaaaaaaaaaa';

/** Users 1 to 3 of team 41: an email and a role were edited; the emails and the role of user 1 wait in a batch. */
const seed = `
  set local musterd.writing = 'on';
  delete from mirror.users; delete from sync.user_base; delete from sync.held_fields; delete from sync.changes; delete from sync.edits;
  update sync.teams set four_eyes = false;
  insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone, role_id)
    select 41, id, 'Anne Berg', 'Anne', 'Berg', 'old' || id || '@example.com', '15550100', 2 from generate_series(1, 3) id;
  insert into mirror.users (team_id, id, name, first_name, last_name, name_split, email, phone, role_id, resolved)
    select team_id, id, name, first_name, last_name, 'known', email, phone, role_id, true from sync.user_base;
  set local musterd.writing = 'off';
  update mirror.users set email = 'new' || id || '@example.com', role_id = 3;
  insert into sync.held_fields (team_id, user_id, field, edit_id, reason, base_value, mirror_value, service_value, shown_value, batch)
    select e.team_id, e.user_id, e.field, e.edit_id, 'limit', e.old_value, e.new_value, e.old_value, e.old_value, '${batch}'
    from sync.edits e where e.field = 'email' or e.user_id = 1;`;

describe.each([oldestServer()])('a decision about held edits on $name', (server) => {
  const database = useDatabase({ server });
  const { rows: run } = database;
  beforeAll(() => run(`insert into sync.teams (team, team_id) values ('north', 41)`));
  beforeEach(() => run(seed));

  type Decision = 'approve' | 'reject' | 'revert';
  const decide = async (decision: Decision, more = '') => {
    const call =
      decision === 'approve'
        ? `sync.approve('${batch}', reason => 'so'${more})`
        : `sync.reject('${batch}', reason => 'so', revert => ${String(decision === 'revert')}${more})`;
    const rows = await run(`select user_id, field, outcome from ${call}`);
    return rows.map((row) => row.join(' '));
  };
  /** Of user 1's email: how it is held, the edit that lasts, and what the mirror has. */
  const left = async () => {
    const [[held] = []] = await run(
      `select concat_ws(' ', sync.held_because(reason, decision, until), nullif(decision, 'rejected'),
        case when batch is not null and decision is distinct from 'rejected' then 'in the batch' end, nullif(detail, ''),
        case when h.edit_id is null then 'of nothing' when e.edit_id is null then 'of an edit that is over' end) from sync.held_fields h
       left join sync.edits e on e.team_id = h.team_id and e.edit_id = h.edit_id and e.ended_at is null
       where h.user_id = 1 and h.field = 'email'`,
    );
    const [[lasts] = []] = await run(
      `select new_value #>> '{}' from sync.edits where user_id = 1 and field = 'email' and ended_at is null`,
    );
    const [[mirror] = []] = await run('select email from mirror.users where id = 1');
    return { held, lasts, mirror };
  };
  const mail = (name: string) => `${name}1@example.com`;
  const set = (value: string) => `update mirror.users set email = '${mail(value)}' where id = 1`;
  const past = (statement: string) =>
    `set local musterd.writing = 'on'; ${statement}; set local musterd.writing = 'off'`;
  const open = (
    outcome = '{}',
  ) => `insert into sync.changes (team_id, user_id, kind, state, new, edits, outcome)
    select team_id, user_id, 'push', 'open', jsonb_build_object('email', new_value), jsonb_build_object('email', edit_id), '${outcome}'
    from sync.edits where user_id = 1 and field = 'email' and ended_at is null`;

  const hold = (values: string) =>
    `update sync.held_fields set ${values} where user_id = 1 and field = 'email'`;

  interface Left {
    readonly held?: string;
    readonly lasts?: string;
    readonly mirror: string;
  }
  /** What is answered about the email, and what is left of it. */
  type Result = readonly [outcome: string | undefined, left: Left];
  type Results = Readonly<Record<Decision, Result>>;
  const both = (value: string) => ({ lasts: mail(value), mirror: mail(value) });
  const asHeld = 'limit in the batch';
  const inAll = (...result: Result): Results => ({ approve: result, reject: result, revert: result });
  const untouched = (outcome: string, held = asHeld) => inAll(outcome, { held, ...both('new') });
  /** Of the email as it was edited first, or to this value. */
  const rejected = (outcome = 'rejected', value = 'new'): Result => [
    outcome,
    { held: 'rejected so', ...both(value) },
  ];
  const approved: Result = ['approved', { held: 'limit approved in the batch', ...both('new') }];
  const followed: Results = {
    approve: approved,
    reject: rejected(),
    revert: ['rejected', { mirror: mail('old') }],
  };
  const stays = (outcome: string, held = asHeld): Result => [outcome, { held, ...both('new') }];
  /** What is on its way may arrive: the mirror is not given back. */
  const underWay: Results = {
    approve: stays('on its way'),
    reject: rejected('on its way'),
    revert: rejected('on its way'),
  };
  const overAfter = (value: string): Results => {
    const left = { held: `${asHeld} of an edit that is over`, ...both(value) };
    return { approve: ['on its way', left], reject: ['moved', left], revert: ['moved', left] };
  };
  const leave = past('update mirror.users set gone_at = now() where id = 1');
  const fates: readonly (readonly [fate: string, change: string, results: Results])[] = [
    ['has not changed', 'select', followed],
    ['has not changed, and was approved before', hold(`decision = 'approved'`), followed],
    [
      'has not changed, while the service has another value',
      hold(`shown_value = '"web@example.com"'`),
      { ...followed, approve: stays('held') },
    ],
    [
      'has not changed, while the base has another value',
      past(`update sync.user_base set email = '${mail('web')}' where id = 1`),
      { approve: stays('moved'), reject: rejected(), revert: ['rejected', { mirror: mail('web') }] },
    ],
    [
      'a limit on one field holds, while the service has another value',
      hold(`alone = true, shown_value = '"web@example.com"'`),
      { ...followed, approve: stays('moved') },
    ],
    ['was withdrawn', set('old'), inAll(undefined, { mirror: mail('old') })],
    [
      'was withdrawn unseen by the triggers',
      past(set('old')),
      inAll('moved', { held: asHeld, lasts: mail('new'), mirror: mail('old') }),
    ],
    [
      'was replaced',
      set('other'),
      inAll('moved', { held: `${asHeld} of an edit that is over`, ...both('other') }),
    ],
    [
      'was replaced, and then got its value again',
      `${set('other')}; ${set('new')}`,
      untouched('moved', `${asHeld} of an edit that is over`),
    ],
    [
      'was replaced unseen by the triggers',
      past(set('other')),
      inAll('moved', { held: asHeld, lasts: mail('new'), mirror: mail('other') }),
    ],
    ['was withdrawn, and then made again', `${set('old')}; ${set('new')}`, inAll(undefined, both('new'))],
    ['was never recorded', hold('edit_id = null'), untouched('moved', `${asHeld} of nothing`)],
    ['is being sent', open(), underWay],
    [
      'was approved and is being sent',
      `${hold(`decision = 'spent'`)}; ${open()}`,
      { ...underWay, approve: stays('on its way', 'limit spent in the batch') },
    ],
    ['was sent with an unknown outcome', open('{"email": "unknown"}'), underWay],
    [
      'was refused, while another field of the user is being sent',
      open('{"email": "refused", "role_id": "unknown"}'),
      followed,
    ],
    ['was withdrawn while it is being sent', `${open()}; ${set('old')}`, overAfter('old')],
    ['was replaced while it is being sent', `${open()}; ${set('other')}`, overAfter('other')],
    [
      'is held while the earlier edit of the field is being sent',
      `${open()}; ${set('other')}; update sync.held_fields h set edit_id = e.edit_id, mirror_value = e.new_value from sync.edits e
        where e.user_id = 1 and e.field = 'email' and e.ended_at is null and h.user_id = 1 and h.field = 'email'`,
      {
        approve: ['approved', { held: 'limit approved in the batch', ...both('other') }],
        reject: rejected('rejected', 'other'),
        revert: rejected('on its way', 'other'),
      },
    ],
    ['belongs to a user who has left', leave, untouched('gone')],
    ['was being sent when its user left', `${open()}; ${leave}`, untouched('gone')],
    [
      'belongs to a user whose rows were deleted',
      past(`delete from mirror.users where id = 1; delete from sync.user_base where id = 1`),
      inAll('gone', { held: asHeld, lasts: mail('new'), mirror: '' }),
    ],
    [
      'is held on request',
      hold(`reason = 'review', until = now() + interval '1 hour'`),
      untouched('asked', 'asked in the batch'),
    ],
    [
      'was held on request until an hour ago',
      hold(`reason = 'review', until = now() - interval '1 hour'`),
      { ...followed, approve: stays('approved', 'review approved in the batch') },
    ],
    [
      'has become a conflict',
      hold(`reason = 'conflict'`),
      { ...followed, approve: stays('held', 'conflict in the batch') },
    ],
    [
      'belongs to a user without a base',
      past('delete from sync.user_base where id = 1'),
      { approve: stays('moved'), reject: rejected(), revert: stays('moved') },
    ],
  ];

  describe.each(fates)('an edit that %s', (_, change, results) => {
    it.each(
      Object.entries(results).map(
        ([decision, [outcome]]) => [decision as Decision, outcome ?? 'nothing'] as const,
      ),
    )('the decision to %s the edit returns the outcome "%s"', async (decision) => {
      await run(change);
      const [outcome, { held, lasts, mirror }] = results[decision];
      const done = decision === 'approve' ? 'approved' : 'rejected';
      // The others of the batch are as they were.
      const others = [`2 email ${done}`, `3 email ${done}`];
      const found = await decide(decision);
      expect(found.filter((row) => row.startsWith('1 email'))).toEqual(
        outcome === undefined ? [] : [`1 email ${outcome}`],
      );
      expect(found.filter((row) => !row.startsWith('1 '))).toEqual(others);
      expect(await left()).toEqual({ held, lasts, mirror: mirror === '' ? undefined : mirror });
    });
  });

  /** What is answered where the edit itself is named: to who approves it, and to who resolves what holds it. */
  const answers: Readonly<Record<string, readonly [approve: EditAnswer, resolve: EditAnswer]>> = {
    'has not changed': ['approved', 'resolved'],
    'has not changed, and was approved before': ['approved', 'resolved'],
    'has not changed, while the service has another value': ['approved', 'resolved'],
    'has not changed, while the base has another value': ['moved', 'resolved'],
    'a limit on one field holds, while the service has another value': ['held', 'resolved'],
    'was withdrawn': ['ended', 'ended'],
    'was never recorded': ['approved', 'resolved'],
    'is being sent': ['on its way', 'on its way'],
    'was approved and is being sent': ['on its way', 'on its way'],
    'was sent with an unknown outcome': ['on its way', 'on its way'],
    'was refused, while another field of the user is being sent': ['approved', 'resolved'],
    'was withdrawn while it is being sent': ['on its way', 'on its way'],
    'was replaced while it is being sent': ['on its way', 'on its way'],
    'is held while the earlier edit of the field is being sent': ['on its way', 'on its way'],
    'belongs to a user who has left': ['gone', 'gone'],
    'was being sent when its user left': ['gone', 'gone'],
    'belongs to a user whose rows were deleted': ['gone', 'gone'],
    'is held on request': ['asked', 'asked'],
    'was held on request until an hour ago': ['approved', 'resolved'],
    'has become a conflict': ['held', 'resolved'],
  };
  it.each(fates)('sync.decide_edits answers without deciding: an edit that %s (O8)', async (fate, change) => {
    const [[edit] = []] = await run(`select edit_id from sync.edits where user_id = 1 and field = 'email'`);
    await run(change);
    const before = await left();
    const named = {
      user_id: 1,
      field: 'email',
      edit_id: Number(edit),
      mirror: mail('new'),
      base: mail('old'),
      service: mail('old'),
    };
    const answerTo = async (verb: 'approve' | 'resolve') =>
      (
        await run(
          `select outcome, decision_id from sync.decide_edits('${verb}', 41, '${JSON.stringify([named])}', '', batch => 'another', only_shown => true)`,
        )
      )[0];
    const found = [await answerTo('approve'), await answerTo('resolve')];
    expect(found.map((one) => one?.[0])).toEqual(answers[fate] ?? ['moved', 'moved']);
    expect(found.map((one) => one?.[1])).toEqual([null, null]);
    expect(await left()).toEqual(before);
  });

  /** What comes after the decision, and what is said of the edit then. */
  const arrive = `${open('{"email": "confirmed"}').replace("'open'", "'closed'")};
    ${past(`update sync.user_base set email = '${mail('new')}' where id = 1`)}`;
  it.each<[fate: string, decision: Decision, change: string, became: string]>([
    ['has not changed', 'approve', 'select', 'waiting'],
    ['is being sent', 'approve', open(), 'sending'],
    [
      'was sent with an unknown outcome',
      'approve',
      open('{"email": "unknown"}'),
      'unknown, it was sent, and no answer came: a run reads it back',
    ],
    ['is being sent under that approval', 'approve', `${open()}; ${hold(`decision = 'spent'`)}`, 'sending'],
    ['has arrived at the service', 'approve', arrive, 'confirmed'],
    [
      'has arrived although it was rejected meanwhile',
      'approve',
      `${open()}; ${hold(`decision = 'spent'`)}; select * from sync.reject('${batch}');
        update sync.changes set state = 'closed', outcome = '{"email": "confirmed"}' where state = 'open';
        ${past(`update sync.user_base set email = '${mail('new')}' where id = 1`)}`,
      'confirmed',
    ],
    [
      'was refused',
      'approve',
      hold(`decision = null, reason = 'refused', detail = 'no'`),
      `held, refused, no (batch ${batch})`,
    ],
    ['is held again', 'approve', hold(`decision = null`), `held, limit, (batch ${batch})`],
    [
      'is held again, and whose service value has changed',
      'approve',
      hold(`decision = null, shown_value = '"web@example.com"'`),
      'held, conflict, ; the service has changed it since',
    ],
    ['was withdrawn', 'approve', set('old'), 'ended, it was taken back here'],
    ['was replaced', 'approve', set('other'), 'ended, somebody has edited the field again'],
    [
      'was withdrawn, and then made again',
      'approve',
      `${set('old')}; ${set('new')}`,
      'ended, it was taken back here',
    ],
    [
      'belongs to a user who has left',
      'approve',
      past('update mirror.users set gone_at = now() where id = 1'),
      'waiting',
    ],
    ['was rejected later', 'approve', `select * from sync.reject('${batch}')`, 'rejected, limit'],
    ['has not changed', 'reject', 'select', 'rejected, limit, so'],
    ['is being sent', 'reject', open(), 'sending'],
    ['was withdrawn', 'reject', set('old'), 'ended, it was taken back here'],
    ['was replaced', 'reject', set('other'), 'ended, somebody has edited the field again'],
    ['was reverted', 'revert', 'select', 'ended, it was taken back here'],
  ])(
    'report.decisions shows if a decided edit waits, is sent, confirmed, held or ended: an edit that %s (decision: %s)',
    async (_, decision, change, became) => {
      await decide(decision);
      await run(change);
      const [[said] = []] = await run(
        `select concat_ws(', ', state, reason, detail) from report.decisions where user_id = 1 and field = 'email' order by change_id limit 1`,
      );
      expect(said).toBe(became);
    },
  );

  it.each([
    ['mirror', 'it was taken back here'],
    ['service', null],
  ])('report.decisions shows for an ended edit, resolved to the %s, the detail %j', async (side, detail) => {
    await run(hold(`reason = 'conflict'`));
    await run(`select from sync.resolve(41, 1, 'email', '${side}'); ${set('old')}`);
    expect(
      await run(`select state, detail from report.decisions where user_id = 1 and field = 'email'`),
    ).toEqual([['ended', detail]]);
  });

  it('report.decisions shows one decision_id for all edits that one call decided, and also shows an undo by version 0.1.0', async () => {
    await decide('approve', ", only_users => '{1}'");
    await decide('reject', ", only_users => '{2,3}'");
    await run(`insert into sync.changes (team_id, user_id, kind, base, old, new, edits, closed_at, decision_id)
      select team_id, user_id, 'undo', base, old, new, edits, now(), sync.new_decision() from sync.changes where user_id = 1`);
    const told = [
      ['approve', ['1 email', '1 role_id']],
      ['reject', ['2 email', '3 email']],
      ['undo', ['1 email', '1 role_id']],
    ];
    const fields = `array_agg(user_id || ' ' || field order by user_id, field)`;
    expect(
      await run(
        `select decision, ${fields} from report.decisions group by decision_id, 1 order by decision_id`,
      ),
    ).toEqual(told);
    expect(await run(`select kind, ${fields} from report.changes group by 1 order by 1`)).toEqual(told);
  });

  it('sync.approve stores the service value that the approver saw, and stores no end time (O8)', async () => {
    await decide('approve', ", only_users => '{1}'");
    expect(
      await run(
        `select field, decision, until, service_value = shown_value as seen from sync.held_fields where user_id = 1 order by 1`,
      ),
    ).toEqual([
      ['email', 'approved', null, true],
      ['role_id', 'approved', null, true],
    ]);
  });

  it('sync.approve records in the ledger the approved edits and the service values that the approver saw', async () => {
    await run(
      `update sync.held_fields set service_value = '"web@example.com"', shown_value = '"web@example.com"' where user_id = 1 and field = 'email'`,
    );
    await decide('approve');
    const approval = (id: number, base: object, old: object, now: object = {}) => {
      const edited = { email: `new${id}@example.com`, ...now };
      return [BigInt(id), 'approve', base, old, edited, batch, 'so', true, true];
    };
    expect(
      await run(`select c.user_id, c.kind, c.base, c.old, c.new, c.batch, c.decided_why, c.closed_at is not null as is_over,
          (select jsonb_object_agg(e.field, e.edit_id) from sync.edits e where e.user_id = c.user_id and c.new ? e.field) = c.edits as is_of_them
        from sync.changes c order by 1`),
    ).toEqual([
      approval(
        1,
        { email: mail('old'), role_id: 2 },
        { email: 'web@example.com', role_id: 2 },
        { role_id: 3 },
      ),
      ...[2, 3].map((id) => {
        const agreed = { email: `old${id}@example.com` };
        return approval(id, agreed, agreed);
      }),
    ]);
  });

  it('sync.approve does not rewrite holds that are approved already or whose edit was replaced', async () => {
    await run(`update sync.held_fields set decision = 'approved' where user_id = 1; ${set('other')}`);
    const written = `select field, ctid::text from sync.held_fields where user_id = 1 order by 1`;
    const before = await run(written);
    await decide('approve');
    expect(await run('select user_id from sync.changes order by 1')).toEqual([[2n], [3n]]);
    expect(await run(written)).toEqual(before);
  });

  describe('sync.reject with revert', () => {
    const name = (id: number) =>
      run(`select first_name, last_name, name_split from mirror.users where id = ${id}`).then(
        (rows) => rows[0],
      );
    const holdName = `insert into sync.held_fields (team_id, user_id, field, edit_id, reason, base_value, mirror_value, batch)
      select team_id, user_id, field, edit_id, 'limit', old_value, new_value, '${batch}' from sync.edits where field = 'name' and ended_at is null`;

    it('ends the reverted edits as withdrawn, and keeps the user’s edit that is not in the batch', async () => {
      await run(`update mirror.users set phone = '15550101'`);
      await decide('revert', ", only_users => '{1}'");
      expect(
        await run(`select user_id, field, ended_how from sync.edits where user_id < 3 order by 1, 2`),
      ).toEqual([
        [1n, 'email', 'withdrawn'],
        [1n, 'phone', null],
        [1n, 'role_id', 'withdrawn'],
        [2n, 'email', null],
        [2n, 'phone', null],
        [2n, 'role_id', null],
      ]);
      expect(await run('select email, phone, role_id from mirror.users where id = 1')).toEqual([
        [mail('old'), '15550101', 2n],
      ]);
      expect(await run('select user_id, kind from sync.changes')).toEqual([[1n, 'reject']]);
      // The same value is an edit anew.
      await run(set('new'));
      expect((await left()).lasts).toBe(mail('new'));
    });

    it.each(['known', 'guessed'])(
      'restores both halves of the name and the earlier value of name_split: %s',
      async (split) => {
        await run(past(`update mirror.users set name_split = '${split}'`));
        await run(`update mirror.users set first_name = 'Eva', last_name = 'Borg' where id = 1`);
        await run(`update mirror.users set name_split = 'guessed' where id = 1`);
        await run(`update mirror.users set last_name = 'Dahl' where id = 1`);
        await run(holdName);
        await decide('revert', ", only_users => '{1}'");
        expect(await name(1)).toEqual(['Anne', 'Berg', split]);
      },
    );

    it('sets name_split to "guessed" if the earlier value of name_split was not recorded', async () => {
      await run(
        past(`update mirror.users set last_name = 'Borg' where id = 1; select sync.find_edit(41, 1, 'name')`),
      );
      await run(holdName);
      await decide('revert', ", only_users => '{1}'");
      expect(await name(1)).toEqual(['Anne', 'Berg', 'guessed']);
    });
  });

  describe('a decision with only_edits', () => {
    const editOf = async (user: number, field = 'email') =>
      (
        await run(
          `select edit_id from sync.edits where user_id = ${user} and field = '${field}' and ended_at is null`,
        )
      )[0]?.[0] as bigint;
    const decisionsNow = () =>
      run('select user_id, field, decision from sync.held_fields where decision is not null order by 1, 2');

    it('approves only the named edits', async () => {
      const [email, third] = [await editOf(1), await editOf(3)];
      expect(await decide('approve', `, only_edits => '{${email},${third}}'`)).toEqual([
        '1 email approved',
        '3 email approved',
      ]);
      expect(await decisionsNow()).toEqual([
        [1n, 'email', 'approved'],
        [3n, 'email', 'approved'],
      ]);
      expect(await run('select user_id, edits from sync.changes order by 1')).toEqual([
        [1n, { email: Number(email) }],
        [3n, { email: Number(third) }],
      ]);
    });

    it('reverts only the field of the named edit', async () => {
      expect(await decide('revert', `, only_edits => '{${await editOf(1, 'role_id')}}'`)).toEqual([
        '1 role_id rejected',
      ]);
      expect(await run('select email, role_id from mirror.users where id = 1')).toEqual([[mail('new'), 2n]]);
      expect(await run('select field from sync.held_fields where user_id = 1')).toEqual([['email']]);
    });

    it('approves only edits that match both only_users and only_edits', async () => {
      const edits = `${await editOf(1)},${await editOf(2)}`;
      expect(await decide('approve', `, only_users => '{1,3}', only_edits => '{${edits}}'`)).toEqual([
        '1 email approved',
      ]);
    });

    it('answers "moved" for a replaced edit, and fails for edits outside the batch', async () => {
      const before = await editOf(1);
      await run(set('other'));
      expect(await decide('approve', `, only_edits => '{${before}}'`)).toEqual(['1 email moved']);
      const now = await editOf(1);
      await expect(decide('approve', `, only_edits => '{${now}}'`)).rejects.toThrow(
        `Edit ${now} is not in batch ${batch}`,
      );
      await expect(
        decide('reject', `, only_edits => '{${await editOf(3)},${await editOf(3, 'role_id')}}'`),
      ).rejects.toThrow('is not in batch');
      expect(await decisionsNow()).toEqual([]);
    });

    describe('with four eyes', () => {
      /** Kim edited user 1's email, somebody the rest; the decision is Kim's. */
      const decideAsKim = (more: string) =>
        database.db.transaction(async (tx) => {
          await text`select set_config('musterd.actor', 'KIM', true)`.execute(tx);
          const { rows } = await text<{ user_id: bigint; field: string; outcome: string }>`
            select user_id, field, outcome from sync.approve(${batch}, ${text.raw(more)})`.execute(tx);
          return rows.map((row) => Object.values(row).join(' '));
        });
      beforeEach(() =>
        run(`update sync.teams set four_eyes = true; update sync.edits set authors = '{pat}';
          update sync.edits set authors = '{pat,kim}' where user_id = 1 and field = 'email'`),
      );

      it('sync.approve fails if the approver’s own edit is included, and works for edits by other authors', async () => {
        await expect(decideAsKim('null')).rejects.toThrow('these users: 1');
        await expect(decideAsKim(`only_users => '{1}'`)).rejects.toThrow('these users: 1');
        await expect(decideAsKim(`only_edits => '{${await editOf(1)}}'`)).rejects.toThrow('these users: 1');
        expect(await decisionsNow()).toEqual([]);
        expect(await decideAsKim(`only_edits => '{${await editOf(1, 'role_id')}}'`)).toEqual([
          '1 role_id approved',
        ]);
        expect(await decideAsKim(`only_users => '{2}'`)).toEqual(['2 email approved']);
      });

      it('sync.approve works, and answers "ended" or "moved", if the approver’s own edits have ended or were replaced', async () => {
        await run(
          `update sync.edits set ended_at = now(), ended_how = 'replaced' where user_id = 1 and field = 'email'`,
        );
        expect(await decideAsKim('null')).toContain('1 email ended');
        await run(seed);
        await run(`update sync.teams set four_eyes = true; update sync.edits set authors = '{pat}'; ${set('other')};
          update sync.edits set authors = '{kim}' where user_id = 1 and field = 'email' and ended_at is null`);
        expect(await decideAsKim('null')).toContain('1 email moved');
      });

      it('an approver can reject their own edit', async () => {
        await database.db.transaction(async (tx) => {
          await text`select set_config('musterd.actor', 'Kim', true)`.execute(tx);
          await text`select sync.reject(${batch})`.execute(tx);
        });
        expect((await left()).held).toBe('rejected');
      });
    });
  });

  it('readBatchFields returns an edit until its rejection, and readSnapshot returns why a user’s field may differ', async () => {
    const as = async (decision: string) => {
      await run(`update sync.held_fields set decision = ${decision} where user_id = 1 and field = 'email'`);
      const { users } = await readSnapshot(database.db, 'north', 41n);
      const ofBatch = await readBatchFields(database.db.kysely, 41n, batch);
      return [
        ofBatch.some(({ userId, field }) => userId === 1n && field === 'email'),
        ofBatch.length,
        users[0]?.expected['email'],
      ];
    };
    expect(await as('null')).toEqual([true, 4, 'held: limit']);
    expect(await as(`'approved'`)).toEqual([true, 4, 'pending edit']);
    expect(await as(`'spent'`)).toEqual([true, 4, 'pending edit']);
    expect(await as(`'rejected'`)).toEqual([false, 3, 'held: rejected']);
    expect(await readBatchFields(database.db.kysely, 42n, batch)).toEqual([]);
  });

  it.each(['approved', 'spent'])(
    'report.held leaves out an edit with the decision "%s", and report.pending shows the edit as waiting',
    async (is) => {
      await decide('approve', ", only_users => '{1}'");
      await run(`update sync.held_fields set decision = '${is}' where decision = 'approved'`);
      await run(`insert into sync.changes (team_id, user_id, kind, state, new, edits)
        values (41, 2, 'push', 'open', '{"role_id": 4}', '{"role_id": 0}'), (41, 3, 'push', 'open', '{"email": "x"}', '{}');
        update sync.held_fields set decision = 'rejected' where user_id = 3;
        ${past('update mirror.users set resolved = false where id = 2')}`);
      expect(
        await run(`select h.user_id, h.field, h.edit_id = e.edit_id from report.held h
        join sync.edits e on e.user_id = h.user_id and e.field = h.field and e.ended_at is null order by 1`),
      ).toEqual([
        [2n, 'email', true],
        [3n, 'email', true],
      ]);
      expect(
        await run(
          `select user_id, field, state, coalesce(reason, detail) from report.pending where user_id < 3 or field = 'email' order by 1, 2`,
        ),
      ).toEqual([
        [1n, 'email', 'waiting', null],
        [1n, 'role_id', 'waiting', null],
        [2n, 'email', 'held', 'limit'],
        [2n, 'role_id', 'waiting', 'no lookup of the service answers for the user'],
        [3n, 'email', 'sending', 'limit'],
      ]);
    },
  );
});
