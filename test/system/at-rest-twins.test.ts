/** The same happens to two teams: one is looked at as far as is new, of the other everybody is read each time. */
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createLog } from '../../src/log.ts';
import type { RunGroup } from '../../src/model/run-group.ts';
import { runReconcile } from '../../src/runs/reconcile-team.ts';
import { planHash } from '../../src/runs/plan-file.ts';
import { runMusterd } from './run-musterd.ts';
import { createStages, type Stage } from './stage.ts';
import { traces } from './traces.ts';

type Row = Record<string, unknown> & { readonly id: number };
type Step = (stage: Stage) => unknown;

const users = 120;
const options = { emulator: { users, tags: 1, fields: 1 } };

const ground = createStages();
afterAll(() => ground.close());

const forget = (stage: Stage) => stage.sql(`delete from sync.learned where topic like '% at rest'`);

/** From now on the rows of a listing are answered so, but for its empty page. */
const listed =
  (path: '/v1/tags' | '/v1/contact-fields', change: (rows: readonly Row[]) => readonly unknown[]): Step =>
  (stage) => {
    undo.get(stage)?.();
    undo.set(
      stage,
      stage.emulator.rewrite({ path, times: 'always' }, (body) => {
        const rows = JSON.parse(body) as readonly Row[];
        return JSON.stringify(rows.length === 0 ? rows : change(rows));
      }),
    );
  };

/** From now on the rows of users are answered so. Returns what ends it. */
function answer(stage: Stage, change: (rows: readonly Row[]) => readonly unknown[], indent?: number) {
  return stage.emulator.rewrite({ path: '/v1/users/get', times: 'always' }, (body) => {
    const value = JSON.parse(body) as { memberships: readonly Row[] };
    return JSON.stringify({ ...value, memberships: change(value.memberships) }, null, indent);
  });
}

const undo = new WeakMap<Stage, () => void>();
/** Likewise until the next such step. */
const answered =
  (change: (rows: readonly Row[]) => readonly unknown[], indent?: number): Step =>
  (stage) => {
    undo.get(stage)?.();
    undo.set(stage, answer(stage, change, indent));
  };
const asEver: Step = (stage) => undo.get(stage)?.();
const each = (isMeant: (row: Row) => boolean, change: (row: Row) => unknown) => (rows: readonly Row[]) =>
  rows.map((row) => (isMeant(row) ? change(row) : row));

const idAt = (stage: Stage, at: number) => stage.emulator.team.users()[at]?.id ?? 0;
const edit =
  (at: number, change: Parameters<Stage['emulator']['team']['editUser']>[1]): Step =>
  (stage) =>
    void stage.emulator.team.editUser(idAt(stage, at), change);
const mirror =
  (at: number, set: string): Step =>
  (stage) =>
    stage.sql(`update mirror.users set ${set} where id = ${idAt(stage, at)}`);
/** One after the other, so that the edits have the same numbers in both teams. */
const phones =
  (prefix: string): Step =>
  (stage) =>
    stage.sql(`do $$ declare one bigint; begin
      for one in select id from mirror.users where id % 3 = 0 order by id loop
        update mirror.users set phone = '${prefix}' || id where id = one;
      end loop;
    end $$`);
const asOwner =
  (text: string): Step =>
  (stage) =>
    stage.sql(`begin; set local session_replication_role = replica; ${text}; commit`);
const approve: Step = async (stage) => {
  for (const batch of (await stage.plan()).users.verdict.batches)
    await stage.sql(`select sync.approve('${batch}', reason => 'so')`);
};
const reject: Step = (stage) =>
  stage.sql(
    `select sync.reject(batch, reason => 'so') from (select distinct batch from report.held where batch is not null) h`,
  );
