import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { askHolds, readHeldFields } from '../../src/mirror/users/held.ts';
import { readBatches, readGuardHistory } from '../../src/mirror/users/held-batches.ts';
import { noteShown, readWaitingFields, waitingOf, writeHolds } from '../../src/mirror/users/holds.ts';
import { readUserState } from '../../src/mirror/users/users-read.ts';
import { decideEach, holdField, type HoldReason } from '../../src/model/user-plan.ts';
import { oldestServer } from '../support/servers.ts';
import { useDatabase } from '../support/use-database.ts';

/** How the phone is held before somebody asks to hold it, as columns of `sync.held_fields`. */
interface Before {
  readonly reason: HoldReason;
  readonly batch?: string;
  readonly alone?: boolean;
  readonly decision?: string;
}

/** What holds it again when that is over; `null`: nothing. */
type After = HoldReason | null;

const batch = 'aaaaaaaaaaaa';
/** What was let pass waits for a person again, whatever let it pass. */
const table: readonly (readonly [string, Before | null, After])[] = [
  ['no other hold', null, null],
  ['a conflict', { reason: 'conflict' }, 'conflict'],
  ['a conflict in a batch', { reason: 'conflict', batch }, 'conflict'],
  ['a refusal of the service', { reason: 'refused' }, 'refused'],
  ['a value without effect', { reason: 'ineffective' }, 'ineffective'],
  ['a value that cannot be sent', { reason: 'unsupported' }, 'unsupported'],
  ['an edit from before the user left', { reason: 'returned' }, 'returned'],
  ['a limit on single fields', { reason: 'limit', alone: true }, 'limit'],
  ['a limit, in a batch', { reason: 'limit', batch }, 'limit'],
  ['a review, in a batch', { reason: 'review', batch }, 'review'],
  ['a rejection', { reason: 'review', decision: 'rejected' }, 'rejected'],
  ['an approved review', { reason: 'review', batch, decision: 'approved' }, 'review'],
  ['an approved conflict in a batch', { reason: 'conflict', batch, decision: 'approved' }, 'conflict'],
  ['a resolved conflict', { reason: 'conflict', decision: 'approved' }, 'conflict'],
  ['an approved limit on a single field', { reason: 'limit', alone: true, decision: 'approved' }, 'limit'],
  ['a review that the editor confirmed', { reason: 'review', decision: 'approved' }, 'review'],
  ['a resolved value that could not be sent', { reason: 'unsupported', decision: 'approved' }, 'limit'],
  ['an approved review whose edit is being sent', { reason: 'review', batch, decision: 'spent' }, 'review'],
  ['a resolved conflict whose edit is being sent', { reason: 'conflict', decision: 'spent' }, 'conflict'],
];

