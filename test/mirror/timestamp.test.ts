import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { asTimestamp } from '../../src/mirror/db/timestamp.ts';
import { servers } from '../support/servers.ts';
import { useDatabase } from '../support/use-database.ts';

describe('asTimestamp', () => {
  it.each(['+15:59', '-15:59', '+0000', '-1530', '+14:00', 'Z'])('accepts the offset %s', (offset) => {
    expect(asTimestamp(`2030-01-01T00:00:00${offset}`)).toBe(`2030-01-01T00:00:00${offset}`);
  });

  it.each(['+23:59', '+16:00', '-16:00', '-2359', '+15:60', '+99:99'])(
    'returns null for the offset %s, because Postgres would fail the whole statement on this offset',
    (offset) => {
      expect(asTimestamp(`2030-01-01T00:00:00${offset}`)).toBeNull();
    },
  );
});

describe.each(servers())('asTimestamp on $name', (server) => {
  const database = useDatabase({ server });

  it('accepts only timestamps that Postgres accepts', async () => {
    const two = (max: number) => fc.integer({ min: 0, max }).map((n) => String(n).padStart(2, '0'));
    const text = fc
      .tuple(
        fc.integer({ min: 0, max: 9999 }).map((n) => String(n).padStart(4, '0')),
        fc.tuple(two(13), two(32)),
        fc.tuple(two(25), two(61), two(61)),
        fc.constantFrom('', '.5', '.999999999'),
        fc.oneof(fc.constant('Z'), fc.tuple(fc.constantFrom('+', '-'), two(25), two(61))),
      )
      .map(([year, [month, day], time, fraction, zone]) => {
        const offset = typeof zone === 'string' ? zone : `${zone[0]}${zone[1]}:${zone[2]}`;
        return `${year}-${month}-${day}T${time.join(':')}${fraction}${offset}`;
      });
    const taken = fc.sample(text, 20_000).flatMap((one) => asTimestamp(one) ?? []);
    expect(taken.length).toBeGreaterThan(1_000);
    const { rows } = await sql<{ count: bigint }>`
      select count(t::timestamptz) as count from unnest(${taken}::text[]) t`.execute(database.db.kysely);
    expect(Number(rows[0]?.count)).toBe(taken.length);
  });
});
