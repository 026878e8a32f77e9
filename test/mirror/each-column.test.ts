/** One column of a user changes, and no other: whatever compares users, or keeps something of them, goes by each of them. */
import { sql } from 'kysely';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sqlColumnsOf } from '../../src/mirror/db/field-sql.ts';
import { writeHolds } from '../../src/mirror/users/holds.ts';
import { readUserState } from '../../src/mirror/users/users-read.ts';
import { applyUsers } from '../../src/mirror/users/users-write.ts';
import { columnOf, type Field, fields } from '../../src/model/fields.ts';
import { decisions } from '../support/decisions.ts';
import { useDatabase } from '../support/use-database.ts';

const teamId = 41n;
const agreed = {
  first_name: 'Anne',
  last_name: 'Berg',
  email: 'anne@example.com',
  phone: '15550100',
  role_id: 3n,
};
const other = {
  first_name: 'Eva',
  last_name: 'Dahl',
  email: 'eva@example.com',
  phone: '15550200',
  role_id: 4n,
};
type Column = keyof typeof agreed;
const inSql = (value: string | bigint) => (typeof value === 'string' ? `'${value}'` : String(value));

const database = useDatabase();
const { objects: query, force } = database;
/** As musterd writes, in run 7. */
const write = <R>(work: Parameters<typeof database.db.transaction<R>>[0]) =>
  database.db.transaction(async (tx) => {
    await sql`select set_config('musterd.writing', 'on', true), set_config('musterd.run', '7', true)`.execute(
      tx,
    );
    return await work(tx);
  });

beforeAll(async () => {
  await query(`insert into sync.teams (team, team_id) values ('north', 41)`);
  await force(`insert into mirror.teams (team_id, name) values (41, 'North')`);
  await query(`insert into sync.runs (run_id, team, team_id, command, outcome, groups, finished_at) overriding system value
    values (6, 'north', 41, 'reconcile', 'complete', '{users}', now()), (7, 'north', 41, 'reconcile', 'running', '{users}', null)`);
});
beforeEach(() =>
  force(`delete from mirror.users; truncate sync.user_base, sync.edits, sync.held_fields, sync.user_periods;
    insert into mirror.users (team_id, id, name, first_name, last_name, name_split, email, phone, role_id, resolved)
      values (41, 1, 'Anne Berg', 'Anne', 'Berg', 'known', 'anne@example.com', '15550100', 3, true);
    insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone, role_id)
      values (41, 1, 'Anne Berg', 'Anne', 'Berg', 'anne@example.com', '15550100', 3)`),
);

const valuesIn = (side: 'mirror.users' | 'sync.user_base') =>
  query(`select first_name, last_name, email, phone, role_id from ${side}`);
const periods = () =>
  query(
    'select first_name, last_name, email, phone, role_id, side from sync.user_periods order by valid_from',
  );
/** What the roster's history tells of a column; the joined name is a column of its own. */
const told = (column: Column) =>
  query(`select old_value, new_value, side from report.roster_changes
    where field = '${column}' order by changed_at`);
const text = (value: string | bigint) => String(value);

