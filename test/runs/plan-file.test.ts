import { createHash, createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { NamePair } from '../../src/model/name.ts';
import { hashOf } from '../../src/reconcile/guard/batch-hash.ts';
import { decodePlan } from '../../src/runs/plan-file.ts';

const row = {
  user_id: '7',
  name: 'Anne Berg',
  field: 'role_id',
  edit_id: '12',
  base: '2',
  service: '2',
  mirror: '3',
};
const hash = hashOf([{ userId: 7n, field: 'roleId', values: { base: 2n, service: 2n, mirror: 3n } }]);
const plan = {
  musterd_plan: 4,
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
        edit: 12n,
        values: { base: 2n, service: 2n, mirror: 3n },
      },
    ]);
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

  it.each(['', 'null', '[]', '{}', '{"musterd_plan": 4}', '{"musterd_plan": 3, "seal": "x"}'])(
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
