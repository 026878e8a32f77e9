import { listedResources } from '../../src/model/listed-resources.ts';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTeamMemories } from '../../src/daemon/team-memory.ts';
import { createLog } from '../../src/log.ts';
import { type RunGroup, scheduledGroups } from '../../src/model/run-group.ts';
import { runReconcile } from '../../src/runs/reconcile-team.ts';
import type { TeamMemory } from '../../src/runs/with-run.ts';
import { runMusterd } from './run-musterd.ts';
import { openOwnServer } from '../support/test-server.ts';
import { createStage as createStageOn, type Stage, type StageOptions } from './stage.ts';
import { traces } from './traces.ts';

/** Transactions of other tests would be a reason to read somebody again. */
let own: Awaited<ReturnType<typeof openOwnServer>>;
beforeAll(async () => {
  own = await openOwnServer();
});
afterAll(() => own.close());
const createStage = (options: StageOptions = {}) => createStageOn({ server: own.server, ...options });

const noLimits = { guard: { maxRows: 1_000, maxSharePerDay: 1 } };
const atRest = async (stage: Stage) => (await stage.run()).counts['users_at_rest'];
const forget = (stage: Stage) => stage.sql(`delete from sync.learned where topic like '% at rest'`);
const asOwner = (stage: Stage, text: string) =>
  stage.sql(`begin; set local session_replication_role = replica; ${text}; commit`);
/** Until a run has found nothing to do, and has learned that. */
async function settle(stage: Stage): Promise<void> {
  await stage.run();
  await stage.run();
  expect(await atRest(stage)).toBe(stage.emulator.team.users().length);
}

const joined = async (stage: Stage) =>
  new Map(
    (await stage.sql('select id, name, phone from mirror.users where gone_at is null')).map(([id, ...of]) => [
      id,
      of,
    ]),
  );
const onServiceJoined = (stage: Stage) =>
  new Map(
    stage.emulator.team
      .users()
      .map(({ id, first, last, phone }) => [String(id), [`${first} ${last}`.trim(), phone ?? '']]),
  );

