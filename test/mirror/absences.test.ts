import { sql as text } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import { applyAbsences, readAbsenceVerdicts, readWaitingAbsences } from '../../src/mirror/users/absences.ts';
import type { AbsenceDecision, MirroredResource } from '../../src/model/absence.ts';
import { absenceHash } from '../../src/reconcile/missing-rows.ts';
import { useDatabase } from '../support/use-database.ts';

const database = useDatabase();
const { rows: sql } = database;
const run = { teamId: 41n, runId: 1n };
const nothing = { gone: [], found: [], lost: [] };
/** A pass that withholds these rows, of which it has missed the same or more. */
const withhold = (
  resource: MirroredResource,
  ids: readonly bigint[],
  more: Partial<AbsenceDecision> = {},
  teamId = 41n,
) => {
  const withheld = ids.length === 0 ? null : { hash: absenceHash(resource, ids), reason: 'too many', ids };
  return database.db.transaction((tx) =>
    applyAbsences(tx, { ...run, teamId }, resource, { ...nothing, missing: ids, withheld, ...more }),
  );
};
const approve = (args: string) => sql(`select user_id, field, outcome from sync.approve(${args})`);
const known = () =>
  sql(`select id, batch, verdict, decided_by = session_user as by_me, decided_why,
         decided_at is not null as is_decided
       from sync.absences where team_id = 41 and resource = 'tags' order by id`);
const waiting = async (teamId = 41n) =>
  (await readWaitingAbsences(database.db.kysely, teamId)).map(({ resource, hash, reason, ids }) => [
    resource,
    hash,
    reason,
    ids,
  ]);
const all = absenceHash('tags', [1n, 2n, 10n]);
const waits = (id: bigint) => [id, all, null, null, null, false];
const approved = (id: bigint) => [id, null, 'approved', true, 'they left', true];

beforeEach(async () => {
  await sql(`truncate sync.absences, sync.changes;
    delete from sync.learned;
    insert into sync.teams (team, team_id) values ('north', 41), ('south', 42) on conflict do nothing;
    insert into mirror.team_roles (role_name, all_teams) values ('public', true) on conflict do nothing`);
  await withhold('tags', [10n, 1n, 2n]);
});

it('sync.approve approves all missing rows of a batch, and records the approver and the reason', async () => {
  await withhold('users', [1n]);
  await withhold('tags', [1n, 3n], {}, 42n);
  expect(await approve(`'${all.toUpperCase()}', reason => 'they left'`)).toEqual(
    [1n, 2n, 10n].map((id) => [id, 'tags', 'approved']),
  );
  expect(await known()).toEqual([1n, 2n, 10n].map(approved));
  expect(await waiting()).toEqual([['users', absenceHash('users', [1n]), 'too many', [1n]]]);
  expect(await waiting(42n)).toEqual([['tags', absenceHash('tags', [1n, 3n]), 'too many', [1n, 3n]]]);
  expect(await sql('select count(*)::int from sync.changes')).toEqual([[0]]);
  await expect(approve(`'${all}'`)).rejects.toThrow(`There is no held batch ${all}`);
});

it('sync.approve with only_users approves only the named rows, and the next run renames the batch of the remaining rows', async () => {
  const before = await sql('select min(withheld_at), min(detail) from sync.absences');
  expect(await approve(`'${all}', 'they left', only_users => '{1}'`)).toEqual([[1n, 'tags', 'approved']]);
  const left = (id: bigint) => [id, all, 'left', true, 'they left', true];
  expect(await known()).toEqual([approved(1n), left(2n), left(10n)]);
  expect(
    await sql('select min(withheld_at), min(detail) from sync.absences where batch is not null'),
  ).toEqual(before);
  await withhold('tags', [2n, 10n], { missing: [1n, 2n, 10n] });
  const rest = absenceHash('tags', [2n, 10n]);
  expect(await approve(`'${rest}', 'they left', only_users => '{2}'`)).toEqual([[2n, 'tags', 'approved']]);
  expect((await waiting()).map(([table, hash, , ids]) => [table, hash, ids])).toEqual([
    ['tags', rest, [10n]],
  ]);
  expect(await readAbsenceVerdicts(database.db.kysely, 41n, 'tags')).toEqual(
    new Map([
      [10n, 'left'],
      [1n, 'approved'],
      [2n, 'approved'],
    ]),
  );
});

it('sync.approve records in the ledger who approved that a missing user has left, and why', async () => {
  await withhold('users', [1n, 2n]);
  await approve(`'${absenceHash('users', [1n, 2n])}', 'they left', only_users => '{2}'`);
  expect(
    await sql(`select team_id, user_id, run_id, kind, state, decided_by = session_user as by_me, decided_why,
         closed_at is not null as is_closed
               from sync.changes`),
  ).toEqual([[41n, 2n, null, 'approve', 'closed', true, 'they left', true]]);
});

it('sync.reject leaves missing rows undecided in their batch', async () => {
  expect(await sql(`select user_id, field, outcome from sync.reject('${all}', only_users => '{2}')`)).toEqual(
    [[2n, 'tags', 'left']],
  );
  expect(await known()).toEqual([1n, 2n, 10n].map(waits));
});

