/** Everything that may be known of one user, made by hand or at random from small pools, so that values meet. */
import fc from 'fast-check';
import type { Team } from '../../src/model/team.ts';
import type { TeamMember } from '../../src/model/team-member.ts';
import { eachSingle, type Field, fields } from '../../src/model/fields.ts';
import type { Hold, HoldReason } from '../../src/model/user-plan.ts';
import type { MirrorRow } from '../../src/model/user.ts';
import type { UserState } from '../../src/model/user-state.ts';
import type { Id } from '../../src/model/id.ts';
import { joinName, type NamePair, splitName } from '../../src/model/name.ts';
import { type BaseUser, readable, type ServiceUser } from '../../src/model/user.ts';
import type { ConflictPolicy, Policy } from '../../src/reconcile/merge/merge-field.ts';
import type { GuardSettings } from '../../src/reconcile/guard/limits.ts';
import { anyText } from '../model/odd-texts.ts';

export const id = 7n;

export const holdAll: Policy = { name: 'hold', ...eachSingle<ConflictPolicy>(() => 'hold') };

export const base: BaseUser = {
  name: { first: 'Anne', last: 'Berg' },
  joined: 'Anne Berg',
  email: 'anne@example.com',
  phone: '15550100',
  roleId: 3n,
};

export const row: MirrorRow = {
  ...base,
  split: 'guessed',
  role: 'agent',
  resolved: true,
  gone: false,
};

export const shown: ServiceUser = {
  id,
  name: 'Anne Berg',
  email: 'anne@example.com',
  phone: '15550100',
  roleId: 3n,
  raw: {},
};

/** A user of whom all three versions are equal, but for what is given. */
export function makeState(
  given: {
    readonly base?: Partial<BaseUser> | null;
    readonly mirror?: Partial<MirrorRow> | null;
    readonly service?: Partial<ServiceUser> | null;
  } & Partial<Omit<UserState, 'base' | 'mirror' | 'service'>> = {},
): UserState {
  return {
    id,
    held: [],
    edits: {},
    hasOpenIntent: false,
    missingForMs: undefined,
    observedDiffers: false,
    ...given,
    base: given.base === null ? undefined : { ...base, ...given.base },
    mirror: given.mirror === null ? undefined : { ...row, ...given.mirror },
    service: given.service === null ? undefined : { ...shown, ...given.service },
  };
}

/** The service's row without this field. */
export function without(field: Field, user: ServiceUser = shown): ServiceUser {
  return Object.fromEntries(Object.entries(user).filter(([key]) => key !== field)) as unknown as ServiceUser;
}

export const noAddresses = { email: new Map(), phone: new Map() };

/** The limits of a guard that a small team may reach. */
export const guardLimits: GuardSettings = {
  maxRows: 5,
  maxShare: 0.2,
  maxRoleChanges: 3,
  adminRoleIds: [1n],
  isReviewed: false,
};
/** Limits that no team of a test comes to. */
export const noLimits = { ...guardLimits, maxRows: 1_000_000, maxShare: 1, maxRoleChanges: 1_000_000 };

export const teamOf = (members: Team['members'], id = 1n): Team => ({
  id,
  name: null,
  listSize: null,
  members,
  rejected: [],
  raw: {},
});

export const member: TeamMember = { id, name: 'Anne Berg', role: 'agent', email: null, phone: null };

const pairs: readonly NamePair[] = [
  { first: 'Anne', last: 'Berg' },
  { first: 'Anne Marie', last: 'Berg' },
  { first: 'Anne', last: 'Marie Berg' },
  { first: 'Anna Marie', last: 'Berg' },
  { first: 'Anne Marie', last: 'Borg' },
  { first: ' Anne', last: 'Berg ' },
  { first: 'Cher', last: '' },
  { first: '', last: 'Cher' },
  { first: '', last: '' },
  { first: 'José', last: 'Straße' },
  { first: 'Jose\u0301', last: 'Straße' },
];
const names = [
  ...new Set([...pairs.map(joinName), 'Anne  Berg', 'Jose\u0301\u00A0Straße', 'Cher Bono', ' ']),
];
const emails = ['a@example.com', 'A@example.com', 'b@example.com', ' a@example.com', 'c@example.com'];
const phones = ['15550100', '+15550100', '+1 555 0101', '15550101', 'none'];

const pair = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...pairs) },
  { weight: 1, arbitrary: fc.record({ first: anyText, last: anyText }) },
);
const name = fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...names) }, { weight: 1, arbitrary: anyText });
const email = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...emails, null) },
  { weight: 1, arbitrary: anyText },
);
const phone = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...phones, null) },
  { weight: 1, arbitrary: anyText },
);
const roleId = fc.constantFrom(1n, 2n, 2n ** 53n + 1n, null);

/** Empty texts become NULL when they are stored. */
const orNull = <T extends string | null>(value: T) => (value === null || value.trim() === '' ? null : value);