describe('Users of whom nothing is new on either side', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await createStage({ config: noLimits });
    await settle(stage);
  });
  afterAll(() => stage.close());

  const firstUser = () => stage.emulator.team.users().find(({ email }) => email !== null)?.id ?? 0;
  const restore = (text: string) => asOwner(stage, text);

  it('are at rest once they were read for the first time', async () => {
    const fresh = await createStage({ emulator: { users: 7, tags: 1, fields: 1 } });
    try {
      expect((await fresh.run()).counts).toMatchObject({ adopted: 7 });
      expect(await atRest(fresh)).toBe(7);
      expect(await joined(fresh)).toEqual(onServiceJoined(fresh));
    } finally {
      await fresh.close();
    }
  });

  it('are neither looked up nor written', async () => {
    stage.emulator.clearRequests();
    const report = await stage.run();
    expect(report).toMatchObject({ outcome: 'complete', counts: { users_read: 30, users_at_rest: 30 } });
    const asked = stage.emulator.requests.map(({ path }) => path);
    expect(asked.filter((path) => path.includes('team') || path.includes('users')).toSorted()).toEqual([
      '/v1/team',
      '/v1/users/get',
    ]);
  });

  it('have their roles counted all the same, where those may be behind', async () => {
    await asOwner(
      stage,
      `update mirror.roles set members = 0; update sync.runs set outcome = 'partial' where run_id = (select max(run_id) from sync.runs)`,
    );
    expect(await atRest(stage)).toBe(30);
    expect(await stage.sql('select sum(members) from mirror.roles')).toEqual([['30']]);
  });

  it.each<readonly [string, () => unknown]>([
    [
      'one joined',
      () => stage.emulator.team.addUser({ first: 'New', last: 'Comer', email: 'new@example.com' }),
    ],
    ['the team was renamed', () => stage.emulator.team.rename('Another name')],
    ['a base is gone', () => restore(`delete from sync.user_base where id = ${firstUser()}`)],
    ['one is deleted', () => restore(`delete from mirror.users where id = ${firstUser()}`)],
    [
      'all rows were put back',
      () => restore('update mirror.users set role = role; update sync.user_base set name = name'),
    ],
  ])('are all read again when %s', async (_name, disturb) => {
    await disturb();
    expect(await atRest(stage)).toBeUndefined();
    expect(await joined(stage)).toEqual(onServiceJoined(stage));
    await settle(stage);
  });

  it.each<readonly [string, string]>([
    ['a base is another', `update sync.user_base set phone = '1'`],
    ['a role in the mirror is another', `update mirror.users set role = 'x'`],
    ['a time in the mirror is another', `update mirror.users set updated_at = now()`],
    ['one is gone from the mirror', `update mirror.users set gone_at = now()`],
    ['a row was put back as it was', `update mirror.users set role = role`],
  ])('are read as far as they were written when %s', async (_name, disturb) => {
    await restore(`${disturb} where id = ${firstUser()}`);
    expect(await atRest(stage)).toBe(stage.emulator.team.users().length - 1);
    expect(await joined(stage)).toEqual(onServiceJoined(stage));
    await settle(stage);
  });

  it.each(["name = 'Not the name'", 'list_size = list_size + 1'])(
    'have the team of the service, whatever was written over it: %s',
    async (change) => {
      const team = () => stage.sql('select name, list_size from mirror.teams');
      const before = await team();
      await asOwner(stage, `update mirror.teams set ${change}`);
      expect(await team()).not.toEqual(before);
      expect(await atRest(stage)).toBe(stage.emulator.team.users().length);
      expect(await team()).toEqual(before);
    },
  );

  it('are all read again when the settings are others', async () => {
    expect((await stage.run({ policy: { phone: 'service-wins' } })).counts['users_at_rest']).toBeUndefined();
    await settle(stage);
  });

  it('are read as far as the service changed them, and once more, since they were written', async () => {
    stage.emulator.team.editUser(firstUser(), { phone: '15550123456' });
    const { counts } = await stage.run();
    expect(counts).toMatchObject({ users_read: stage.emulator.team.users().length, pulled: 1 });
    expect(counts['users_at_rest']).toBe(stage.emulator.team.users().length - 1);
    expect(await joined(stage)).toEqual(onServiceJoined(stage));
    expect(await atRest(stage)).toBe(stage.emulator.team.users().length - 1);
    expect(await atRest(stage)).toBe(stage.emulator.team.users().length);
  });

  it('are all read after a day, however many runs have read some of them meanwhile', async () => {
    await settle(stage);
    await stage.sql(
      `update sync.learned set learned_at = now() - interval '23 hours' where topic = 'users at rest'`,
    );
    const hours = () =>
      stage.sql(
        `select extract(epoch from now() - learned_at)::int / 3600, jsonb_array_length(value -> 'planned') from sync.learned where topic = 'users at rest'`,
      );
    stage.emulator.team.editUser(firstUser(), { phone: '15550123457' });
    await stage.run();
    expect(await hours()).toEqual([['23', '1']]);
    await forget(stage);
    await settle(stage);
    expect(await hours()).toEqual([['0', '0']]);
  });

  it.each<readonly [string, number, (id: number) => Promise<unknown>]>([
    [
      'another was written past the triggers meanwhile',
      2,
      (id) => restore(`update mirror.users set role = 'x' where id = ${id}`),
    ],
    [
      'it could not be ended as it should',
      1,
      () => {
        stage.emulator.addFault({ kind: 'status', code: 400, path: '/v1/contact-fields', times: 1 });
        stage.emulator.addFault({ kind: 'status', code: 400, path: '/v1/tags', times: 1 });
        return Promise.resolve();
      },
    ],
  ])(
    'are read as far as they were written after a run that read some, if %s',
    async (_name, written, meanwhile) => {
      const [other] = stage.emulator.team.users().toReversed();
      const { phone } = stage.emulator.team.user(firstUser());
      stage.emulator.team.editUser(firstUser(), { phone: `${BigInt(phone ?? 0) + 1n}` });
      const end = stage.emulator.before({ path: '/v1/tags', times: 1 }, () =>
        meanwhile(other?.id ?? 0).then(() => undefined),
      );
      const users = stage.emulator.team.users().length;
      expect((await stage.run()).counts).toMatchObject({ pulled: 1, users_at_rest: users - 1 });
      end();
      expect(await atRest(stage)).toBe(users - written);
      await settle(stage);
      expect(await joined(stage)).toEqual(onServiceJoined(stage));
      expect(await stage.sql(`select role from mirror.users where role = 'x'`)).toEqual([]);
    },
  );

  it('are read as far as they were edited', async () => {
    await stage.sql(`update mirror.users set email = 'edited@example.com' where id = ${firstUser()}`);
    const { counts } = await stage.run();
    expect(counts).toMatchObject({
      users_read: stage.emulator.team.users().length,
      pushed: 1,
      users_at_rest: stage.emulator.team.users().length - 1,
    });
    expect(stage.emulator.team.user(firstUser()).email).toBe('edited@example.com');
    await settle(stage);
  });

  it('are all said to be read by a plan, however many were looked at', async () => {
    const { stdout } = await runMusterd(['plan'], {
      ...stage.emulator.environment,
      DATABASE_URL: stage.url,
      // The runs before have taken more than a minute's share.
      MUSTERD__rate__perMinute: '1000000',
    });
    expect(stdout).toContain(`${stage.emulator.team.users().length} users read, 0 changes`);
  });

  it('are read as far as they are held, and the fields stay so', async () => {
    const id = firstUser();
    await stage.sql(`update mirror.users set email = 'mine@example.com' where id = ${id}`);
    stage.emulator.team.editUser(id, { email: 'theirs@example.com' });
    const held = () => stage.sql('select user_id, field, reason from sync.held_fields');
    for (let run = 0; run < 4; run += 1) {
      expect((await stage.run()).waiting).toBe(1);
      expect(await held()).toEqual([[String(id), 'email', 'conflict']]);
    }
    await stage.sql(`update mirror.users set email = 'theirs@example.com' where id = ${id}`);
    await stage.run();
    expect(await held()).toEqual([]);
    await settle(stage);
  });

  it('are not learned of a run that was partial, or that only pushed edits', async () => {
    await forget(stage);
    const learned = () => stage.sql(`select count(*) from sync.learned where topic = 'users at rest'`);
    const undo = stage.emulator.addFault({ kind: 'status', code: 400, path: '/v1/tags', times: Infinity });
    expect((await stage.run()).outcome).toBe('partial');
    expect(await learned()).toEqual([['0']]);
    undo();
    await stage.run();
    expect(await learned()).toEqual([['1']]);
  });
});

