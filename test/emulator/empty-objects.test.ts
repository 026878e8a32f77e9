import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { withEmptyObjects } from '../../src/emulator/faults/alter-answer.ts';
import { call } from './call.ts';
import { withEmulator } from './with-emulator.ts';

describe('withEmptyObjects', () => {
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
  ])('replaces [] by {} if the schema has an object there: reads %j as %j', (body, read) => {
    expect(withEmptyObjects(documented, body)).toEqual(read);
  });
});

describe('the emulator', () => {
  const calls = [
    ['GET /v1/users/get', []],
    ['POST /v1/tags', []],
    ['POST /v1/tags', { filters: [] }],
  ] as const;

  it.each(calls)('accepts [] for {}, but answers 400 if empty-list=refused: %s %j', async (operation, body) =>
    withEmulator({}, async (emulator) => {
      expect((await call(emulator, operation, body)).status).toBe(200);
      emulator.setVariants({ 'empty-list': 'refused' });
      expect((await call(emulator, operation, body)).status).toBe(400);
      expect((await call(emulator, operation, {})).status).toBe(200);
    }),
  );
});
