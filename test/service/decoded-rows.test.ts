import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toJson } from '../../src/model/json.ts';
import { createBody } from '../../src/service/body.ts';
import { isDecoded } from '../../src/service/decoded-rows.ts';
import { type ParsedJson, parseJson, readJson, readList } from '../../src/service/parse-json.ts';
import { isSuspicious } from '../../src/service/row-flaws.ts';
import { decodeMembers, decodeTeam } from '../../src/service/wire-team.ts';
import { decodeMemberships, decodeUsers } from '../../src/service/wire-user.ts';
import { mostInOneTurn } from '../support/turns.ts';

const maxBytes = 33_554_432;

function bodyOf(text: string) {
  const bytes = Buffer.from(text);
  const body = createBody(bytes.length, null);
  body.add(bytes);
  return body;
}

const reply = (body: ParsedJson) => ({ operation: 'x', status: 200, requestId: null, headers: {}, body });

const users = { long: { property: 'memberships', decode: decodeUsers } };
const team = { long: { property: 'members', decode: decodeMembers } };

async function readLong(text: string): Promise<ParsedJson> {
  const read = await readList(bodyOf(text), maxBytes, users);
  if (read === null || 'excess' in read) throw new Error('not read');
  return read;
}

/** What every consumer of a user reads of it. */
const plain = ({ users, rejected }: ReturnType<typeof decodeMemberships>) => ({
  users: users.map(
    ({
      id,
      name,
      email,
      phone,
      roleId,
      teamId,
      createdAt,
      updatedAt,
      userCreatedAt,
      userUpdatedAt,
      raw,
    }) => ({
      values: { id, name, email, phone, roleId, teamId: teamId ?? null },
      times: [createdAt, updatedAt, userCreatedAt, userUpdatedAt],
      raw,
    }),
  ),
  rejected,
});

/** The raw of a user of a long list is read from its text. */
const asRead = ({ rows, rejected }: ReturnType<typeof decodeUsers | typeof decodeMembers>) => ({
  rows: rows.map((row) => ('raw' in row ? { ...row, packed: '', raw: row.raw } : row)),
  rejected,
});

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '},{"id":7,"name":"a',
    ',{"id":1}',
    '{',
    '}]',
    '"memberships":[',
    '\\',
    '"',
    '\u0000',
    'ü',
    '12345678901234567',
  ),
);
const extra = fc.oneof(
  text,
  fc.bigInt({ min: 0n, max: 2n ** 70n }),
  fc.constantFrom(
    null,
    true,
    1.5,
    1e300,
    { id: 4, of: [{ id: 5 }, { id: 6, a: {} }] },
    [[{ id: 1 }, { id: 2 }]],
    [],
  ),
);
const id = fc.bigInt({ min: 1n, max: 2n ** 63n - 1n });
const row = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ id, name: text, email: text, team_id: fc.constantFrom(7, 8, null, '9') }),
  },
  { weight: 4, arbitrary: fc.record({ id, name: extra, role_id: extra, more: extra, updated_at: text }) },
  { weight: 1, arbitrary: fc.record({ name: text, id: fc.oneof(id, extra) }) },
  { weight: 1, arbitrary: fc.constantFrom(null, 3, 'x', [], {}, [{ id: 3 }]) },
);

/** Some rows again and again, until the answer is long enough to be read in pieces. */
function longAnswer(rows: readonly unknown[], indent: number | undefined, more: object): string {
  const once = toJson(rows);
  const times = Math.ceil(300_000 / once.length);
  const list = Array.from({ length: times }, () => rows).flat();
  return toJson({ ...more, memberships: list, after: [{ id: 1 }] }, indent);
}