describe.each([oldestServer()])('holds that a person requested, on $name', (server) => {
  const database = useDatabase({ server });
  const { rows: run } = database;
  const tx = <R>(work: Parameters<typeof database.db.transaction<R>>[0]) => database.db.transaction(work);
  beforeAll(async () => {
    await run(`begin;
      select set_config('musterd.writing', 'on', true);
      insert into sync.teams (team, team_id) values ('harbour', 41);
      insert into mirror.teams (team_id) values (41);
      insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone)
        values (41, 1, 'Anne Berg', 'Anne', 'Berg', 'old@example.com', '15550100');
      insert into mirror.users (team_id, id, name, first_name, last_name, email, phone, resolved)
        select team_id, id, name, first_name, last_name, email, phone, true from sync.user_base;
      commit`);
    await run(`update mirror.users set phone = '15550111'`);
  });
  afterEach(() => run('delete from sync.held_fields'));

  const write = async (before: Before | null) => {
    if (before === null) return;
    const given = Object.entries({ service_value: 15_550_199, ...before });
    await run(`insert into sync.held_fields (team_id, user_id, field, edit_id, base_value, mirror_value, shown_value, detail, since,
        ${given.map(([column]) => column).join(', ')})
      select 41, 1, 'phone', e.edit_id, e.old_value, e.new_value, '"15550199"', 'why it was held', '2026-03-01',
        ${given.map(([column, value]) => (column === 'service_value' ? `'"${value}"'` : `'${value}'`)).join(', ')}
      from sync.edits e where e.user_id = 1 and e.field = 'phone' and e.ended_at is null`);
  };
  const ask = (why = 'on leave') =>
    tx((one) => askHolds(one, 41n, 1n, { fields: ['phone'], end: { seconds: 3_600 }, why }));
  const end = async () =>
    (await tx((one) => askHolds(one, 41n, 1n, { fields: ['phone'], end: null, why: '' }))).held;
  const pass = () => run(`update sync.held_fields set until = now() - interval '1 s'`);
  const rows = async () =>
    (
      await run(`select to_jsonb(h) - '{until,asked_by,asked_why,decision}'::text[] from sync.held_fields h`)
    ).map(([row]) => row as Readonly<Record<string, unknown>>);
  const shown = async () =>
    (await readHeldFields(database.db.kysely, 41n, {})).map(({ reason, detail, until }) => [
      reason,
      detail,
      until !== null,
    ]);
  /** As a run reads it. */
  const held = async () => {
    const [hold] = (await readUserState(database.db.kysely, 41n, 1n)).held;
    return hold === undefined ? undefined : [hold.reason, hold.detail, hold.batch];
  };
  const waiting = async () => {
    const { rows: counted } = await waitingOf(41n).execute(database.db.kysely);
    const alone = await readWaitingFields(database.db.kysely, 41n);
    const batches = await readBatches(database.db.kysely, 41n);
    return [counted[0]?.held, counted[0]?.inBatches, alone.length, batches.length];
  };
  const taken = 'the decision about it was taken back';
  /** Why it is held again, in words. */
  const detailOf = (before: Before | null) =>
    before?.decision === 'approved' || before?.decision === 'spent' ? taken : 'why it was held';
  /** Of what holds it by itself, for a person or not. */
  const waitsAs = (after: After, before: Before | null) => {
    if (after === null || after === 'rejected') return [0, 0, 0, 0];
    const isStopped = (after === 'limit' || after === 'review') && before?.alone !== true;
    // What is in no batch yet is put into one when the next run ends.
    const batches = before?.batch === undefined ? 0 : 1;
    return isStopped ? [0, 1, 0, batches] : [1, 0, 1, batches];
  };

  describe.each(table)('a requested hold on a field with %s', (_, before, after) => {
    it('stays in force when a run finds a conflict, and report.held shows the earlier reason as held_before', async () => {
      await write(before);
      const asked = await ask();
      expect(asked).toMatchObject({
        held: ['phone'],
        before: after === null ? [] : [{ field: 'phone', reason: after }],
      });
      expect(await shown()).toEqual([['asked', 'on leave', true]]);
      expect((await held())?.[0]).toBe('asked');
      expect(await waiting()).toEqual([0, 0, 0, 0]);
      expect((await readGuardHistory(database.db.kysely, 41n)).waiting).toEqual([]);
      // Nothing that a run finds takes its place.
      const found = holdField('phone', 'conflict', 'found by a run', {
        base: '1',
        mirror: '2',
        service: '3',
      });
      await tx((one) => writeHolds(one, { teamId: 41n, runId: null }, [{ id: 1n, hold: found.hold }]));
      expect((await shown())[0]?.[0]).toBe('asked');
      await ask('for longer');
      expect(await run('select held_before, asked_by = sync.decider(), detail from report.held')).toEqual([
        [after, true, 'for longer'],
      ]);
    });

    it.each(['somebody ends it', 'its time is up'])(
      'gives way to the earlier hold, if there was one, once %s',
      async (how) => {
        await write(before);
        const was = await rows();
        await ask();
        await ask('for longer');
        const expected =
          after === null
            ? []
            : was.map((row) =>
                after === 'rejected' ? row : { ...row, reason: after, detail: detailOf(before) },
              );
        if (how === 'somebody ends it') {
          expect(await end()).toEqual(['phone']);
          expect(await rows()).toEqual(expected);
          expect(await end()).toEqual([]);
        } else {
          await pass();
          if (after === null) expect(await shown()).toEqual([]);
          else {
            const [[reason, detail, hasEnd] = []] = await shown();
            expect([reason, hasEnd]).toEqual([after === 'rejected' ? before?.reason : after, false]);
            expect(detail).toContain(detailOf(before));
          }
          // A run that finds it as it was writes it so.
          const fields = decideEach((field) =>
            field === 'phone' ? { kind: 'held', shown: '15550199' } : { kind: 'wait' },
          );
          await tx((one) => noteShown(one, { teamId: 41n, runId: null }, [{ id: 1n, fields, write: null }]));
          if (after !== null) expect(await rows()).toEqual(expected);
        }
        expect(await held()).toEqual(
          after === null
            ? how === 'somebody ends it'
              ? undefined
              : ['asked', expect.any(String), undefined]
            : [after, detailOf(before), before?.batch],
        );
        expect(await waiting()).toEqual(waitsAs(after, before));
      },
    );
  });

  it('sync.approve answers "moved" if an editor changed the field during a requested hold that has expired', async () => {
    await write({ reason: 'limit', batch });
    await ask();
    await run(`update mirror.users set phone = '15550222'`);
    await pass();
    // It is another edit by now, which no decision about the batch reaches.
    expect(await run(`select outcome from sync.approve('${batch}')`)).toEqual([['moved']]);
    await run(`update mirror.users set phone = '15550111'`);
    expect(await run(`select outcome from sync.approve('${batch}')`)).toEqual([['moved']]);
  });

  it.each([
    [{ reason: 'limit', batch }, 'approved', ['limit', 'why it was held', 'approved']],
    [{ reason: 'conflict', batch }, 'held', ['conflict', 'why it was held', null]],
  ] as const)(
    'sync.approve of a field held with %j answers "asked" during a requested hold, and "%s" after the requested hold',
    async (before, outcome, row) => {
      await write(before);
      await run(
        `update sync.held_fields set service_value = to_jsonb('15550199'::text), base_value = to_jsonb('15550100'::text)`,
      );
      await ask();
      expect(await run(`select outcome from sync.approve('${batch}')`)).toEqual([['asked']]);
      await pass();
      expect(await run(`select outcome from sync.approve('${batch}')`)).toEqual([[outcome]]);
      expect(await run('select reason, detail, decision from sync.held_fields')).toEqual([row]);
    },
  );

  it.each([
    ['lasts', [['asked', 'on leave', true]]],
    ['is over', []],
  ] as const)(
    'withdrawing an edit removes its expired requested hold, and keeps a hold that still lasts: the hold %s',
    async (when, left) => {
      await write({ reason: 'conflict' });
      await ask();
      if (when === 'is over') await pass();
      await run(`update mirror.users set phone = '15550100'`);
      expect(await shown()).toEqual(left);
      await run(`update mirror.users set phone = '15550111'`);
    },
  );

  const limited = ['limit', 'user 2 has it', true];
  it.each<[string, Before, unknown[], string?]>([
    ['a review in a batch stays', { reason: 'review', batch }, ['review', 'why it was held', false]],
    ['a review of an earlier edit becomes a limit', { reason: 'review', batch }, limited, '0'],
    ['an earlier limit on the field gets the new detail', { reason: 'limit', alone: true }, limited],
    ['a conflict becomes a limit', { reason: 'conflict' }, limited],
  ])(
    'writeHolds stores a new limit on a single field, except over a review of the same edit in a batch: %s',
    async (_, before, then, held = 'edit_id') => {
      await write(before);
      await run(`update sync.held_fields set edit_id = ${held}`);
      const [[edit] = []] = await run(`select edit_id from sync.held_fields`);
      const limit = holdField('phone', 'limit', 'user 2 has it', {
        base: '15550100',
        mirror: '15550111',
        service: '15550100',
      });
      const hold = { ...limit.hold, edit: edit as bigint, isAlone: true };
      await tx((one) => writeHolds(one, { teamId: 41n, runId: null }, [{ id: 1n, hold }]));
      expect(await run('select reason, detail, alone from sync.held_fields')).toEqual([then]);
    },
  );

  it('sync.hold fails during a run, for an end time in the past or over 100 years ahead, and for unknown users or fields', async () => {
    const lease = (seconds: number) =>
      run(`insert into sync.leases (team, lease_id, host, pid, process, taken_at, expires_at)
        values ('harbour', gen_random_uuid(), 'h', 1, 'p', now(), now() + interval '${seconds} s')`);
    const hold = (of: string) => run(`select * from sync.hold(${of})`).catch(String);
    await lease(60);
    expect(await hold(`41, 1, 'tomorrow'`)).toContain('A run of team "harbour" is under way');
    await run('delete from sync.leases');
    await lease(-1);
    for (const [of, answer] of [
      [`41, 1, now()`, 'in the future and within 100 years'],
      [`41, 1, 'infinity'`, 'in the future and within 100 years'],
      [`41, 2, 'tomorrow'`, 'User 2 is not in team 41'],
      [`40, 1, 'tomorrow'`, 'User 1 is not in team 40'],
      [
        `41, 1, 'tomorrow', 'why', '{phone,fax}'`,
        'a field is unknown; the fields are name, email, phone, role_id',
      ],
    ] as const)
      expect(await hold(of)).toContain(answer);
    const all = [['name'], ['email'], ['phone'], ['role_id']].map(([field]) => [field, null]);
    expect(await hold(`41, 1, 'tomorrow', 'on leave'`)).toEqual(all);
    expect(await hold(`41, 1, null, only_fields => '{phone,name}'`)).toEqual([all[0], all[2]]);
    expect(await run('select field, asked_why from sync.held_fields order by field')).toEqual([
      ['email', 'on leave'],
      ['role_id', 'on leave'],
    ]);
    expect(await run('select * from sync.leases')).toEqual([]);
  });

  it('sync.hold wakes the daemon, report.held leaves out expired requested holds, and askHolds fails for a user who has left', async () => {
    await run(`insert into sync.due (team, run_group, mark) values ('harbour', 'edits', '1:1:')`);
    expect(
      await run(`select from sync.hold(41, 1, 'tomorrow'); select mark, current_setting('idle_in_transaction_session_timeout')
        from sync.due`),
    ).toEqual([[null, '10s']]);
    expect(await run('select field from report.held')).toHaveLength(4);
    await pass();
    expect(await run('select field from report.held')).toEqual([]);
    const leave = (at: string) =>
      run(`begin; set local musterd.writing = 'on'; update mirror.users set gone_at = ${at}; commit`);
    await leave('now()');
    const asked = tx((one) => askHolds(one, 41n, 1n, { fields: ['phone'], end: { seconds: 60 }, why: '' }));
    await expect(asked).rejects.toMatchObject({
      code: 'usage',
      message: 'User 1 is not in team 41, or a field is unknown; the fields are name, email, phone, role_id',
    });
    expect(await run(`select count(*)::int from sync.hold(41, 1, null)`)).toEqual([[4]]);
    await leave('null');
    await run('delete from sync.due');
  });

  it('musterd removes an expired requested hold once both sides agree on the value', async () => {
    const agree = (phone: string) =>
      run(`begin; set local musterd.writing = 'on'; update sync.user_base set phone = '${phone}';
        select sync.end_edits(41, '{1}'); commit`);
    await write({ reason: 'conflict' });
    await ask();
    await pass();
    await agree('15550111');
    expect(await run('select * from sync.held_fields')).toEqual([]);
    await agree('15550100');
    for (const phone of ['15550112', '15550111']) await run(`update mirror.users set phone = '${phone}'`);
  });

  it('sync.reject of a field whose requested hold has expired stores "rejected", and keeps the earlier reason', async () => {
    await write({ reason: 'review', batch });
    await ask();
    await pass();
    expect(await run(`select outcome from sync.reject('${batch}')`)).toEqual([['rejected']]);
    expect(await run('select reason, decision, until from sync.held_fields')).toEqual([
      ['review', 'rejected', null],
    ]);
  });
});
