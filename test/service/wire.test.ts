import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maxId } from '../../src/model/id.ts';
import { toJson } from '../../src/model/json.ts';
import tagsListed from '../../src/model/listed/tags.ts';
import type { UserPatch } from '../../src/model/user.ts';
import { decodeString, decodeWriteResult } from '../../src/service/messages/wire-schedule.ts';
import { readAnswer } from '../../src/service/answer.ts';
import { createBody } from '../../src/service/body.ts';
import { decodeUtf8, parseJson, readJson, readLongJson } from '../../src/service/parse-json.ts';
import { findFlaw } from '../../src/service/row-flaws.ts';
import { decodeListed, decodeOne, decodePage } from '../../src/service/wire-lists.ts';
import { decodeTeam } from '../../src/service/wire-team.ts';
import { decodeMemberships, encodeUserFilter, encodeUserPatch } from '../../src/service/wire-user.ts';

function reply(text: string) {
  return {
    operation: 'TEST /v1/x',
    status: 200,
    requestId: 'r',
    headers: {},
    body: parseJson(text),
    digest: null,
  };
}

const users = (text: string) => decodeMemberships(reply(`{"memberships":[${text}]}`));
const decodeTag = decodeListed(tagsListed);
const tags = (text: string) => decodePage(reply(`[${text}]`), 'tags', decodeTag);

describe('reading and writing JSON', () => {
  test.each([
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992n],
    ['9007199254740993', 9007199254740993n],
    ['9223372036854775807', maxId],
    ['-9223372036854775808', -(2n ** 63n)],
    ['0.50000000000000000', 0.5],
    ['1e400', Number.POSITIVE_INFINITY],
    ['{"a":[1,{"b":12345678901234567890}]}', { a: [1, { b: 12345678901234567890n }] }],
  ])('parseJson reads %s exactly', (text, value) => {
    expect(parseJson(text).value).toEqual(value);
  });

  test('toJson and parseJson keep any 64-bit integer exact (A8)', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: maxId }), (id) => {
        const back = (parseJson(toJson({ id })).value as { id: number | bigint }).id;
        expect(BigInt(back)).toBe(id);
      }),
    );
  });

  test('decodeUtf8 turns bytes that are not UTF-8 into lone surrogates, and sets wellFormed to false (A13)', async () => {
    const bytes = Buffer.concat([
      Buffer.from('["a","'),
      Buffer.from([0xff, 0xed, 0xa0, 0x80]),
      Buffer.from('"]'),
    ]);
    const { text, wellFormed } = decodeUtf8(bytes);
    expect(wellFormed).toBe(false);
    const [sound, broken] = parseJson(text).value as string[];
    expect(sound).toBe('a');
    expect(broken?.isWellFormed()).toBe(false);
    const copy = () => Buffer.from(new Uint8Array(bytes).buffer);
    expect([readJson({ take: copy })?.suspicious, (await readLongJson(copy(), false))?.suspicious]).toEqual([
      true,
      true,
    ]);
  });

  test('readAnswer reads an integer above 2^53 exactly in a short and in a long answer', async () => {
    const headers = { 'content-length': '1', 'content-type': 'application/json' };
    for (const blanks of [0, 4_194_304]) {
      const body = createBody(5_000_000);
      body.add(Buffer.from(`[9007199254740993, 2]${' '.repeat(blanks)}`));
      const answer = await readAnswer({ status: 200, headers, token: '' }, body);
      expect(answer).toMatchObject({ kind: 'answer', body: { value: [9_007_199_254_740_993n, 2] } });
    }
  });

  test('parseJson reports a text as suspicious only if the text has an escaped NUL or surrogate', () => {
    expect(parseJson('"a\\u0000"').suspicious).toBe(true);
    expect(parseJson('"\\uD83D\\ude00"').suspicious).toBe(true);
    expect(parseJson('"\\u00e9 \\n é 😀"').suspicious).toBe(false);
  });
});

