import { listedResources } from '../../src/model/listed-resources.ts';
import { afterEach, describe, expect, it } from 'vitest';
import type { Variants } from '../../src/emulator/faults/variants.ts';
import { byText } from '../support/by-text.ts';
import { createStage, type Stage } from './stage.ts';

const variants: readonly Partial<Variants>[] = [
  { pages: 'base-1-refused', 'limit-cap': 10, 'over-cap': 'refuse' },
  { pages: 'base-0', 'limit-cap': 12, 'over-cap': 'refuse', order: 'oldest-first' },
  {
    'missing-fields': 'some',
    'extra-fields': 'some',
    nulls: 'some',
    revisions: 'absent',
    'count-body': 'integer',
  },
  { blank: 'null', phones: 'mixed', fraction: 'mixed', 'email-lookup': 'exact' },
  { blank: 'absent', fraction: '9', 'unfiltered-users': 'refuse', 'member-extras': 'email-phone' },
  { 'updated-at': 'stuck', fraction: '0' },
  { 'value-types': 'swapped', phones: 'mixed', blank: 'absent' },
];

describe('musterd', () => {
  let stage: Stage;
  afterEach(() => stage.close());

  it.each(variants)('mirrors a service with %j, and writes nothing when run again', async (played) => {
    stage = await createStage({ emulator: { variants: played, users: 40, tags: 49, fields: 21 } });
    expect(await stage.run()).toMatchObject({ outcome: 'complete', reasons: [] });
    const { team } = stage.emulator;
    const inOrder = (rows: readonly { readonly id: number }[]) => rows.map(({ id }) => id).toSorted(byText);
    for (const [table, rows] of [
      ['tags', team.tags()],
      ['contact_fields', team.fields()],
    ] as const) {
      const found = await stage.sql(`select id from mirror.${table} where gone_at is null`);
      expect(inOrder(found.map(([id]) => ({ id: Number(id) })))).toEqual(inOrder(rows));
    }
    const reachable = team
      .users()
      .filter(
        ({ email, phone }) => email !== null || phone !== null || played['unfiltered-users'] === undefined,
      );
    expect(
      Number((await stage.sql('select count(*) from mirror.users where resolved'))[0]?.[0]),
    ).toBeGreaterThanOrEqual(reachable.length);

    const { id } = stage.userAt();
    await stage.sql(
      `update mirror.users set first_name = 'Robin', email = 'robin@example.com' where id = ${id}`,
    );
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0, counts: { pushed: 2 } });
    expect(team.user(id)).toMatchObject({ first: 'Robin', email: 'robin@example.com' });
    await stage.run();

    const before = await stage.versions('mirror.users');
    stage.emulator.clearRequests();
    const silent = await stage.run();
    expect(silent.outcome).toBe('complete');
    expect(Object.keys(silent.counts).toSorted(byText)).toEqual(
      [
        'users_read',
        ...listedResources.map(({ name }) => `${name}_read` as const),
        'contact_counts',
        ...(silent.counts.users_unresolved ? ['users_unresolved'] : []),
      ].toSorted(byText),
    );
    expect(stage.updates()).toEqual([]);
    expect(await stage.versions('mirror.users')).toEqual(before);
  });
});