const take =
  (whose: 'mirror' | 'service'): Step =>
  async (stage) => {
    const env = { ...stage.emulator.environment, DATABASE_URL: stage.url };
    for (const [id = '', field = '', edit = ''] of await stage.sql(
      'select user_id, field, edit_id from sync.held_fields where batch is null',
    ))
      expect((await runMusterd(['resolve', id, field, '--take', whose, '--edit', edit], env)).stderr).toBe(
        '',
      );
  };
const only =
  (...groups: readonly RunGroup[]): Step =>
  (stage) =>
    runReconcile(stage.db, stage.config, 'daemon', { log: createLog({ level: 'silent' }), groups });
const nothing: Step = () => undefined;

/** A batch is named by its edits and when they were made: in both teams at the same times. */
async function makeAtTimesOf(first: Stage, second: Stage) {
  for (const [edit = '', at = ''] of await first.sql('select edit_id, edited_at::text from sync.edits'))
    await second.sql(`update sync.edits set edited_at = '${at}' where edit_id = ${edit}`);
}

/** And by the service's versions: these services have one clock, which goes on when it is called. */
function shareTime(stages: readonly Stage[]): () => void {
  let nowMs = Date.now();
  for (const { emulator } of stages) Object.assign(emulator.clock, { now: () => nowMs });
  return () => {
    nowMs = Math.max(nowMs + 1, Date.now());
  };
}

const listings = async (stage: Stage) => ({
  tags: await stage.sql('select id, tag, color, gone_at is null from mirror.tags order by id'),
  fields: await stage.sql('select id, title, gone_at is null from mirror.contact_fields order by id'),
  absences: await stage.sql('select resource, id, passes from sync.absences order by 1, 2'),
  rejected: await stage.sql('select resource, id, reason from sync.rejected_rows order by 1, 2'),
});

async function planned(stage: Stage) {
  const report = await stage.plan();
  const { users: all, cost, edits, replaced, notes } = report;
  const { plans, unknown, absent, stale, movedAlone, verdict, roster } = all;
  const { shown, unresolved } = roster;
  return {
    hash: planHash(report),
    // But for the times of the service, which is another.
    plans: plans.map(({ id, case: of, fields }) => ({ id, case: of, fields })),
    unknown,
    absent: absent.map(({ id }) => id),
    stale,
    movedAlone,
    verdict: {
      ...verdict,
      plans: [],
      writes: { ...verdict.writes, holds: verdict.writes.holds.map(({ id, hold }) => ({ id, hold })) },
    },
    shown,
    unresolved,
    cost,
    edits: edits.map(({ userId, field }) => [userId, field]),
    replaced,
    reasons: notes.reasons,
    warnings: notes.warnings,
  };
}