/** The pair of a base always joins to its name: it was either set with it or cut from it. */
export const anyBase: fc.Arbitrary<BaseUser> = fc
  .record({ name: fc.option(pair, { nil: undefined }), joined: name, email, phone, roleId })
  .map((made) => ({
    ...made,
    name: made.name ?? splitName(made.joined),
    joined: made.name === undefined ? made.joined : joinName(made.name),
    email: orNull(made.email),
    phone: orNull(made.phone),
  }));

const unreadable = fc.constant({ unreadable: '[1]' });
const orUnreadable = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 8, arbitrary: value }, { weight: 1, arbitrary: unreadable });

export const anyService: fc.Arbitrary<ServiceUser> = fc.record(
  {
    id: fc.constant(id),
    name: orUnreadable(fc.option(name)),
    email: orUnreadable(fc.oneof(email, fc.constant(''))),
    phone: orUnreadable(fc.oneof(phone, fc.constant(''))),
    roleId: orUnreadable(roleId),
    updatedAt: fc.constant('2030-01-01T00:00:00Z'),
    raw: fc.constantFrom({}, { extra: 1 }),
  },
  { requiredKeys: ['id', 'raw'] },
);

const observedColumns = {
  split: fc.constantFrom('known' as const, 'guessed' as const),
  joined: name,
  role: fc.constantFrom('agent', 'admin', null),
  resolved: fc.boolean(),
  gone: fc.boolean(),
};

/** An editor sets any value; a text without anything in it is refused or turned into NULL. */
const anyRow: fc.Arbitrary<MirrorRow> = fc
  .record({ name: pair, email, phone, roleId, ...observedColumns })
  .map((made) => ({ ...made, email: orNull(made.email), phone: orNull(made.phone) }));

/** Mostly the base with a few edits, as rows are. */
const rowLike = (from: BaseUser): fc.Arbitrary<MirrorRow> =>
  fc.record({ row: anyRow, edited: fc.subarray([...fields]) }).map(({ row: made, edited }) => ({
    ...made,
    ...Object.fromEntries(fields.map((field) => [field, edited.includes(field) ? made[field] : from[field]])),
  }));

/** Mostly the base with a few changes, now and then without a field. */
const serviceLike = (from: BaseUser): fc.Arbitrary<ServiceUser> =>
  fc.record({ made: anyService, moved: fc.subarray([...fields]) }).map(({ made, moved }) => {
    const kept: Partial<ServiceUser> = { ...from, name: from.joined };
    const unmoved = fields.filter((field) => !moved.includes(field));
    return { ...made, ...Object.fromEntries(unmoved.map((field) => [field, kept[field]])) };
  });

const reasons: readonly HoldReason[] = [
  'conflict',
  'refused',
  'ineffective',
  'unsupported',
  'returned',
  'limit',
  'rejected',
];

/** A hold on any field, often with the very values that both sides have. */
function anyHold(field: Field, mirror: MirrorRow | undefined, service: ServiceUser | undefined) {
  return fc
    .record({
      reason: fc.constantFrom(...reasons),
      fits: fc.boolean(),
      other: anyRow,
      base: anyBase,
      said: anyService,
    })
    .map(
      ({ reason, fits, other, base: agreed, said }): Hold => ({
        field,
        reason,
        detail: '',
        ...(reason === 'limit' ? { isAlone: true } : {}),
        base: agreed[field],
        mirror: fits && mirror !== undefined ? mirror[field] : other[field],
        service: readable<string | Id>((fits && service !== undefined ? service : said)[field]) ?? null,
      }),
    );
}

/** Any state that reads of mirror and service can come to. */
export const anyState: fc.Arbitrary<UserState> = anyBase
  .chain((agreed) =>
    fc.record({
      base: fc.option(fc.constant(agreed), { nil: undefined, freq: 6 }),
      mirror: fc.option(fc.oneof({ weight: 4, arbitrary: rowLike(agreed) }, anyRow), {
        nil: undefined,
        freq: 8,
      }),
      service: fc.option(fc.oneof({ weight: 4, arbitrary: serviceLike(agreed) }, anyService), {
        nil: undefined,
        freq: 8,
      }),
      heldFields: fc.subarray([...fields]),
      hasOpenIntent: fc.integer({ min: 0, max: 15 }).map((n) => n === 0),
      observedDiffers: fc.boolean(),
    }),
  )
  .chain(({ heldFields, ...made }) =>
    fc
      .tuple(...heldFields.map((field) => anyHold(field, made.mirror, made.service)))
      .map((held): UserState => ({ id, ...made, held, edits: {}, missingForMs: undefined })),
  );

export const anyMember: fc.Arbitrary<TeamMember | undefined> = fc.option(
  fc.record({
    id: fc.constant(id),
    name: fc.option(name),
    role: fc.constantFrom('agent', 'admin', null),
    email: fc.constant(null),
    phone: fc.constant(null),
  }),
  { nil: undefined },
);

const choice = fc.constantFrom<ConflictPolicy>('hold', 'service-wins', 'mirror-wins');
export const anyPolicy: fc.Arbitrary<Policy> = fc.record({
  name: choice,
  email: choice,
  phone: choice,
  roleId: choice,
});
