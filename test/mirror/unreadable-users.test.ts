import { afterAll, beforeAll, expect, it } from 'vitest';
import { takeLease } from '../../src/mirror/team/lease.ts';
import { createMirror } from '../../src/mirror/mirror.ts';
import { fields } from '../../src/model/fields.ts';
import type { ServiceUser } from '../../src/model/user.ts';
import { planUser } from '../../src/reconcile/merge/plan-user.ts';
import { holdAll } from '../reconcile/states.ts';
import { readDifferingUsers } from '../support/differing-users.ts';
import { useDatabase } from '../support/use-database.ts';

const database = useDatabase();
let mirror: ReturnType<typeof createMirror>;
let release: () => Promise<void>;
beforeAll(async () => {
  const lease = await takeLease(database.db, 'unreadable', { ttlMs: 60_000 });
  release = () => lease.release();
  const rows = await database.rows(
    "insert into sync.runs (team, command) values ('unreadable', 'reconcile') returning run_id",
  );
  mirror = createMirror(database.db, lease, 41n, rows[0]?.[0] as bigint);
});
afterAll(() => release());

/** Of whom both sides have nothing but an id: what is staged of an unreadable field is the same nothing. */
const empty = (id: bigint): ServiceUser => ({
  id,
  name: '',
  email: null,
  phone: null,
  roleId: null,
  raw: {},
});
const odd = { unreadable: '[]' };

it('a user with a field that cannot be read is never equal everywhere', async () => {
  const users = [1n, 2n, 3n, 4n, 5n].map(empty);
  const states = await readDifferingUsers(database.db, 41n, users);
  await mirror.applyUsers(states.map((state) => planUser(state, undefined, holdAll)));
  expect(await readDifferingUsers(database.db, 41n, users)).toEqual([]);

  const hidden = users.map((user, at) => (fields[at] === undefined ? user : { ...user, [fields[at]]: odd }));
  const differing = await readDifferingUsers(database.db, 41n, hidden);
  expect(differing.map(({ id }) => id)).toEqual([1n, 2n, 3n, 4n]);
  expect(differing.map(({ service }) => service)).toEqual(hidden.slice(0, 4));
  expect(differing.map((state) => planUser(state, undefined, holdAll).write)).toEqual([
    null,
    null,
    null,
    null,
  ]);
});
