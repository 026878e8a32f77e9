import { sql } from 'kysely';
import { beforeAll, expect, it } from 'vitest';
import { readDifferingUsers } from '../support/differing-users.ts';
import { applyUsers } from '../../src/mirror/users/users-write.ts';
import type { Transaction } from '../../src/mirror/db/database.ts';
import type { UserPlan } from '../../src/model/user-plan.ts';
import type { ServiceUser } from '../../src/model/user.ts';
import { planUser } from '../../src/reconcile/merge/plan-user.ts';
import { aside, useDatabase } from '../support/use-database.ts';

const teamId = 41n;
const policy = { name: 'hold', email: 'hold', phone: 'hold', roleId: 'hold' } as const;
/** More than go into one statement as JSON. */
const many = 3000;

const database = useDatabase();
let runId = 0n;
beforeAll(async () => {
  const { rows } = await sql<{ run_id: bigint }>`
    insert into sync.runs (team, command) values ('north', 'reconcile') returning run_id`.execute(
    database.db.kysely,
  );
  runId = rows[0]?.run_id ?? 0n;
});

const user = (id: number, values: Partial<ServiceUser> = {}): ServiceUser => ({
  id: BigInt(id),
  name: `Given\t${id} Fam\\ily`,
  email: id % 7 === 0 ? null : `user${id}@example.com`,
  phone: `1555${id}`,
  roleId: id % 5 === 0 ? 2n ** 62n : null,
  createdAt: '2026-03-01T09:00:00Z',
  updatedAt: '2026-03-01T09:00:00.5Z',
  raw: { id, text: '\\N\n"' },
  ...values,
});
const numbers = Array.from({ length: many }, (_, index) => index + 1);
const rowsOf = async (tx: Transaction, query: string) =>
  (await sql.raw<Record<string, unknown>>(query).execute(tx)).rows;

it('many users at once end like a few at a time, and a user edited meanwhile is left', async () => {
  const { db } = database;
  const write = <R>(work: (tx: Transaction) => Promise<R>) =>
    db.transaction(async (tx) => {
      await rowsOf(tx, `select set_config('musterd.writing', 'on', true)`);
      return work(tx);
    });
  const planned = async (users: readonly ServiceUser[]) =>
    (await readDifferingUsers(db, teamId, users)).map((state) => planUser(state, undefined, policy));
  const known = numbers.filter((id) => id % 3 > 0);
  const first = await planned(known.map((id) => user(id)));
  await write((tx) => applyUsers(tx, { teamId, runId }, first.slice(0, 1500)));
  await write((tx) => applyUsers(tx, { teamId, runId }, first.slice(1500)));
  await write((tx) => rowsOf(tx, 'update mirror.users set gone_at = now() where id % 100 = 1'));
  // New ones, pulls, returns; then some are edited, and some are there though they were not.
  const plans: readonly UserPlan[] = await planned(
    numbers.map((id) => user(id, id % 4 > 0 ? { phone: '15550' } : {})),
  );
  expect(plans.filter((plan) => plan.write !== null).length).toBeGreaterThan(2100);
  expect(new Set(plans.map((plan) => plan.case))).toEqual(new Set(['adopt', 'return', 'merge']));
  await write((tx) => rowsOf(tx, `update mirror.users set email = 'edited@example.com' where id % 50 = 2`));
  await write((tx) =>
    rowsOf(tx, 'insert into mirror.users (team_id, id, resolved) values (41, 3, true), (41, 6, true)'),
  );

  const outcome = (atOnce: number) =>
    aside({ transaction: write }, async (tx) => {
      const deferred: bigint[] = [];
      for (let from = 0; from < plans.length; from += atOnce)
        deferred.push(...(await applyUsers(tx, { teamId, runId }, plans.slice(from, from + atOnce))));
      return {
        deferred: deferred.toSorted((a, b) => (a < b ? -1 : 1)),
        users: await rowsOf(tx, 'select u.*, null as edited_at from mirror.users u order by id'),
        base: await rowsOf(
          tx,
          'select team_id, id, name, first_name, last_name, email, phone, role_id from sync.user_base order by id',
        ),
        ledger: await rowsOf(
          tx,
          `select team_id, user_id, run_id, kind, base, old, new, state, closed_at is null as open
          from sync.changes order by user_id, kind, new::text, old::text`,
        ),
      };
    });
  const atOnce = await outcome(many);
  expect(atOnce.deferred.slice(0, 4)).toEqual([2n, 3n, 6n, 202n]);
  expect(atOnce.ledger.length).toBeGreaterThan(many);
  expect(await outcome(200)).toEqual(atOnce);
});