const stories: Readonly<Record<string, readonly Step[]>> = {
  'a value that changes and changes back, with a run each': [
    edit(7, { phone: '15550100001' }),
    edit(7, { phone: '15550100002' }),
    edit(7, { phone: '15550100001' }),
    nothing,
    edit(7, { phone: '15550100002' }),
  ],
  'a field that some no longer have, of whom few are looked at': [
    answered((rows) => rows.map(({ phone, ...row }, at) => (at % 100 < 12 ? row : { ...row, phone }))),
    nothing,
    edit(9, { first: 'Other' }),
    asEver,
  ],
  'a field that many no longer have, which is accepted': [
    edit(7, { phone: '15550100001' }),
    answered(
      each(
        ({ id }) => id % 3 === 0,
        (row) => ({ ...row, phone: undefined }),
      ),
    ),
    approve,
    nothing,
    edit(9, { first: 'Other' }),
    edit(10, { first: 'Other' }),
    asEver,
  ],
  'more edits than a run may push': [
    phones('1555'),
    edit(9, { first: 'Other' }),
    approve,
    edit(10, { first: 'Other' }),
    phones('1666'),
    reject,
    edit(9, { first: 'Others' }),
    approve,
    edit(10, { first: 'Others' }),
  ],
  'a conflict that a person ends': [
    mirror(7, `email = 'mine@example.com'`),
    edit(7, { email: 'theirs@example.com' }),
    take('service'),
    mirror(8, `phone = '15550100009'`),
    take('mirror'),
    nothing,
  ],
  'a user who is shown older than before': [
    edit(7, { first: 'Newer' }),
    answered(
      each(
        ({ id }) => id % 40 === 7,
        (row) => ({ ...row, name: 'Older One', updated_at: '2001-01-01T00:00:00.000Z' }),
      ),
    ),
    nothing,
    edit(9, { first: 'Other' }),
    nothing,
    asEver,
  ],
  'versions that move by themselves': [
    answered(
      each(
        ({ id }) => id % 40 === 7,
        (row) => ({ ...row, updated_at: '2101-01-01T00:00:00.000Z' }),
      ),
    ),
    answered(
      each(
        ({ id }) => id % 4 === 1,
        (row) => ({ ...row, updated_at: '2101-01-01T00:00:01.000Z' }),
      ),
    ),
    nothing,
    edit(9, { first: 'Other' }),
  ],
  'rows that come twice, and of other teams': [
    answered((rows) => [...rows, ...rows.slice(5, 6)]),
    edit(5, { phone: '15550100003' }),
    answered((rows) => [...rows.slice(0, 90), ...rows.slice(5, 6), ...rows.slice(91)]),
    asEver,
    answered(
      each(
        ({ id }) => id % 50 === 7,
        (row) => ({ ...row, team_id: 4_711 }),
      ),
    ),
    edit(9, { first: 'Other' }),
    asEver,
  ],
  'rows in another order, with other keys and other space': [
    answered((rows) => rows.toReversed()),
    answered((rows) => rows, 2),
    answered((rows) => rows.map((row) => Object.fromEntries(Object.entries(row).toReversed()))),
    answered((rows) => [...rows.slice(60), ...rows.slice(0, 60)]),
    edit(9, { first: 'Other' }),
    asEver,
  ],
  'values that cannot be read': [
    answered(
      each(
        ({ id }) => id % 60 === 7,
        (row) => ({ ...row, role_id: 'x' }),
      ),
    ),
    edit(9, { first: 'Other' }),
    answered(
      each(
        ({ id }) => id % 60 === 7,
        (row) => ({ ...row, name: '\u0000' }),
      ),
    ),
    edit(10, { first: 'Other' }),
    asEver,
  ],
  'runs that only push edits in between': [
    mirror(7, `email = 'mine@example.com'`),
    only('edits'),
    async (stage) => {
      await edit(7, { email: 'theirs@example.com' })(stage);
      await mirror(7, `email = 'other@example.com'`)(stage);
      await only('edits')(stage);
    },
    take('service'),
    only('edits'),
    nothing,
  ],
  'one who leaves, comes back, and is not answered': [
    (stage) => void stage.emulator.team.showUser(idAt(stage, 7), { listed: false, answered: false }),
    edit(9, { first: 'Other' }),
    (stage) => void stage.emulator.team.showUser(idAt(stage, 7), { listed: true, answered: true }),
    (stage) => void stage.emulator.team.showUser(idAt(stage, 8), { answered: false }),
    edit(9, { first: 'Others' }),
    (stage) => void stage.emulator.team.showUser(idAt(stage, 8), { answered: true }),
    edit(9, { first: 'Other' }),
  ],
  'users who join and leave': [
    ({ emulator: { team } }) => void team.addUser({ first: 'New', last: 'Comer', email: 'new@example.com' }),
    edit(9, { phone: '15550100011' }),
    (stage) => void stage.emulator.team.showUser(idAt(stage, users), { listed: false, answered: false }),
    edit(9, { phone: '15550100012' }),
    (stage) => void stage.emulator.team.showUser(idAt(stage, users), { listed: true, answered: true }),
    edit(9, { phone: '15550100013' }),
  ],
  'an older backup of the rows that is put back': [
    asOwner(
      'create table public.old_users as select * from mirror.users; create table public.old_base as select * from sync.user_base',
    ),
    edit(9, { phone: '15550100014' }),
    mirror(8, `email = 'mine@example.com'`),
    nothing,
    asOwner('delete from mirror.users; insert into mirror.users select * from public.old_users'),
    edit(10, { phone: '15550100015' }),
    asOwner('delete from sync.user_base; insert into sync.user_base select * from public.old_base'),
    nothing,
    asOwner(
      'delete from mirror.users where id % 40 = 7; insert into mirror.users select * from public.old_users where id % 40 = 7',
    ),
  ],
  'rows that are written past the triggers': [
    edit(9, { first: 'Other' }),
    asOwner(`update mirror.users set role = 'x' where id % 40 = 7`),
    edit(9, { first: 'Others' }),
    asOwner(`update sync.user_base set phone = '1' where id % 40 = 7`),
    edit(9, { first: 'Other' }),
    asOwner(`delete from sync.user_base where id % 40 = 7`),
    edit(9, { first: 'Others' }),
    asOwner(`delete from mirror.users where id % 40 = 7`),
    edit(9, { first: 'Other' }),
  ],
};

