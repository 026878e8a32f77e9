/** Tags, scheduled messages and read conversations from SQL to the service and back. */
import { sql } from 'kysely';
import { afterAll, afterEach, describe, expect, it, test } from 'vitest';
import { createLog } from '../../src/log.ts';
import type { Setup } from '../../src/runs/open.ts';
import { verifyTeam } from '../../src/runs/verify-team.ts';
import { call } from '../emulator/call.ts';
import { createStages, type Stage, type StageOptions } from './stage.ts';

const stages = createStages();
afterAll(() => stages.close());

let stage: Stage;
const write = { tags: true, schedule: true, conversations: true } as const;
const open = async (options: StageOptions = {}, unattended = false) => {
  stage = await stages.open({
    ...options,
    config: {
      write: { ...write, ...(unattended ? { schedule: 'unattended' as const } : {}) },
      ...options.config,
    },
  });
  await stage.run();
  await stage.sql(
    `update sync.teams set writes = '{"tags": true, "schedule": ${unattended ? '"unattended"' : 'true'}, "conversations": true}'`,
  );
};
afterEach(() => stage.close());

const as = (who: string, text: string) =>
  stage.db.transaction(async (tx) => {
    await sql`select set_config('musterd.actor', ${who}, true)`.execute(tx);
    await sql.raw(text).execute(tx);
  });
const key = '11111111-1111-4111-8111-111111111111';
const soon = `date_trunc('hour', now()) + interval '1 day'`;
const insert = (text = 'Hello', execute = soon) => `
  insert into mirror.scheduled_messages (team_id, local_id, inbox_id, user_id, text, phone_number, execute_at)
  select i.team_id, '${key}'::uuid, i.inbox_id, i.user_id, '${text}', '15550100', ${execute} from mirror.inbox_members i order by 2, 3 limit 1`;
const approve = (who = 'ben') =>
  as(
    who,
    `select sync.approve(h.batch) from (select distinct batch from report.held where batch is not null) h`,
  );
const row = async () =>
  (await stage.sql('select state, detail, id is not null, cancels from mirror.scheduled_messages'))[0];
const there = () => stage.emulator.team.schedules().filter(({ state }) => state !== 'cancelled');

describe('a message', () => {
  it('waits until somebody else approves it, and is scheduled, replaced and cancelled', async () => {
    await open();
    await as('anna', insert());
    const first = await stage.run();
    expect(first.outcome).toBe('complete');
    expect(await row()).toEqual([
      'held',
      'it waits until somebody who did not write it approves it',
      'false',
      'false',
    ]);
    expect(there()).toEqual([]);
    await expect(approve('anna')).rejects.toThrow('anna wrote what is to be approved');
    await approve();
    await stage.run();
    expect(await row()).toEqual(['scheduled', '', 'true', 'false']);
    expect(there()).toMatchObject([
      { request: { local_id: key, content: { text: 'Hello' }, phone_number: '15550100' } },
    ]);

    await as('anna', `update mirror.scheduled_messages set text = 'Hello again'`);
    await stage.run();
    expect((await row())?.[0]).toBe('held');
    expect(there()).toMatchObject([{ request: { content: { text: 'Hello' } } }]);
    await approve();
    await stage.run();
    expect(await row()).toEqual(['scheduled', '', 'true', 'false']);
    expect(there()).toMatchObject([{ request: { local_id: key, content: { text: 'Hello again' } } }]);

    await as('anna', 'delete from mirror.scheduled_messages');
    await stage.run();
    expect(await row()).toEqual(['cancelled', 'it was cancelled in time: nobody gets it', 'true', 'true']);
    expect(there()).toEqual([]);
    expect(
      await stage.sql(
        `select kind, outcome, decided_by from report.changes where local_id is not null order by change_id`,
      ),
    ).toEqual([
      ['approve', '', 'ben'],
      ['push', 'confirmed', ''],
      ['approve', '', 'ben'],
      ['push', 'confirmed', ''],
      ['push', 'confirmed', ''],
    ]);
    const { requests } = await stage.run();
    expect((await stage.run()).requests).toBe(requests);
  });

  it('goes out unattended within the limits of its day alone', async () => {
    await open({ config: { guard: { maxMessages: 2, maxRecipients: 500 } } }, true);
    for (const name of ['1', '2', '3'])
      await as('anna', insert(name).replace(`'${key}'::uuid`, 'gen_random_uuid()'));
    await stage.run();
    expect(there()).toHaveLength(2);
    expect(await stage.sql(`select reason, detail ~ 'more than the limit of 2' from report.held`)).toEqual([
      ['limit', 'true'],
    ]);
    await stage.run();
    expect(there()).toHaveLength(2);
    await approve('anna');
    await stage.run();
    expect(there()).toHaveLength(3);
  });

  it('that is approved beyond the limits is held once more, and says so', async () => {
    await open({ config: { guard: { maxMessages: 20, maxRecipients: 1 } } });
    await as('anna', insert('1').replace(`'${key}'::uuid`, 'gen_random_uuid()'));
    await as('anna', insert('2').replace(`'${key}'::uuid`, 'gen_random_uuid()'));
    await stage.run();
    await approve();
    await stage.run();
    expect(there()).toHaveLength(1);
    expect(await stage.sql(`select reason from report.held`)).toEqual([['limit']]);
    await approve();
    await stage.run();
    expect(there()).toHaveLength(2);
  });

  it('is refused in words of the service, and sent again once it was edited', async () => {
    await open({ emulator: { variants: { 'schedule-grid': 60 } } }, true);
    await as('anna', insert('Hello', `${soon} + interval '15 minutes'`));
    await stage.run();
    expect((await row())?.slice(0, 2)).toEqual([
      'refused',
      expect.stringContaining('the service answered 400'),
    ]);
    await stage.run();
    expect(there()).toEqual([]);
    await as('anna', `update mirror.scheduled_messages set execute_at = ${soon}`);
    await stage.run();
    expect((await row())?.[0]).toBe('scheduled');
  });

  it('that somebody cancelled on the service is over here', async () => {
    await open({}, true);
    await as('anna', insert());
    await stage.run();
    await call(stage.emulator, `DELETE /v1/schedule/${there()[0]?.id}`);
    await stage.run();
    expect((await row())?.slice(0, 2)).toEqual(['cancelled', 'somebody has cancelled it on the service']);
  });
});

