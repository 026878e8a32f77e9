import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TeamQueue } from '../../src/daemon/queue.ts';
import { createSharedQueue } from '../../src/daemon/shared-queue.ts';
import { connectionOptions, readConnectionUrl } from '../../src/mirror/db/database-url.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { countStatements, type SentStatements } from '../support/sent-statements.ts';
import { useDatabase } from '../support/use-database.ts';

describe('the queue that daemons share', () => {
  const teams = Array.from({ length: 60 }, (_, i) => `team ${i}`);
  const database = useDatabase();
  let sent: SentStatements;
  let queue: TeamQueue;
  let worked: string[] = [];
  let hold: Promise<void> | undefined;
  const create = (url: string, concurrency: number) =>
    createSharedQueue({
      connection: connectionOptions(readConnectionUrl(url)),
      migrate: true,
      concurrency,
      work: async (team) => {
        worked.push(team);
        await hold;
      },
      onError: () => undefined,
    });
  beforeAll(async () => {
    sent = await countStatements(database.url);
    queue = await create(sent.url, 2);
  });
  beforeEach(() => {
    [worked, hold] = [[], undefined];
  });
  afterAll(async () => {
    await queue.close();
    await sent.close();
  });

  it('takes no advisory lock when it starts or searches for dead workers', async () => {
    const seen: string[] = [];
    await eventually('it has looked', () => {
      seen.push(...sent.take());
      return seen.some((text) => text.includes('heartbeat_on +'));
    });
    expect(seen.some((text) => text.includes('create_queue('))).toBe(true);
    expect(seen.filter((text) => text.includes('advisory'))).toEqual([]);
  });

  it('uses one statement to insert all teams that are offered at once, and works on each team once', async () => {
    sent.take();
    const taken = await Promise.all([...teams, ...teams].map((team) => queue.offer(team)));
    expect(taken).toEqual([...teams.map(() => true), ...teams.map(() => false)]);
    // Two at a time, and two seconds between two looks: that would be a minute.
    await eventually('all were worked on', () => worked.length === teams.length);
    expect(worked.toSorted()).toEqual(teams.toSorted());
    expect(sent.take().filter((text) => /insert into musterd_queue\.job/i.test(text))).toHaveLength(1);
  });

  it('works on a team once if three daemons start at once in an empty database and all offer the team', async () => {
    const empty = await createTestDatabase();
    const offered = Promise.withResolvers<void>();
    hold = offered.promise;
    const starting = [1, 2, 3].map(() => create(empty.url, 1));
    const queues = await Promise.all(starting);
    const taken = await Promise.all(queues.map((one) => one.offer('a')));
    expect(taken.filter(Boolean)).toHaveLength(1);
    await eventually('the team is worked on', () => worked.length > 0);
    offered.resolve();
    expect(worked).toEqual(['a']);
    await Promise.all(queues.map((one) => one.close()));
    await empty.close();
  });

  it('refuses a team while a worker runs it, and accepts the team again afterwards', async () => {
    const under = Promise.withResolvers<void>();
    hold = under.promise;
    expect(await queue.offer('a')).toBe(true);
    await eventually('it is worked on', () => worked.length === 1);
    expect(await Promise.all([queue.offer('a'), queue.offer('b')])).toEqual([false, true]);
    await eventually('the other one is worked on beside it', () => worked.length === 2);
    under.resolve();
    await eventually('it is taken again', () => queue.offer('a'));
    await eventually('all are worked on', () => worked.length === 3);
    expect(worked).toEqual(['a', 'b', 'a']);
  });
});
