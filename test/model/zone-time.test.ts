import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  inZone,
  isZone,
  momentsOf,
  showClock,
  showDay,
  showTime,
  showTimesIn,
} from '../../src/model/zone-time.ts';

describe('momentsOf', () => {
  it.each([
    ['2027-01-15 09:00', 'Europe/Berlin', ['2027-01-15T08:00Z']],
    ['2027-07-15 09:00', 'Europe/Berlin', ['2027-07-15T07:00Z']],
    ['2027-03-28 01:45', 'Europe/Berlin', ['2027-03-28T00:45Z']],
    ['2027-03-28 02:30', 'Europe/Berlin', []],
    ['2027-03-28 03:00', 'Europe/Berlin', ['2027-03-28T01:00Z']],
    ['2027-10-31 02:00', 'Europe/Berlin', ['2027-10-31T00:00Z', '2027-10-31T01:00Z']],
    ['2027-10-31 03:00', 'Europe/Berlin', ['2027-10-31T02:00Z']],
    ['2027-11-07 01:30', 'America/New_York', ['2027-11-07T05:30Z', '2027-11-07T06:30Z']],
    ['2027-10-03 02:15', 'Australia/Lord_Howe', []],
    ['2027-04-04 01:45', 'Australia/Lord_Howe', ['2027-04-03T14:45Z', '2027-04-03T15:15Z']],
    ['2011-12-30 12:00', 'Pacific/Apia', []],
    ['2027-01-15 09:00', 'Asia/Kathmandu', ['2027-01-15T03:15Z']],
    ['2027-01-15 09:00', 'Pacific/Kiritimati', ['2027-01-14T19:00Z']],
    ['2027-01-15 09:00', 'Etc/GMT+12', ['2027-01-15T21:00Z']],
    ['2027-01-15 09:00', 'UTC', ['2027-01-15T09:00Z']],
  ])('reads the local time %s in %s as %j', (wall, zone, moments) => {
    expect(momentsOf(Date.parse(`${wall.replace(' ', 'T')}Z`), zone)).toEqual(moments.map(Date.parse));
  });

  it('returns, for the local time that inZone shows for a moment, this moment', () => {
    const zone = fc.constantFrom('Europe/Berlin', 'America/St_Johns', 'Asia/Kolkata', 'Africa/Casablanca');
    const quarter = fc.integer({ min: 0, max: 2_000_000 }).map((count) => count * 900_000);
    fc.assert(
      fc.property(quarter, zone, (ms, name) => {
        const wallMs = Date.parse(`${inZone(ms, name).replace(' ', 'T')}Z`);
        expect(momentsOf(wallMs, name)).toContain(ms);
      }),
      { numRuns: 300 },
    );
  });
});

it.each([
  ['Europe/Berlin', true],
  ['UTC', true],
  ['Berlin', false],
  ['', false],
  ['Europe/Berlin; drop', false],
])('isZone returns true only for the full name of a time zone: %j: %s', (zone, expected) => {
  expect(isZone(zone)).toBe(expected);
});

it.each([
  ['UTC', '2027-01-15T23:30:00Z', '2027-01-15', '23:30:00'],
  ['Europe/Berlin', '2027-01-16T00:30:00+01:00', '2027-01-16', '00:30:00'],
  ['America/St_Johns', '2027-01-15T20:00:00-03:30', '2027-01-15', '20:00:00'],
])('showTime shows a moment in the time zone %s as %s', (zone, time, day, clock) => {
  const moment = new Date('2027-01-15T23:30:00.5Z');
  try {
    showTimesIn(zone);
    expect([showTime(moment), showDay(moment), showClock(moment)]).toEqual([time, day, clock]);
    expect([showTime(null), new Date(time).getTime()]).toEqual(['', moment.getTime() - 500]);
  } finally {
    showTimesIn('UTC');
  }
});