describe('A long list', () => {
  it('is read as a short one is, row by row and in any order', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { minLength: 1, maxLength: 40 }),
        fc.constantFrom(undefined, 1, 2),
        fc.constantFrom({}, { before: 'x' }, { 'a"memberships': [1] }),
        async (rows, indent, more) => {
          const answer = longAnswer(rows, indent, more);
          const wanted = plain(decodeMemberships(reply(parseJson(answer))));
          const read = decodeMemberships(reply(await readLong(answer)));
          expect(plain(read)).toEqual(wanted);
          const backwards = { ...read, users: read.users.toReversed() };
          expect(plain(backwards).users).toEqual(wanted.users.toReversed());
        },
      ),
      { numRuns: 25 },
    );
  });

  const people = Array.from({ length: 12_000 }, (_, n) => ({ id: n + 1, name: `Änne ${n}`, team_id: 7 }));

  it('is read the same whether a row is plain or has to be looked at closely', () => {
    const plainText = fc.oneof({ weight: 9, arbitrary: fc.string() }, { weight: 1, arbitrary: extra });
    const number = fc.oneof(
      { weight: 8, arbitrary: fc.nat() },
      { weight: 1, arbitrary: fc.integer({ min: -2, max: 1 }) },
      { weight: 1, arbitrary: extra },
    );
    const times = ['created_at', 'updated_at', 'user_created_at', 'user_updated_at'];
    const texts = ['name', 'email', 'phone', ...times].map((name) => [name, plainText] as const);
    const numbers = ['id', 'role_id', 'team_id'].map((name) => [name, number] as const);
    const user = fc.record(
      { ...Object.fromEntries([...texts, ...numbers]), more: extra },
      { requiredKeys: [] },
    );
    const whole = fc.record(Object.fromEntries([...texts, ...numbers]));
    const member = fc.record({
      id: number,
      name: plainText,
      role: plainText,
      email: plainText,
      phone: plainText,
    });
    const short = fc.record(
      { id: number, name: plainText, role: plainText, more: extra },
      { requiredKeys: ['id', 'name', 'role'] },
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(whole, user, member, short)), fc.boolean(), (all, isExact) => {
        const rows = all.filter((row) => !isSuspicious(toJson(row)));
        for (const decode of [decodeUsers, decodeMembers]) {
          // Nothing is plain where the text may hold what cannot be stored.
          const closely = decode(rows, { suspicious: true, piece: { isExact, isLong: true, rejected: 0 } });
          expect(
            asRead(decode(rows, { suspicious: false, piece: { isExact, isLong: true, rejected: 0 } })),
          ).toEqual(asRead(closely));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('has no plain rows where its text may hold what cannot be stored', () => {
    const time = '2024-05-06T07:08:09Z';
    const user = { id: 1, name: 'a\u0000', email: '', phone: '', role_id: 2, team_id: 7, created_at: time };
    const whole = { ...user, updated_at: time, user_created_at: time, user_updated_at: time };
    const member = { id: 1, name: 'a\u0000', role: 'agent' };
    const counts = [
      decodeUsers([whole], { suspicious: true, piece: undefined }),
      decodeMembers([member], { suspicious: true, piece: undefined }),
    ];
    expect(counts.map(({ rows, rejected }) => [rows.length, rejected.length])).toEqual([
      [0, 1],
      [0, 1],
    ]);
  });

  it('of 12,000 people is decoded a piece at a time, and each of them once', async () => {
    const pieces: number[] = [];
    const decode: typeof decodeUsers = (rows, look) => {
      pieces.push(rows.length);
      return decodeUsers(rows, look);
    };
    const text = toJson({ memberships: people });
    const read = await readList(bodyOf(text), maxBytes, { long: { property: 'memberships', decode } });
    if (read === null || 'excess' in read) throw new Error('not read');
    const { memberships } = read.value as { memberships: unknown };
    if (!isDecoded(memberships)) throw new Error('not decoded');
    expect(memberships.length).toBe(people.length);
    expect(pieces.reduce((sum, rows) => sum + rows)).toBe(people.length);
    expect(Math.max(...pieces)).toBeLessThan(1_000);
    expect(decodeMemberships(reply(read)).users).toEqual(
      people.map(({ id: of, name }) => ({ id: BigInt(of), name, teamId: 7n, raw: {} })),
    );
  });

  it('keeps each digit of a number, wherever the first long one stands', async () => {
    const odd: Readonly<Record<number, object>> = {
      5000: { id: 5_001, team_id: 2n ** 61n + 3n },
      6000: { id: 6_001, of: [{ n: 2n ** 64n + 1n }] },
      7000: { id: 2n ** 62n + 1n, team_id: 2n ** 61n + 1n },
      8000: { id: 1e300, n: 2n ** 64n + 3n },
      9000: { id: 9_001, n: 1.5e300 },
    };
    const all = people.map((person, at) => odd[at] ?? person);
    const answer = toJson({ memberships: all });
    const { users: read, rejected } = decodeMemberships(reply(await readLong(answer)));
    const of = (wanted: bigint) => read.find((user) => user.id === wanted);
    expect(of(5_001n)?.teamId).toBe(2n ** 61n + 3n);
    expect(of(6_001n)?.raw).toEqual({ of: [{ n: 2n ** 64n + 1n }] });
    expect(of(2n ** 62n + 1n)?.teamId).toBe(2n ** 61n + 1n);
    expect(rejected.map((row) => row.id)).toEqual([null, 9_001n]);
    const inOrder = plain(decodeMemberships(reply(await readLong(answer))));
    expect(inOrder).toEqual(plain(decodeMemberships(reply(parseJson(answer)))));
  });

  it.each([
    ['cut short', (answer: string) => answer.slice(0, -1)],
    ['with a comma too much', (answer: string) => answer.replace(/\]\}$/, ',]}')],
    ['with two commas in the middle', (answer: string) => answer.replace('},{"id":6001,', '},,{"id":6001,')],
    ['closed by a brace', (answer: string) => answer.replace(/\]\}$/, '}}')],
    ['with more behind it', (answer: string) => `${answer}]`],
    ['with a broken row', (answer: string) => answer.replace('"id":6001,', '"id":6001')],
    ['with an escape that is none', (answer: string) => answer.replace('6000"', '\\x6000"')],
  ])('%s is no JSON', async (_name, spoil) => {
    const spoilt = spoil(toJson({ memberships: people }));
    expect(() => JSON.parse(spoilt) as unknown).toThrow(SyntaxError);
    expect(await readList(bodyOf(spoilt), maxBytes, users)).toBeNull();
  });

  it('that is given twice counts the second time', async () => {
    const list = toJson(people);
    const { value } = await readLong(`{"memberships":${list},"memberships":[{"id":5}]}`);
    expect(value).toEqual({ memberships: [{ id: 5 }] });
  });

  it('is not taken from inside of another', async () => {
    const { value } = await readLong(`{"memberships":3,"team":{"memberships":${toJson(people)}}}`);
    expect(value).toMatchObject({ memberships: 3, team: { memberships: { length: people.length } } });
  });

  it.each([
    ['that can be cut', toJson({ memberships: people }), { memberships: { length: people.length } }],
    ['that is the answer itself', toJson(people), { length: people.length }],
    ['that is short', '[1]', [1]],
  ])('%s may have one byte order mark before it, and no more', async (_, answer, value) => {
    const mark = '\ufeff';
    expect(await readLong(mark + answer)).toMatchObject({ value });
    expect(readJson(bodyOf(mark + answer), maxBytes)).toMatchObject({ value });
    for (const read of [
      await readList(bodyOf(mark + mark + answer), maxBytes, users),
      readJson(bodyOf(mark + mark + answer), maxBytes),
    ])
      expect(read ?? { excess: '' }).toHaveProperty('excess');
  });

  it('of members is read the same way', async () => {
    const members = people.map(({ id: of }) => ({
      id: of,
      name: `n ${of}`,
      role: 'admin',
      email: null,
      phone: 5,
    }));
    const answer = toJson({ id: 7, name: 'Team', members, list_size: 3 });
    const read = await readList(bodyOf(answer), maxBytes, team);
    if (read === null || 'excess' in read) throw new Error('not read');
    const [short, long] = [decodeTeam(reply(parseJson(answer))), decodeTeam(reply(read))];
    const seen = ({ members: all, ...team }: typeof short) => ({
      ...team,
      // Only of an answer that is asked for as a list.
      digest: undefined,
      members: all.map(({ id: of, name, role, email, phone }) => ({ of, name, role, email, phone })),
    });
    expect(seen(long)).toEqual(seen(short));
  });

  it('of 100,000 people lets others have their turn', async () => {
    const times = { created_at: '2020-01-01T00:00:00Z', updated_at: '2024-05-06T07:08:09Z' };
    const all = Array.from({ length: 100_000 }, (_, n) => {
      const email = `vera.${n}@example.com`;
      return { id: n + 1, name: `Vera Simic ${n}`, email, phone: `1555${1e7 + n}`, team_id: 7, ...times };
    });
    const body = bodyOf(toJson({ memberships: all }));
    let decoded = 0;
    const most = await mostInOneTurn(async (note) => {
      const decode: typeof decodeUsers = (rows, look) => {
        decoded += rows.length;
        note(rows.length);
        return decodeUsers(rows, look);
      };
      await readList(body, maxBytes, { long: { property: 'memberships', decode } });
    });
    expect(decoded).toBe(all.length);
    expect(most).toBeLessThan(2_000);
  });
});

