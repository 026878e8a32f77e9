import type { RunReport } from '../../src/runs/sync/run-record.ts';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { absenceDoubts } from '../../src/reconcile/missing-rows.ts';
import { limitWords } from '../../src/reconcile/guard/field-limits.ts';
import { runMusterd } from './run-musterd.ts';
import { createStage, createStages, type Stage, type StageOptions } from './stage.ts';

const stages = createStages();
afterAll(() => stages.close());

/** Everything that stops something until a person decides: a reason that is added does not compile without its play. */
type Stop = 'limit' | `brake ${keyof typeof limitWords}` | `absence ${keyof typeof absenceDoubts | 'left'}`;

type Command = readonly string[];

interface Play {
  readonly options: StageOptions;
  /** Settings after the first run. */
  readonly later?: NonNullable<Parameters<Stage['run']>[0]>;
  readonly cause: (stage: Stage) => Promise<unknown>;
  /** What people are told. */
  readonly says: string;
  readonly wayOut: (stage: Stage, report: RunReport) => Promise<readonly Command[]>;
  /** What had been stopped. */
  readonly freed: (stage: Stage) => Promise<unknown>;
  readonly becomes: unknown;
}

const edit = (stage: Stage, count: number, from = 0) =>
  stage.sql(`update mirror.users set email = 'new' || id || '@example.com'
    where id in (select id from mirror.users order by id offset ${from} limit ${count})`);
/** How many of the edits are on the service. */
const arrived = (stage: Stage) =>
  Promise.resolve(stage.emulator.team.users().filter(({ email }) => email?.startsWith('new')).length);
const approve = (hash: string | null | undefined): Command => ['approve', hash ?? '', '--reason', 'it is so'];
const approvePlan = (_: Stage, { batches }: RunReport) => Promise.resolve([approve(batches.at(-1))]);
const pushes = (users: number, count: number, says: string): Play => ({
  options: { emulator: { users, tags: 1, fields: 1 } },
  cause: (stage) => edit(stage, count),
  says,
  wayOut: approvePlan,
  freed: arrived,
  becomes: count,
});

const someone = (stage: Stage, not: number = 0) =>
  stage.emulator.team
    .users()
    .find(({ id, email, phone }) => id !== not && email !== null && phone !== null) ?? {
    id: 0,
    email: '',
    phone: '',
  };
/** Each held field is decided for the mirror, by the number of its edit. */
const resolveAll = async (stage: Stage): Promise<readonly Command[]> =>
  (await stage.sql('select user_id, field, edit_id from report.held')).map(
    ([id = '', field = '', edit = '']) => ['resolve', id, field, '--take', 'mirror', '--edit', edit],
  );

/** One is to get an address that another has. */
const shared = (field: 'email' | 'phone'): Play => ({
  options: { emulator: { users: 30, tags: 1, fields: 1 } },
  cause: (stage) => {
    const one = someone(stage);
    return stage.sql(
      `update mirror.users set ${field} = '${someone(stage, one.id)[field]}' where id = ${one.id}`,
    );
  },
  says: `has or will get the same ${field}`,
  wayOut: resolveAll,
  freed: (stage) => {
    const one = stage.emulator.team.users().find(({ id }) => id === Number(stage.updates()[0]?.['id']));
    return Promise.resolve(one?.[field] === someone(stage, one?.id)[field]);
  },
  becomes: true,
});

const missingTags = (count: number, settings: object, says: string): Play => ({
  options: {
    emulator: { users: 3, tags: 12, fields: 1 },
    config: { absence: { confirmAfterMs: 0, ...settings } },
  },
  cause: (stage) => {
    for (const { id } of stage.emulator.team.tags().slice(0, count)) stage.emulator.team.removeTag(id);
    return Promise.resolve();
  },
  says,
  wayOut: async (stage) =>
    (await stage.sql(`select distinct batch from sync.absences where batch is not null`)).map(([hash]) =>
      approve(hash),
    ),
  freed: async (stage) =>
    Number((await stage.sql('select count(*) from mirror.tags where gone_at is not null'))[0]?.[0]),
  becomes: count,
});

