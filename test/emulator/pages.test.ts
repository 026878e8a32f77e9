import { describe, expect } from 'vitest';
import type { Emulator } from '../../src/emulator/create-emulator.ts';
import { badRequest, call, type Called } from './call.ts';
import { it, withEmulator } from './with-emulator.ts';

const ids = (answer: Called): readonly number[] =>
  (answer.json as { readonly id: number }[]).map(({ id }) => id);

const page = async (emulator: Emulator, body: object, path = '/v1/tags'): Promise<readonly number[]> =>
  ids(await call(emulator, `POST ${path}`, body));

describe('the listings of the emulator', () => {
  it.each([
    ['base-0', ['0-3', '4-7', '8-11', '']],
    ['base-1', ['0-3', '0-3', '4-7', '8-11', '']],
    ['base-1-empty', ['', '0-3', '4-7', '8-11', '']],
    ['base-1-refused', ['400', '0-3', '4-7', '8-11', '']],
    ['ignored', ['0-3', '0-3', '0-3']],
    ['date-cursor', ['0-3', '0-3', '0-3']],
  ] as const)('with pages=%s, listings return for pages 0, 1, 2 and so on the rows %j', (pages, expected) =>
    withEmulator({ variants: { pages } }, async (emulator) => {
      for (const path of ['/v1/tags', '/v1/contact-fields']) {
        const all = await page(emulator, { limit: 1000 }, path);
        for (const [at, wanted] of expected.entries()) {
          const answer = await call(emulator, `POST ${path}`, { limit: 4, page: at });
          if (wanted === '400') {
            expect(answer).toMatchObject(badRequest);
            continue;
          }
          const [from = 0, to = -1] = wanted === '' ? [] : wanted.split('-').map(Number);
          expect([path, at, ids(answer)]).toEqual([path, at, all.slice(from, to + 1)]);
        }
      }
    }),
  );

  it('the variant survey-pages sets the first page number of surveys only', () =>
    withEmulator({ variants: { pages: 'base-0', 'survey-pages': 'base-1-empty' } }, async (emulator) => {
      expect(await page(emulator, { page: 0, limit: 5 }, '/v1/surveys')).toEqual([]);
      expect(await page(emulator, { page: 1, limit: 5 }, '/v1/surveys')).toHaveLength(3);
      expect(await page(emulator, { page: 0, limit: 5 }, '/v1/contact-fields')).toHaveLength(5);
    }));

  it('listings return 30 rows by default, and never more rows than limit-cap', () =>
    withEmulator({ tags: 100 }, async (emulator) => {
      expect(await page(emulator, {})).toHaveLength(30);
      expect(ids(await call(emulator, 'POST /v1/tags'))).toHaveLength(30);
      expect(await page(emulator, { limit: 100 })).toHaveLength(100);
      emulator.setVariants({ 'limit-cap': 7 });
      expect(await page(emulator, { limit: 100 })).toHaveLength(7);
      expect(await page(emulator, { limit: 100, page: 1 })).toEqual(
        await page(emulator, { limit: 7, page: 1 }),
      );
      emulator.setVariants({ 'over-cap': 'refuse' });
      expect((await call(emulator, 'POST /v1/tags', { limit: 8 })).status).toBe(400);
      expect(await page(emulator, { limit: 7 })).toHaveLength(7);
    }));

  it('sorts by `order` or newest first; unknown-order=refuse refuses others', () =>
    withEmulator({ tags: 50 }, async (emulator) => {
      const newest = await page(emulator, { limit: 50 });
      expect(await page(emulator, { limit: 50, ascending: true })).toEqual(newest.toReversed());
      expect(await page(emulator, { limit: 50, order: 'whatever' })).toEqual(newest);
      emulator.team.editTag(newest[49] ?? 0, { tag: 'moved' });
      expect((await page(emulator, { limit: 50 }))[0]).toBe(newest[49]);
      expect((await page(emulator, { limit: 50, order: 'created_at' }))[0]).not.toBe(newest[49]);
      emulator.setVariants({ 'unknown-order': 'refuse' });
      expect((await call(emulator, 'POST /v1/tags', { order: 'whatever' })).status).toBe(400);
      emulator.setVariants({ order: 'oldest-first' });
      expect((await page(emulator, { limit: 50 }))[49]).toBe(newest[49]);
    }));

  it('listings answer 400 to a page, a limit or a date of the wrong type', async ({ ask }) => {
    for (const body of [
      { limit: '5' },
      { page: -1 },
      { page: 1.5 },
      { date: 'yesterday' },
      '[1]',
      '"x"',
      '{',
    ]) {
      expect(await ask('POST /v1/tags', body)).toMatchObject(badRequest);
    }
  });
});

