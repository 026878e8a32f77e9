import { describe, expect, it } from 'vitest';
import { ServiceError } from '../../src/errors.ts';
import { type Field, fields } from '../../src/model/fields.ts';
import type { Intent, PushOutcome } from '../../src/model/intent.ts';
import type { ServiceUser, ServiceValue, UserPatch } from '../../src/model/user.ts';
import { judge, judgeLate, nameWasTouched } from '../../src/reconcile/push/outcome.ts';
import { type AnsweredIntent, resultOf } from '../../src/reconcile/push/result.ts';
import { refusal } from './service-stand-in.ts';
import { base, shown, without } from './states.ts';
import { rowsOf } from './truth.ts';

type Seen =
  | 'no user'
  | 'the field left out'
  | 'what cannot be read'
  | 'what was sent'
  | 'what was sent, in other bytes'
  | 'the value from before'
  | 'the value from before, in other bytes'
  | 'a third value'
  | 'null';

/** Sent values that differ from base in canonical form, and what the service may show of them. */
const sent: Record<Field, UserPatch> = {
  name: { name: { first: 'Anna Marie', last: 'Berg' } },
  email: { email: 'Anna@example.com' },
  phone: { phone: '+15550177' },
  roleId: { roleId: 9n },
};
/** The same in other bytes as sent and as before, and a third value. */
const others: Record<Field, readonly [ServiceValue, ServiceValue, ServiceValue]> = {
  name: [' Anna  Marie\u00A0Berg', 'Anne  Berg ', 'Berg'],
  email: ['anna@EXAMPLE.com', 'ANNE@example.com', 'berg@example.com'],
  phone: ['15550177', '+1 555 0100', '15550199'],
  roleId: [9n, 3n, 5n],
};

function seenAs(field: Field, seen: Seen): ServiceUser | null {
  if (seen === 'no user') return null;
  if (seen === 'what cannot be read') return { ...shown, [field]: { unreadable: '[]' } };
  if (seen === 'the field left out') return without(field);
  const [sentSo, beforeSo, third] = others[field];
  const values: Record<typeof seen, ServiceUser[Field]> = {
    'what was sent': field === 'name' ? 'Anna Marie Berg' : sent[field][field],
    'what was sent, in other bytes': sentSo,
    'the value from before': shown[field],
    'the value from before, in other bytes': beforeSo,
    'a third value': third,
    null: null,
  };
  return { ...shown, [field]: values[seen] };
}

describe('judge', () => {
  it('returns an outcome for each field that was sent, and for no other field (A18)', () => {
    const all: UserPatch = { ...sent.name, ...sent.email, ...sent.phone };
    const seen = { ...without('phone'), name: 'Anna Marie Berg', email: 'anne@example.com', roleId: 77n };
    expect(judge(all, base, seen)).toEqual({ name: 'confirmed', email: 'ineffective', phone: 'missing' });
    expect(judge({}, base, seen)).toEqual({});
  });

  it('confirms a cleared phone if the service shows it empty, as null, or not at all', () => {
    for (const phone of ['', null]) {
      expect(judge({ phone: null }, base, { ...shown, phone })).toEqual({ phone: 'confirmed' });
    }
    expect(judge({ phone: null }, base, shown)).toEqual({ phone: 'ineffective' });
    expect(judge({ phone: null }, base, without('phone'))).toEqual({ phone: 'confirmed' });
    expect(judge({ phone: null }, base, null)).toEqual({ phone: 'missing' });
    expect(judge({ phone: null }, base, { ...shown, phone: { unreadable: '[]' } })).toEqual({
      phone: 'missing',
    });
  });
});

describe('judgeLate', () => {
  type ByQuiet = Record<'in time' | 'quiet', PushOutcome>;
  const visible: Record<Seen, ByQuiet> = {
    'no user': { 'in time': 'unknown', quiet: 'missing' },
    'the field left out': { 'in time': 'unknown', quiet: 'missing' },
    'what cannot be read': { 'in time': 'unknown', quiet: 'missing' },
    'what was sent': { 'in time': 'confirmed', quiet: 'confirmed' },
    'what was sent, in other bytes': { 'in time': 'confirmed', quiet: 'confirmed' },
    'the value from before': { 'in time': 'unknown', quiet: 'unanswered' },
    'the value from before, in other bytes': { 'in time': 'unknown', quiet: 'unanswered' },
    'a third value': { 'in time': 'unknown', quiet: 'changed' },
    null: { 'in time': 'unknown', quiet: 'changed' },
  };
  const cases = rowsOf(visible).flatMap(([seen, byQuiet]) =>
    rowsOf(byQuiet).map(([when, outcome]) => ({ seen, when, outcome })),
  );

  it.each(cases)('confirms a shown value, else waits a quiet period ($when, $seen): $outcome', (expected) => {
    const { seen, when, outcome } = expected;
    for (const field of fields) {
      const outcomes = judgeLate(sent[field], base, seenAs(field, seen), when === 'quiet');
      expect(outcomes).toEqual({ [field]: outcome });
    }
  });
});

