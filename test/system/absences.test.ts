import { afterEach, describe, expect, it } from 'vitest';
import { runMusterd } from './run-musterd.ts';
import { createStage, type Stage, type StageOptions } from './stage.ts';

const atOnce = { confirmAfterMs: 0 };

describe('absences that nobody decides by himself', () => {
  let stage: Stage;
  const open = async (options: StageOptions = {}) => {
    stage = await createStage({
      emulator: { users: 20, tags: 12, fields: 6 },
      ...options,
      config: { absence: atOnce, ...options.config },
    });
    await stage.run();
  };
  afterEach(() => stage.close());
  const musterd = (args: readonly string[]) =>
    runMusterd(args, { ...stage.emulator.environment, DATABASE_URL: stage.url });
  const approve = async (hash: string, ...more: readonly string[]) =>
    (await musterd(['approve', hash, '--reason', 'they left', ...more])).code;
  const withheld = async () => {
    const { stdout } = await musterd(['status', '--json']);
    return (
      JSON.parse(stdout) as {
        withheld: { hash: string; resource: string; ids: number[]; reason: string }[];
      }
    ).withheld;
  };
  const gone = async (table: string) =>
    Number((await stage.sql(`select count(*) from mirror.${table} where gone_at is not null`))[0]?.[0]);

  it('calls users gone that too many are missing at once, as soon as a person agrees, and not a day later', async () => {
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
    expect(await approve(hash)).toBe(64);

    // One was not approved, and is within the limit of what a run decides by itself.
    expect(await stage.run()).toMatchObject({ outcome: 'complete', counts: { gone: 15 } });
    expect(await gone('users')).toBe(15);
    expect(await withheld()).toEqual([]);
    expect(await stage.run()).toMatchObject({ outcome: 'complete' });
  });

  it('does not let an approval count for other rows than it showed, nor for longer than a day', async () => {
    await open();
    const tags = stage.emulator.team.tags();
    for (const { id } of tags.slice(0, 5)) stage.emulator.team.removeTag(id);
    await stage.run();
    const [first] = await withheld();
    expect(first?.ids.length).toBe(5);
    expect(await approve(first?.hash ?? '')).toBe(0);
    await stage.sql(
      `update sync.withheld_absences set expires_at = clock_timestamp() where state = 'approved'`,
    );
    expect(await stage.run()).toMatchObject({ outcome: 'partial' });
    expect(await gone('tags')).toBe(0);

    const [again] = await withheld();
    expect(await approve(again?.hash ?? '')).toBe(0);
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
  });

  it('O7 calls nothing gone when the settings ask for less, before somebody agrees once', async () => {
    await open();
    const [only, other] = stage.emulator.team.tags();
    if (only === undefined || other === undefined) throw new Error('no tags');
    stage.emulator.team.removeTag(other.id);
    // One tag is missing: within every limit, but the settings are not those of the last pass.
    const narrow = { scope: { tags: { archived: false }, contactFields: {} } };
    for (const _ of [1, 2])
      expect(await stage.run(narrow)).toMatchObject({
        outcome: 'partial',
        reasons: [expect.stringContaining('the settings ask for something else than before')],
      });
    expect(await gone('tags')).toBe(0);
    const [waiting] = await withheld();
    expect(await approve(waiting?.hash ?? '')).toBe(0);
    expect(await stage.run(narrow)).toMatchObject({ outcome: 'complete', counts: { tags_gone: 1 } });

    // The one approved pass is over: the new settings are the usual ones now.
    const [next] = stage.emulator.team.tags();
    stage.emulator.team.removeTag(next?.id ?? 0);
    await stage.run(narrow);
    expect(await stage.run(narrow)).toMatchObject({ outcome: 'complete', counts: { tags_gone: 1 } });
  });

  it('O7 mirrors what a filter leaves, and takes the rest back when it is lifted', async () => {
    await open();
    const [tag] = stage.emulator.team.tags();
    const filtered = { scope: { tags: { filter: tag?.tag ?? '' }, contactFields: {} } };
    const before = await stage.sql('select id, tag from mirror.tags where gone_at is null order by id');
    expect(await stage.run(filtered)).toMatchObject({ outcome: 'partial' });
    expect(await stage.sql('select id, tag from mirror.tags where gone_at is null order by id')).toEqual(
      before,
    );
    expect(await stage.run()).toMatchObject({ outcome: 'complete' });
    expect(await withheld()).toEqual([]);
  });
});