describe('What was written while a run was under way', () => {
  const past = (stage: Stage) =>
    asOwner(
      stage,
      `update mirror.users set phone = '1'; update sync.user_base set phone = '1'; update mirror.users set role = 'x'`,
    );

  it('is not what the run compared', async () => {
    const stage = await createStage({ emulator: { users: 7, tags: 1, fields: 1 } });
    try {
      await stage.run();
      await forget(stage);
      const keep = async () => void (await past(stage));
      const log = createLog({ level: 'silent' });
      const runBeside = (meanwhile: () => Promise<void>) =>
        runReconcile(stage.db, stage.config, 'daemon', {
          log,
          teamMemory: { recall: () => undefined, keep: meanwhile, keepPopulation: () => undefined },
        });
      const learned = () => stage.sql(`select topic from sync.learned where topic = 'users at rest'`);
      await runBeside(keep);
      // It is told of all of them the next time.
      expect(await learned()).toHaveLength(1);
      expect((await stage.run()).counts).toMatchObject({ users_read: 7, pulled: expect.any(Number) });
      expect(await joined(stage)).toEqual(onServiceJoined(stage));
      // Nor is it learned from a run that another one took for dead.
      await forget(stage);
      await runBeside(async () => {
        await stage.sql(`update sync.runs set outcome = 'failed' where outcome = 'running'`);
      });
      expect(await learned()).toEqual([]);
      expect(await joined(stage)).toEqual(onServiceJoined(stage));
    } finally {
      await stage.close();
    }
  });

  it('is not what the first run took', async () => {
    const stage = await createStage({ emulator: { users: 7, tags: 1, fields: 1 } });
    try {
      await stage.sql(`create function public.meddle() returns trigger language plpgsql as $$
        begin update mirror.users set role = 'x'; return null; end $$`);
      await stage.sql(
        `create trigger meddle after insert on mirror.tags for each statement execute function public.meddle()`,
      );
      await stage.run();
      expect(await stage.sql(`select distinct role from mirror.users`)).toEqual([['x']]);
      expect(await atRest(stage)).toBeUndefined();
    } finally {
      await stage.close();
    }
  });
});