describe('Users who are looked at as far as they are new end as if everybody were', () => {
  const stages: Stage[] = [];
  afterEach(async () => {
    await Promise.all(stages.splice(0).map((stage) => stage.close()));
  });

  it.each(Object.entries(stories))('%s', async (_name, steps) => {
    stages.push(...(await Promise.all([ground.open(options), ground.open(options)])));
    const [quick, whole] = stages as [Stage, Stage];
    const goOn = shareTime(stages);
    await Promise.all(stages.map((stage) => stage.run()));
    let looked = 0;
    for (const [at, step] of [...steps, nothing, nothing].entries()) {
      goOn();
      await Promise.all(stages.map(step));
      goOn();
      await makeAtTimesOf(quick, whole);
      await forget(whole);
      // A plan looks as a run does; it is seen once in a story, when most has happened.
      if (at === steps.length - 1) expect(await planned(quick)).toEqual(await planned(whole));
      const reports = (await Promise.all([quick.run(), whole.run()])).map(
        ({ outcome, reasons, warnings, refusal, held, waiting, counts }) => {
          const {
            users_at_rest: rested = 0,
            tags_at_rest: _tags,
            contact_fields_at_rest: _fields,
            inboxes_at_rest: _inboxes,
            surveys_at_rest: _surveys,
            push_window_ms: _ms,
            ...rest
          } = counts as Record<string, number>;
          if (rested > 0 && rested < (counts['users_read'] ?? 0)) looked += 1;
          return { outcome, reasons, warnings, refusal, held, waiting, counts: rest };
        },
      );
      expect(reports[0]).toEqual(reports[1]);
      expect(await traces(quick, 'batch')).toEqual(await traces(whole, 'batch'));
    }
    expect(looked).toBeGreaterThan(0);
  });
});

const last = <R extends { readonly id: number }>(rows: readonly R[]) => rows.at(-1)?.id ?? 0;
const tag =
  (at: number, name: string): Step =>
  ({ emulator: { team } }) =>
    void team.editTag(team.tags()[at]?.id ?? 0, { tag: name });
const twice =
  (where: 'first' | 'last', at: number, name: string) =>
  (rows: readonly Row[]): readonly unknown[] => {
    const other = { ...rows[at], tag: name, title: name };
    return where === 'first' ? [other, ...rows] : [...rows, other];
  };