describe.each(
  fields.flatMap((field) => sqlColumnsOf(field).map((column) => [column as Column, field] as const)),
)('a change of only the column %s', (column: Column, field: Field) => {
  const edited = { ...agreed, [column]: other[column] };
  const name = `${edited.first_name} ${edited.last_name}`;
  const valueIn = (row: typeof agreed) =>
    field === 'name' ? { first: row.first_name, last: row.last_name } : row[column];
  const [before, after] = [valueIn(agreed), valueIn(edited)];
  const edit = (row: typeof agreed) => query(`update mirror.users set ${column} = ${inSql(row[column])}`);
  it('applyUsers stores the new value in mirror, base and history', async () => {
    const { mirror, base } = await readUserState(database.db.kysely, teamId, 1n);
    if (mirror === undefined || base === undefined) throw new Error('no such user');
    const values = { [field]: typeof after === 'object' ? after : other[column] };
    const plan = {
      id: 1n,
      case: 'merge',
      fields: decisions(),
      write: {
        id: 1n,
        expected: mirror,
        mirror: { ...mirror, ...values },
        base: { ...base, ...values, joined: name },
        observed: { name, role: null, resolved: true, details: null },
      },
    } as const;
    expect(await write((tx) => applyUsers(tx, { teamId, runId: 7n }, [plan]))).toEqual([]);
    for (const side of ['mirror.users', 'sync.user_base'] as const)
      expect(await valuesIn(side)).toEqual([edited]);
    expect(await periods()).toEqual([
      { ...agreed, side: 'service' },
      { ...edited, side: 'service' },
    ]);
    for (const roster of ['report.roster', 'report.roster_as_of(clock_timestamp())'])
      expect(await query(`select ${column} from ${roster}`)).toEqual([{ [column]: other[column] }]);
    expect(await told(column)).toEqual([
      { old_value: text(agreed[column]), new_value: text(other[column]), side: 'service' },
    ]);
  });

  it('an update creates one edit, which ends when the value is set back or when both sides agree', async () => {
    const edits = () =>
      query('select field, old_value, new_value, ended_how from sync.edits order by edit_id');
    const plain = (value: typeof before) => (typeof value === 'bigint' ? Number(value) : value);
    const one = { field: columnOf(field), old_value: plain(before), new_value: plain(after) };
    await edit(edited);
    expect(await edits()).toEqual([{ ...one, ended_how: null }]);
    expect(await query('select edited_by = session_user as ours from mirror.users')).toEqual([
      { ours: true },
    ]);
    expect(await query('select field, base_value, mirror_value, state from report.pending')).toEqual([
      { field: one.field, base_value: one.old_value, mirror_value: one.new_value, state: 'waiting' },
    ]);
    expect(await periods()).toEqual([
      { ...agreed, side: 'service' },
      { ...edited, side: 'mirror' },
    ]);
    expect(await told(column)).toMatchObject([{ new_value: text(other[column]), side: 'mirror' }]);
    await edit(agreed);
    expect((await edits()).map(({ ended_how: how }) => how)).toEqual(['withdrawn', 'withdrawn']);
    await query('truncate sync.edits');
    await edit(edited);
    await force(`update sync.user_base set ${column} = ${inSql(other[column])}`);
    expect(await edits()).toEqual([{ ...one, ended_how: 'agreed' }]);
  });

  it('writeHolds stores the values of all sides and the edit, and the withdrawal of the edit removes the hold', async () => {
    await edit(edited);
    const hold = {
      field,
      reason: 'refused',
      base: before,
      mirror: after,
      service: before,
      detail: '',
    } as const;
    const service = field === 'name' ? 'Anne Berg' : before;
    await write((tx) =>
      writeHolds(tx, { teamId, runId: 7n }, [{ id: 1n, hold: { ...hold, service: service as string } }]),
    );
    const plain = (value: unknown) => (typeof value === 'bigint' ? Number(value) : value);
    expect(
      await query(`select h.field, h.base_value, h.mirror_value, h.service_value, e.new_value
          from report.held h join sync.edits e using (edit_id)`),
    ).toEqual([
      {
        field: columnOf(field),
        base_value: plain(before),
        mirror_value: plain(after),
        service_value: plain(service),
        new_value: plain(after),
      },
    ]);
    await edit(agreed);
    expect(await query('select field from report.held')).toEqual([]);
  });
});

/** What the service alone says of a user: another value begins a period only where the history keeps it. */
it.each([
  ['name', 'Anne  Berg', 1],
  ['role', 'owner', 1],
  ['created_at', '2026-02-01T00:00:00Z', 1],
  ['updated_at', '2026-02-02T00:00:00Z', 1],
  ['user_created_at', '2026-02-03T00:00:00Z', 0],
  ['user_updated_at', '2026-02-04T00:00:00Z', 0],
])('a new %s (%j) of a user begins %i periods in sync.user_periods', async (column, value, begun) => {
  const kept = (await periods()).length;
  await force(`update mirror.users set ${column} = '${value}'`);
  expect((await periods()).length - kept).toBe(begun);
});
