import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toJson } from '../../src/model/json.ts';
import { createBody } from '../../src/service/body.ts';
import { parseJson, readJson } from '../../src/service/parse-json.ts';
import { inspectJson, markNumbers, restoreNumbers } from '../../src/service/json-bounds.ts';

/** A value of JSON, with whole numbers on both sides of 2^53 and texts that look like them. */
const anyValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom('12345678901234567890', 'a"\\12345678901234567890', '', '\\', '"', null, true),
    fc.string({ unit: 'binary' }),
    fc.array(tie('value')),
    fc.dictionary(fc.string({ unit: 'binary' }), tie('value')),
  ),
})).value;

function bodyOf(text: string) {
  const bytes = Buffer.from(text);
  const body = createBody(bytes.length, null);
  for (let from = 0; from < bytes.length; from += 100_000) body.add(bytes.subarray(from, from + 100_000));
  return body;
}

describe('The bytes of a long answer', () => {
  it('are read as a short one is', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const text = toJson(value);
        const bytes = Buffer.from(text);
        const { excess, longNumbers } = inspectJson(bytes, 33_554_432);
        expect(excess).toBeNull();
        const marked = Buffer.from(markNumbers(bytes, longNumbers, 'mark:')).toString();
        expect(restoreNumbers(JSON.parse(marked), 'mark:')).toEqual(parseJson(text).value);
      }),
      { numRuns: 500 },
    );
  });

  it('keep their numbers exact past 256 kB, wherever they stand', () => {
    const rows = Array.from({ length: 20_000 }, (_, n) => ({
      id: 9_007_199_254_740_993n + BigInt(n),
      name: '1'.repeat(20),
    }));
    const read = readJson(bodyOf(toJson({ rows, __proto__: null })), 33_554_432);
    expect(read).toEqual({ value: { rows }, spelling: null, suspicious: false });
  });

  const maxBytes = 48_000;
  it.each([
    ['as many values as may be', `[${'1,'.repeat(1_999)}1]`, null],
    ['one more', `[${'1,'.repeat(2_000)}1]`, 'it has more than 2000 values'],
    ['keys, which are no values', `[${'{"a":1,"b":2},'.repeat(999)}]`, null],
    [
      'more keys',
      `[${'{"a":[],"b":1,"c":1,"d":1,"e":1,"f":1,"g":1},'.repeat(286)}`,
      'it has more than 2000 keys',
    ],
    ['literals', `[${'true,null,false,'.repeat(667)}0]`, 'it has more than 2000 values'],
    ['lists', `[${'[],'.repeat(1_000)}0]`, 'it has more than 1000 lists and objects'],
    ['long numbers', `[${'1234567890123456,'.repeat(251)}0]`, 'it has more than 250 numbers of 16 digits'],
    ['numbers of 15 digits', `[${'123456789012345,'.repeat(251)}0]`, null],
    ['decimals', `[${'0.1234567890123456,'.repeat(251)}0]`, null],
    ['depth', '['.repeat(513), 'it is nested deeper than 512 levels'],
    ['as deep as may be', `${'['.repeat(512)}${']'.repeat(512)}`, null],
    ['brackets in a text', `["${'['.repeat(2_000)}"]`, null],
    ['brackets behind an escaped quote', `["\\"${'['.repeat(2_000)}"]`, null],
    [
      'brackets behind an escaped backslash',
      `["\\\\",${'['.repeat(2_000)}`,
      'it is nested deeper than 512 levels',
    ],
    ['a long number', `[${'1'.repeat(65)}]`, 'a number in it is longer than 64 digits'],
    ['words outside of a text', '[é]', 'outside of its texts it is not ASCII'],
    ['words in a text', '["é"]', null],
  ])('have limits: %s', (_name, text, excess) => {
    expect(inspectJson(Buffer.from(text), maxBytes).excess).toBe(excess);
  });

  it('have a limit for keys of one object, and none for the same keys of many', () => {
    const wide = `{${Array.from({ length: 10_129 }, (_, n) => `"${n}":1`).join()}}`;
    expect(inspectJson(Buffer.from(wide), 33_554_432).excess).toBe('objects in it have more than 128 keys');
    const many = `[${'{"a":1,"b":2},'.repeat(20_000)}{}]`;
    expect(inspectJson(Buffer.from(many), 33_554_432).excess).toBeNull();
  });

  it('have a limit for one text', () => {
    const text = (bytes: number) => Buffer.from(`["${'a'.repeat(bytes)}"]`);
    expect(inspectJson(text(2_097_151), 33_554_432).excess).toBeNull();
    expect(inspectJson(text(2_097_152), 33_554_432).excess).toBe('a text in it is longer than 2097152 bytes');
  });
});

describe('A body as it comes in', () => {
  it('takes as many bytes as it may have, and not one more', () => {
    const body = createBody(100, null);
    expect(body.add(Buffer.alloc(60))).toBe(true);
    expect(body.add(Buffer.alloc(40))).toBe(true);
    expect(body.add(Buffer.alloc(1))).toBe(false);
  });

  it('holds what it is given, in pieces of any size, up to its limit', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), fc.option(fc.nat(200)), (chunks, expected) => {
        const whole = Buffer.concat(chunks);
        const body = createBody(100, expected);
        expect(chunks.every((chunk) => body.add(chunk))).toBe(whole.length <= 100);
        if (whole.length <= 100) expect(Buffer.from(body.take())).toEqual(whole);
      }),
    );
  });
});
