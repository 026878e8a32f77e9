import { describe, expect, it } from 'vitest';
import { placeToNote } from '../../src/mirror/team/known-place.ts';
import { type PresentPlace, type KnownPlace, type PlaceVerdict, sendBlockOf } from '../../src/model/place.ts';

const now = new Date('2026-03-11T02:10:00.000Z');
const until = new Date('2026-03-10T02:10:00.000Z');
const address = { at: 'db-1:5432/muster', machine: null };
const here: PresentPlace = { identifier: '1', database: '5', address };
const home: KnownPlace = {
  kind: 'home',
  identifier: '1',
  database: '5',
  addresses: [address, { at: 'localhost:5432/muster', machine: 'aa' }],
  since: '2026-03-01T00:00:00.000Z',
  by: 'kim',
  why: 'moved',
};
const left = '2026-03-09T00:00:00.000Z';
const note = (
  verdict: PlaceVerdict,
  known: KnownPlace | null,
  found: Partial<PresentPlace> = {},
  end = until,
) => placeToNote({ verdict, known, here: { ...here, ...found }, until: end }, now);

describe('placeToNote', () => {
  it('records this database as the place of the mirror if no place is on record', () => {
    const first = {
      kind: 'home',
      ...here,
      addresses: [address],
      since: now.toISOString(),
      by: null,
      why: null,
    };
    const { address: _, ...recorded } = first;
    expect(note('unrecorded', null)).toEqual(recorded);
  });

  it('adds server and address to a record that names only the database', () => {
    expect(note('unrecorded', { ...home, identifier: null, addresses: [] })).toEqual({
      ...home,
      identifier: '1',
      addresses: [address],
    });
  });

  it.each(['here', 'copy'] as const)('writes nothing if the record is complete (verdict "%s")', (verdict) => {
    expect(note(verdict, home)).toBeUndefined();
    expect(note(verdict, home, { identifier: null })).toBeUndefined();
    expect(note(verdict, { ...home, identifier: null }, { identifier: null })).toBeUndefined();
  });

  it.each(['here', 'copy'] as const)('adds a server that the record lacks (verdict "%s")', (verdict) => {
    expect(note(verdict, { ...home, identifier: null })).toEqual(home);
  });

  it.each(['here', 'copy'] as const)('removes the time of a run elsewhere (verdict "%s")', (verdict) => {
    expect(note(verdict, { ...home, left })).toEqual(home);
    expect(note(verdict, { ...home, left }, { identifier: null })).toEqual(home);
  });

  it('stores at the first run elsewhere until when runs used the recorded place, and keeps the time later', () => {
    expect(note('elsewhere', home)).toEqual({ ...home, left: until.toISOString() });
    expect(note('elsewhere', { ...home, left })).toBeUndefined();
    expect(placeToNote({ verdict: 'elsewhere', known: home, here, until: null }, now)).toBeUndefined();
  });
});

it.each([
  ['here', undefined],
  ['unrecorded', undefined],
  ['elsewhere', 'elsewhere'],
  ['copy', 'copy'],
] as const)('sendBlockOf answers the verdict "%s" with the send block "%s"', (verdict, sendBlock) => {
  expect(sendBlockOf({ verdict })).toBe(sendBlock);
});