describe('A team that a daemon remembers', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await createStage();
    await settle(stage);
  });
  afterAll(() => stage.close());

  const newMemory = () => createTeamMemories(() => 0)(stage.config);
  const run = (teamMemory: TeamMemory, groups: readonly RunGroup[] = ['users']) =>
    runReconcile(stage.db, stage.config, 'daemon', {
      log: createLog({ level: 'silent' }),
      teamMemory,
      groups,
    });
  const someId = () => stage.emulator.team.users()[0]?.id ?? 0;

  it('is read once where it is as it is known and somebody was edited, and once where all are at rest', async () => {
    await stage.sql(`update mirror.users set first_name = 'Edited' where id = ${someId()}`);
    const memory = newMemory();
    const report = await run(memory);
    expect(report).toMatchObject({ outcome: 'complete', counts: { pushed: 1, users_at_rest: 29 } });
    expect(memory.recall()?.team.members).toHaveLength(30);
    await settle(stage);
    const another = newMemory();
    expect((await run(another)).counts['users_at_rest']).toBe(30);
    expect(another.recall()?.team.members).toHaveLength(30);
  });

  it('does not make a run fail that cannot keep it', async () => {
    const keep = () => Promise.reject(new Error('no room'));
    const full = { recall: () => undefined, keep, keepPopulation: () => undefined };
    expect((await run(full)).outcome).toBe('complete');
  });

  it('was compared with the mirror before', async () => {
    const memory = newMemory();
    expect((await run(memory, ['listings', 'counts'])).outcome).toBe('complete');
    expect(memory.recall()).toBeUndefined();
    const undo = stage.emulator.addFault({
      kind: 'status',
      code: 409,
      path: '/v1/users/get',
      times: Infinity,
    });
    expect((await run(memory)).outcome).toBe('partial');
    expect(memory.recall()).toBeUndefined();
    undo();
    await run(memory, ['edits']);
    expect(memory.recall()?.team.members).toHaveLength(30);
  });

  it('has as many users as were there: counted with its edits, or at rest, and again after every other run', async () => {
    const memory = newMemory();
    const present = async () =>
      Number((await stage.sql(`select count(*) from mirror.users where gone_at is null`))[0]?.[0]);
    await run(memory, ['edits']);
    expect(memory.recall()?.population).toBe(await present());
    await stage.sql(`update mirror.users set first_name = 'Anew' where id = ${someId()}`);
    await run(memory);
    expect(memory.recall()).toMatchObject({ team: { id: 41n } });
    expect(memory.recall()?.population).toBeUndefined();
    await run(memory, ['edits']);
    expect(memory.recall()?.population).toBe(await present());
    await settle(stage);
    await run(memory);
    expect(memory.recall()?.population).toBe(await present());
  });
});