describe('a pushed value that differs only in case, spaces or split', () => {
  const agreed = { ...base, name: { first: 'José', last: 'Berg' }, joined: 'José Berg' };
  /** What was sent, the very bytes of it, and the same value in others. */
  const bytes: readonly (readonly [Field, UserPatch, Partial<ServiceUser>, Partial<ServiceUser>])[] = [
    ['email', { email: 'ANNE@example.com' }, { email: 'ANNE@example.com' }, { email: 'Anne@example.com' }],
    ['phone', { phone: '+15550100' }, { phone: '+15550100' }, { phone: '1 555 0100' }],
    [
      'name',
      { name: { first: 'Jose\u0301', last: 'Berg' } },
      { name: 'Jose\u0301 Berg' },
      { name: 'José  Berg' },
    ],
    ['name', { name: { first: '', last: 'José' } }, { name: 'José' }, { name: ' José' }],
    ['name', { name: { first: ' José', last: '' } }, { name: ' José' }, { name: 'José' }],
  ];
  const beforeOf = (sentNow: UserPatch) => {
    if (sentNow.name?.first === '') return { ...agreed, name: { first: '', last: 'José ' }, joined: 'José ' };
    return sentNow.name?.last === ''
      ? { ...agreed, name: { first: 'José', last: '' }, joined: 'José' }
      : agreed;
  };

  it.each(bytes)('stays unconfirmed unless its exact bytes are shown: %s %j', (field, patch, same, other) => {
    const before = beforeOf(patch);
    for (const quiet of [false, true])
      expect(judgeLate(patch, before, { ...shown, ...same }, quiet)).toEqual({ [field]: 'confirmed' });
    for (const user of [
      { ...shown, ...other },
      { ...shown, name: 'José Berg', ...other },
    ]) {
      expect(judgeLate(patch, before, user, false)).toEqual({ [field]: 'unknown' });
      expect(judgeLate(patch, before, user, true)).toEqual({ [field]: 'unanswered' });
    }
    expect(judgeLate(patch, before, null, false)).toEqual({ [field]: 'unknown' });
  });

  it('gets the outcome "unknown" if only the split of a name is new, even if the service shows this name', () => {
    const before = { ...base, name: { first: 'Anne Marie', last: 'Berg' }, joined: 'Anne Marie  Berg' };
    for (const [first, last] of [
      ['Anne', 'Marie Berg'],
      ['Anne', 'Marie  Berg'],
      ['Anne Marie  Berg', ''],
      ['', 'Anne Marie Berg'],
    ] as const) {
      const name = [first, last].filter(Boolean).join(' ');
      const patch = { name: { first, last } };
      expect(judgeLate(patch, before, { ...shown, name }, false)).toEqual({ name: 'unknown' });
    }
  });
});

describe('nameWasTouched', () => {
  it('returns true if a name that was not sent is cleared or has lost a half', () => {
    expect(nameWasTouched(sent.email, base, { ...shown, name: 'Anne' })).toBe(true);
    expect(nameWasTouched(sent.email, base, { ...shown, name: '' })).toBe(true);
    expect(nameWasTouched(sent.email, base, { ...shown, name: null })).toBe(true);
  });

  it('returns false if the service shows other words in the name, since a person may have edited the name', () => {
    for (const name of ['Anne Borg', 'Robin', 'Anne Marie Berg', 'Berg Anne', 'Annemarie']) {
      expect(nameWasTouched(sent.email, base, { ...shown, name })).toBe(false);
    }
  });

  it('compares the shown name with the name right before the push, or with base if that name is unknown', () => {
    const half = { ...shown, name: 'Anne' };
    expect(nameWasTouched(sent.email, base, half, half)).toBe(false);
    expect(nameWasTouched(sent.email, base, half, { ...shown, name: 'Anne Borg' })).toBe(true);
    expect(nameWasTouched(sent.email, base, shown, { ...shown, name: 'Anne Berg Borg' })).toBe(true);
    expect(nameWasTouched(sent.email, base, half, without('name'))).toBe(true);
    expect(nameWasTouched(sent.email, base, { ...shown, name: '' }, { ...shown, name: null })).toBe(false);
  });

  it('returns false if only spaces differ, if the service shows no name, or if the name was sent', () => {
    expect(nameWasTouched(sent.email, base, { ...shown, name: 'Anne  Berg' })).toBe(false);
    expect(nameWasTouched(sent.email, base, without('name'))).toBe(false);
    expect(nameWasTouched(sent.email, base, { ...shown, name: { unreadable: '[]' } })).toBe(false);
    expect(nameWasTouched(sent.email, base, null)).toBe(false);
    for (const name of ['X', 'Anne', ''])
      expect(nameWasTouched({ ...sent.email, ...sent.name }, base, { ...shown, name })).toBe(false);
  });
});