describe('the date cursor', () => {
  it.each(['0', '3', '6', '9', 'mixed'] as const)(
    'returns no row twice, but skips rows at the cursor’s time (%s digits)',
    (fraction) =>
      withEmulator({ tags: 90, seed: 5, variants: { pages: 'date-cursor', fraction } }, async (emulator) => {
        const seen: { id: number; updated: string }[] = [];
        let date = '';
        for (;;) {
          const body = date === '' ? { limit: 25 } : { limit: 25, date };
          const rows = (await call(emulator, 'POST /v1/tags', body)).json as {
            id: number;
            updated: string;
          }[];
          const last = rows.at(-1);
          if (last === undefined) break;
          seen.push(...rows);
          date = last.updated;
        }
        const unique = new Set(seen.map(({ id }) => id));
        expect(unique.size).toBe(seen.length);
        // Rows that share the last row's timestamp are skipped: that is what the cursor is known for.
        expect(unique.size).toBeLessThan(90);
        expect(unique.size).toBeGreaterThan(20);
      }),
  );
});

describe('POST /v1/contacts/count', () => {
  it('returns a filtered count as a string, or as integer if count-body=integer', () =>
    withEmulator({ contacts: 312_456 }, async (emulator) => {
      const count = async (body?: object): Promise<unknown> =>
        (await call(emulator, 'POST /v1/contacts/count', body)).json;
      expect(await count()).toBe('312456');
      expect(await count({ archived: false, page: 3 })).toBe('312456');
      expect(Number(await count({ archived: true }))).toBeLessThan(312_456);
      emulator.team.setContacts(17, { filter: 'vip' });
      emulator.team.setContacts(18);
      expect([await count({ filter: 'vip', limit: 1 }), await count({})]).toEqual(['17', '18']);
      emulator.setVariants({ 'count-body': 'integer' });
      expect(await count({})).toBe(18);
    }));
});

describe('rows with absent, null or extra fields', () => {
  it('listings leave out rev if revisions=absent, but never the id', () =>
    withEmulator({ tags: 30, fields: 30, inboxes: 12 }, async (emulator) => {
      const rows = async (operation: string): Promise<readonly Record<string, unknown>[]> =>
        (await call(emulator, operation)).json as Record<string, unknown>[];
      expect((await rows('POST /v1/tags')).every((row) => 'rev' in row)).toBe(true);
      emulator.setVariants({
        revisions: 'absent',
        nulls: 'some',
        'missing-fields': 'some',
        'extra-fields': 'some',
        invited: 'boolean',
      });
      for (const operation of ['POST /v1/tags', 'POST /v1/contact-fields', 'GET /v1/inboxes']) {
        const seen = await rows(operation);
        expect(seen.every((row) => 'id' in row && !('rev' in row) && Object.keys(row).length > 1)).toBe(true);
      }
      const inboxes = await rows('GET /v1/inboxes');
      expect(inboxes.some((row) => row['invited'] === false)).toBe(true);
      expect(Object.keys(inboxes[0] ?? {}).length).toBeGreaterThan(30);
    }));
});
