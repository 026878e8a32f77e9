import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Field, fields, type UserValues } from '../../src/model/fields.ts';
import { canonicalEmail, canonicalPhone, canonicalRoleId } from '../../src/model/canonical.ts';
import { maxId } from '../../src/model/id.ts';
import { toJson } from '../../src/model/json.ts';
import {
  canonicalValue,
  type ServiceUser,
  readingOf,
  sameBytes,
  isReadAs,
  serviceValue,
} from '../../src/model/user.ts';
import { anyText } from './odd-texts.ts';

describe('canonicalEmail', () => {
  it.each([
    [null, ''],
    ['', ''],
    ['  ', ''],
    ['Anne.Berg@Example.COM', 'anne.berg@example.com'],
    [' anne@example.com\n', 'anne@example.com'],
    ['İ@example.com', 'İ@example.com'],
    ['STRAẞE@example.com', 'straẞe@example.com'],
    ['É@example.com', 'É@example.com'],
    ['e\u0301@example.com', 'e\u0301@example.com'],
  ])('trims white space and lowers ASCII letters: %j becomes %j', (email, canonical) => {
    expect(canonicalEmail(email)).toBe(canonical);
  });

  it('lowers only ASCII letters, and a second call changes nothing (A14)', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(canonicalEmail(canonicalEmail(text))).toBe(canonicalEmail(text));
        const shouted = text.replace(/[a-z]/g, (letter) => letter.toUpperCase());
        expect(canonicalEmail(shouted)).toBe(canonicalEmail(text));
      }),
    );
  });
});

describe('canonicalPhone', () => {
  it.each([
    [null, ''],
    ['', ''],
    ['none', ''],
    ['15550100', '15550100'],
    ['+15550100', '15550100'],
    ['+1 (555) 01-00', '15550100'],
    ['0015550100', '0015550100'],
    ['١٥', ''],
  ])('returns only the ASCII digits: %j becomes %j', (phone, canonical) => {
    expect(canonicalPhone(phone)).toBe(canonical);
  });

  it('returns only digits, and a second call changes nothing', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(canonicalPhone(canonicalPhone(text))).toBe(canonicalPhone(text));
        expect(canonicalPhone(text)).toMatch(/^[0-9]*$/);
        expect(canonicalPhone(`+${text}`)).toBe(canonicalPhone(text));
      }),
    );
  });
});

describe('canonicalRoleId', () => {
  it('returns different texts for ids above 2^53', () => {
    expect(canonicalRoleId(null)).toBe('');
    expect(canonicalRoleId(0n)).toBe('0');
    expect(canonicalRoleId(2n ** 53n + 1n)).not.toBe(canonicalRoleId(2n ** 53n));
    expect(canonicalRoleId(maxId)).toBe('9223372036854775807');
  });
});

const values: UserValues = {
  name: { first: 'Anne', last: 'Berg' },
  email: 'Anne@example.com',
  phone: '+15550100',
  roleId: 3n,
};

describe('the canonical form of a field', () => {
  const said: Record<Field, { equal: Partial<ServiceUser>; other: Partial<ServiceUser> }> = {
    name: { equal: { name: ' Anne  Berg ' }, other: { name: 'Anna Berg' } },
    email: { equal: { email: 'anne@EXAMPLE.com' }, other: { email: 'anna@example.com' } },
    phone: { equal: { phone: '15550100' }, other: { phone: '15550101' } },
    roleId: { equal: { roleId: 3n }, other: { roleId: 4n } },
  };

  it.each(fields)('matches two spellings of one %s, and does not match another value', (field) => {
    const service = (part: Partial<ServiceUser>): ServiceUser => ({ id: 1n, raw: {}, ...part });
    const mine = canonicalValue(field, values);
    expect(readingOf(field, service(said[field].equal))).toEqual({ value: mine });
    expect(isReadAs(readingOf(field, service(said[field].equal)), mine)).toBe(true);
    expect(isReadAs(readingOf(field, service(said[field].other)), mine)).toBe(false);
  });

  it.each(fields)('differs for a left-out, an unreadable and a null %s', (field) => {
    const empty: UserValues = { name: { first: '', last: '' }, email: null, phone: null, roleId: null };
    const unreadable = { id: 1n, raw: {}, [field]: { unreadable: 'true' } };
    expect(readingOf(field, { id: 1n, raw: {} })).toBe('left out');
    expect(readingOf(field, unreadable)).toBe('unreadable');
    expect(readingOf(field, { id: 1n, raw: {}, [field]: null } as ServiceUser)).toEqual({ value: '' });
    expect(isReadAs('left out', '') || isReadAs('unreadable', '')).toBe(false);
    expect(serviceValue(unreadable, field)).toBeUndefined();
    expect(canonicalValue(field, empty)).toBe('');
  });
});

describe('sameBytes', () => {
  const edits: Record<Field, Partial<UserValues>> = {
    name: { name: { first: 'Anne ', last: 'Berg' } },
    email: { email: 'anne@example.com' },
    phone: { phone: '15550100' },
    roleId: { roleId: 4n },
  };

  it.each(fields)('returns false for the edited %s, and true for each field with the same bytes', (field) => {
    const edited = { ...values, ...edits[field] };
    expect(fields.filter((other) => !sameBytes(other, edited, values))).toEqual([field]);
    expect(fields.filter((other) => !sameBytes(other, structuredClone(values), values))).toEqual([]);
  });

  it('returns false for a null value compared with an empty text', () => {
    expect(sameBytes('phone', { ...values, phone: null }, { ...values, phone: '' })).toBe(false);
  });
});

describe('toJson', () => {
  it('writes ids as exact integers', () => {
    expect(toJson({ id: maxId, list: [2n ** 53n + 1n], text: '1n' })).toBe(
      '{"id":9223372036854775807,"list":[9007199254740993],"text":"1n"}',
    );
    expect(toJson({ id: 1n }, 2)).toBe('{\n  "id": 1\n}');
  });
});
