import { afterEach, describe, expect, it } from 'vitest';
import { createStage, type Stage } from './stage.ts';

let stage: Stage;
afterEach(() => stage.close());

const tables = ['mirror.teams', 'mirror.users', 'mirror.tags', 'mirror.contact_fields', 'sync.user_base'];

describe('an undocumented field that differs in every answer', () => {
  it('musterd updates no row if only this field differs, and stores the field with another change (A11)', async () => {
    stage = await createStage({ emulator: { users: 10, tags: 5, fields: 3 } });
    let answers = 0;
    stage.emulator.rewrite({ path: '/v1/*', times: 'always' }, (body) => {
      answers += 1;
      return body.replaceAll(/"id":\s*\d+/g, (id) => `${id},"last_seen_at":${answers}`);
    });
    await stage.run();
    const versions = async () =>
      await Promise.all(tables.map((table) => stage.sql(`select ctid, xmin, * from ${table} order by ctid`)));
    const before = await versions();
    expect(before.map((rows) => rows.length)).toEqual([1, 10, 5, 3, 10]);
    const seen = async (table: string) =>
      (await stage.sql(`select raw ->> 'last_seen_at' from ${table} order by id`)).map(Number);
    const firstSeen = await seen('mirror.users');
    expect(firstSeen.every((at) => at > 0)).toBe(true);
    const firstTags = await seen('mirror.tags');

    expect(await stage.run()).toMatchObject({ outcome: 'complete' });
    expect(await versions()).toEqual(before);
    expect((await stage.plan()).listings.map(({ changed }) => changed)).toEqual([0, 0, 0, 0]);

    const { team } = stage.emulator;
    team.editUser(team.users()[0]?.id ?? 0, { first: 'Robin' });
    team.editTag(team.tags()[0]?.id ?? 0, { tag: 'new' });
    await stage.run();
    const [moved, ...others] = await seen('mirror.users');
    expect(moved).toBeGreaterThan(firstSeen[0] ?? 0);
    expect(others).toEqual(firstSeen.slice(1));
    const [movedTag, ...otherTags] = await seen('mirror.tags');
    expect(movedTag).toBeGreaterThan(firstTags[0] ?? 0);
    expect(otherTags).toEqual(firstTags.slice(1));
  });
});
