import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { NamePair } from '../../src/model/name.ts';
import { hashOf } from '../../src/reconcile/guard/batch-hash.ts';
import { decodePlan } from '../../src/runs/plan-file.ts';

const row = { user_id: '7', name: 'Anne Berg', field: 'role_id', base: '2', service: '2', mirror: '3' };
const hash = hashOf([{ userId: 7n, field: 'roleId', values: { base: 2n, service: 2n, mirror: 3n } }]);
const plan = {
  musterd_plan: 1,
  team: { id: '41', name: null },
  service: 'https://example.com/',
  made_at: '2026-03-01T09:00:00.000Z',
  hash,
  changes: [row],
};
/** With the checksum that belongs to it, as anybody can reckon it. */
const write = (body: object) =>
  JSON.stringify({ ...body, checksum: createHash('sha256').update(JSON.stringify(body)).digest('hex') });

describe('the file of a plan', () => {
  it('is read as it was written', () => {
    const { rows, ...read } = decodePlan(write(plan));
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

  it.each([
    ['another value', [{ ...row, mirror: '1' }]],
    ['another base', [{ ...row, base: '1' }]],
    ['another user', [{ ...row, user_id: '8' }]],
    ['a row too many', [row, { ...row, user_id: '8' }]],
    ['no row', []],
  ])('is refused where its rows are not those of its hash: %s', (_, changes) => {
    expect(() => decodePlan(write({ ...plan, changes }))).toThrow('its rows are not those of its hash');
  });

  it.each([
    ['no rows at all', { changes: undefined }],
    ['rows that are none', { changes: ['7'] }],
    ['an id that is none', { changes: [{ ...row, user_id: 'seven' }] }],
    ['a number that was rounded', { changes: [{ ...row, mirror: 3 }] }],
    ['a role that is none', { changes: [{ ...row, mirror: 'three' }] }],
    ['a field that nobody writes', { changes: [{ ...row, field: 'title' }] }],
    ['half a name', { changes: [{ ...row, field: 'name', base: null, mirror: { first: 'Anne' } }] }],
    ['another property', { changes: [{ ...row, role: 'Owner' }] }],
    ['no team', { team: null }],
    ['a time that is none', { made_at: 'yesterday' }],
  ])('is refused as one that nobody wrote, whatever its checksum: %s', (_, altered) => {
    const read = () => decodePlan(write(JSON.parse(JSON.stringify({ ...plan, ...altered })) as object));
    expect(read).toThrow(expect.objectContaining({ code: 'usage' }) as Error);
    expect(read).toThrow('it was not written by "musterd plan --out"');
  });

  it.each(['', 'null', '[]', '{}', '{"musterd_plan": 1}', '{"musterd_plan": 2, "checksum": "x"}'])(
    'is no other JSON and no other text: %s',
    (text) => {
      expect(() => decodePlan(text)).toThrow(expect.objectContaining({ code: 'usage' }) as Error);
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
