import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { closeCall, writeCall } from '../../src/mirror/runs/calls.ts';
import { useDatabase } from '../support/use-database.ts';

const database = useDatabase();
beforeAll(() => database.rows(`insert into sync.teams (team, team_id) values ('main', 41)`));
afterEach(() => database.rows('truncate sync.changes'));

const rows = async () =>
  (
    await database.rows(`select array[team_id::text, user_id::text, kind, state, old::text, new::text, outcome::text, request_id,
         (sent_at is not null)::text, (closed_at is not null)::text, (decided_by is not null)::text,
         (decided_role = session_user)::text] as columns from sync.changes order by change_id`)
  ).flatMap((row) => Object.values(row as object));
const write = (before: object | null = null) =>
  database.db.transaction((tx) =>
    writeCall(tx, { teamId: 41n, subject: 'message', sent: { text: 'b' }, before }),
  );

describe('the record of a call', () => {
  const row = (old: string, outcome: string, requestId: string | null, isSent: boolean, isOver: boolean) => [
    '41',
    null,
    'call',
    'closed',
    old,
    '{"message": {"text": "b"}}',
    `{"message": "${outcome}"}`,
    requestId,
    String(isSent),
    String(isOver),
    'true',
    'true',
  ];

  it('writeCall records the sent and the previous values, and marks the call as sent with the outcome "unknown"', async () => {
    await write();
    await write({ text: 'a' });
    expect(await rows()).toEqual([
      row('{}', 'unknown', null, true, false),
      row('{"message": {"text": "a"}}', 'unknown', null, true, false),
    ]);
  });

  it.each([
    ['confirmed', 'r-1', true],
    ['refused', 'r-1', true],
    ['unknown', null, true],
    ['unsent', null, false],
  ] as const)('closeCall records the outcome "%s" and the request id', async (outcome, requestId, isSent) => {
    const id = await write();
    await database.db.transaction((tx) => closeCall(tx, id, 'message', { outcome, requestId }));
    expect(await rows()).toEqual([row('{}', outcome, requestId, isSent, true)]);
  });
});