describe('rows without a valid id (1 to 2^63 - 1)', () => {
  test.each(['"12"', '1.5', '-1', '0', 'null', 'true', '{}', '[1]', '9223372036854775808', '1e30', '""'])(
    'rejects a row with the id %s, and keeps the rows before and after (A9)',
    async (id) => {
      const { rows, rejected } = await tags(
        `{"id":9007199254740993},{"id":${id},"tag":"b"},{"id":3,"tag":"c"}`,
      );
      expect(rows.map((row) => row.id)).toEqual([9007199254740993n, 3n]);
      expect(rejected).toMatchObject([
        { resource: 'tags', id: null, reason: 'its id is not an integer from 1 to 2^63 - 1' },
      ]);
    },
  );

  test.each(['null', '1', '"a"', '[]', '[[1]]', 'true', '{}', '{"tag":"a"}'])(
    'rejects %s as a row, and keeps the row after it',
    async (row) => {
      expect(await tags(`${row},{"id":3}`)).toMatchObject({ rows: [{ id: 3n }], rejected: [{ id: null }] });
    },
  );
});

describe('values at the limits of what can be stored', () => {
  const beyond = 'a number is beyond 1e300 or below 1e-300';
  test.each([
    ['a NUL', '"a\\u0000b"', 'a text holds a NUL'],
    ['a lone high surrogate', '"\\ud800"', 'a text holds half a surrogate pair'],
    ['a lone low surrogate', '"\\uDC00x"', 'a text holds half a surrogate pair'],
    ['a NUL deep inside', '{"a":[{"b":"\\u0000"}]}', 'a text holds a NUL'],
    ['a NUL in a name', '{"a\\u0000":1}', 'a text holds a NUL'],
    ['a text of 262,145 characters', `"${'x'.repeat(262_145)}"`, 'a text is longer than 262144 characters'],
    ['a number of more than 1000 digits', `1${'0'.repeat(1000)}`, beyond],
    ['a number of 200,000 digits', `-${'9'.repeat(200_000)}`, beyond],
    ['a number with an exponent above 300', '1e301', beyond],
    ['a number with an exponent that no double has', '-1e200000', beyond],
    ['a number with an exponent below -300', '1e-301', beyond],
  ])('rejects the row with %s, and keeps the rows around it (A12, A13)', async (_name, value, reason) => {
    for (const flawed of [`"name":${value}`, `"unknown":${value}`, `"unknown":{"a":[${value}]}`]) {
      const answer = await users(`{"id":1,"name":"Ann"},{"id":2,${flawed}},{"id":3}`);
      expect(answer.users.map((user) => user.id)).toEqual([1n, 3n]);
      expect(answer.rejected).toMatchObject([{ resource: 'users', id: 2n, reason }]);
      const excerpt = answer.rejected[0]?.excerpt ?? '';
      expect(excerpt.length).toBeLessThanOrEqual(500);
      expect(excerpt.isWellFormed() && !excerpt.includes('\0')).toBe(true);
    }
  });

  test('accepts numbers from 1e-300 to 1e300, and whole numbers of 1,000 digits', async () => {
    const text = `[${'9'.repeat(1000)},1e300,-1e-300,0,-0,0.1,9007199254740993]`;
    expect((await users(`{"id":1,"unknown":${text}}`)).users).toHaveLength(1);
  });

  test('accepts whole surrogate pairs, line breaks, accents and right-to-left text (A14)', async () => {
    const name = 'Zoë 😀 \n עברית e\u0301';
    expect((await users(toJson({ id: 1, name }))).users).toMatchObject([{ name }]);
    expect((await users('{"id":1,"name":"\\ud83d\\ude00"}')).users).toMatchObject([{ name: '😀' }]);
  });

  test('rejects a row nested deeper than 32 levels, and keeps the row after it (A11)', async () => {
    const deep = (levels: number) => `{"id":1,"x":${'['.repeat(levels)}${']'.repeat(levels)}}`;
    expect((await tags(deep(31))).rows).toHaveLength(1);
    expect((await tags(deep(32))).rejected).toMatchObject([
      { id: 1n, reason: 'values are nested deeper than 32 levels' },
    ]);
    expect(await tags(`${deep(200_000)},{"id":2}`)).toMatchObject({
      rows: [{ id: 2n }],
      rejected: [{ id: 1n }],
    });
  });

  test('escapes characters that move or hide text in the excerpt of a rejected row', async () => {
    const [row] = (await tags('{"id":0,"tag":"\\u202eevil\\u200b\\u001b[31m\u{e0041}"}')).rejected;
    expect(row?.excerpt).toBe('{"id":0,"tag":"\\u202eevil\\u200b\\u001b[31m\\udb40\\udc41"}');
  });
});

