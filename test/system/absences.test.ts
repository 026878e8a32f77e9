import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { runMusterd } from './run-musterd.ts';
import { createStages, type Stage, type StageOptions } from './stage.ts';

const stages = createStages();
afterAll(() => stages.close());

const atOnce = { confirmAfterMs: 0 };

describe('absences that nobody decides by himself', () => {
  let stage: Stage;
  const open = async (options: StageOptions = {}) => {
    stage = await stages.open({
      emulator: { users: 20, tags: 12, fields: 6 },
      ...options,
      config: { absence: atOnce, ...options.config },
    });
  };
  afterEach(() => stage.close());
  const musterd = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    runMusterd(args, { ...stage.emulator.environment, DATABASE_URL: stage.url, ...env });
  const approve = async (hash: string, ...more: readonly string[]) =>
    (await musterd(['approve', hash, '--reason', 'they left', ...more])).code;
  const withheld = async () => {
    const { stdout } = await musterd(['status', '--json']);
    const status = JSON.parse(stdout) as {
      withheld: { hash: string; resource: string; ids: number[]; reason: string }[];
    };
    return status.withheld.map((one) => ({ ...one, ids: one.ids.toSorted((a, b) => a - b) }));
  };
  const gone = async (table: string) =>
    Number((await stage.sql(`select count(*) from mirror.${table} where gone_at is not null`))[0]?.[0]);

  it('calls users gone that too many are missing at once, as soon as a person agrees', async () => {
    await open();
    const [keep, ...leave] = stage.emulator.team.users();
    for (const { id } of leave.slice(0, 15))
      stage.emulator.team.showUser(id, { listed: false, answered: false });
    for (const _ of [1, 2])
      expect(await stage.run()).toMatchObject({
        outcome: 'partial',
        reasons: [expect.stringContaining('15 of 20 rows are missing, more than half')],
      });
    expect(await gone('users')).toBe(0);

    const [waiting] = await withheld();
    expect(waiting).toMatchObject({ resource: 'users', reason: '15 of 20 rows are missing, more than half' });
    const hash = waiting?.hash ?? '';
    expect((await musterd(['status'])).stdout).toContain(`musterd approve ${hash}`);
    expect(await approve(hash, '--only', String(keep?.id))).toBe(64);
    expect(await approve(hash, '--reject', String(leave[0]?.id))).toBe(64);
    expect(
      await approve(
        hash,
        '--only',
        leave
          .slice(0, 14)
          .map(({ id }) => id)
          .join(','),
      ),
    ).toBe(0);

    // One was left out: it would be within the limit of what a run decides by itself, and waits all the same.
    expect(await withheld()).toMatchObject([{ resource: 'users', ids: [leave[14]?.id], hash }]);
    const { outcome, reasons, counts } = await stage.run();
    const [rest] = await withheld();
    expect(rest).toMatchObject({ ids: [leave[14]?.id], reason: '1 missing row was left out of an approval' });
    expect({ outcome, reasons, counts }).toMatchObject({
      outcome: 'partial',
      reasons: [expect.stringContaining(`musterd approve ${rest?.hash} --reason`)],
      counts: { gone: 14 },
    });
    expect(await gone('users')).toBe(14);
    expect(await approve(hash)).toBe(64);
    expect(await approve(rest?.hash ?? '')).toBe(0);
    expect(await stage.run()).toMatchObject({ outcome: 'complete', counts: { gone: 1 } });
    expect(await withheld()).toEqual([]);
    expect(await stage.run()).toMatchObject({ outcome: 'complete' });
  });

  it('calls gone what a person approved, and keeps waiting what that person left out', async () => {
    await open({ emulator: { users: 100, tags: 2, fields: 1 } });
    const leave = stage.emulator.team
      .users()
      .slice(0, 40)
      .map(({ id }) => id);
    for (const id of leave) stage.emulator.team.showUser(id, { listed: false, answered: false });
    await stage.run();
    const [waiting] = await withheld();
    const only = [
      'approve',
      waiting?.hash ?? '',
      '--reason',
      'they left',
      '--only',
      leave.slice(0, 30).join(','),
    ];
    const { code, stdout } = await musterd(only);
    const [rest] = await withheld();
    expect({ code, stdout: stdout.replace(/ \(decision \d+\)/, '') }).toEqual({
      code: 0,
      stdout: [
        '30 missing users approved, 10 wait on',
        'The next complete run marks them as gone, if they are still missing.',
        `No run marks the others as gone before they are approved, too: musterd approve ${rest?.hash} --reason …`,
        '',
      ].join('\n'),
    });
    for (const _ of [1, 2, 3]) {
      expect(await stage.run()).toMatchObject({ outcome: 'partial' });
      expect(await gone('users')).toBe(30);
    }
    // Nobody waits who is back; and who vanishes again after that is missing like any other.
    for (const id of leave.slice(30, 38)) stage.emulator.team.showUser(id, { listed: true, answered: true });
    expect(await stage.run()).toMatchObject({ outcome: 'partial' });
    expect((await withheld()).map(({ ids }) => ids)).toEqual([leave.slice(38)]);
    for (const id of leave.slice(30, 33))
      stage.emulator.team.showUser(id, { listed: false, answered: false });
    await stage.run();
    expect(await stage.run()).toMatchObject({ outcome: 'partial', counts: { gone: 3 } });
    for (const id of leave) stage.emulator.team.showUser(id, { listed: true, answered: true });
    expect(await stage.run()).toMatchObject({ outcome: 'complete', counts: { returned: 33 } });
    expect(await withheld()).toEqual([]);
  });

  it('lets an approval count until the runs come to it, however seldom they are', async () => {
    await open();
    const ids = stage.emulator.team.tags().map(({ id }) => id);
    for (const id of ids.slice(0, 5)) stage.emulator.team.removeTag(id);
    const late = { absence: { confirmAfterMs: 10 * 86_400_000 } };
    await stage.run(late);
    const [waiting] = await withheld();
    expect(await approve(waiting?.hash ?? '')).toBe(0);
    /** All that the mirror keeps of times in these tables is a week older. */
    const passWeek = () =>
      stage.sql(`
        do $$ declare c record; begin
          for c in select table_name, column_name from information_schema.columns
            where table_schema = 'sync' and table_name = 'absences'
              and data_type = 'timestamp with time zone'
          loop
            execute format('update sync.%1$I set %2$I = %2$I - interval ''7 days''', c.table_name, c.column_name);
          end loop;
        end $$`);
    await passWeek();
    expect(await stage.run(late)).toMatchObject({ outcome: 'complete' });
    expect(await gone('tags')).toBe(0);
    await passWeek();
    expect(await stage.run(late)).toMatchObject({ outcome: 'complete', counts: { tags_gone: 5 } });
    expect(await stage.sql('select count(*) from sync.absences')).toEqual([['0']]);
  });

  it('is in the plan with what is to be added, and the listings without a change are in one line', async () => {
    await open();
    const [tag] = stage.emulator.team.tags();
    stage.emulator.team.removeTag(tag?.id ?? 0);
    const { stdout } = await musterd(['plan']);
    expect(stdout).toContain('\ntags: 0 to add, 0 to change, 1 missing\n');
    expect(stdout).toContain('\nno change: contact fields, inboxes, surveys\n');
  });

  it('does not let an approval count for other rows than it showed', async () => {
    await open();
    const tags = stage.emulator.team.tags();
    for (const { id } of tags.slice(0, 5)) stage.emulator.team.removeTag(id);
    await stage.run();
    const [first] = await withheld();
    expect(first?.ids.length).toBe(5);
    expect(await approve(first?.hash ?? '')).toBe(0);
    for (const { id } of tags.slice(5, 11)) stage.emulator.team.removeTag(id);
    expect(await stage.run()).toMatchObject({ outcome: 'partial', counts: { tags_gone: 5 } });
    expect((await withheld()).map(({ ids }) => ids.length)).toEqual([6]);
  });

  it('does not call a row gone that came back after its approval', async () => {
    await open();
    const ids = stage.emulator.team
      .users()
      .slice(0, 15)
      .map(({ id }) => id);
    for (const id of ids) stage.emulator.team.showUser(id, { listed: false, answered: false });
    await stage.run();
    const [waiting] = await withheld();
    expect(await approve(waiting?.hash ?? '')).toBe(0);
    for (const id of ids) stage.emulator.team.showUser(id, { listed: true, answered: true });
    expect(await stage.run()).toMatchObject({ outcome: 'complete' });
    expect(await gone('users')).toBe(0);

    // It has ended with that: whoever vanishes again needs a new one.
    for (const id of ids) stage.emulator.team.showUser(id, { listed: false, answered: false });
    for (const _ of [1, 2]) expect(await stage.run()).toMatchObject({ outcome: 'partial' });
    expect(await gone('users')).toBe(0);
  });

  it('asks nobody about what a listing leaves out, and lets what is really gone go', async () => {
    await open();
    const [, ...left] = stage.emulator.team.tags();
    const hidden = new Set(left.slice(0, 3).map(({ id }) => id));
    stage.emulator.rewrite({ path: '/v1/tags', times: 'always' }, (body) =>
      JSON.stringify((JSON.parse(body) as { id: number }[]).filter(({ id }) => !hidden.has(id))),
    );
    const warned = (rows: number) => [
      `tags: the listing leaves out ${rows} rows that exist, perhaps because they are archived; they stay in the mirror`,
    ];
    await stage.run();
    for (const _ of [1, 2])
      expect(await stage.run()).toMatchObject({ outcome: 'complete', reasons: [], warnings: warned(3) });
    expect(await gone('tags')).toBe(0);
    const verified = await musterd(['verify', '--json']);
    expect(verified.code).toBe(0);

    // Each is still asked for: the one that is deleted goes, the others stay.
    stage.emulator.team.removeTag(left[0]?.id ?? 0);
    expect(await stage.run()).toMatchObject({ outcome: 'complete', warnings: warned(2) });
    expect(await stage.run()).toMatchObject({ outcome: 'complete', counts: { tags_gone: 1 } });
    expect(await gone('tags')).toBe(1);

    // The limits count for what the listing shows, as for all others: many that are deleted at once wait for a person.
    for (const { id } of left.slice(3)) stage.emulator.team.removeTag(id);
    await stage.run();
    expect(await stage.run()).toMatchObject({
      outcome: 'partial',
      reasons: [expect.stringContaining('8 of 9 rows are missing, more than half')],
    });
    expect(await gone('tags')).toBe(1);
  });
});
