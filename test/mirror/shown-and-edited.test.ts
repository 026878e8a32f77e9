import { beforeEach, describe, expect, it } from 'vitest';
import { writeHolds } from '../../src/mirror/users/holds.ts';
import { readDifferingUsers } from '../support/differing-users.ts';
import { applyUsers } from '../../src/mirror/users/users-write.ts';
import type { Hold, UserPlan } from '../../src/model/user-plan.ts';
import type { ServiceValue } from '../../src/model/user.ts';
import { decisions } from '../support/decisions.ts';
import { beginRun, useDatabase } from '../support/use-database.ts';

const database = useDatabase();
const { objects: sql, force: as } = database;
const teamId = 41n;
let runId = 0n;
const run = () => ({ teamId, runId });

beforeEach(async () => {
  for (const table of [
    'mirror.users',
    'sync.user_base',
    'sync.held_fields',
    'sync.changes',
    'sync.edits',
    'sync.learned',
    'sync.teams',
  ])
    await as(`delete from ${table}`);
  await sql(`insert into sync.teams (team, team_id) values ('north', ${teamId}), ('south', 42)`);
  await as(`insert into mirror.users (team_id, id, name, first_name, last_name, resolved, updated_at, user_updated_at)
    values (${teamId}, 1, 'Anne', 'Anne', '', true, '2026-03-01T09:00:00Z', '2026-03-01T09:00:00Z')`);
  await sql(
    `insert into sync.user_base (team_id, id, name, first_name, last_name) values (${teamId}, 1, 'Anne', 'Anne', '')`,
  );
  runId = await beginRun(database);
});

const readUser = async () => {
  const user = { id: 1n, name: 'Anne', email: null, phone: null, roleId: 9n, raw: {} };
  return (await readDifferingUsers(database.db, teamId, [user]))[0];
};

describe('the edits in the state of a user', () => {
  const readEdits = async () => Object.keys((await readUser())?.edits ?? {});
  beforeEach(() => sql(`update mirror.users set phone = '15550100', email = 'new@example.com' where id = 1`));

  it('lists the edits of a user, but not an edit whose value was replaced with triggers off', async () => {
    expect(await readEdits()).toEqual(['email', 'phone']);
    await as(`update mirror.users set phone = '15550199'`);
    expect(await readEdits()).toEqual(['email']);
  });

  it('leaves out an edit that has ended', async () => {
    await sql(`update mirror.users set phone = null`);
    expect(await readEdits()).toEqual(['email']);
  });
});

describe('the shown value of a held field', () => {
  const hold: Hold = {
    field: 'phone',
    reason: 'conflict',
    base: null,
    mirror: null,
    service: '1',
    detail: '',
  };
  const plan = (shown: ServiceValue): UserPlan => ({
    id: 1n,
    case: 'merge',
    fields: decisions({ phone: { kind: 'held', shown } }),
    write: null,
  });
  const rows = () =>
    sql(
      'select field, service_value, shown_value, xmin::text as written from sync.held_fields order by field',
    );
  const apply = (shown?: ServiceValue) =>
    database.db.transaction((tx) => applyUsers(tx, run(), [plan(shown)]));

  it('stores a changed service value as shown_value, and keeps the service_value of the hold', async () => {
    const two = [hold, { ...hold, field: 'email' as const, service: 'a@example.com' }];
    await database.db.transaction((tx) =>
      writeHolds(
        tx,
        run(),
        two.map((one) => ({ id: 1n, hold: one })),
      ),
    );
    const [, before] = await rows();
    expect(before).toMatchObject({ field: 'phone', service_value: '1', shown_value: '1' });
    await apply();
    await apply('1');
    expect((await rows())[1]).toEqual(before);
    await apply('2');
    expect(await rows()).toMatchObject([
      { field: 'email', service_value: 'a@example.com', shown_value: 'a@example.com' },
      { field: 'phone', service_value: '1', shown_value: '2' },
    ]);
    await apply(null);
    expect((await rows())[1]).toMatchObject({ shown_value: null });
    await database.db.transaction((tx) =>
      writeHolds(tx, run(), [{ id: 1n, hold: { ...hold, service: '3' } }]),
    );
    expect((await rows())[1]).toMatchObject({ service_value: '3', shown_value: '3' });
  });
});
