import { CompiledQuery } from 'kysely';
import { afterAll, beforeEach, expect, it } from 'vitest';
import {
  endAccepted,
  readGuardHistory,
  readRefusedPlan,
  writeApproval,
  writeRefusedPlan,
} from '../../src/mirror/plans.ts';
import type { Field } from '../../src/model/user.ts';
import { createTestDatabase } from '../support/database.ts';

const database = await createTestDatabase();
const { db } = database;
afterAll(() => database.close());
const teamId = 41n;
const by = { teamId, runId: null };
const sql = (text: string) => db.kysely.executeQuery(CompiledQuery.raw(text));
const push = {
  userId: 1n,
  name: 'Anne',
  base: { email: 'a@example.com' },
  patch: { email: 'b@example.com' },
};
const plan = { hash: 'abc', reasons: ['drift'], pushes: [push], lacking: ['phone', 'roleId'] as const };
const approve = (team: bigint = teamId) =>
  db.transaction((tx) => writeApproval(tx, team, { ...plan, passesBrakes: false, why: 'so be it' }));
const accepted = async () => (await readGuardHistory(db.kysely, teamId)).accepted.toSorted();
const end = (drifting: readonly Field[]) => db.transaction((tx) => endAccepted(tx, by, drifting));

beforeEach(() => sql('delete from sync.plans'));

it('keeps the fields that a plan was refused for, and nobody has agreed to', async () => {
  expect((await readGuardHistory(db.kysely, teamId)).lacking).toEqual([]);
  await db.transaction((tx) => writeRefusedPlan(tx, by, plan, true));
  expect(await readRefusedPlan(db.kysely, teamId)).toMatchObject({
    hash: 'abc',
    lacking: ['phone', 'roleId'],
  });
  expect(await readGuardHistory(db.kysely, teamId)).toMatchObject({
    lacking: ['phone', 'roleId'],
    accepted: [],
  });
});

it('approves pushes for a day, and the lack of a field until the users have it again', async () => {
  await approve();
  await approve(42n);
  expect(await readGuardHistory(db.kysely, teamId)).toMatchObject({ approved: [push], lacking: [] });
  expect(await accepted()).toEqual(['phone', 'roleId']);
  await sql(`update sync.plans set expires_at = expires_at - interval '25 hours'`);
  expect((await readGuardHistory(db.kysely, teamId)).approved).toEqual([]);
  expect(await accepted()).toEqual(['phone', 'roleId']);
  await end(['phone', 'roleId', 'email']);
  expect(await accepted()).toEqual(['phone', 'roleId']);
  await end(['phone']);
  expect(await accepted()).toEqual(['phone']);
  await end([]);
  expect(await accepted()).toEqual([]);
  const { rows } = await sql(
    `select count(*)::int as n from sync.plans where team_id = 42 and state = 'approved'`,
  );
  expect(rows).toEqual([{ n: 3 }]);
});

it('leaves an approval of pushes alone when no field is lacking', async () => {
  await approve();
  await end([]);
  expect((await readGuardHistory(db.kysely, teamId)).approved).toEqual([push]);
});

it('writes nothing where there is nothing to approve', async () => {
  await db.transaction((tx) =>
    writeApproval(tx, teamId, { ...plan, pushes: [], lacking: [], passesBrakes: false, why: '' }),
  );
  expect((await sql('select plan_id from sync.plans')).rows).toEqual([]);
});
