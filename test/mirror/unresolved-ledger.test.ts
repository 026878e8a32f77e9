import type { TeamMember } from '../../src/model/team-member.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { takeLease } from '../../src/mirror/team/lease.ts';
import { createMirror } from '../../src/mirror/mirror.ts';
import { readMovedFields } from '../../src/mirror/users/moved-fields.ts';
import { countPlans } from '../../src/reconcile/apply-users.ts';
import { createRunNotes } from '../../src/reconcile/run-notes.ts';
import { planUser } from '../../src/reconcile/merge/plan-user.ts';
import { holdAll } from '../reconcile/states.ts';
import { beginRun, useDatabase } from '../support/use-database.ts';

const database = useDatabase();
const { rows: sql } = database;
let mirror: ReturnType<typeof createMirror>;
let release: () => Promise<void>;
let runId: bigint;
beforeAll(async () => {
  const lease = await takeLease(database.db, 'unresolved', { ttlMs: 60_000 });
  release = () => lease.release();
  runId = await beginRun(database, 'unresolved', null);
  mirror = createMirror(database.db, lease, 41n, runId);
});
afterAll(() => release());

const id = 7n;
const listed: TeamMember = { id, name: 'Anne Berg', role: 'agent', email: null, phone: null };
const unknown = {
  id,
  service: undefined,
  base: undefined,
  mirror: undefined,
  held: [],
  edits: {},
  hasOpenIntent: false,
} as const;

it('a run records and counts a name and a role pulled from the team listing, and readMovedFields returns the name', async () => {
  await mirror.applyUsers([
    planUser({ ...unknown, missingForMs: undefined, observedDiffers: true }, listed, holdAll),
  ]);
  const follow = async (member: TeamMember) => {
    const nobody = { users: new Map(), roles: new Map(), leftOut: [id] };
    const [state] = (await mirror.compareUsers(nobody)).unseen;
    if (state === undefined) throw new Error('the member is not in the mirror');
    const plan = planUser(state, member, holdAll);
    await mirror.applyUsers([plan]);
    const notes = createRunNotes();
    countPlans([plan], notes);
    return notes.counts;
  };
  expect(await follow({ ...listed, name: 'Anna Berg', role: 'admin' })).toEqual({ pulled: 2 });
  expect(await follow({ ...listed, name: 'Anna Berg', role: 'admin' })).toEqual({});
  const ledger = await sql(
    `select old::text, new::text from sync.changes where kind = 'pull' and user_id = ${id} order by change_id`,
  );
  expect(ledger.map((row) => row.map((cell) => JSON.parse(String(cell)) as unknown))).toEqual([
    [{ name: { first: 'Anne', last: 'Berg' } }, { name: { first: 'Anna', last: 'Berg' } }],
    [{ role: 'agent' }, { role: 'admin' }],
  ]);
  expect(
    (await readMovedFields(database.db.kysely, 41n, runId)).map(({ field, old }) => [field, old]),
  ).toEqual([['name', { first: 'Anne', last: 'Berg' }]]);
});
