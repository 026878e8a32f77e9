import { describe, expect, it, onTestFinished } from 'vitest';
import { showTimesIn } from '../../src/model/zone-time.ts';
import { runMusterd } from './run-musterd.ts';
import { useStages, type Stage } from './stage.ts';

const stages = useStages();

/** Fields that wait for a person, and the ways out. */
describe('a held field', () => {
  let stage: Stage;

  const musterd = (...args: readonly string[]) => stage.musterd(...args);
  const inJson = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await musterd(...args, '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout) as Readonly<Record<string, unknown>>;
  };
  /** One user whose email and name were changed on both sides, each to something else. */
  const openConflict = async () => {
    stage = await stages.open();
    const user = stage.userAt();
    stage.emulator.team.editUser(user.id, {
      email: 'Service@example.com',
      first: 'Anne Marie',
      last: 'Service',
    });
    await stage.sql(
      `update mirror.users set email = 'mirror@example.com', first_name = 'Anne', last_name = 'Mirror' where id = ${user.id}`,
    );
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 2 });
    stage.emulator.clearRequests();
    return user;
  };
  const values = async (table: 'mirror.users' | 'sync.user_base', id: number) =>
    (await stage.sql(`select first_name, last_name, email from ${table} where id = ${id}`))[0];
  const expectSilence = async () => {
    stage.emulator.clearRequests();
    const { outcome, waiting, counts } = await stage.run();
    const { pulled = 0, pushed = 0, settled = 0, held = 0 } = counts;
    expect({ outcome, waiting, pulled, pushed, settled, held }).toEqual({
      outcome: 'complete',
      waiting: 0,
      pulled: 0,
      pushed: 0,
      settled: 0,
      held: 0,
    });
    expect(stage.updates()).toEqual([]);
  };

  it('musterd plan counts held fields and names the command that lists them', async () => {
    await openConflict();
    const [text, markdown, json] = await Promise.all([
      musterd('plan'),
      musterd('plan', '--markdown'),
      musterd('plan', '--json'),
    ]);
    expect([text.code, markdown.code, json.code]).toEqual([3, 3, 3]);
    expect(text.stdout).toContain('0 changes');
    expect(text.stdout).toContain('held: 2 fields need a decision; "musterd held" lists what is held\n');
    expect(markdown.stdout).toContain('**Held**: 2 fields need a decision; `musterd held` lists');
    expect(JSON.parse(json.stdout)).toMatchObject({ changes: [], held: 2 });
  });

  it('musterd held prints times in display.timezone, and with --json in UTC', async () => {
    const { id } = await openConflict();
    onTestFinished(() => showTimesIn('UTC'));
    const env = { ...stage.env, MUSTERD__display__timezone: 'Asia/Kolkata' };
    const text = await runMusterd(['held', String(id)], env);
    expect(text.stdout).toMatch(/\d\+05:30\b/);
    const json = await runMusterd(['held', String(id), '--json'], env);
    expect(json.stdout).toMatch(/"since": ?"[\d:T.-]+Z"/);
    expect(json.stdout).not.toContain('+05:30');
  });

  it('musterd held lists a conflict with the values of base, mirror and service', async () => {
    const { id, first, last, email } = await openConflict();
    const { held } = await inJson('held');
    expect(held).toMatchObject([
      {
        user_id: id,
        field: 'email',
        reason: 'conflict',
        base_value: email,
        mirror_value: 'mirror@example.com',
        service_value: 'Service@example.com',
        mirror_value_then: 'mirror@example.com',
        service_value_then: 'Service@example.com',
        until: null,
      },
      {
        field: 'name',
        base_value: { first, last },
        mirror_value: { first: 'Anne', last: 'Mirror' },
        service_value: 'Anne Marie Service',
      },
    ]);
    const [{ batch } = { batch: '' }] = held as readonly { readonly batch: string }[];
    expect(await inJson('held', String(id))).toMatchObject({
      held,
      batches: [
        {
          batch: expect.stringMatching(/^[0-9a-f]{12}$/),
          users: 1,
          fields: 2,
          reasons: { conflict: 2 },
          commands: [
            `musterd resolve --batch ${batch} --as <person> --take mirror, or --take service`,
            `musterd reject ${batch} --as <person>`,
          ],
        },
      ],
    });
    const other = stage.emulator.team.users().find((user) => user.id !== id);
    expect(await inJson('held', String(other?.id))).toEqual({ held: [], batches: [] });
    const { stdout } = await musterd('held', '--all');
    expect(stdout).toContain('Anne | Mirror');
    // Now, and when the hold began.
    const both = 'mirror@example.com\\tService@example.com';
    expect(stdout).toMatch(new RegExp(`\\t${both}\\t.*\\t${both}\\t\\d+\\t\\w{12}$`, 'm'));
    expect((await musterd('hold', String(id), 'phone', '--until', '2h', '--reason', 'so')).code).toBe(0);
    expect((await musterd('held', '--all')).stdout).toContain('\theld on request\tasked\t');
  });

  it('musterd resolve --take service copies the exact value of the service to mirror and base', async () => {
    const { id } = await openConflict();
    await inJson('resolve', String(id), 'email', '--take', 'service', '--if', 'mirror@example.com');
    await inJson('resolve', String(id), 'name', '--take', 'service', '--if', 'Anne|Mirror');
    const service = ['Anne Marie', 'Service', 'Service@example.com'];
    expect(await values('mirror.users', id)).toEqual(service);
    expect(await values('sync.user_base', id)).toEqual(service);
    // What was given up was the mirror's: nothing was changed on the service.
    expect(
      await stage.sql(
        `select kind, field, old_text, new_text, edited_by is not null as is_edited, decided_by is not null as is_decided from report.changes where kind in ('discard', 'pull', 'resolve') order by 2`,
      ),
    ).toEqual([
      ['discard', 'email', 'mirror@example.com', 'Service@example.com', 'true', 'true'],
      ['discard', 'name', 'Anne Mirror', 'Anne Marie Service', 'true', 'true'],
    ]);
    expect(
      await stage.sql(`select p.side from report.roster_changes p
        where p.user_id = ${id} and p.field in ('email', 'first_name') order by p.changed_at desc limit 2`),
    ).toEqual([['mirror'], ['mirror']]);
    await expectSilence();
    expect(stage.emulator.team.user(id).email).toBe('Service@example.com');
  });

  it('musterd resolve --take VALUE refuses an invalid email, and accepts a valid one, which the next run sends', async () => {
    const { id } = await openConflict();
    const before = await values('mirror.users', id);
    const refused = await musterd('resolve', String(id), 'email', '--take', 'no address');
    expect(refused.stderr).toContain('"no address" is not an email address');
    expect(refused.code).toBe(64);
    expect(await values('mirror.users', id)).toEqual(before);
    expect(await inJson('resolve', String(id), 'name', '--take', 'Anne|van der Third')).toMatchObject({
      mirror: { first: 'Anne', last: 'van der Third' },
    });
    await inJson('resolve', String(id), 'email', '--take', 'third@example.com');
    expect(await stage.sql(`select name_split, edited_by <> '' from mirror.users where id = ${id}`)).toEqual([
      ['known', 'true'],
    ]);
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0 });
    expect(stage.updates()).toEqual([
      { id, first_name: 'Anne', last_name: 'van der Third', email: 'third@example.com' },
    ]);
    await expectSilence();
  });

  it.each([
    ['Anne Marie Third', 'Anne Marie', 'Third'],
    ['Anne| Marie | Third', 'Anne', 'Marie | Third'],
  ])('musterd resolve and sync.resolve split the name %s into "%s" and "%s"', async (name, first, last) => {
    const { id } = await openConflict();
    expect(await inJson('resolve', String(id), 'name', '--take', name)).toMatchObject({
      mirror: { first, last },
    });
    await stage.sql(`insert into sync.held_fields (team_id, user_id, field, reason) select team_id, id, 'name', 'conflict' from mirror.users where id = ${id};
      select sync.resolve(team_id, id, 'name', 'value', '${name}', 'so') from mirror.users where id = ${id}`);
    expect(await stage.sql(`select first_name, last_name from mirror.users where id = ${id}`)).toEqual([
      [first, last],
    ]);
  });

  it('musterd resolve exits 64 if the field is not held, or was edited after its hold began', async () => {
    const { id } = await openConflict();
    for (const [field, take] of [
      ['phone', 'mirror'],
      ['nonsense', 'mirror'],
      ['role_id', 'administrator'],
    ] as const) {
      const { code, stdout, stderr } = await musterd('resolve', String(id), field, '--take', take);
      expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
      expect(stderr).toMatch(/musterd: /);
    }
    expect((await musterd('resolve', String(id), 'email')).code).toBe(64);
    expect((await musterd('resolve', 'nobody@example.com', 'email', '--take', 'mirror')).code).toBe(64);
    await stage.sql(`update mirror.users set email = 'later@example.com' where id = ${id}`);
    const stale = await musterd('resolve', String(id), 'email', '--take', 'service');
    expect(stale.stderr).toContain('edited since');
    expect(stale.code).toBe(64);
    expect(await values('mirror.users', id)).toContain('later@example.com');
  });

  it.each([
    [[]],
    [['--until', '2h']],
    [['--reason', 'why']],
    [['--until', 'tomorrow', '--reason', 'why']],
    [['--until', '2001-01-01', '--reason', 'why']],
    [['--end', '--until', '2h']],
  ])('musterd hold exits 64 for the options %j and holds no field', async (args) => {
    stage = await stages.open();
    const { code, stdout } = await musterd('hold', String(stage.userAt().id), ...args);
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(await stage.sql('select count(*) from sync.held_fields')).toEqual([['0']]);
  });
});
