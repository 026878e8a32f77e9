/** An answer about everybody, of which the next one is read as far as it is new. */
import { describe, expect, it } from 'vitest';
import { closeAfterEach, openPair } from './client-fixture.ts';
import { answer, json } from './raw-server.ts';

closeAfterEach();

const rows = Array.from({ length: 40 }, (_, at) => ({ id: at + 1, name: `Person ${at}` }));

async function readTwice(now: readonly unknown[]) {
  let shown: readonly unknown[] = rows;
  const { client, server } = await openPair((socket) => socket.write(json(200, { memberships: shown })));
  const { hashes } = (await (await client.askEverybody()).readAll()).mark;
  shown = now;
  const unread = await client.askEverybody();
  const before = server.requests.length;
  const answer = await unread.readNew({ hashes, besides: new Set([9n]) });
  expect(answer.mark.digest).toBe(unread.digest);
  return { answer, again: server.requests.length - before };
}

describe('An answer about everybody', () => {
  it('is read as far as it is new, and as far as it is wanted', async () => {
    const { answer, again } = await readTwice(
      rows.map((row) => (row.id === 7 ? { ...row, name: 'x' } : row)),
    );
    expect(answer).toMatchObject({ how: 'some', rejected: [], changed: new Set([7n]) });
    expect([answer.users.map(({ id }) => id), again]).toEqual([[7n, 9n], 0]);
  });

  it.each<readonly [string, readonly unknown[], number, number]>([
    ['one more cannot be read', [...rows, { id: 'x' }], 40, 1],
    ['one cannot be read by now', [{ name: 'x' }, ...rows.slice(1)], 39, 1],
    ['one came', [...rows, { id: 41, name: 'New' }], 41, 0],
    ['one went', rows.slice(1), 39, 0],
  ])('is asked for again and read as a whole if %s', async (_, now, users, rejected) => {
    const { answer, again } = await readTwice(now);
    expect(answer.how).toBe('everybody');
    expect([answer.users.length, answer.rejected.length, again]).toEqual([users, rejected, 1]);
    expect(answer.mark.hashes).toHaveLength(16 * users);
  });

  it.each(['readAll', 'readNew'] as const)(
    'is asked for again by %s if its body cannot be read',
    async (read) => {
      let body = '{"memberships": [nothing]}';
      const { client, server } = await openPair((socket) => socket.write(answer(200, body)));
      const unread = await client.askEverybody();
      body = JSON.stringify({ memberships: rows });
      const found = await (read === 'readAll'
        ? unread.readAll()
        : unread.readNew({ hashes: Buffer.alloc(0), besides: new Set() }));
      expect([found.how, found.users.length, server.requests.length]).toEqual(['everybody', 40, 2]);
    },
  );
});
