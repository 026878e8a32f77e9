import { describe, expect, it } from 'vitest';
import { readUntil } from '../../src/runs/decide/hold-fields.ts';
import { readTimeFromNow } from '../../src/runs/time-from-now.ts';
import { momentMs } from '../../src/model/moment.ts';
import { findScheduleFlaw } from '../../src/service/messages/schedule-request.ts';

describe('a moment', () => {
  it.each([
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
    ['2026-12-31 23:59', '2026-12-31T23:59:00.000Z'],
    ['2026-03-01T09:00:30', '2026-03-01T09:00:30.000Z'],
    ['2026-03-01t09:00z', '2026-03-01T09:00:00.000Z'],
    ['2026-03-01T09:00:00.5+02:00', '2026-03-01T07:00:00.500Z'],
    ['2026-03-01T09:00-0530', '2026-03-01T14:30:00.000Z'],
  ])('momentMs reads a time in UTC or with an offset: %s as %s', (text, expected) => {
    expect(new Date(momentMs(text)).toISOString()).toBe(expected);
  });

  it('momentMs accepts every day of the calendar, and rejects any other date', () => {
    const pad = (part: number) => String(part).padStart(2, '0');
    for (const year of [2027, 2028, 2100]) {
      for (let month = 0; month <= 13; month += 1) {
        for (let day = 0; day <= 32; day += 1) {
          const there = new Date(Date.UTC(year, month - 1, day));
          const isDay = there.getUTCMonth() + 1 === month && there.getUTCDate() === day;
          const text = `${year}-${pad(month)}-${pad(day)}`;
          expect([text, Number.isNaN(momentMs(text))]).toEqual([text, !isDay]);
          expect([text, Number.isNaN(momentMs(`${text}T12:00Z`))]).toEqual([text, !isDay]);
        }
      }
    }
  });

  const impossible = [
    '2027-02-30',
    '2027-02-30T09:00Z',
    '2027-02-29 09:00',
    '2027-04-31',
    '2026-03-01T24:00',
    '2026-03-01T25:00Z',
    '2026-03-01T09:60Z',
    '2026-03-01T09:00:60Z',
    '2026-03-01T09:00+25:00',
    '2026-03-01T09:00+02:60',
    '2026-03-01Z',
    '2026-3-1',
    '',
  ];

  it.each(impossible)('momentMs, --until and --since reject %j', (text) => {
    expect(momentMs(text)).toBeNaN();
    expect(() => readUntil(text)).toThrow('--until');
    expect(() => readTimeFromNow('--since', text)).toThrow('--since');
  });

  it('rejects a scheduled message for a day that does not exist', () => {
    const request = { inboxId: 1n, content: { text: 'x' }, phoneNumber: '15550100' };
    const flawOf = (executeAt: string) => findScheduleFlaw({ ...request, executeAt } as never, 0);
    expect(flawOf('2027-02-30T09:15:00Z')).toContain('RFC 3339');
    expect(flawOf('2027-02-28T09:15:00Z')).toBeNull();
  });
});