/** A phone number that was sent, perhaps under a person's decision. */
const phoneSent = (decided: readonly Field[]): Intent => ({
  changeId: 1n,
  userId: 1n,
  sent: sent.phone,
  base,
  before: base,
  decided,
  hasLeft: true,
  ageMs: 0,
});

describe('resultOf after a push', () => {
  const resultIn = (outcome: PushOutcome, decided: readonly Field[], tries: number) => {
    const answered = {
      intent: phoneSent(decided),
      seen: shown,
      outcomes: { phone: outcome },
      requestId: null,
    };
    const { holds, outcomes } = resultOf(answered, new Map([[1n, { phone: tries }]]), 3);
    return { outcomes, held: holds.map(({ field, reason }) => `${field} ${reason}`).join() };
  };
  /** The table of `result.ts`: where no decision was needed, and under one. */
  const table: Readonly<Record<PushOutcome, readonly [string, string]>> = {
    confirmed: ['', ''],
    changed: ['conflict', 'conflict'],
    refused: ['refused', 'refused'],
    ineffective: ['', 'ineffective'],
    missing: ['', ''],
    unanswered: ['', ''],
    unsent: ['', ''],
    unknown: ['', ''],
  };
  const isTried = (outcome: PushOutcome) => ['ineffective', 'missing', 'unanswered'].includes(outcome);
  const cases = rowsOf(table).flatMap(([outcome, held]) =>
    held.flatMap((reason, place) =>
      [0, 1, 2].map((tries) => {
        const isLast = tries === 2 && reason === '' && isTried(outcome);
        return [outcome, place === 1, tries, isLast ? 'ineffective' : reason] as const;
      }),
    ),
  );
  it.each(cases)(
    'holds a refused or changed field at once, a field without effect after 3 tries or an approval: %s (%s, %i): %s',
    (outcome, isDecided, tries, reason) => {
      expect(resultIn(outcome, isDecided ? ['phone'] : ['email', 'name', 'roleId'], tries)).toEqual({
        outcomes: { phone: outcome },
        held: reason === '' ? '' : `phone ${reason}`,
      });
    },
  );

  it('explains in the hold of an approved field that the push was sent once and had no effect', () => {
    const outcomes = { phone: 'ineffective' } as const;
    const answered = { intent: phoneSent(['phone']), seen: shown, outcomes, requestId: null };
    expect(resultOf(answered, new Map(), 3).holds).toMatchObject([
      {
        detail: expect.stringMatching(
          /^it was sent once after an approval and had no effect: sent "/,
        ) as string,
      },
    ]);
  });
});