describe('the bytes of a long answer', () => {
  const rows = Array.from({ length: 4_000 }, (_, at) => ({ id: at + 1, name: `Robin Reed ${at}` }));
  const isLetGo = (bytes: Buffer) => bytes.buffer instanceof ArrayBuffer && bytes.buffer.detached;
  const read = async (text: string, known?: string) => {
    const bytes = bodyOf(text).take();
    const isLeft = (digest: string) => digest === known;
    const parsed = await readList({ take: () => bytes }, maxBytes, { ...users, isLeft });
    if (parsed === null || 'excess' in parsed) throw new Error('not read');
    return { bytes, parsed };
  };

  it.each([
    ['that is decoded piece by piece', longAnswer(rows, undefined, {})],
    ['that cannot be cut', longAnswer(rows, undefined, {}).replace('memberships', 'members')],
  ])('%s are let go once it is read', async (_, text) => {
    expect(isLetGo((await read(text)).bytes)).toBe(true);
  });

  it('that was known are held until it is asked for after all', async () => {
    const text = longAnswer(rows, undefined, {});
    const { digest } = (await read(text)).parsed;
    const { bytes, parsed } = await read(text, digest);
    expect(isLetGo(bytes)).toBe(false);
    expect(
      decodeMemberships(reply((await parsed.read?.()) as ParsedJson)).users.length,
    ).toBeGreaterThanOrEqual(rows.length);
    expect(isLetGo(bytes)).toBe(true);
  });
});

it('Of more roles than are remembered each user has its own', async () => {
  const rows = Array.from({ length: 4_000 }, (_, at) => ({
    id: at + 1,
    name: 'Robin Reed',
    email: null,
    phone: null,
    role_id: (at * 7) % 1_500,
    team_id: 5_000 + (at % 2),
    created_at: null,
    updated_at: null,
    user_created_at: null,
    user_updated_at: null,
  }));
  const { users: read } = decodeMemberships(reply(await readLong(longAnswer(rows, undefined, {}))));
  expect(read.map(({ roleId, teamId }) => [roleId, teamId])).toEqual(
    rows.map(({ role_id: role, team_id: team }) => [BigInt(role), BigInt(team)]),
  );
});
