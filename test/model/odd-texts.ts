/** Texts as people and services write them: forms of Unicode, odd white space, scripts, lone surrogates. */
import fc from 'fast-check';

export const oddWords = [
  'Anne',
  'Marie',
  'van',
  'der',
  'Berg',
  'José',
  'Jose\u0301',
  'İnci',
  'inci',
  'Straße',
  'STRASSE',
  'محمد',
  '\u202Eمحمد\u202C',
  'שרה',
  '👩‍👧‍👦',
  '🇳🇴',
  '\u0301',
  '각',
  '\u1100\u1161\u11A8',
  'O\u2019Brien',
  '\u200B',
  '\uD800',
];

export const oddSpaces = [' ', '  ', '\t', '\n', '\u00A0', '\u2003', '\u2000', '\u3000', '\uFEFF', '\r\n'];

const word = fc.oneof(fc.constantFrom(...oddWords), fc.string({ unit: 'grapheme', maxLength: 4 }));
const gap = fc.oneof(fc.constantFrom(' ', ' ', ' ', ...oddSpaces), fc.constant(''));

/** A name of none to five words, with any white space between and around them. */
export const oddName: fc.Arbitrary<string> = fc
  .array(fc.tuple(gap, word), { maxLength: 5 })
  .chain((parts) => gap.map((end) => parts.flat().join('') + end));

/** Anything at all, lone surrogates included. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  oddName,
  fc.string({ unit: 'binary' }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 })
    .map((units) => String.fromCharCode(...units)),
);