it('verify compares what the service has of a message, whatever waits to be sent of it', async () => {
  await open({}, true);
  await as('anna', insert());
  await stage.run();
  const log = createLog({ level: 'silent' });
  const setup = { config: stage.config, log, mirror: { db: stage.db } };
  const verify = () => verifyTeam(setup as Setup, new AbortController().signal);
  expect(await verify()).toMatchObject({ equal: true, compared: { messages: 1 } });
  const id = there()[0]?.id ?? 0;
  await stage.sql(`update mirror.scheduled_messages set text = 'Not yet'`);
  expect(await verify()).toMatchObject({ equal: true });
  const request = { ...there()[0]?.request, content: { text: 'Theirs' } };
  await call(stage.emulator, `PUT /v1/schedule/${id}`, request);
  expect((await verify()).differences).toMatchObject([
    {
      resource: 'messages',
      id: BigInt(id),
      field: 'text',
      mirror: 'Hello',
      service: 'Theirs',
      judgement: 'drift',
    },
  ]);
  await call(stage.emulator, `DELETE /v1/schedule/${id}`);
  expect((await verify()).oneSided).toMatchObject([
    { resource: 'messages', side: 'mirror', judgement: 'drift' },
  ]);
});

describe('an answer that is lost', () => {
  const lose = (path: string) => stage.emulator.addFault({ kind: 'reset-after', path, times: 1 });
  it.each(['unique', 'ignored'] as const)('to a create, where local-id is %s', async (localId) => {
    await open({ emulator: { variants: { 'local-id': localId } } }, true);
    if (localId === 'unique')
      await stage.sql(
        `insert into sync.learned (team, topic, value) select team, 'schedule', '{"local_ids": "unique"}' from sync.teams`,
      );
    await as('anna', insert());
    lose('/v1/schedule');
    const report = await stage.run();
    expect(report.outcome).toBe('partial');
    expect((await row())?.[0]).toBe(localId === 'unique' ? 'waiting' : 'unknown');
    await stage.run();
    await stage.run();
    expect((await row())?.[0]).toBe(localId === 'unique' ? 'scheduled' : 'unknown');
    expect(there().length).toBeLessThanOrEqual(1);
  });
});

