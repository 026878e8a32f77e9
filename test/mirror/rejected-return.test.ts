import { expect, it } from 'vitest';
import { writeHolds } from '../../src/mirror/users/holds.ts';
import { useDatabase } from '../support/use-database.ts';

const database = useDatabase();
const { rows: sql } = database;

it('writeHolds keeps the person and the reason of a rejection if the user left and came back', async () => {
  await sql(`set local musterd.writing = 'on';
    insert into sync.user_base (team_id, id, name, first_name, last_name, email) values (41, 1, 'Anne', 'Anne', '', 'a@x.y');
    insert into mirror.users (team_id, id, name, first_name, last_name, email, resolved) values (41, 1, 'Anne', 'Anne', '', 'b@x.y', true);
    insert into sync.held_fields (team_id, user_id, field, reason, base_value, mirror_value, service_value, batch, decision, edit_id)
      values (41, 1, 'email', 'review', '"a@x.y"', '"b@x.y"', '"a@x.y"', 'abc', 'rejected', sync.find_edit(41, 1, 'email'));
    insert into sync.changes (team_id, user_id, kind, edits, closed_at, decided_by, decided_why, decision_id)
      select team_id, user_id, 'reject', jsonb_build_object(field, edit_id), now() - interval '1 hour', 'anne', 'no', 1 from sync.held_fields`);
  const values = { base: 'a@x.y', mirror: 'b@x.y', service: 'a@x.y' };
  const hold = { field: 'email', reason: 'rejected', detail: 'no', ...values } as const;
  await database.db.kysely
    .transaction()
    .execute((tx) => writeHolds(tx, { teamId: 41n, runId: null }, [{ id: 1n, hold }]));
  expect(
    await sql('select state, reason, detail, decided_by, decided_why, decided_at < now() from report.held'),
  ).toEqual([['rejected', 'review', 'no', 'anne', 'no', true]]);
  // What it waited for before is not forgotten.
  expect(await sql('select reason, batch, decision from sync.held_fields')).toEqual([
    ['review', null, 'rejected'],
  ]);
});