describe('decodeMemberships', () => {
  test('reads a missing value, null and an empty text as three different values (A10)', async () => {
    const [user] = (await users('{"id":1,"email":null,"phone":""}')).users;
    expect(user).toEqual({ id: 1n, email: null, phone: '', raw: {} });
    expect(user !== undefined && 'name' in user).toBe(false);
  });

  test('cuts an unreadable phone of 5,000 characters to less than 100', async () => {
    const [user] = (await users(`{"id":1,"phone":["${'5'.repeat(5000)}"]}`)).users;
    expect(JSON.stringify(user?.phone).length).toBeLessThan(100);
  });

  test('keeps unknown fields in `raw`, even one called `__proto__` (A11)', async () => {
    const [user] = (
      await users(
        '{"id":1,"__proto__":{"polluted":true},"constructor":1,"toString":"x","big":12345678901234567890}',
      )
    ).users;
    expect(Object.keys(user?.raw ?? {}).toSorted()).toEqual(['__proto__', 'big', 'constructor', 'toString']);
    expect(user?.raw['big']).toBe(12345678901234567890n);
    expect((user?.raw as { polluted?: boolean } | undefined)?.polluted).toBeUndefined();
  });

  test.each(['null', '[]', '{}', '"x"', '{"memberships":null}', '{"memberships":{}}', '{"Memberships":[]}'])(
    'rejects an answer without a list: %s',
    async (text) => {
      await expect(decodeMemberships(reply(text))).rejects.toThrow(
        expect.objectContaining({
          message: expect.stringContaining('memberships'),
          phase: 'sent',
          status: 200,
        }),
      );
    },
  );
});

describe('the body of a request for users', () => {
  test('encodeUserPatch writes only changed fields, and of a phone only the digits (S71)', () => {
    const encode = (patch: UserPatch) => toJson(encodeUserPatch(9007199254740993n, patch));
    const id = '"id":9007199254740993';
    expect(encode({})).toBe(`{${id}}`);
    expect(encode({ name: { first: 'Ann Marie', last: '' } })).toBe(
      `{${id},"first_name":"Ann Marie","last_name":""}`,
    );
    expect(encode({ email: 'a@b.example' })).toBe(`{${id},"email":"a@b.example"}`);
    expect(encode({ phone: '+1 (555) 0100' })).toBe(`{${id},"phone":"15550100"}`);
    expect(encode({ phone: null })).toBe(`{${id},"phone":""}`);
    expect(encode({ roleId: maxId })).toBe(`{${id},"role_id":9223372036854775807}`);
  });

  test('encodeUserPatch throws if a patch clears an email or a role', () => {
    expect(() => encodeUserPatch(1n, { email: null })).toThrow(RangeError);
    expect(() => encodeUserPatch(1n, { roleId: null })).toThrow(RangeError);
  });

  test('encodeUserFilter leaves out an empty list of emails or phones', () => {
    expect(encodeUserFilter({ emails: [], phones: [] })).toEqual({});
    expect(encodeUserFilter({ emails: ['a@b'], phones: [] })).toEqual({ email: ['a@b'] });
    expect(encodeUserFilter({ emails: [], phones: ['+1 5'] })).toEqual({ phone: ['15'] });
  });
});