describe('Listings of which nothing is new on either side', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await createStage({ config: { absence: { confirmAfterMs: 0 } } });
    await rest();
  });
  afterAll(() => stage.close());

  const team = () => stage.emulator.team;
  const firstTag = () => team().tags()[0]?.id ?? 0;
  const tagsAtRest = async () => (await stage.run()).counts['tags_at_rest'];
  const rest = async () => {
    await stage.run();
    await stage.run();
    expect(await tagsAtRest()).toBe(team().tags().length);
  };
  const mirrored = () => stage.sql('select id, tag from mirror.tags where gone_at is null order by id');
  const listed = () =>
    team()
      .tags()
      .map(({ id, tag }) => [String(id), tag])
      .toSorted(([a = ''], [b = '']) => Number(a) - Number(b));

  it('are neither compared nor written, and counted as read', async () => {
    const [tags, fields] = [team().tags().length, team().fields().length];
    const before = await stage.sql(
      'select id, xmin from mirror.tags union all select id, xmin from mirror.contact_fields',
    );
    expect(await stage.run()).toMatchObject({
      outcome: 'complete',
      counts: {
        tags_read: tags,
        tags_at_rest: tags,
        contact_fields_read: fields,
        contact_fields_at_rest: fields,
      },
    });
    expect(
      await stage.sql(
        'select id, xmin from mirror.tags union all select id, xmin from mirror.contact_fields',
      ),
    ).toEqual(before);
    expect(await stage.sql(`select topic from sync.learned where topic like '% at rest' order by 1`)).toEqual(
      [...listedResources.map(({ name }) => [`${name} at rest`]), ['users at rest']],
    );
  });

  it('are no more read by a plan', async () => {
    const { notes } = await stage.plan();
    const tags = team().tags().length;
    expect(notes.counts).toMatchObject({ tags_read: tags, tags_at_rest: tags });
  });

  it.each<readonly [string, () => unknown]>([
    ['the service changed one', () => team().editTag(firstTag(), { tag: 'another' })],
    ['the service has one more', () => team().addTag('one more')],
  ])(
    'are all read when %s, once more since they were written, and not at all after that',
    async (_name, change) => {
      await change();
      const planned = await stage.plan();
      expect(planned.listings).toContainEqual(expect.objectContaining({ resource: 'tags', absent: 0 }));
      expect(await tagsAtRest()).toBeUndefined();
      expect(await mirrored()).toEqual(listed());
      expect(await tagsAtRest()).toBeUndefined();
      expect(await tagsAtRest()).toBe(team().tags().length);
    },
  );

  it('are all read where one has gone, as long as that is not certain', async () => {
    const { id } = team().addTag('to go');
    await rest();
    team().removeTag(id);
    expect(await tagsAtRest()).toBeUndefined();
    expect(await tagsAtRest()).toBeUndefined();
    expect(await mirrored()).toEqual(listed());
    await rest();
  });

  it.each<readonly [string, () => unknown]>([
    [
      'one was changed in the mirror',
      () => asOwner(stage, `update mirror.tags set tag = 'x' where id = ${firstTag()}`),
    ],
    ['one is gone from the mirror', () => asOwner(stage, `delete from mirror.tags where id = ${firstTag()}`)],
    [
      'one was called gone',
      () => asOwner(stage, `update mirror.tags set gone_at = now() where id = ${firstTag()}`),
    ],
    ['the mirror was emptied', () => asOwner(stage, 'delete from mirror.tags')],
  ])('are read again when %s', async (_name, disturb) => {
    await disturb();
    expect(await tagsAtRest()).toBeUndefined();
    expect(await mirrored()).toEqual(listed());
    await rest();
  });

  it('are read again when they are asked for in another way', async () => {
    expect(
      (await stage.run({ scope: { tags: { archived: false } } })).counts['tags_at_rest'],
    ).toBeUndefined();
    await rest();
  });

  it('are read again as long as one of their rows is missing, until that is gone', async () => {
    const id = team().addTag('soon gone').id;
    await rest();
    await asOwner(
      stage,
      `insert into mirror.tags (team_id, id, tag, raw) select team_id, 1, 'never shown', '{}' from sync.teams`,
    );
    expect(await tagsAtRest()).toBeUndefined();
    expect(await stage.sql('select id from sync.absences')).toEqual([['1']]);
    expect(await tagsAtRest()).toBeUndefined();
    team().removeTag(id);
    for (let run = 0; run < 3; run += 1) await stage.run();
    expect(await stage.sql('select id from mirror.tags where gone_at is not null order by id')).toEqual([
      ['1'],
      [String(id)],
    ]);
    await rest();
  });
});