describe('the reason in a hold', () => {
  const intentOf = (values: UserPatch, along?: Intent['along']): Intent => ({
    ...phoneSent([]),
    sent: values,
    ...(along === undefined ? {} : { along }),
  });
  const holdOf = (answered: Omit<AnsweredIntent, 'requestId'>, tries = 0) =>
    resultOf({ ...answered, requestId: null }, new Map([[1n, { phone: tries, name: tries }]]), 3).holds[0];
  const detailOf = (...given: Parameters<typeof holdOf>) => holdOf(...given)?.detail;

  it('states that the service shows neither the old nor the pushed value, and records the shown value', () => {
    const seen = { ...shown, phone: '15550199' };
    expect(holdOf({ intent: intentOf(sent.phone), seen, outcomes: { phone: 'changed' } })).toMatchObject({
      detail: 'the service shows neither the old nor the pushed value',
      service: '15550199',
    });
  });

  it.each<readonly [string, ServiceError | undefined, Intent['along'], string]>([
    ['status and label', refusal(422), undefined, 'the service answered 422, "error"'],
    [
      'a status without a label',
      new ServiceError('no', { operation: '', phase: 'answered', status: 403 }),
      undefined,
      'the service answered 403',
    ],
    [
      'a status, for a name that was sent along',
      refusal(400),
      { first: 'Anne', last: 'Berg' },
      'the service answered 400, "error"; the name was sent too, or it would be cleared',
    ],
    ['no known status', undefined, undefined, 'the service refused it'],
  ])('quotes the status and the error of the refusal: %s', (_, error, along, words) => {
    const intent = intentOf(sent.phone, along);
    const answered = { intent, seen: null, outcomes: { phone: 'refused' } as const };
    expect(detailOf(error === undefined ? answered : { ...answered, refusal: error })).toBe(words);
  });

  it('states how often the service refused the value in a request with several users', () => {
    const refused = { outcomes: { phone: 'unsent' }, refusal: refusal(422) } as const;
    expect(detailOf({ intent: intentOf(sent.phone), seen: null, ...refused }, 2)).toBe(
      'the service answered 422, "error", 3 times, together with other users',
    );
  });

  it.each([
    ['+1 555 0177', '15550100', ': sent "15550177", shown "15550100", first difference at character 7'],
    ['+1 555 0177', '25550177', ': sent "15550177", shown "25550177", first difference at character 1'],
    ['+1 555 0177', '155501779', ': sent "15550177", shown "155501779", first difference at character 9'],
    ['+1 555 0177', '1555017', ': sent "15550177", shown "1555017", first difference at character 8'],
  ])('gives the place of the first difference between sent %s and shown %s', (phone, shownPhone, words) => {
    const answered = {
      intent: intentOf({ phone }),
      seen: { ...shown, phone: shownPhone },
      outcomes: { phone: 'ineffective' } as const,
    };
    expect(detailOf(answered, 2)).toBe(`pushed 3 times without effect or answer${words}`);
  });

  it.each([
    ['no user', null],
    ['no such field', without('phone')],
    ['nothing readable', { ...shown, phone: { unreadable: '[]' } }],
  ] as const)('names no difference if the service shows %s', (_, seen) => {
    const answered = { intent: intentOf(sent.phone), seen, outcomes: { phone: 'missing' } as const };
    expect(holdOf(answered, 2)).toMatchObject({
      detail: 'pushed 3 times without effect or answer',
      service: base.phone,
    });
  });
});

describe('the name in base after a push', () => {
  const resultFor = (patch: UserPatch, seen: ServiceUser | null) => {
    const intent = { ...phoneSent([]), sent: patch };
    const { taken, joined, harmed } = resultOf(
      { intent, seen, outcomes: { phone: 'confirmed' }, requestId: null },
      new Map(),
      3,
    );
    return { name: taken.name, joined, harmed };
  };

  it('loses the half that an update cleared, and keeps the remaining half', () => {
    expect(resultFor(sent.phone, { ...shown, name: 'Anne' })).toEqual({
      name: { first: 'Anne', last: '' },
      joined: 'Anne',
      harmed: true,
    });
    for (const name of ['', null])
      expect(resultFor(sent.phone, { ...shown, name })).toEqual({
        name: { first: '', last: '' },
        joined: '',
        harmed: true,
      });
  });

  it('becomes the name that the service shows, or the sent name if the service shows no name', () => {
    expect(resultFor(sent.name, { ...shown, name: 'Anna  Marie Berg' })).toMatchObject({
      name: { first: 'Anna Marie', last: 'Berg' },
      joined: 'Anna  Marie Berg',
      harmed: false,
    });
    for (const seen of [null, without('name'), { ...shown, name: { unreadable: '[]' } }])
      expect(resultFor(sent.name, seen)).toMatchObject({ joined: 'Anna Marie Berg', harmed: false });
  });
});

it.each([true, false, undefined])('resultOf sets isDirect only if given as true: %s', (isDirect) => {
  const answered = {
    intent: phoneSent([]),
    seen: shown,
    outcomes: { phone: 'ineffective' } as const,
    requestId: null,
  };
  const result = resultOf(isDirect === undefined ? answered : { ...answered, isDirect }, new Map(), 3);
  expect(result.isDirect).toBe(isDirect === true);
});

it.each<readonly [PushOutcome, ServiceError | undefined, boolean]>([
  ['unsent', undefined, false],
  ['unsent', refusal(422), true],
  ['unanswered', undefined, true],
])('resultOf sets hasLeft unless unsent without a refusal: %s, refusal %s: %s', (phone, error, hasLeft) => {
  const answered = { intent: phoneSent([]), seen: null, outcomes: { phone }, requestId: null };
  const result = resultOf(error === undefined ? answered : { ...answered, refusal: error }, new Map(), 3);
  expect(result.hasLeft).toBe(hasLeft);
});
