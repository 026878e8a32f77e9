import { sql } from 'kysely';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createDatabase } from '../../src/mirror/db/database.ts';
import { paceOf } from '../../src/model/pace.ts';
import { createSharedPlaces } from '../../src/mirror/team/rate-limits.ts';
import { readHeldByReason, readTokensLeft } from '../../src/mirror/runs/metrics-read.ts';
import { seeMessages } from '../support/postgres-proxy.ts';
import { oldestServer } from '../support/servers.ts';
import { useDatabase } from '../support/use-database.ts';

describe.each([oldestServer()])('metrics on $name', (server) => {
  const database = useDatabase({ server });
  beforeAll(() =>
    database.force(`insert into sync.teams (team, team_id) values ('harbour', 41), ('quay', 42), ('calm', 43);
      insert into mirror.users (team_id, id, name, first_name, resolved, gone_at)
        values (41, 1, 'One', 'One', true, null), (41, 2, 'Two', 'Two', true, now()), (42, 1, 'One', 'One', true, null)`),
  );

  it('readHeldByReason counts the currently held fields by reason, separately for fields in a batch', async () => {
    const { kysely } = database.db;
    await sql`
      insert into sync.held_fields (team_id, user_id, field, reason, batch, decision, until, shown_value, alone)
      values (41, 11, 'email', 'limit', 'a', null, null, null, false), (41, 11, 'phone', 'limit', 'b', null, null, '1', false),
        (41, 12, 'email', 'review', 'a', null, null, null, false), (41, 13, 'email', 'limit', 'a', null, now() + interval '1 h', null, false),
        (41, 14, 'email', 'limit', 'a', 'approved', null, null, false), (41, 17, 'email', 'limit', 'a', 'rejected', null, null, false),
        (41, 15, 'email', 'limit', null, null, null, null, true), (41, 2, 'phone', 'limit', 'a', null, null, null, false),
        (42, 18, 'phone', 'limit', 'c', null, null, null, false)`.execute(kysely);
    const counted = async (...teams: string[]) =>
      (await readHeldByReason(kysely, teams)).map(
        ({ team, state, reason, inBatch, count }) =>
          `${team} ${count} ${state} ${reason}${inBatch ? ' in a batch' : ''}`,
      );
    expect(await counted('harbour', 'calm', 'unknown')).toEqual([
      'harbour 1 held asked',
      'harbour 1 held conflict',
      'harbour 1 held limit',
      'harbour 1 held limit in a batch',
      'harbour 1 held review in a batch',
      'harbour 1 rejected limit',
    ]);
    expect(await counted('quay')).toEqual(['quay 1 held limit in a batch']);
    expect(await counted()).toEqual([]);
  });

  it('readTokensLeft returns how many requests each team may send at once', async () => {
    // One request a second refills.
    const settings = { perMinute: 72 / 0.99, share: 1, burst: 12 };
    const pace = paceOf(settings);
    const { db } = database;
    const places = createSharedPlaces(db, 'harbour');
    const left = async () =>
      await readTokensLeft(
        db.kysely,
        new Map([
          ['harbour', settings],
          ['quay', settings],
        ]),
      );
    expect(await left()).toEqual([
      { team: 'harbour', tokens: 12 },
      { team: 'quay', tokens: 12 },
    ]);
    for (let i = 0; i < 6; i += 1) await places.take(pace);
    const [harbour, quay] = await left();
    expect(harbour?.tokens).toBeGreaterThanOrEqual(6);
    expect(quay?.tokens).toBe(12);
    await places.pause(60_000, pace);
    expect((await left())[0]?.tokens).toBe(0);
    expect(await readTokensLeft(db.kysely, new Map())).toEqual([]);
  });

  it('onQuery receives the time of each statement, also of a failed statement', async () => {
    const took: number[] = [];
    let nowMs = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
    onTestFinished(() => clock.mockRestore());
    const sent = await seeMessages(database.url, 'questions', (message) => {
      if (message.includes('select 6 * 7')) nowMs += 70;
      return undefined;
    });
    const db = createDatabase({ url: sent.url, onQuery: (ms) => took.push(ms) });
    try {
      await sql`select 6 * 7`.execute(db.kysely);
      expect(took).toEqual([70]);
      await expect(sql`select 1 / 0`.execute(db.kysely)).rejects.toThrow();
      expect(took.length).toBe(2);
      await db.transaction(async (tx) => await sql`select 1`.execute(tx));
      expect(took.length).toBeGreaterThan(2);
    } finally {
      await db.close();
      await sent.close();
    }
  });
});