it.each([
  [`'${all}', only_users => '{1,3}'`, 'User 3 is not in batch'],
  [`'${all}', only_edits => '{7}'`, `is not in batch ${all}`],
  [`'${all}', team => 43`, 'There is no held batch'],
  [`'ffffffffffff'`, 'There is no held batch'],
])('sync.approve(%s) fails with "%s" and leaves every missing row undecided', async (args, says) => {
  await withhold('tags', [3n], {}, 42n);
  await expect(approve(args)).rejects.toThrow(says);
  expect(await known()).toEqual([1n, 2n, 10n].map(waits));
});

it('sync.approve fails without the argument team if two teams have a batch of the same missing ids', async () => {
  await withhold('tags', [1n, 2n, 10n], {}, 42n);
  await expect(approve(`'${all}'`)).rejects.toThrow('exists in 2 teams');
  expect(await approve(`'${all}', team => 42`)).toHaveLength(3);
  expect(await waiting()).toHaveLength(1);
  expect(await waiting(42n)).toEqual([]);
});

it('sync.approve fails for a role that cannot see the team, and for a role that is not an approver', async () => {
  const role = `test_absences_${process.pid}`;
  await sql(`create role ${role} login; grant musterd_approver to ${role};
    delete from mirror.team_roles; insert into mirror.team_roles (role_name, team_id) values ('${role}', 42)`);
  const as = (text: string) => sql(`set session authorization ${role}; ${text}`);
  try {
    await expect(as(`select sync.approve('${all}')`)).rejects.toThrow('There is no held batch');
    await expect(as(`select sync.approve('${all}', team => 41)`)).rejects.toThrow('There is no held');
    await sql(`reset session authorization; revoke musterd_approver from ${role};
      grant usage on schema sync to ${role}; grant execute on function sync.approve(text, text, bigint[], bigint[], bigint) to ${role};
      update mirror.team_roles set team_id = 41`);
    await expect(as(`select sync.approve('${all}')`)).rejects.toThrow('may not decide');
    expect(await sql(`reset session authorization; select count(batch)::int from sync.absences`)).toEqual([
      [3],
    ]);
  } finally {
    await sql(`reset session authorization; drop owned by ${role}; drop role ${role}`);
  }
});

it('a run restarts the waiting time of a batch of missing rows if other rows are missing, and otherwise keeps the time', async () => {
  await sql(`update sync.absences set withheld_at = now() - interval '1 day'`);
  const old = () =>
    sql(`select id from sync.absences where withheld_at < now() - interval '1 hour' order by id`);
  await withhold('tags', [1n, 2n, 10n], { withheld: { hash: all, reason: 'more', ids: [1n, 2n, 10n] } });
  expect((await waiting()).map(([, , reason]) => reason)).toEqual(['more']);
  expect(await old()).toEqual([[1n], [2n], [10n]]);
  await withhold('tags', [1n, 3n], { missing: [1n, 2n, 3n] });
  expect(await waiting()).toEqual([['tags', absenceHash('tags', [1n, 3n]), 'too many', [1n, 3n]]]);
  expect(await old()).toEqual([]);
  await withhold('tags', []);
  expect(await waiting()).toEqual([]);
});

it('a run clears the approval of a missing row when the service’s answer about the row changes', async () => {
  await approve(`'${all}', 'they left', only_users => '{1,2}'`);
  await withhold('tags', [10n], { missing: [1n, 2n, 10n], found: [1n], lost: [2n] });
  expect((await known()).map((row) => row.slice(2))).toEqual([
    ['found', null, null, true],
    [null, null, null, false],
    ['left', true, 'they left', true],
  ]);
});

it('a run sets missing_since when it is the first to miss a row, and later runs keep the time', async () => {
  await sql(
    `update sync.absences set missing_since = '2026-01-01', passes = case id when 1 then 0 else 1 end`,
  );
  await withhold('tags', [1n, 2n]);
  expect(
    await sql(`select id, passes, missing_since = '2026-01-01' as is_kept from sync.absences
      where resource = 'tags' and id < 3 order by id`),
  ).toEqual([
    [1n, 1, false],
    [2n, 2, true],
  ]);
});

it('applyAbsences marks missing users as gone, but skips users whose row an editor has locked, and returns the skipped ids', async () => {
  await sql(`begin; set local musterd.writing = 'on';
    insert into mirror.users (team_id, id, name, resolved) values (41, 1, 'A', true), (41, 2, 'B', true); commit`);
  const goes = { ...nothing, missing: [1n, 2n], gone: [1n, 2n], withheld: null };
  await database.db.transaction(async (editor) => {
    await text`select from mirror.users where id = 1 for update`.execute(editor);
    const locked = await database.db.transaction(async (tx) => {
      await text`select set_config('musterd.writing', 'on', true), set_config('lock_timeout', '1s', true)`.execute(
        tx,
      );
      return await applyAbsences(tx, run, 'users', goes);
    });
    expect(locked).toEqual([1n]);
  });
  expect(await sql('select id from mirror.users where gone_at is not null')).toEqual([[2n]]);
});
