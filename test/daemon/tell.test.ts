import { json } from 'node:stream/consumers';
import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { createTeller, type Teller } from '../../src/daemon/tell.ts';
import { createLog } from '../../src/log.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { listenHere } from '../system/listen-here.ts';

it('only one of three daemons posts a notice if all three find the same stale team at once', async () => {
  const posted: unknown[] = [];
  const origin = await listenHere((request, response) => {
    void json(request).then((body) => {
      posted.push(body);
      response.writeHead(204).end();
    });
  });
  const database = await createTestDatabase();
  const { db } = database;
  const tellers: Teller[] = [];
  onTestFinished(async () => {
    for (const teller of tellers) await teller.close();
    await database.close();
  });
  await sql`insert into sync.teams (team, team_id) values ('north', 41)`.execute(db.kysely);
  const group = { group: 'users', fresh: false, ageMs: 3_600_000, limitMs: 1, never: false } as const;
  const url = new URL(origin);
  const outcomes: string[] = [];
  const start = () =>
    tellers.push(
      createTeller({
        db,
        targets: () => new Map([['north', { url, secret: undefined }]]),
        judge: () => [{ team: 'north', fresh: false, groups: [group] }],
        log: createLog({ level: 'silent' }),
        metrics: { onTold: (_, outcome) => outcomes.push(outcome) },
      }),
    );
  const waiting = async () => {
    const { rows } = await sql`select pid from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%sync.learned%'`.execute(
      db.asTyped,
    );
    return rows.length;
  };
  // Whoever claims the notice waits until all have read that there is none.
  await db
    .transaction(async (tx) => {
      await sql`insert into sync.learned (team, topic, value) values ('north', 'notice stale', '{}')`.execute(
        tx,
      );
      for (let daemon = 0; daemon < 3; daemon += 1) start();
      await eventually('all have read it', async () => (await waiting()) === 3 || outcomes.length > 0);
      throw new Error('taken back');
    })
    .catch(() => undefined);
  await eventually('it is sent', () => outcomes.length > 0);
  for (const teller of tellers) await teller.finish();
  expect([posted.length, outcomes]).toEqual([1, ['accepted']]);
  // What chat tools show says what to type.
  expect(posted[0]).toMatchObject({
    text: expect.stringMatching(/\n`musterd --team north status`$/) as string,
  });
});
