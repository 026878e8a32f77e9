import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { differenceWithin } from '../../src/page/render/difference-within.ts';

/** What is changed stands in brackets. */
const show = ([head, changed, tail]: ReturnType<typeof differenceWithin>) =>
  `${head}${changed === '' ? '' : `[${changed}]`}${tail}`;

describe('differenceWithin', () => {
  it.each([
    // Digits one by one.
    ['41440102217', '41440102271', '414401022[71]'],
    ['41440102217', '41790102217', '41[79]0102217'],
    ['41440102203', '41445102203', '4144[5]102203'],
    ['41440102217', '+41440102217', '[+]41440102217'],
    ['4144010221', '414401022145', '4144010221[45]'],
    // Text word by word, with the signs between two changed words.
    ['Vera Šimić', 'Robin Šimić', '[Robin] Šimić'],
    ['soren.inglis@example.com', 's.inglis@example.com', '[s].inglis@example.com'],
    ['madhuri.41.3@example.com', 'only.one.name@example.com', '[only.one.name]@example.com'],
    ['Anna Berg', 'Anna Maria Berg', 'Anna [Maria ]Berg'],
    ['a b c d', 'b a c d', '[b a] c d'],
    ['Zoë Berg', 'Zoe\u0308 Berg', '[Zoe\u0308] Berg'],
    // Nearly nothing is common: all of it.
    ['81900324680', '15550100', '[15550100]'],
    ['54110324681', '41440102217', '[41440102217]'],
    ['4 member', '1 admin', '[1 admin]'],
    ['Alexandra Li', 'Bo Li', '[Bo Li]'],
    ['', 'Berg', '[Berg]'],
    // Something is only missing: its neighbour.
    ['Anna Maria Berg', 'Anna Berg', 'Anna [Berg]'],
    ['Anna Berg', 'Anna', '[Anna]'],
    ['..', '.', '[.]'],
    ['Anna (x) Berg', 'Anna Berg', 'Anna [Berg]'],
    ['41440102217', '4144010221', '414401022[1]'],
    ['+41440102217', '41440102217', '[4]1440102217'],
    // Nothing.
    ['Berg', 'Berg', 'Berg'],
    ['Berg', '', ''],
  ])('marks in the new value the part that has changed: %j to %j gives %s', (before, after, expected) => {
    expect(show(differenceWithin(before, after))).toBe(expected);
  });

  it('returns the whole new value, and marks the part that differs from the old one; none if equal or empty', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.stringMatching(/^[+0-9]{1,12}$/),
      fc.stringMatching(/^[ab .@]{0,12}$/),
    );
    fc.assert(
      fc.property(text, text, (before, after) => {
        const spans = differenceWithin(before, after);
        expect(spans.join('')).toBe(after);
        expect(spans[1] !== '').toBe(before !== after && after !== '');
      }),
      { numRuns: 500 },
    );
  });

  it('finishes for two texts of 20,000 different words, and marks the whole new text', () => {
    const many = (word: string) => Array.from({ length: 20_000 }, (_, at) => `${word}${at}`).join(' ');
    const spans = differenceWithin(`same ${many('a')} end`, `same ${many('b')} end`);
    expect(spans).toEqual(['', `same ${many('b')} end`, '']);
  });
});