/** What can happen between two runs. Users and values are told by numbers. */
type Happening = readonly [what: keyof typeof happenings, user: number, value: number];

const happenings = {
  serviceEdits: ({ emulator: { team } }: Stage, id: number, value: number) =>
    void team.editUser(
      id,
      [{ email: `s${value}@example.com` }, { phone: `1555010000${value}` }, { first: `S${value}` }][
        value % 3
      ] ?? {},
    ),
  mirrorEdits: async (stage: Stage, id: number, value: number) => {
    const set = [
      `email = 's${value}@example.com'`,
      `phone = '1555010000${value}'`,
      `first_name = 'S${value}'`,
    ][value % 3];
    await stage.sql(`update mirror.users set ${set} where id = ${id} and gone_at is null`);
  },
  withdraws: async (stage: Stage, id: number) => {
    await stage.sql(`update mirror.users u set (first_name, last_name, email, phone) = (select first_name, last_name, email, phone
      from sync.user_base b where b.id = u.id) where id = ${id} and gone_at is null and exists (select from sync.user_base b where b.id = u.id)`);
  },
  leaves: ({ emulator: { team } }: Stage, id: number) =>
    void team.showUser(id, { listed: false, answered: false }),
  returns: ({ emulator: { team } }: Stage, id: number) =>
    void team.showUser(id, { listed: true, answered: true }),
  unlisted: ({ emulator: { team } }: Stage, id: number) =>
    void team.showUser(id, { listed: false, answered: true }),
  unanswered: ({ emulator: { team } }: Stage, id: number) =>
    void team.showUser(id, { listed: true, answered: false }),
  addsTag: ({ emulator: { team } }: Stage, _id: number, value: number) => void team.addTag(`tag ${value}`),
  renamesTag: ({ emulator: { team } }: Stage, _id: number, value: number) => {
    const tag = team.tags()[value % Math.max(1, team.tags().length)];
    if (tag !== undefined) team.editTag(tag.id, { tag: `renamed ${value % 2}` });
  },
  removesTag: ({ emulator: { team } }: Stage, _id: number, value: number) => {
    const tag = team.tags()[value % Math.max(1, team.tags().length)];
    if (tag !== undefined) team.removeTag(tag.id);
  },
  addsField: ({ emulator: { team } }: Stage, _id: number, value: number) =>
    void team.addField(`field ${value}`),
  restoresTags: (stage: Stage, _id: number, value: number) =>
    asOwner(stage, `update mirror.tags set tag = 'old ${value}', gone_at = null where id % 2 = ${value % 2}`),
  losesTags: (stage: Stage, _id: number, value: number) =>
    asOwner(stage, `delete from mirror.tags where id % 3 = ${value % 3}`),
  restoresUser: (stage: Stage, id: number, value: number) =>
    asOwner(
      stage,
      `update mirror.users set phone = '1555019000${value}', first_name = 'Old', name = 'Old', resolved = ${value % 2 === 0} where id = ${id};
       update sync.user_base set phone = '1555019000${value}' where id = ${id} and ${value % 3} = 0`,
    ),
  losesBase: (stage: Stage, id: number) => asOwner(stage, `delete from sync.user_base where id = ${id}`),
  approves: async (stage: Stage) => {
    await stage.sql(
      `select sync.approve(batch, reason => 'yes') from (select distinct batch from report.held where batch is not null) h`,
    );
  },
  rejects: async (stage: Stage) => {
    await stage.sql(
      `select sync.reject(batch, reason => 'no') from (select distinct batch from report.held where batch is not null) h`,
    );
  },
  fails: ({ emulator }: Stage) =>
    void emulator.addFault({ kind: 'status', code: 400, path: '/v1/users/update' }),
  nothing: () => undefined,
} as const;

