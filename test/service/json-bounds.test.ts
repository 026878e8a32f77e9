import { hash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createBody } from '../../src/service/body.ts';
import { measureBounds } from '../../src/service/json-bounds.ts';

describe('measureBounds', () => {
  const keys = (count: number) => Array.from({ length: count }, (_, n) => `"key ${n}":[],`).join('');
  it.each([
    ['values of four bytes each', '[1,234567890,12,', null],
    ['values of less than four bytes each', '[1,234,12,', 'it has 4 values in 10 bytes'],
    ['texts of twelve bytes each', '["345678901"', null],
    ['texts of less than twelve bytes each', '["34567890"', 'it has 1 texts in 11 bytes'],
    ['keys, which do not count as texts', '{"a":1234,"b":5678}', null],
    ['one number of 16 digits in 64 bytes', `[1234567890123456${' '.repeat(47)}`, null],
    [
      'one number of 16 digits in 63 bytes',
      `[-1234567890123456${' '.repeat(45)}`,
      'it has 1 numbers of 16 digits in 63 bytes',
    ],
    ['numbers of 15 digits', `[${'123456789012345,'.repeat(251)}0]`, null],
    ['digits within a text', '["1234567890123456"]', null],
    ['512 levels', `${'['.repeat(512)}${' '.repeat(2_000)}`, null],
    ['513 levels', '['.repeat(513), 'it is nested deeper than 512 levels'],
    ['513 levels of objects', '{"a":'.repeat(513), 'it is nested deeper than 512 levels'],
    ['513 lists, one after another', '[      ],'.repeat(513), null],
    ['more brackets closed than opened', `]]]]${'['.repeat(513)}`, 'it is nested deeper than 512 levels'],
    ['brackets and commas in a text', `["${'[,'.repeat(2_000)}"]`, null],
    ['brackets behind an escaped quote', `["\\"${'['.repeat(2_000)}"]`, null],
    [
      'brackets behind an escaped backslash',
      `["\\\\",${'['.repeat(2_000)}`,
      'it is nested deeper than 512 levels',
    ],
    ['10,000 different keys', `{${keys(10_000)}`, null],
    ['10,001 different keys', `{${keys(10_001)}`, 'it has more than 10000 different keys'],
    ['the same keys again and again', `[${`{${keys(3)}},`.repeat(10_000)}`, null],
    ['a text that does not end', '["abcdefghijklmn\\', null],
    ['an empty body', '', null],
  ])('returns the limit that the body exceeds, or null, for %s', (_, text, excess) => {
    expect(measureBounds(Buffer.from(text)).excess).toBe(excess);
  });
});

it.each([
  ['a number of 16 digits', '[{"id":1234567890123456', true],
  ['a number of 15 digits', '[{"id":123456789012345', false],
  ['16 digits within a text', '[{"id":"1234567890123456"', false],
])('measureBounds sets hasLongNumber only for a number of 16 digits: %s', (_, text, hasLongNumber) => {
  expect(measureBounds(Buffer.from(text.padEnd(64)))).toEqual({ excess: null, hasLongNumber });
});

describe('createBody', () => {
  it('accepts bytes up to its limit, and refuses the next byte', () => {
    const body = createBody(100);
    expect(body.add(Buffer.alloc(60))).toBe(true);
    expect(body.add(Buffer.alloc(40))).toBe(true);
    expect(body.add(Buffer.alloc(1))).toBe(false);
  });

  const mostBytes = 200_000;
  const piece = fc
    .tuple(fc.oneof(fc.nat(40), fc.constantFrom(32_767, 32_768, 65_536, 65_537)), fc.nat(255))
    .map(([length, byte]) => Buffer.alloc(length, byte));
  it('returns all bytes that were added, in pieces of any size, up to its limit', () => {
    fc.assert(
      fc.property(fc.array(piece), (chunks) => {
        const whole = Buffer.concat(chunks);
        const body = createBody(mostBytes);
        expect(chunks.every((chunk) => body.add(chunk))).toBe(whole.length <= mostBytes);
        if (whole.length > mostBytes) return;
        expect(body.size()).toBe(whole.length);
        expect(body.digest()).toBe(hash('sha256', whole, 'base64url'));
        expect(Buffer.compare(body.take(), whole)).toBe(0);
      }),
    );
  });
});
