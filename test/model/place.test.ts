import { describe, expect, it } from 'vitest';
import {
  type Address,
  addressesInWords,
  adviceOn,
  type PresentPlace,
  judgePlace,
  maybeAlso,
  type KnownPlace,
  type PlaceVerdict,
  placeInWords,
} from '../../src/model/place.ts';

const home: KnownPlace = {
  kind: 'home',
  identifier: '1',
  database: '5',
  addresses: [
    { at: 'db-1:5432/muster', machine: null },
    { at: 'localhost:5432/muster', machine: 'aa' },
  ],
  since: '2026-03-01T00:00:00.000Z',
  by: null,
  why: null,
};

const records = {
  nothing: null,
  home,
  copy: { ...home, kind: 'copy', by: 'kim', why: 'staging' },
} as const satisfies Record<string, KnownPlace | null>;

/** What is found of each, beside what is on record. */
const identifiers = {
  same: ['1', '1'],
  'not known now': ['1', null],
  'not known then': [null, '1'],
  'never known': [null, null],
  other: ['1', '2'],
} as const;
const databases = { same: ['5', '5'], other: ['5', '6'], 'not known': [null, '5'] } as const;
type Found = 'known' | 'not known' | 'none yet';
const addresses: Readonly<Record<string, readonly [found: Found, address: Address]>> = {
  'a name that is known': ['known', { at: 'db-1:5432/muster', machine: null }],
  'a name that is not': ['not known', { at: 'db-2:5432/muster', machine: null }],
  'another port': ['not known', { at: 'db-1:6432/muster', machine: null }],
  'loopback of the same machine': ['known', { at: 'localhost:5432/muster', machine: 'aa' }],
  'loopback of another machine': ['not known', { at: 'localhost:5432/muster', machine: 'bb' }],
  'loopback of a machine without an id': ['known', { at: 'localhost:5432/muster', machine: null }],
  'any, where none is on record': ['none yet', { at: 'db-1:5432/muster', machine: null }],
};

/** The table of `judgePlace`, said once more. */
function expected(
  record: keyof typeof records,
  identifier: keyof typeof identifiers,
  database: keyof typeof databases,
  address: Found,
): PlaceVerdict {
  if (record === 'nothing') return 'unrecorded';
  if (identifier === 'other' || database !== 'same') return 'elsewhere';
  const of = {
    known: record === 'home' ? 'here' : 'copy',
    'not known': 'elsewhere',
    'none yet': 'unrecorded',
  };
  return of[address] as PlaceVerdict;
}

const keysOf = <T extends object>(of: T) => Object.keys(of) as (keyof T)[];
const cases = keysOf(records).flatMap((record) =>
  keysOf(identifiers).flatMap((identifier) =>
    keysOf(databases).flatMap((database) =>
      Object.entries(addresses).map(
        ([name, [found, address]]) => [record, identifier, database, name, found, address] as const,
      ),
    ),
  ),
);

function given(...[record, identifier, database, , found, address]: (typeof cases)[number]) {
  const [knownIdentifier, nowIdentifier] = identifiers[identifier];
  const [knownDatabase, nowDatabase] = databases[database];
  const on = records[record];
  const known: KnownPlace | null = on && {
    ...on,
    identifier: knownIdentifier,
    database: knownDatabase,
    ...(found === 'none yet' ? { addresses: [] } : {}),
  };
  const here: PresentPlace = { identifier: nowIdentifier, database: nowDatabase, address };
  return { known, here };
}

describe('judgePlace', () => {
  it.each(cases)('returns "elsewhere" if server, oid or address differs (%s; %s, %s; %s)', (...one) => {
    const { known, here } = given(...one);
    const [record, identifier, database, , found] = one;
    expect(judgePlace(known, here)).toBe(expected(record, identifier, database, found));
  });
});

