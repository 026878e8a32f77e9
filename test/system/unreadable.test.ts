import { describe, expect, it } from 'vitest';
import { runMusterd } from './run-musterd.ts';
import { useStages, type Stage, type StageOptions } from './stage.ts';

const stages = useStages();
let stage: Stage;
const open = async (options: StageOptions) => {
  stage = await stages.open(options);
};
const musterd = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await runMusterd(args, {
    ...stage.env,
    MUSTERD__log__level: 'error',
  });
  if (!stdout.startsWith('{')) throw new Error(`exit ${code}: ${stderr}`);
  return { code, report: JSON.parse(stdout) as Readonly<Record<string, unknown>> };
};
const withPhone = () => {
  const found = stage.emulator.team.users().find(({ email, phone }) => email !== null && phone !== null);
  if (found === undefined) throw new Error('no such user');
  return found;
};
const phones = (id: number) =>
  stage.sql(
    `select coalesce(u.phone, '') as ours, coalesce(b.phone, '') as agreed from mirror.users u
     join sync.user_base b using (team_id, id) where id = ${id}`,
  );

describe('a field of users with an unexpected type', () => {
  it('makes runs partial, is reported by verify, why and check, and is not overwritten on either side (A10)', async () => {
    await open({ emulator: { users: 2 } });
    const { id } = withPhone();
    await stage.sql(`update mirror.users set phone = '15550188' where id = ${id}`);
    stage.emulator.team.editUser(id, { phone: '15550177' });
    stage.emulator.setVariants({ 'value-types': 'odd' });
    const before = await phones(id);
    const { outcome, reasons } = await stage.run();
    expect(outcome).toBe('partial');
    expect(reasons).toEqual([
      expect.stringMatching(/the phone of \d users? cannot be read/),
      expect.stringContaining('the role_id of 2'),
    ]);
    expect(await stage.run({})).toMatchObject({ outcome: 'partial' });
    expect(stage.updates()).toEqual([]);
    expect(await phones(id)).toEqual(before);

    const verified = await musterd('verify', '--json');
    expect(verified).toMatchObject({ code: 1, report: { equal: false, complete: false } });
    const why = await musterd('why', String(id), '--json');
    expect(why.report['fields']).toContainEqual(
      expect.objectContaining({
        field: 'phone',
        rule: 'unread',
        decision: 'wait',
        because: expect.stringContaining('unreadable value'),
      }),
    );
    expect(why.report['next']).toContain('hone and role_id waits until');
    const check = await musterd('check', '--json');
    expect(check.code).toBe(1);
    expect(check.report['findings']).toContainEqual({
      check: 'fields of users',
      verdict: 'fail',
      detail: expect.stringContaining('role_id cannot be read of 2'),
    });

    stage.emulator.setVariants({ 'value-types': 'documented' });
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 1 });
    expect(stage.updates()).toEqual([]);
  });
});

describe('a phone that was emptied on a service that leaves out empty fields', () => {
  it('causes a warning, and an edit of the phone is held until a person resolves the hold (A10)', async () => {
    await open({
      emulator: { variants: { blank: 'absent', 'unfiltered-users': 'none', 'member-extras': 'email-phone' } },
    });
    const { id, phone } = withPhone();
    stage.emulator.team.editUser(id, { phone: null });
    const { outcome, warnings } = await stage.run();
    expect(outcome).toBe('complete');
    expect(warnings).toContainEqual(
      expect.stringContaining(
        `is left out of the service's answers, and stays as it is on both sides: ${id}`,
      ),
    );
    expect(await phones(id)).toEqual([[phone, phone]]);
    expect(await musterd('verify', '--json')).toMatchObject({
      code: 1,
      report: { equal: false, unread: [`users: the phone is left out in the service's answers: ${id}`] },
    });
    const check = await musterd('check', '--json');
    expect(check.report['findings']).toContainEqual({
      check: 'fields of users',
      verdict: 'note',
      detail: expect.stringContaining('phone is left out of'),
    });

    await stage.sql(`update mirror.users set phone = '15550188' where id = ${id}`);
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 1 });
    expect(stage.updates()).toEqual([]);
    await musterd('resolve', String(id), 'phone', '--take', 'mirror', '--if', '15550188', '--json');
    expect(await stage.run()).toMatchObject({
      outcome: 'complete',
      waiting: 0,
      warnings: expect.not.arrayContaining([expect.stringContaining('left out')]),
      counts: { pushed: 1 },
    });
    expect(stage.emulator.team.user(id)?.phone).toBe('15550188');
    expect(await musterd('verify', '--json')).toMatchObject({ code: 0, report: { equal: true } });
  });
});
