import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asWritten, withoutFormula } from '../../src/files/formula.ts';

const hostile = fc.string({
  unit: fc.oneof(
    fc.constantFrom("'", '=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠', 'a'),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  ),
});

describe('withoutFormula', () => {
  it.each(['=1', '+1', '-1', '@a', '\t=1', '\r=1', '＝1', "'=1"])(
    'puts a quote before formula %j',
    (text) => {
      expect(withoutFormula(text)).toBe(`'${text}`);
    },
  );
  it.each(['a=1', "O'Neil", "'quoted'", '1', ''])('leaves %j, which is not a formula, unchanged', (text) => {
    expect(withoutFormula(text)).toBe(text);
  });
  it('never returns a formula, and asWritten restores the given text from the returned text', () => {
    fc.assert(fc.property(hostile, (text) => asWritten(withoutFormula(text)) === text));
    fc.assert(fc.property(hostile, (text) => !/^[=+\-@\t\r＝＋－＠]/.test(withoutFormula(text))));
  });
});
