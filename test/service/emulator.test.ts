/** The client against the emulator: every variant of what the interface leaves open. */

import { describe, expect, test } from 'vitest';
import type { Emulator } from '../../src/emulator/create-emulator.ts';
import { parseVariants, variantNames, variantTable } from '../../src/emulator/faults/variants.ts';
import contactFields from '../../src/model/listed/contact-fields.ts';
import inboxes from '../../src/model/listed/inboxes.ts';
import surveys from '../../src/model/listed/surveys.ts';
import tags from '../../src/model/listed/tags.ts';
import { type Listing, nothingLearned } from '../../src/model/listing.ts';
import { openClient, openEmulator } from './client-fixture.ts';
import { createHeldClock } from './held-clock.ts';

const size = 20;

const ids = (rows: readonly { readonly id: bigint | number }[]) =>
  rows.map((row) => Number(row.id)).toSorted((a, b) => a - b);

/** Whole, or honest about not being so. */
function expectWhole(
  listing: Listing<{ readonly id: bigint }>,
  rows: readonly { readonly id: number }[],
  readable: boolean,
) {
  if (readable) expect(listing).toMatchObject({ status: 'complete', rejected: [] });
  else expect(listing.status).toBe('incomplete');
  if (readable) expect(ids(listing.rows)).toEqual(ids(rows));
}

/** Which page variants can be read to the end. */
function isReadable(emulator: Emulator, name: 'pages' | 'field-pages' | 'survey-pages'): boolean {
  const variants = emulator.variants();
  const value = variants[name] === 'same' ? variants.pages : variants[name];
  return value !== 'date-cursor' && value !== 'ignored';
}

const matrix = variantNames.flatMap((name) => {
  const { values, number, default: usual } = variantTable[name];
  const others = values.filter((value) => value !== usual);
  return [...others, ...(number ? ['7'] : [])].map((value) => `${name}=${value}`);
});

/** A quarter of an hour seven times: the matrix has a grid of 15 minutes, and one of 7. */
const onEveryGridMs = 7 * 15 * 60_000;

describe('the emulator', () => {
  test.each(['', ...matrix])('answers all calls if %s, or a list is incomplete', async (variant) => {
    const emulator = await openEmulator({ variants: parseVariants(variant === '' ? [] : [variant]) });
    const { client } = openClient(emulator.url, { clock: createHeldClock(Date.now()) });
    const { team } = emulator;
    for (const [resource, rows, paging] of [
      [tags, team.tags(), 'pages'],
      [contactFields, team.fields(), 'field-pages'],
      [surveys, team.surveys(), 'survey-pages'],
    ] as const) {
      const first = await client.list(resource, { memory: nothingLearned, size });
      const second = await client.list(resource, { memory: first.memory, size });
      for (const listing of [first, second]) expectWhole(listing, rows, isReadable(emulator, paging));
    }

    const listed = await client.team();
    expect(ids(listed.members)).toEqual(ids(team.users().filter((user) => user.listed)));
    expect(listed.rejected).toEqual([]);
    const emails = team
      .users()
      .flatMap((user) => (user.email === null || user.email === '' ? [] : [user.email]));
    const { users, rejected } = await client.users({ emails, phones: [] });
    expect(rejected).toEqual([]);
    expect(users.length).toBe(emails.length);
    expect(await client.contactCount({})).toBe(1_234n);
    const { rows: listedInboxes } = await client.list(inboxes, { memory: nothingLearned });
    expect(ids(listedInboxes)).toEqual(ids(team.inboxes()));

    const [user] = users;
    if (user === undefined) throw new Error('nobody was found');
    const name = { first: 'Ann Marie', last: 'Berg' };
    const [written] = (await client.updateUsers(new Map([[user.id, { name }]]))).users;
    expect(written?.id).toBe(user.id);
    expect(team.user(Number(user.id))).toMatchObject({ id: Number(user.id) });

    const tag = await client.createTag('A new tag');
    expect((await client.row(tags, tag.id))?.id).toBe(tag.id);
    expect(await client.row(tags, 999_999_999n)).toBeNull();
    const [inbox] = listedInboxes;
    if (inbox === undefined) throw new Error('there is no inbox');
    await client.readConversation({ inboxId: inbox.id, userId: user.id, target: '15550100' });
    const executeAt = new Date(Math.ceil(Date.now() / onEveryGridMs + 1) * onEveryGridMs).toISOString();
    const request = { inboxId: inbox.id, executeAt, content: { text: 'hi' }, phoneNumber: '15550100' };
    const made = await client.createSchedule(request);
    expect(await client.schedule(made.id)).toMatchObject({ id: made.id, inboxId: inbox.id });
    expect((await client.replaceSchedule(made.id, { ...request, content: { text: 'ho' } })).id).toBe(made.id);
    await client.cancelSchedule(made.id);
    const cancelled = await client.schedule(made.id);
    if (variant === 'cancelled-read=shown') expect(cancelled).toMatchObject({ op: 'delete' });
    else expect(cancelled).toBeNull();
    expect(emulator.requests.some(({ status }) => status === 401 || status === 429)).toBe(false);
  });
});
