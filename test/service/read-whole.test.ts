import { describe, expect, test } from 'vitest';
import inboxes from '../../src/model/listed/inboxes.ts';
import tags from '../../src/model/listed/tags.ts';
import surveys from '../../src/model/listed/surveys.ts';
import { nothingLearned } from '../../src/model/listing.ts';
import { openAnswered, openPair } from './client-fixture.ts';
import { json } from './raw-server.ts';

const asked = { memory: nothingLearned };
/** A client of a service that gives these rows for each page. */
const openRows = (rowsOf: (page: number) => readonly object[]) =>
  openPair((socket, { body }) => {
    const { page = 0 } = body === '' ? {} : (JSON.parse(body) as { page?: number });
    socket.write(json(200, rowsOf(page)));
  });

describe('a listing without pages', () => {
  test('reads a listing without pages in one request', async () => {
    const { client, server } = await openAnswered(json(200, [{ id: 1 }, { id: 2 }]));
    const seen: number[] = [];
    const listing = await client.list(inboxes, { ...asked, onPage: (rows) => seen.push(rows) });
    expect(listing).toMatchObject({ status: 'complete', count: 2, memory: nothingLearned });
    expect(listing.rows.map(({ id }) => id)).toEqual([1n, 2n]);
    expect(seen).toEqual([2]);
    expect(server.requests.map(({ method, path, body }) => [method, path, body])).toEqual([
      ['GET', '/v1/inboxes', ''],
    ]);
  });

  test('a listing without pages ends incomplete if a row cannot be read', async () => {
    const { client } = await openAnswered(json(200, [{ id: 1 }, { name: 'x' }]));
    expect(await client.list(inboxes, asked)).toMatchObject({
      status: 'incomplete',
      because: '1 rows could not be taken',
      count: 1,
      rejected: [{ resource: 'inboxes', id: null }],
    });
  });

  test.each([400, 403, 500])('a listing without pages fails if it gets a %i', async (status) => {
    const { client } = await openAnswered(json(status, 'error'), { retry: { attempts: 1 } });
    await expect(client.list(inboxes, asked)).rejects.toMatchObject({ status });
  });
});

describe('the digests of a listing', () => {
  const twoOn = (full: number, name?: string) => (page: number) =>
    page === full ? [1, 2].map((id) => ({ id, name })) : [];

  const knowing = (digests: readonly string[] | null, limit: number | null = null) => {
    const agreed = { digests: digests ?? [], count: 7, setup: '', atMs: 0, rows: '' };
    return { memory: { limit, agreed } };
  };

  test.each([
    [inboxes, 1],
    [tags, 3],
  ])('digests show for $name whether the same requests get the same answers', async (listed, pages) => {
    let name = 'one';
    const { client, server } = await openRows((page) => twoOn(0, name)(page));
    const options = { ...asked, size: 2, filter: listed === tags ? { archived: true } : {} };
    const { digests } = await client.list(listed, options);
    expect(digests).toHaveLength(pages);
    const made = () => server.requests.map(({ path, body }) => [path, body]);
    const before = made();
    const known = { ...options, ...knowing(digests) };
    expect(await client.list(listed, known)).toMatchObject({ isKnown: true, count: 7, rows: [], digests });
    expect(made()).toEqual([...before, ...before]);
    name = 'other';
    expect(await client.list(listed, known)).toMatchObject({ isKnown: false });
  });

  test('digests belong to pages of the size that the service gives', async () => {
    const { client } = await openRows(twoOn(0));
    const { digests, memory, requests } = await client.list(tags, asked);
    expect([requests, digests?.length]).toEqual([4, 3]);
    expect(await client.list(tags, knowing(digests, memory.limit))).toMatchObject({ isKnown: true });
  });

  test('digests stay null if pages begin at 1, so that page 0 is empty', async () => {
    const { client } = await openRows(twoOn(1));
    expect(await client.list(tags, { ...asked, size: 2 })).toMatchObject({
      status: 'complete',
      digests: null,
    });
  });

  test('digests count for nothing once a page is refused', async () => {
    const { client } = await openPair((socket, { body }) => {
      const { page } = JSON.parse(body) as { page: number };
      socket.write(page === 0 ? json(400, 'no page 0') : json(200, page === 1 ? [{ id: 1 }] : []));
    });
    expect(await client.list(tags, { ...knowing(['x']), size: 1 })).toMatchObject({
      count: 1,
      isKnown: false,
    });
  });
});

test.each([inboxes, surveys])('$name: counts as not offered if its path is a 404', async (listed) => {
  const { client } = await openAnswered(json(404, 'not found'));
  expect(await client.list(listed, asked)).toMatchObject({
    status: 'complete',
    count: 0,
    isOffered: false,
  });
});

test.each([0, 1, 2])('a 404 for a later page fails the listing: %i pages were known', async (pages) => {
  const { client } = await openPair((socket, { body }) => {
    const { page } = JSON.parse(body) as { page: number };
    socket.write(page === 0 ? json(200, [{ id: 1 }, { id: 2 }]) : json(404, 'not found'));
  });
  const memory = {
    ...nothingLearned,
    ...(pages === 0 ? {} : { firstPage: 0 as const, limit: 100, pages }),
  };
  await expect(client.list(surveys, { memory })).rejects.toMatchObject({ status: 404 });
});