const storiesOfListings: Readonly<Record<string, readonly Step[]>> = {
  'rows that are written in the mirror by hand': [
    asOwner(
      `update mirror.tags set tag = 'x' where id % 40 = 7; delete from mirror.contact_fields where id % 40 = 7`,
    ),
    nothing,
    asOwner(
      `delete from mirror.tags where id % 40 = 7; update mirror.contact_fields set gone_at = now() where id % 40 = 7`,
    ),
    nothing,
    asOwner(
      `insert into mirror.tags (team_id, id, tag, raw) select team_id, 1, 'never shown', '{}' from sync.teams`,
    ),
    nothing,
  ],
  'an older backup of the rows that is put back': [
    asOwner('create table public.old_tags as select * from mirror.tags'),
    tag(7, 'other'),
    ({ emulator: { team } }) => team.removeTag(team.tags()[8]?.id ?? 0),
    nothing,
    asOwner('delete from mirror.tags; insert into mirror.tags select * from public.old_tags'),
    nothing,
  ],
  'a row that goes and is shown again': [
    listed('/v1/tags', (rows) => rows.filter((_, at) => at !== 40)),
    nothing,
    asEver,
    listed('/v1/contact-fields', (rows) => rows.filter((_, at) => at !== 40)),
    nothing,
    asEver,
  ],
  'a row that is added and removed again, with a run each': [
    ({ emulator: { team } }) => void team.addTag('to go'),
    ({ emulator: { team } }) => team.removeTag(last(team.tags())),
    nothing,
    ({ emulator: { team } }) => void team.addField('to go'),
    ({ emulator: { team } }) => team.removeField(last(team.fields())),
    nothing,
  ],
  'a row that is removed, added and changed again': [
    tag(7, 'other'),
    ({ emulator: { team } }) => team.removeTag(team.tags()[8]?.id ?? 0),
    nothing,
    ({ emulator: { team } }) => void team.addTag('new'),
    tag(7, 'another'),
    ({ emulator: { team } }) => void team.addTag('newer'),
    ({ emulator: { team } }) => team.removeTag(last(team.tags())),
    tag(7, 'other'),
  ],
  'a tag that comes twice, otherwise each time': [
    tag(9, 'other'),
    listed('/v1/tags', twice('first', 40, 'ahead')),
    listed('/v1/tags', twice('last', 40, 'behind')),
    tag(9, 'another'),
    listed('/v1/tags', (rows) => [...rows, ...rows.slice(40, 41)]),
    asEver,
    tag(9, 'other'),
  ],
  'a contact field that comes twice, otherwise each time': [
    ({ emulator: { team } }) => void team.addField('new'),
    listed('/v1/contact-fields', twice('first', 40, 'ahead')),
    listed('/v1/contact-fields', twice('last', 40, 'behind')),
    listed('/v1/contact-fields', twice('first', 40, 'ahead')),
    asEver,
  ],
};

describe('Listings of which nothing is read if nothing is new end as if all of their rows were', () => {
  const stages: Stage[] = [];
  afterEach(async () => {
    await Promise.all(stages.splice(0).map((stage) => stage.close()));
  });

  it.each(Object.entries(storiesOfListings))('%s', async (_name, steps) => {
    const given = {
      emulator: { users: 2, tags: 90, fields: 90 },
      config: { absence: { confirmAfterMs: 0 }, pages: { size: 1_000 } },
    };
    stages.push(...(await Promise.all([ground.open(given), ground.open(given)])));
    const [quick, whole] = stages as [Stage, Stage];
    await Promise.all(stages.map((stage) => stage.run()));
    const rested: unknown[] = [];
    for (const step of [...steps, nothing, nothing]) {
      await Promise.all(stages.map(step));
      await forget(whole);
      const [some, all] = await Promise.all([quick.run(), whole.run()]);
      rested.push(some.counts['tags_at_rest'], some.counts['contact_fields_at_rest']);
      expect([some.outcome, some.reasons, some.warnings]).toEqual([all.outcome, all.reasons, all.warnings]);
      expect(await listings(quick)).toEqual(await listings(whole));
    }
    expect(rested).toContain(undefined);
    expect(new Set(rested).size).toBeGreaterThan(1);
  });
});