describe('a message about the address of the mirror', () => {
  const until = new Date('2026-03-11T02:10:00Z');
  const at = (known: KnownPlace | null, here: Partial<PresentPlace>) => {
    const now = {
      identifier: '1',
      database: '5',
      address: { at: 'db-2:5432/muster', machine: null },
      ...here,
    };
    return { verdict: judgePlace(known, now), known, here: now, until };
  };

  it.each([
    ['another name', {}, 'db-2:5432/muster now'],
    [
      'another server of the same name',
      { identifier: '2', address: { at: 'db-1:5432/muster', machine: null } },
      'db-1:5432/muster, on another server now',
    ],
    [
      'another database of the same name',
      { database: '6', address: { at: 'db-1:5432/muster', machine: null } },
      'db-1:5432/muster, in another database of that name now',
    ],
    [
      'the same loopback elsewhere',
      { address: { at: 'localhost:5432/muster', machine: 'bb' } },
      'localhost:5432/muster, on another machine now',
    ],
  ])('names the former and the present address: %s', (_, here, end) => {
    const placing = at(home, here);
    expect(placeInWords(placing)).toBe(
      `this mirror was at db-1:5432/muster or localhost:5432/muster until 2026-03-11T02:10:00Z, and is at ${end}: nothing is sent from here`,
    );
    expect(adviceOn(placing)).toContain('musterd adopt --reason …, and stop the other one');
  });

  it('suggests --also if the database may be the recorded database under a new name, and otherwise not', () => {
    expect(maybeAlso(at(home, {}))).toBe(true);
    expect(maybeAlso(at(null, {}))).toBe(false);
    expect(maybeAlso(at(home, { identifier: '2' }))).toBe(false);
    expect(maybeAlso(at(home, { address: { at: 'folder /srv/b', machine: 'aa' } }))).toBe(false);
    expect(adviceOn(at(home, {}))).toContain('--also');
    expect(adviceOn(at(home, { identifier: '2' }))).not.toContain('--also');
  });

  it('names the person who declared the mirror a copy', () => {
    const placing = at(records.copy, { address: { at: 'db-1:5432/muster', machine: null } });
    expect(placeInWords(placing)).toBe(
      'this is a copy, said by kim at 2026-03-01T00:00:00Z: staging; it reads, and sends nothing',
    );
  });

  it.each([
    ['a', ['a']],
    ['a', ['a', 'a']],
    ['a or b', ['a', 'b']],
    ['a, b, c or d', ['a', 'b', 'c', 'd']],
  ])('lists each address once, as "%s"', (words, names) => {
    expect(addressesInWords({ addresses: names.map((name) => ({ at: name, machine: null })) })).toBe(words);
  });

  const there = { address: { at: 'db-1:5432/muster', machine: null } };
  it.each([
    [
      'a copy without a reason',
      at({ ...records.copy, why: null }, there),
      'this is a copy, said by kim at 2026-03-01T00:00:00Z; it reads, and sends nothing',
      'To let it send: musterd adopt --reason …',
    ],
    [
      'a copy without an author',
      at({ ...records.copy, by: null }, there),
      'this is a copy, since 2026-03-01T00:00:00Z; it reads, and sends nothing',
      'To let it send: musterd adopt --reason …',
    ],
    ['a mirror at its own address', at(home, there), 'db-1:5432/muster or localhost:5432/muster', ''],
    ['a mirror that is not on record', at(null, {}), 'db-2:5432/muster, which the first run records', ''],
    [
      'a record without an address',
      at({ ...home, addresses: [] }, {}),
      'db-2:5432/muster, which the first run records',
      '',
    ],
    [
      'another server',
      { ...at(home, { identifier: '2' }), until: null },
      'this mirror was at db-1:5432/muster or localhost:5432/muster, and is at db-2:5432/muster now: nothing is sent from here',
      'If it has moved here: musterd adopt --reason …, and stop the other one. If it should be a copy: musterd adopt --as-copy --reason …',
    ],
  ])('states the address and the next step for %s', (_, placing, words, advice) => {
    expect([placeInWords(placing), adviceOn(placing)]).toEqual([words, advice]);
  });

  it('states that the former address is not on record if the record lacks an address', () => {
    expect(placeInWords(at({ ...home, database: null, addresses: [] }, {}))).toContain(
      'was at a place that is not on record',
    );
  });
});