describe('what is held though nothing would hold it now', () => {
  it('a message that a person found was not sent goes once it was approved', async () => {
    await open({}, true);
    await as('anna', insert());
    stage.emulator.addFault({ kind: 'reset-before', path: '/v1/schedule', times: 1 });
    await stage.run();
    expect((await row())?.[0]).toBe('unknown');
    await as(
      'ben',
      `select sync.resolve_message(team_id, local_id, null, null) from mirror.scheduled_messages`,
    );
    expect((await stage.run()).outcome).toBe('complete');
    expect((await row())?.[0]).toBe('held');
    expect(there()).toEqual([]);
    await approve();
    await stage.run();
    expect((await row())?.[0]).toBe('scheduled');
    expect(there()).toHaveLength(1);
  });

  it('a tag beyond the limit of a day before waits, and keeps no run from being complete', async () => {
    await open({ config: { guard: { maxNewTags: 0 } } });
    await as('anna', `insert into mirror.tags (team_id, tag) select team_id, 'one' from sync.teams`);
    await stage.run();
    expect((await stage.run({ write, guard: { maxNewTags: 5 } })).outcome).toBe('complete');
    expect(await stage.sql('select reason, field from report.held')).toEqual([['limit', 'tag']]);
    await approve();
    await stage.run();
    expect(await stage.sql('select count(*) from mirror.tags where id is null')).toEqual([['0']]);
  });
});

describe('a tag', () => {
  const insertTag = (name: string) =>
    `insert into mirror.tags (team_id, tag) select team_id, '${name}' from sync.teams`;
  it('is made, and gets the id of the service', async () => {
    await open();
    await as('anna', insertTag('VIP'));
    await stage.run();
    const [made] = stage.emulator.team.tags().filter(({ tag }) => tag === 'VIP');
    expect(await stage.sql(`select id, tag, color from mirror.tags where tag = 'VIP'`)).toEqual([
      [String(made?.id), 'VIP', made?.color ?? ''],
    ]);
    expect((await stage.run()).counts['tags_changed'] ?? 0).toBe(0);
  });

  test.each(['Zulu', 'zULU', ' Z  Ulu'])('of a name that is there is taken: %s', async (name) => {
    await open();
    const there = stage.emulator.team.addTag(name.includes('Z  U') ? 'z ulu' : 'Zulu');
    await as('anna', insertTag(name));
    await stage.run();
    expect(stage.emulator.team.tags().filter(({ tag }) => /z\s*ulu/i.test(tag))).toHaveLength(1);
    expect(await stage.sql(`select id from mirror.tags where tag ~* '^z\\s*ulu$'`)).toEqual([
      [String(there.id)],
    ]);
    expect(
      await stage.sql(
        'select state, id from sync.settled(xid => (select max(xid::text)::xid8 from sync.edits))',
      ),
    ).toEqual([['confirmed', String(there.id)]]);
  });

  it('two of one name are one', async () => {
    await open();
    await as('anna', insertTag('VIP'));
    await as('anna', insertTag('vip'));
    await stage.run();
    expect(stage.emulator.team.tags().filter(({ tag }) => /^vip$/i.test(tag))).toHaveLength(1);
    expect(await stage.sql(`select count(*) from mirror.tags where tag ~* '^vip$'`)).toEqual([['1']]);
  });

  it('beyond the limit of a day waits', async () => {
    await open({ config: { guard: { maxNewTags: 1 } } });
    await as('anna', insertTag('one'));
    await as('anna', insertTag('two'));
    await stage.run();
    await stage.run();
    expect(await stage.sql('select reason, field from report.held')).toEqual([['limit', 'tag']]);
    await approve();
    await stage.run();
    expect(await stage.sql('select count(*) from mirror.tags where id is null')).toEqual([['0']]);
  });
});

it('a read conversation is sent once, and its answer kept', async () => {
  await open();
  await as(
    'anna',
    `insert into mirror.conversation_reads (team_id, inbox_id, user_id, target, reassign_id)
    select i.team_id, i.inbox_id, i.user_id, '15550100', i.user_id from mirror.inbox_members i order by 2, 3 limit 1`,
  );
  await stage.run();
  await stage.run();
  expect(await stage.sql('select state, answer from mirror.conversation_reads')).toEqual([['sent', 'ok']]);
  expect(stage.emulator.team.conversationsRead()).toHaveLength(1);
});
