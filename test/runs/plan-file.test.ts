import { createHash, createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { NamePair } from '../../src/model/name.ts';
import { hashOf } from '../../src/reconcile/guard/batch-hash.ts';
import { decodePlan } from '../../src/runs/plan-file.ts';

const row = { user_id: '7', name: 'Anne Berg', field: 'role_id', base: '2', service: '2', mirror: '3' };
const hash = hashOf([{ userId: 7n, field: 'roleId', values: { base: 2n, service: 2n, mirror: 3n } }]);
const plan = {
  musterd_plan: 3,
  team: { id: '41', name: null },
  service: 'https://example.com/',
  made_at: '2026-03-01T09:00:00.000Z',
  hash,
  changes: [row],
};
const key = 'known to the mirror alone';
const seal = (body: object, by = key) => createHmac('sha256', by).update(JSON.stringify(body)).digest('hex');
const write = (body: object) => JSON.stringify({ ...body, seal: seal(body) });

describe('the file of a plan', () => {
  it('is read as it was written', () => {
    const { rows, ...read } = decodePlan(write(plan), key);
    const madeAt = new Date('2026-03-01T09:00:00Z');
    expect(read).toEqual({ hash, madeAt, teamId: 41n, service: 'https://example.com/' });
    expect(rows).toEqual([
      {
        userId: 7n,
        name: 'Anne Berg',
        field: 'roleId',
        values: { base: 2n, service: 2n, mirror: 3n },
      },
    ]);
  });

  it('names the versions of the service that were seen, and stands for these alone', () => {
    const seen = { ...row, seen_version: '2026-03-01T08:00:00.250Z' };
    const seenMs = Date.parse(seen.seen_version);
    const known = hashOf([
      { userId: 7n, field: 'roleId', seenMs: seenMs + 0.7, values: { base: 2n, service: 2n, mirror: 3n } },
    ]);
    const read = (one: object) => decodePlan(write({ ...plan, hash: known, changes: [one] }), key).rows;
    expect(read(seen).map((one) => one.seenMs)).toEqual([seenMs]);
    for (const other of [row, { ...seen, seen_version: '2026-03-01T08:00:00.251Z' }])
      expect(() => read(other)).toThrow('its rows are not those of its hash');
  });

  it('names the edits that were on record, and stands for these alone', () => {
    const edits = [row, { ...row, user_id: '8', edit_id: '12' }];
    const values = { base: 2n, service: 2n, mirror: 3n };
    const known = hashOf([
      { userId: 7n, field: 'roleId', values },
      { userId: 8n, field: 'roleId', edit: 12n, values },
    ]);
    const { rows } = decodePlan(write({ ...plan, hash: known, changes: edits }), key);
    expect(rows.map(({ userId, edit }) => [userId, edit])).toEqual([
      [7n, undefined],
      [8n, 12n],
    ]);
    const other = [row, { ...row, user_id: '8', edit_id: '13' }];
    expect(() => decodePlan(write({ ...plan, hash: known, changes: other }), key)).toThrow(
      'its rows are not those of its hash',
    );
  });

  it.each([
    ['a later time', { made_at: '2027-03-01T09:00:00.000Z' }],
    ['another name', { changes: [{ ...row, name: 'Bo Lind' }] }],
    ['nothing', {}],
  ])('is refused where somebody else sealed it, with %s altered', (_, altered) => {
    const body = { ...plan, ...altered };
    const checksum = createHash('sha256').update(JSON.stringify(body)).digest('hex');
    for (const forged of [seal(body, ''), seal(body, 'of another mirror'), checksum, undefined])
      expect(() => decodePlan(JSON.stringify({ ...body, seal: forged }), key)).toThrow('it was altered');
  });

  it.each([
    ['another value', [{ ...row, mirror: '1' }]],
    ['another base', [{ ...row, base: '1' }]],
    ['another user', [{ ...row, user_id: '8' }]],
    ['a row too many', [row, { ...row, user_id: '8' }]],
    ['no row', []],
  ])('is refused where its rows are not those of its hash: %s', (_, changes) => {
    expect(() => decodePlan(write({ ...plan, changes }), key)).toThrow('its rows are not those of its hash');
  });

  it.each([
    ['no rows at all', { changes: undefined }],
    ['rows that are none', { changes: ['7'] }],
    ['an id that is none', { changes: [{ ...row, user_id: 'seven' }] }],
    ['an edit that is none', { changes: [{ ...row, edit_id: 'twelve' }] }],
    ['a number that was rounded', { changes: [{ ...row, mirror: 3 }] }],
    ['a role that is none', { changes: [{ ...row, mirror: 'three' }] }],
    ['a field that nobody writes', { changes: [{ ...row, field: 'title' }] }],
    ['half a name', { changes: [{ ...row, field: 'name', base: null, mirror: { first: 'Anne' } }] }],
    ['another property', { changes: [{ ...row, role: 'Owner' }] }],
    ['no team', { team: null }],
    ['a time that is none', { made_at: 'yesterday' }],
  ])('is refused as one that nobody wrote, whatever its seal: %s', (_, altered) => {
    const read = () => decodePlan(write(JSON.parse(JSON.stringify({ ...plan, ...altered })) as object), key);
    expect(read).toThrow(expect.objectContaining({ code: 'usage' }) as Error);
    expect(read).toThrow('it was not written by "musterd plan --out"');
  });

  it.each(['', 'null', '[]', '{}', '{"musterd_plan": 3}', '{"musterd_plan": 2, "seal": "x"}'])(
    'is no other JSON and no other text: %s',
    (text) => {
      expect(() => decodePlan(text, key)).toThrow(expect.objectContaining({ code: 'usage' }) as Error);
    },
  );
});

describe('the hash of rows', () => {
  const hashWith = (base: NamePair) => {
    const values = { base, mirror: { first: 'Ann', last: 'Berg' }, service: 'Anne Berg' };
    return hashOf([{ userId: 7n, field: 'name', values }]);
  };

  it('is the same in whatever order the halves of a name come', () => {
    expect(hashWith({ last: 'Berg', first: 'Anne' })).toBe(hashWith({ first: 'Anne', last: 'Berg' }));
    expect(hashWith({ first: 'Anne', last: 'Berg' })).not.toBe(hashWith({ first: 'Berg', last: 'Anne' }));
  });
});