describe('decodeTeam', () => {
  const decode = (text: string) => decodeTeam(reply(text));

  test('reads a missing or mistyped field of a member as null, and keeps unknown team fields', async () => {
    const members = [
      { id: 1, name: 'Ann', role: 'admin' },
      { id: 2, email: 'b@example.com', phone: '+15550100', role: [4] },
    ];
    expect(await decode(toJson({ id: 7, name: 'Team', list_size: 500, members, plan: 'x' }))).toEqual({
      id: 7n,
      name: 'Team',
      listSize: 500n,
      members: [
        { id: 1n, name: 'Ann', role: 'admin', email: null, phone: null },
        { id: 2n, name: null, role: null, email: 'b@example.com', phone: '+15550100' },
      ],
      rejected: [],
      raw: { plan: 'x' },
    });
  });

  test('rejects a member without an id, and keeps the member after it', async () => {
    expect(await decode('{"id":7,"members":[{"name":"x"},{"id":2}]}')).toMatchObject({
      members: [{ id: 2n }],
      rejected: [{ resource: 'team members', id: null }],
    });
  });

  test('rejects fields of the team that cannot be stored, and keeps the team and its members', async () => {
    const team = await decode('{"id":7,"name":"a\\u0000","x":"\\ud800","members":[{"id":1}]}');
    expect(team).toMatchObject({ id: 7n, name: null, raw: {}, members: [{ id: 1n }] });
    expect(team.rejected).toMatchObject([
      { resource: 'team', id: 7n, reason: 'a text holds a NUL' },
      { resource: 'team', id: 7n, reason: 'a text holds half a surrogate pair' },
    ]);
  });

  test.each([
    ['[]', 'a team with an id'],
    ['null', 'a team with an id'],
  ])('rejects an answer that is not a team with an id: %s', async (text, message) => {
    await expect(decode(text)).rejects.toThrow(message);
  });
});

describe('decoders of single answers', () => {
  test('decodeOne returns the requested tag, and throws for any other answer', async () => {
    expect(await decodeOne(reply('{"id":5,"tag":"a"}'), 'tag', 5n, decodeTag)).toMatchObject({
      id: 5n,
      tag: 'a',
    });
    await expect(decodeOne(reply('{"id":6}'), 'tag', 5n, decodeTag)).rejects.toThrow(
      'the tag that was asked for',
    );
    await expect(decodeOne(reply('[]'), 'tag', 5n, decodeTag)).rejects.toThrow('without a tag');
    await expect(decodeOne(reply('{"id":5,"tag":"\\u0000"}'), 'tag', 5n, decodeTag)).rejects.toThrow(
      'a text holds a NUL',
    );
  });

  test.each(['null', '{}', '"x"', '{"tags":[]}'])('decodePage throws if given no list: %s', async (text) => {
    await expect(decodePage(reply(text), 'tags', decodeTag)).rejects.toThrow('without a list of tags');
  });

  test('decodeString throws if the answer is not a string, or not the expected string', () => {
    expect(decodeString(reply('"done"'))).toBe('done');
    expect(() => decodeString(reply('"no"'), 'ok')).toThrow('the string "ok"');
    expect(() => decodeString(reply('1'))).toThrow('a string');
  });

  test('decodeWriteResult throws if the answer has no id', () => {
    expect(() => decodeWriteResult(reply('{"rev":1}'))).toThrow('a write result with an id');
  });
});

test('decodeMemberships reads or rejects every row of random JSON, and never throws (A11)', async () => {
  const row = fc.oneof(
    fc.jsonValue({ stringUnit: 'binary' }),
    fc.constantFrom({ id: 1, a: 'b\0' }, { id: 2, 'a\ud800': 1 }, { id: 3, a: ['\udc00'] }),
    fc.record({ id: fc.oneof(fc.nat(), fc.jsonValue()), name: fc.jsonValue(), role_id: fc.jsonValue() }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 20 }), async (rows) => {
      const answer = await decodeMemberships(reply(toJson({ memberships: rows })));
      expect(answer.users.length + answer.rejected.length).toBe(rows.length);
      for (const user of answer.users) expect(findFlaw(user.raw, true)).toBeNull();
    }),
  );
});
