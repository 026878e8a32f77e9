import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { runMusterd } from './run-musterd.ts';
import { createStages, type Stage, type StageOptions } from './stage.ts';

const stages = createStages();
afterAll(() => stages.close());

const atOnce = { confirmAfterMs: 0 };

describe('musterd and rows that are missing', () => {
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
    runMusterd(args, { ...stage.env, ...env });
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

  it('marks many missing users as gone after an approval', async () => {
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

  it('keeps an approval until the next run, however late', async () => {
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

  it('names missing and added rows in a plan', async () => {
    await open();
    const [tag] = stage.emulator.team.tags();
    stage.emulator.team.removeTag(tag?.id ?? 0);
    const { stdout } = await musterd(['plan']);
    expect(stdout).toContain('\ntags: 0 to add, 0 to change, 1 missing\n');
    expect(stdout).toContain('\nno change: contact fields, inboxes, surveys\n');
  });

  it('keeps rows that a listing leaves out, and marks deleted ones as gone', async () => {
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
