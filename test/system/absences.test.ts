import { beforeEach, describe, expect, it } from 'vitest';
import { runMusterd } from './run-musterd.ts';
import { useStages, type Stage } from './stage.ts';

const stages = useStages();

describe('rows that a listing no longer shows', () => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await stages.open({
      emulator: { users: 20, tags: 12, fields: 6 },
      config: { absence: { confirmAfterMs: 0 } },
    });
  });
  const musterd = (...args: readonly string[]) => runMusterd(args, stage.env);
  const gone = async (table: string) =>
    Number((await stage.sql(`select count(*) from mirror.${table} where gone_at is not null`))[0]?.[0]);

  it('musterd plan prints "1 missing" for a deleted tag, and names the listings without a change', async () => {
    const [tag] = stage.emulator.team.tags();
    stage.emulator.team.removeTag(tag?.id ?? 0);
    const { stdout } = await musterd('plan');
    expect(stdout).toContain('\ntags: 0 to add, 0 to change, 1 missing\n');
    expect(stdout).toContain('\nno change: contact fields, inboxes, surveys\n');
  });

  it('musterd keeps tags that the listing omits but a lookup finds, and marks deleted tags as gone (O7)', async () => {
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
    const verified = await musterd('verify', '--json');
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
    const withheld = async () =>
      JSON.parse((await musterd('status', '--json')).stdout) as {
        readonly withheld: readonly { readonly hash: string }[];
      };
    const approve = async (...more: readonly string[]) => {
      const hash = (await withheld()).withheld[0]?.hash ?? '';
      expect((await musterd('status')).stdout).toMatch(
        new RegExp(`^missing +\\S.*musterd approve ${hash}`, 'm'),
      );
      expect(await musterd('approve', hash, '--reason', 'it is so', ...more)).toMatchObject({ code: 0 });
    };
    const reason = '8 of 9 rows are missing, more than half';
    expect(await withheld()).toMatchObject({ withheld: [{ resource: 'tags', reason }] });
    await approve('--only', String(left[3]?.id));
    expect(await stage.run()).toMatchObject({
      counts: { tags_gone: 1 },
      reasons: [expect.stringContaining('7 missing rows were left out of an approval')],
    });
    await approve();
    expect(await stage.run()).toMatchObject({ outcome: 'complete', counts: { tags_gone: 7 } });
  });
});
