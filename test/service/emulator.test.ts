/** The client against the emulator: every variant of what the interface leaves open, and real TLS. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createEmulator, type Emulator } from '../../src/emulator/create-emulator.ts';
import type { EmulatorOptions } from '../../src/emulator/options.ts';
import { parseVariants, variantNames, variantTable } from '../../src/emulator/faults/variants.ts';
import contactFields from '../../src/model/listed/contact-fields.ts';
import inboxes from '../../src/model/listed/inboxes.ts';
import surveys from '../../src/model/listed/surveys.ts';
import tags from '../../src/model/listed/tags.ts';
import { type Listing, nothingLearned } from '../../src/model/listing.ts';
import { createSecret } from '../../src/secret.ts';
import type { ServiceClientOptions } from '../../src/service/client.ts';
import { closeAfterEach, onClose, openClient } from './client-fixture.ts';
import { createHeldClock } from './held-clock.ts';

closeAfterEach();

const size = 20;

async function open(options: EmulatorOptions, clientOptions: Partial<ServiceClientOptions> = {}) {
  const secret = { id: 'emulated', key: 'emulated-key' };
  const emulator = await createEmulator({
    http: true,
    users: 30,
    tags: 45,
    fields: 25,
    surveys: 3,
    inboxes: 2,
    contacts: 1_234,
    secrets: [secret],
    seed: 7,
    ...options,
  });
  onClose(() => emulator.close());
  const { client } = openClient(emulator.url, {
    credentials: { secretId: secret.id, secretKey: createSecret(secret.key) },
    clock: createHeldClock(Date.now()),
    ...clientOptions,
  });
  return { emulator, client };
}

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

describe('every variant', () => {
  test.each(['', ...matrix])('every call succeeds: %s', async (variant) => {
    const { emulator, client } = await open({ variants: parseVariants(variant === '' ? [] : [variant]) });
    const { team } = emulator;
    for (
      let memory = { tags: nothingLearned, fields: nothingLearned, surveys: nothingLearned }, i = 0;
      i < 2;
      i += 1
    ) {
      const listedTags = await client.list(tags, { memory: memory.tags, size });
      expectWhole(listedTags, team.tags(), isReadable(emulator, 'pages'));
      const fields = await client.list(contactFields, { memory: memory.fields, size });
      expectWhole(fields, team.fields(), isReadable(emulator, 'field-pages'));
      const listedSurveys = await client.list(surveys, { memory: memory.surveys, size });
      expectWhole(listedSurveys, team.surveys(), isReadable(emulator, 'survey-pages'));
      memory = { tags: listedTags.memory, fields: fields.memory, surveys: listedSurveys.memory };
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

describe('exact numbers of requests', () => {
  // Each page, and two empty ones; another page 0, which may be asked for twice.
  test.each([
    ['base-0', 2],
    ['base-1', 3],
    ['base-1-empty', 4],
    ['base-1-refused', 3],
  ])('pages=%s: a listing makes %i requests more than it has pages', async (pages, besides) => {
    const { emulator, client } = await open({ variants: parseVariants([`pages=${pages}`]) });
    const { memory } = await client.list(tags, { memory: nothingLearned, size });
    emulator.clearRequests();
    expect((await client.list(tags, { memory, size })).status).toBe('complete');
    expect(emulator.requests).toHaveLength(Math.ceil(45 / size) + besides);
  });
});

describe('as the interface demands', () => {
  test('the client trusts the authority in caFile, and fails without it', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'musterd-test-'));
    onClose(async () => {
      rmSync(directory, { recursive: true });
      await Promise.resolve();
    });
    const secret = { id: 'emulated', key: 'emulated-key' };
    const emulator = await createEmulator({ users: 3, secrets: [secret] });
    onClose(() => emulator.close());
    const caFile = join(directory, 'ca.pem');
    writeFileSync(caFile, emulator.authority ?? '');
    const credentials = { secretId: secret.id, secretKey: createSecret(secret.key) };
    const clock = createHeldClock(Date.now());
    const { client } = openClient(emulator.url, { credentials, clock, http: { caFile } });
    expect((await client.team()).members).toHaveLength(3);
    const untrusting = openClient(emulator.url, { credentials });
    await expect(untrusting.client.team()).rejects.toThrow('no trusted TLS connection');
  });

  test('the client lists inboxes with the legacy key', async () => {
    const { client } = await open({ apiKey: 'legacy' }, { credentials: { apiKey: createSecret('legacy') } });
    expect((await client.list(inboxes, { memory: nothingLearned })).rows).toHaveLength(2);
  });
});
