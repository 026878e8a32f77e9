import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asWritten, withoutFormula } from '../../src/files/formula.ts';

const hostile = fc.string({
  unit: fc.oneof(
    fc.constantFrom("'", '=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠', 'a'),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  ),
});

describe('a cell that a spreadsheet would run', () => {
  it.each(['=1', '+1', '-1', '@a', '\t=1', '\r=1', '＝1', "'=1"])('%j gets a quote', (text) => {
    expect(withoutFormula(text)).toBe(`'${text}`);
  });
  it.each(['a=1', "O'Neil", "'quoted'", '1', ''])('%j stays as it is', (text) => {
    expect(withoutFormula(text)).toBe(text);
  });
  it('a cell that looks like a formula comes back unchanged', () => {
    fc.assert(fc.property(hostile, (text) => asWritten(withoutFormula(text)) === text));
    fc.assert(fc.property(hostile, (text) => !/^[=+\-@\t\r＝＋－＠]/.test(withoutFormula(text))));
  });
});
