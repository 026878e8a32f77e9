import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalName, countWords, joinName, samePair, splitName } from '../../src/model/name.ts';
import { anyText, oddName, oddSpaces } from './odd-texts.ts';

const runs = { numRuns: 500 };

describe('splitName', () => {
  it.each([
    ['', '', ''],
    ['   ', '', ''],
    ['Cher', 'Cher', ''],
    [' Cher\t', 'Cher', ''],
    ['Anne Berg', 'Anne', 'Berg'],
    ['Anne\u00A0 \n Berg', 'Anne', 'Berg'],
    ['Anne Marie Berg', 'Anne Marie', 'Berg'],
    ['Ludwig  van   der Rohe', 'Ludwig van der', 'Rohe'],
    ['Jose\u0301 Berg', 'José', 'Berg'],
    ['İnci Straße', 'İnci', 'Straße'],
    ['محمد علي', 'محمد', 'علي'],
    ['👩‍👧‍👦 🇳🇴', '👩‍👧‍👦', '🇳🇴'],
    ['O\u200BBrien', 'O\u200BBrien', ''],
  ])('splits %j into the first name %j and the last name %j', (name, first, last) => {
    expect(splitName(name)).toEqual({ first, last });
  });
});

describe('canonicalName', () => {
  it('returns the words of a name in NFC, joined by one space, and splitName separates the last word', () => {
    const near = fc.string({
      unit: fc.constantFrom(
        ' ',
        'A',
        '~',
        '\u00a0',
        '¡',
        'ė',
        '\u02ff',
        '\u0301',
        '\u0000',
        '\u007f',
        '\u0085',
      ),
    });
    fc.assert(
      fc.property(fc.oneof(anyText, oddName, near), (name) => {
        const words = name.normalize('NFC').split(/\s+/u).filter(Boolean);
        expect([canonicalName(name), countWords(name)]).toEqual([words.join(' '), words.length]);
        expect(splitName(name)).toEqual({
          first: (words.length < 2 ? words : words.slice(0, -1)).join(' '),
          last: words.slice(1).at(-1) ?? '',
        });
      }),
      runs,
    );
  });

  it('returns the same name for composed and decomposed letters, and for any white space (A14)', () => {
    fc.assert(
      fc.property(oddName, fc.constantFrom(...oddSpaces), (name, space) => {
        expect(canonicalName(name.normalize('NFD'))).toBe(canonicalName(name));
        expect(canonicalName(space + name.replaceAll(' ', space) + space)).toBe(canonicalName(name));
      }),
      runs,
    );
  });

  it.each([
    ['case', 'Anne', 'ANNE'],
    ['dotted and dotless i', 'İnci', 'Inci'],
    ['ß and ss', 'Straße', 'Strasse'],
    ['compatibility forms', '\uFB01n', 'fin'],
    ['a space without width', 'O\u200BBrien', 'OBrien'],
    ['a mark of direction', '\u202Eمحمد', 'محمد'],
  ])('returns different names for texts that differ in %s', (_, one, other) => {
    expect(canonicalName(one)).not.toBe(canonicalName(other));
  });
});

describe('first and last name', () => {
  it('joinName joins two halves by one space, and returns a single half unchanged', () => {
    expect(joinName({ first: ' Anne  Marie ', last: '\tBerg' })).toBe('Anne Marie Berg');
    expect(joinName({ first: '', last: 'Berg' })).toBe('Berg');
    expect(joinName({ first: 'Cher', last: '' })).toBe('Cher');
    expect(joinName({ first: ' ', last: '' })).toBe('');
  });

  it('samePair returns true only if both halves match byte for byte', () => {
    const pair = { first: 'Anne', last: 'Marie Berg' };
    expect(samePair(pair, { ...pair })).toBe(true);
    expect(samePair(pair, { first: 'Anne Marie', last: 'Berg' })).toBe(false);
    expect(samePair(pair, { ...pair, first: 'anne' })).toBe(false);
    expect(samePair(pair, { ...pair, last: 'Marie  Berg' })).toBe(false);
  });
});
