import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { withEmptyObjects } from '../../src/emulator/faults/alter-answer.ts';
import { secretOf } from './call.ts';
import { createPlainClient } from './plain-client.ts';
import { withEmulator } from './with-emulator.ts';

describe('a body', () => {
  const documented = z.looseObject({
    list: z.array(z.looseObject({ inner: z.looseObject({}).optional() })).optional(),
    map: z.record(z.string(), z.unknown()).nullish(),
    text: z.string().optional(),
  });

  it.each([
    [[], {}],
    [[1], [1]],
    [{ map: [] }, { map: {} }],
    [
      { map: null, text: [] },
      { map: null, text: [] },
    ],
    [{ list: [] }, { list: [] }],
    [
      { list: [[], { inner: [] }, { inner: { a: [] } }] },
      { list: [{}, { inner: {} }, { inner: { a: [] } }] },
    ],
    [{ unknown: [] }, { unknown: [] }],
    ['text', 'text'],
    [null, null],
  ])('%j is read as %j', (body, read) => {
    expect(withEmptyObjects(documented, body)).toEqual(read);
  });
});

describe('the emulator', () => {
  const calls = [
    ['GET /v1/users/get', []],
    ['POST /v1/tags', []],
    ['POST /v1/tags', { filters: [] }],
    ['POST /v1/contact-fields', []],
    ['POST /v1/contacts/count', []],
    ['POST /v1/surveys', []],
  ] as const;

  it.each(calls)('takes [] for an empty object: %s %j', async (operation, body) =>
    withEmulator({}, async (emulator) => {
      const client = createPlainClient({ baseUrl: emulator.url, secret: secretOf(emulator.environment) });
      expect((await client.send(operation, body)).status).toBe(200);
      emulator.setVariants({ 'empty-list': 'refused' });
      expect((await client.send(operation, body)).status).toBe(400);
      expect((await client.send(operation, {})).status).toBe(200);
    }),
  );

  it('accepts [] only in place of an object', () =>
    withEmulator({}, async ({ url, environment }) => {
      const client = createPlainClient({ baseUrl: url, secret: secretOf(environment) });
      expect((await client.send('POST /v1/tags', { page: [] })).status).toBe(400);
      expect((await client.send('POST /v1/tag', [])).status).toBe(400);
      expect((await client.send('POST /v1/users/update', [])).status).toBe(400);
      expect((await client.send('GET /v1/team', [])).status).toBe(200);
    }));
});
