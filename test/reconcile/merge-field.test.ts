import { describe, expect, it } from 'vitest';
import { type Field, fields, type UserValues } from '../../src/model/fields.ts';
import type { ServiceUser } from '../../src/model/user.ts';
import { canonicalBase, mergeField, type Verdict } from '../../src/reconcile/merge/merge-field.ts';
import { base, row, shown, without } from './states.ts';
import { rowsOf } from './truth.ts';

type MirrorIs = 'as base' | 'edited' | 'edited in bytes alone' | 'edited as the service';
type ServiceIs = 'as base' | 'moved' | 'other bytes alone' | 'left out' | 'unreadable';

const mirrorAs: Record<Field, Record<MirrorIs, Partial<UserValues>>> = {
  name: {
    'as base': {},
    edited: { name: { first: 'Anna', last: 'Berg' } },
    'edited in bytes alone': { name: { first: 'Anne ', last: 'Berg' } },
    'edited as the service': { name: { first: 'Anne', last: 'Marie Berg' } },
  },
  email: {
    'as base': {},
    edited: { email: 'anna@example.com' },
    'edited in bytes alone': { email: 'Anne@Example.com' },
    'edited as the service': { email: 'BERG@example.com' },
  },
  phone: {
    'as base': {},
    edited: { phone: '15550177' },
    'edited in bytes alone': { phone: '+15550100' },
    'edited as the service': { phone: '+15550199' },
  },
  roleId: {
    'as base': {},
    edited: { roleId: 5n },
    'edited in bytes alone': {},
    'edited as the service': { roleId: 9n },
  },
};

const serviceAs: Record<
  Field,
  Record<Exclude<ServiceIs, 'left out' | 'unreadable'>, Partial<ServiceUser>>
> = {
  name: {
    'as base': {},
    moved: { name: 'Anne Marie Berg' },
    'other bytes alone': { name: ' Anne\u00A0 Berg' },
  },
  email: {
    'as base': {},
    moved: { email: 'berg@example.com' },
    'other bytes alone': { email: 'ANNE@example.com' },
  },
  phone: { 'as base': {}, moved: { phone: '15550199' }, 'other bytes alone': { phone: '+1 (555) 0100' } },
  roleId: { 'as base': {}, moved: { roleId: 9n }, 'other bytes alone': {} },
};

type ByService = Record<ServiceIs, Verdict>;
const unread = { 'left out': 'unread', unreadable: 'unread' } as const;
const kept: ByService = { 'as base': 'nothing', moved: 'pull', 'other bytes alone': 'nothing', ...unread };
const pushed: ByService = { 'as base': 'push', moved: 'conflict', 'other bytes alone': 'push', ...unread };
const withBase: Record<MirrorIs, ByService> = {
  'as base': kept,
  edited: pushed,
  'edited in bytes alone': pushed,
  'edited as the service': { ...pushed, moved: 'settle' },
};

const unlike: ByService = {
  'as base': 'conflict',
  moved: 'conflict',
  'other bytes alone': 'conflict',
  'left out': 'nothing',
  unreadable: 'unread',
};
const alike: ByService = { ...unlike, 'as base': 'settle', 'other bytes alone': 'settle' };
const withoutBase: Record<MirrorIs, ByService> = {
  'as base': alike,
  edited: unlike,
  'edited in bytes alone': alike,
  'edited as the service': { ...unlike, moved: 'settle' },
};

function serviceOf(field: Field, serviceIs: ServiceIs): ServiceUser {
  if (serviceIs === 'left out') return without(field);
  if (serviceIs === 'unreadable') return { ...shown, [field]: { unreadable: '{}' } };
  return { ...shown, ...serviceAs[field][serviceIs] };
}

/** A role has no bytes that its canonical form does not show. */
const exists = (field: Field, is: MirrorIs | ServiceIs) => field !== 'roleId' || !is.endsWith('bytes alone');

describe.each([
  ['with a base', withBase, base],
  ['without a base', withoutBase, undefined],
] as const)('mergeField %s', (_, table, agreed) => {
  const cases = fields.flatMap((field) =>
    rowsOf(table).flatMap(([mirrorIs, byService]) =>
      rowsOf(byService)
        .filter(([serviceIs]) => exists(field, mirrorIs) && exists(field, serviceIs))
        .map(([serviceIs, verdict]) => [field, mirrorIs, serviceIs, verdict] as const),
    ),
  );

  it.each(cases)('gives %s (mirror %s, service %s) the verdict %s', (field, mirrorIs, serviceIs, verdict) => {
    const mirror = { ...row, ...mirrorAs[field][mirrorIs] };
    expect(mergeField(field, agreed, mirror, serviceOf(field, serviceIs))).toBe(verdict);
  });
});

describe('a field that both sides agreed to be empty', () => {
  const table: Record<'not edited' | 'edited', Record<'left out' | 'unreadable', Verdict>> = {
    'not edited': { 'left out': 'nothing', unreadable: 'unread' },
    edited: { 'left out': 'push', unreadable: 'unread' },
  };
  const cases = rowsOf(table).flatMap(([mirrorIs, byService]) =>
    rowsOf(byService).map(([serviceIs, verdict]) => ({ mirrorIs, serviceIs, verdict })),
  );

  it.each(cases)(
    'gets the verdict $verdict if it is $mirrorIs in the mirror and $serviceIs on the service',
    ({ mirrorIs, serviceIs, verdict }) => {
      for (const field of fields) {
        const empty = field === 'name' ? { name: { first: '', last: '' }, joined: '' } : { [field]: null };
        const mirror = mirrorIs === 'edited' ? row : { ...row, ...empty };
        expect(mergeField(field, { ...base, ...empty }, mirror, serviceOf(field, serviceIs))).toBe(verdict);
      }
    },
  );
});

describe('the name', () => {
  it('gets the verdict "push" if only its division into first and last name is edited', () => {
    const agreed = { ...base, name: { first: 'Anne', last: 'Marie Berg' }, joined: 'Anne Marie Berg' };
    const mirror = { ...row, name: { first: 'Anne Marie', last: 'Berg' } };
    expect(mergeField('name', agreed, mirror, { ...shown, name: 'Anne Marie Berg' })).toBe('push');
  });

  it('canonicalBase returns the full name of base without extra spaces, and an email in lower case', () => {
    expect(canonicalBase('name', { ...base, joined: ' Anne  B. Berg ' })).toBe('Anne B. Berg');
    expect(canonicalBase('email', { ...base, email: ' ANNE@example.com' })).toBe('anne@example.com');
  });
});

describe('mergeField of an empty field', () => {
  it.each(['email', 'phone', 'roleId'] as const)('treats null and an empty %s as equal values', (field) => {
    const agreed = { ...base, [field]: null };
    const mirror = { ...row, [field]: null };
    for (const said of [null, ''] as const) {
      const service = { ...shown, [field]: field === 'roleId' ? null : said };
      expect(mergeField(field, agreed, mirror, service)).toBe('nothing');
      expect(mergeField(field, undefined, mirror, service)).toBe('settle');
    }
  });
});