describe('Runs that look at what is not at rest', () => {
  let stages: readonly Stage[];
  const options = {
    // Some pieces of an answer, and those whom something happens to in several of them.
    emulator: { users: 40, tags: 2, fields: 1 },
    config: { absence: { confirmAfterMs: 0 }, guard: { maxRows: 2 } },
  };
  beforeAll(async () => {
    stages = await Promise.all([createStage(options), createStage(options)]);
    for (const stage of stages) for (let run = 0; run < 3; run += 1) await stage.run();
  });
  afterAll(() => Promise.all(stages.map((stage) => stage.close())));

  const whatHappens = Object.keys(happenings) as (keyof typeof happenings)[];
  const happening: fc.Arbitrary<Happening> = fc.tuple(
    fc.constantFrom(...whatHappens, 'returns', 'returns', 'withdraws', 'nothing', 'nothing'),
    fc.nat(5),
    fc.nat(8),
  );

  it('end as runs that read everybody, whatever happened before', async () => {
    const [quick, whole] = stages as [Stage, Stage];
    const ids = quick.emulator.team
      .users()
      .map(({ id }) => id)
      .filter((_, at) => at % 7 === 0);
    let rested = 0;
    let looked = 0;
    let listed = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(happening, { maxLength: 2 }), { minLength: 1, maxLength: 8 }),
        async (turns) => {
          for (const turn of turns) {
            for (const stage of stages)
              for (const [what, user, value] of turn) await happenings[what](stage, ids[user] ?? 0, value);
            await forget(whole);
            // Now and then the settings are others for one run.
            const settings =
              turn.length === 2 && turn[0]?.[1] === 5 ? { policy: { phone: 'service-wins' as const } } : {};
            const reports = [await quick.run(settings), await whole.run(settings)].map(
              ({ outcome, held, waiting, counts: all }) => {
                const {
                  users_at_rest: n = 0,
                  tags_at_rest: tags = 0,
                  contact_fields_at_rest: _fields,
                  inboxes_at_rest: _inboxes,
                  surveys_at_rest: _surveys,
                  push_window_ms: _ms,
                  ...counts
                } = all as Record<string, number>;
                rested += n > 0 ? 1 : 0;
                listed += tags > 0 ? 1 : 0;
                return { outcome, held, waiting, counts };
              },
            );
            looked += 1;
            expect(reports[0]).toEqual(reports[1]);
            expect(await traces(quick, 'batch is null')).toEqual(await traces(whole, 'batch is null'));
          }
        },
      ),
      // The first is one in which nothing happens: it rests, whatever the others come upon.
      { numRuns: 8, endOnFailure: true, examples: [[[[['nothing', 0, 0]]]]] },
    );
    expect(rested).toBeGreaterThan(0);
    expect(looked).toBeGreaterThan(rested);
    expect(listed).toBeGreaterThan(0);
    expect(looked).toBeGreaterThan(listed);
  });

  it('reads listings and counts all the same', async () => {
    const [quick] = stages as [Stage, Stage];
    expect((await quick.run()).groups).toEqual(scheduledGroups);
  });
});
