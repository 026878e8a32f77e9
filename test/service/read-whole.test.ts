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
  test('client.list reads all rows in one request', async () => {
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

  test('client.list returns incomplete if a row cannot be read', async () => {
    const { client } = await openAnswered(json(200, [{ id: 1 }, { name: 'x' }]));
    expect(await client.list(inboxes, asked)).toMatchObject({
      status: 'incomplete',
      because: '1 rows could not be taken',
      count: 1,
      rejected: [{ resource: 'inboxes', id: null }],
    });
  });

  test.each([400, 403, 500])('client.list fails if the service answers %i', async (status) => {
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
  ])('client.list sets isKnown of $name only while the answers stay the same', async (listed, pages) => {
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

  test('client.list recognizes an unchanged listing by the digests of the last run', async () => {
    const { client } = await openRows(twoOn(0));
    const seen: number[] = [];
    const onPage = (rows: number) => seen.push(rows);
    const { digests, memory, requests } = await client.list(tags, { ...asked, onPage });
    expect([requests, digests?.length, seen]).toEqual([4, 3, [2, 2]]);
    expect(await client.list(tags, knowing(digests, memory.limit))).toMatchObject({ isKnown: true });
  });

  test('client.list returns no digests if page 0 is empty because pages begin at 1', async () => {
    const { client } = await openRows(twoOn(1));
    expect(await client.list(tags, { ...asked, size: 2 })).toMatchObject({
      status: 'complete',
      digests: null,
    });
  });

  test('client.list sets isKnown to false if the service refuses a page', async () => {
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

test.each([inboxes, surveys])('client.list marks $name as not offered if it gets a 404', async (listed) => {
  const { client } = await openAnswered(json(404, 'not found'));
  expect(await client.list(listed, asked)).toMatchObject({
    status: 'complete',
    count: 0,
    isOffered: false,
  });
});

test.each([0, 1, 2])('client.list fails if page 1 is a 404, with %i pages known before', async (pages) => {
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
