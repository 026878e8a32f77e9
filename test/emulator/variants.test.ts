import { describe, expect, it } from 'vitest';
import type { Emulator } from '../../src/emulator/create-emulator.ts';
import {
  defaultVariants,
  parseVariants,
  variantNames,
  variantTable,
  variantValues,
  type VariantName,
  type Variants,
} from '../../src/emulator/faults/variants.ts';
import { call, secretOf, token } from './call.ts';
import { withEmulator } from './with-emulator.ts';

describe('parseVariants', () => {
  it('parses names and values, returns numbers as numbers, and the last value of a repeated name', () => {
    expect(
      parseVariants(['pages=base-1', ' order = oldest-first ', 'limit-cap=12', 'limit-cap=none']),
    ).toEqual({
      pages: 'base-1',
      order: 'oldest-first',
      'limit-cap': 'none',
    });
    expect(parseVariants(['limit-cap=12'])).toEqual({ 'limit-cap': 12 });
  });

  it('parseVariants lists the valid names and values if a variant is invalid', () => {
    expect(() => parseVariants(['page=1'])).toThrow(/no variant "page"\. Valid names: pages, /);
    expect(() => parseVariants(['pages=2'])).toThrow(/pages cannot be "2"\. Valid: base-0 \| base-1 \|/);
    expect(() => parseVariants(['limit-cap=0'])).toThrow('Valid: none | <number>.');
    expect(() => parseVariants(['pages'])).toThrow('cannot be ""');
  });

  it('variantTable gives every variant a default, a description and values', () => {
    expect(Object.keys(defaultVariants())).toEqual(variantNames);
    for (const name of variantNames) {
      expect(variantTable[name].plays.length).toBeGreaterThan(10);
      expect(variantValues(name)).not.toBe('');
    }
  });
});

/** Times keep their form, and lose their value: the clock goes on. So does whatever makes uuids. */
const comparable = (text: string) =>
  text
    .replace(/"uuid":"[^"]*"/g, '"uuid":"…"')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) => time.replace(/\d/g, '9'));

/** What a client sees of an emulator, call by call. */
async function look(emulator: Emulator): Promise<readonly string[]> {
  const seen: string[] = [];
  const ask = async (operation: string, body?: unknown, bearer?: string) => {
    const answer = await call(emulator, operation, body, bearer ?? token(secretOf(emulator.environment)));
    seen.push(`${operation} ${JSON.stringify(body)}: ${answer.status} ${comparable(answer.text)}`);
    return answer;
  };
  for (const listing of ['tags', 'contact-fields', 'surveys']) {
    for (const page of [0, 1, 2]) await ask(`POST /v1/${listing}`, { limit: 4, page });
    for (const more of [{}, { limit: 1000 }, { order: 'name' }, []]) await ask(`POST /v1/${listing}`, more);
  }
  await ask('GET /v1/team');
  await ask('GET /v1/inboxes');
  await ask('POST /v1/contacts/count', {});
  const members = emulator.team.users().filter(({ email, phone }) => email !== null && phone !== null);
  const [one, two] = members;
  if (one === undefined || two === undefined) throw new Error('no users');
  await ask('GET /v1/users/get', {});
  await ask('GET /v1/users/get', { email: [one.email?.toUpperCase()] });
  const show = async () => (await call(emulator, 'GET /v1/users/get', { email: [one.email] })).text;
  const before = await show();
  await ask('POST /v1/users/update', { users: [{ id: one.id, role_id: one.roleId }] });
  seen.push(`moved: ${(await show()) !== before}`);
  for (const users of [
    [{ id: one.id, first_name: ' Anne  Marie ', last_name: 'Berg of the long name' }],
    [{ id: one.id, email: 'New@Example.com' }],
    [{ id: one.id, phone: '+1 (555) 010-0177' }],
    [{ id: one.id, email: 'no address' }],
    [{ id: one.id, role_id: 987_654 }],
    [{ id: 987_654_321, email: 'nobody@example.com' }],
    [
      { id: two.id, email: 'first@example.com' },
      { id: one.id, email: 'no address', role_id: 987_654 },
    ],
  ])
    await ask('POST /v1/users/update', { users });
  await ask('GET /v1/users/get', { email: ['first@example.com', 'New@Example.com', 'new@example.com'] });
  const [tag] = emulator.team.tags();
  await ask('POST /v1/tag', { tag: tag?.tag });
  for (const name of ['Café', 'CAFÉ', ' Café', 'Cafe\u0301']) {
    const made = (await ask('POST /v1/tag', { tag: name })).json as { readonly id: number };
    await ask(`GET /v1/tag/${made.id}`);
  }
  const { id, key } = secretOf(emulator.environment);
  const nowS = Math.floor(Date.now() / 1000);
  for (const aheadS of [10, 100, 1_000])
    await ask('GET /v1/team', undefined, token({ id, key }, { iat: nowS + aheadS }));
  return seen;
}

/** Shown by what time does, or in a schedule: `authentication.test.ts` and `schedules.test.ts`. */
const elsewhere: readonly VariantName[] = [
  'rate-window',
  'retry-after',
  'schedule-answer',
  'schedule-grid',
  'schedule-margin',
  'schedule-creator',
  'local-id',
  'sent-change',
  'sent-read',
  'cancelled-read',
];
/** What a variant needs beside it to show. */
const along: Partial<Record<VariantName, Partial<Variants>>> = {
  'over-cap': { 'limit-cap': 3 },
  'field-pages': { pages: 'base-1' },
  'survey-pages': { pages: 'base-1' },
  'tag-names': { 'same-tag': 'existing' },
};
const lookWith = (variants: Partial<Variants>) => withEmulator({ variants, ratePerMinute: 0 }, look);
/** What is seen where only these differ, which most cases are compared with. */
const usualLooks = new Map<string, ReturnType<typeof lookWith>>();
function usualWith(beside: Partial<Variants>) {
  const key = JSON.stringify(beside);
  const look = usualLooks.get(key) ?? lookWith(beside);
  usualLooks.set(key, look);
  return look;
}

describe('an emulator with a variant', () => {
  const cases = variantNames
    .filter((name) => !elsewhere.includes(name))
    .flatMap((name) => {
      const { values, number, default: usual } = variantTable[name];
      const all: readonly (string | number)[] = [...values, ...(number ? [3] : [])];
      return all
        .filter((value) => value !== usual && value !== along[name]?.pages)
        .map((value) => [name, value] as const);
    });

  it('two emulators with default variants give the same answers', async () => {
    expect(await lookWith({})).toEqual(await lookWith({}));
  });

  it.each(cases)('the variant %s=%s changes at least one answer', async (name, value) => {
    const beside = along[name] ?? {};
    expect(await lookWith({ [name]: value, ...beside })).not.toEqual(await usualWith(beside));
  });
});
