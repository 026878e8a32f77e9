import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
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
});