const plays: Readonly<Record<Stop, Play>> = {
  limit: pushes(100, 26, 'more than the limit of 25'),
  'brake email': shared('email'),
  'brake phone': shared('phone'),
  'brake roles': {
    ...shared('email'),
    options: { emulator: { users: 30, tags: 1, fields: 1 }, config: { guard: { maxRoleChanges: 0 } } },
    cause: (stage) =>
      stage.sql(
        `update mirror.users set role_id = case role_id when 4 then 2 else 4 end where id = ${someone(stage).id}`,
      ),
    says: '1 roles would change in one run, more than 0',
    freed: (stage) => Promise.resolve(stage.updates().length),
    becomes: 1,
  },
  'brake administrators': {
    ...shared('email'),
    cause: async (stage) => {
      const [one, ...others] = stage.emulator.team.users().filter(({ roleId }) => roleId === 1);
      for (const { id } of others) stage.emulator.team.editUser(id, { roleId: 4 });
      await stage.run();
      await stage.sql(`update mirror.users set role_id = 4 where id = ${one?.id}`);
    },
    says: 'no administrator would be left',
    freed: (stage) =>
      Promise.resolve(stage.emulator.team.users().filter(({ roleId }) => roleId === 1).length),
    becomes: 0,
  },
  'absence empty': missingTags(12, {}, 'an empty list proves nothing'),
  'absence half': missingTags(7, {}, '7 of 12 rows are missing, more than half'),
  'absence limit': missingTags(5, {}, 'more than the limit of 3'),
  'absence left': {
    ...missingTags(7, {}, '6 missing rows were left out of an approval'),
    cause: async (stage) => {
      await missingTags(7, {}, '').cause(stage);
      await stage.run();
      const [[hash = '', id = ''] = []] = await stage.sql(
        `select batch, id from sync.absences where batch is not null order by id`,
      );
      await succeed(stage, [...approve(hash), '--only', id]);
    },
  },
};

async function succeed(stage: Stage, args: Command): Promise<void> {
  const { code, stderr } = await runMusterd(args, {
    ...stage.env,
    MUSTERD__log__level: 'error',
  });
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
}

describe('edits or deletions that a guard stops', () => {
  let stage: Stage;
  afterEach(() => stage.close());

  it.each(Object.entries(plays))('wait until a person decides, for the reason "%s"', async (_, play) => {
    const { options, later, cause, says, wayOut, freed, becomes } = play;
    stage = await stages.open(options);
    await cause(stage);
    stage.emulator.clearRequests();
    const stopped = await stage.run(later);
    const held = await stage.sql('select detail from report.held');
    expect([...stopped.reasons, ...held.flat()].join('\n')).toContain(says);
    expect(await freed(stage)).not.toEqual(becomes);
    // It does not end by itself.
    const again = await stage.run(later);
    expect(again.waiting + again.reasons.length).toBeGreaterThan(0);
    expect(await freed(stage)).not.toEqual(becomes);

    for (const command of await wayOut(stage, again)) await succeed(stage, command);
    expect(await stage.run(later)).toMatchObject({ outcome: 'complete', waiting: 0, refusal: null });
    expect(await freed(stage)).toEqual(becomes);
    expect(await stage.run(later)).toMatchObject({ outcome: 'complete', waiting: 0, refusal: null });
  });

  it('have a case in this test for each reason to stop', async () => {
    stage = await createStage({ emulator: { users: 1, tags: 0, fields: 0 } });
    expect(Object.keys(plays)).toEqual([
      'limit',
      ...Object.keys(limitWords).map((name) => `brake ${name}`),
      ...Object.keys(absenceDoubts).map((name) => `absence ${name}`),
      'absence left',
    ]);
  });
});
