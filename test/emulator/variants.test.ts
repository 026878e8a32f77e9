import { describe, expect, it } from 'vitest';
import {
  defaultVariants,
  parseVariants,
  variantNames,
  variantTable,
  variantValues,
} from '../../src/emulator/variants.ts';

describe('parseVariants', () => {
  it('takes every value of the table', () => {
    for (const name of variantNames) {
      const values: readonly string[] = variantTable[name].values;
      for (const value of values) expect(parseVariants([`${name}=${value}`])).toEqual({ [name]: value });
      if (variantTable[name].number) expect(parseVariants([`${name}=12`])).toEqual({ [name]: 12 });
    }
    expect(parseVariants(['pages=base-1', ' pages = ignored '])).toEqual({ pages: 'ignored' });
  });

  it('says what is valid when something is not', () => {
    expect(() => parseVariants(['page=1'])).toThrow(/no variant "page"\. Valid names: pages, /);
    expect(() => parseVariants(['pages=2'])).toThrow(/pages cannot be "2"\. Valid: base-0 \| base-1 \|/);
    expect(() => parseVariants(['limit-cap=0'])).toThrow('Valid: none | <number>.');
    expect(() => parseVariants(['pages'])).toThrow('cannot be ""');
  });

  it('has a default and a description on every line', () => {
    expect(Object.keys(defaultVariants())).toEqual(variantNames);
    for (const name of variantNames) {
      expect(variantTable[name].plays.length).toBeGreaterThan(10);
      expect(variantValues(name)).not.toBe('');
    }
  });
});
