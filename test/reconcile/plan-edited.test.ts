import { describe, expect, it } from 'vitest';
import { canonicalEmail, canonicalPhone } from '../../src/model/canonical.ts';
import type { Id } from '../../src/model/id.ts';
import type { Team } from '../../src/model/team.ts';
import type { MirrorUser, ServiceUser } from '../../src/model/user.ts';
import { holdsOf, pushOf } from '../../src/model/user-plan.ts';
import { holdAll, makeState, member, guardLimits as guard, teamOf } from './states.ts';
import { planUser } from '../../src/reconcile/merge/plan-user.ts';
import { concernedBy, concernOf, lookAround, readKnown } from '../../src/reconcile/guard/concerned.ts';
import { look } from '../../src/reconcile/look.ts';
import { noteUnfound, planUsers, type RunContext } from '../../src/reconcile/plan-users.ts';
import { createUserLookup } from '../../src/reconcile/read/lookup.ts';
import { createRunNotes } from '../../src/reconcile/run-notes.ts';
import { createMirrorStandIn } from './mirror-stand-in.ts';
import { createServiceStandIn } from './service-stand-in.ts';

const agreed = (id: Id) => ({
  email: `user${id}@example.com`,
  phone: `1555010${id}`,
  roleId: id > 2n ? 4n : 1n,
});
const shownAs = (id: Id, says: Partial<ServiceUser> = {}): ServiceUser => ({
  id,
  name: 'Anne Berg',
  teamId: 1n,
  raw: {},
  ...agreed(id),
  ...says,
});
const stateOf = (id: Id, edit: Partial<MirrorUser> = {}, says: Partial<ServiceUser> = {}) => ({
  ...makeState({ base: agreed(id), mirror: { ...agreed(id), ...edit }, service: shownAs(id, says) }),
  id,
});
const ids = [1n, 2n, 3n, 4n, 5n];
/** As a run of the edits does. */
async function planEdited(places: RunContext, team: Team, settings: Parameters<typeof planUsers>[2]) {
  const { ofUsers: edited } = await places.mirror.readAddresses('edited');
  const seen = await look(places, team, edited);
  const planned = await planUsers(places, seen, settings);
  noteUnfound(seen, edited, places.notes);
  return planned;
}

describe('a limit on one field', () => {
  const present = ids.map((id) => ({ id, ...agreed(id) }));
  const admins = [1n, 6n];
  const renamed = { name: { first: 'Bea', last: 'Berg' } };
  const planOf = (id: Id, edit: Partial<MirrorUser>, says: Partial<ServiceUser> = {}) =>
    planUser(stateOf(id, edit, says), { ...member, id }, holdAll);
  /** Beside a plan, the others of a run, which concern nobody. */
  const others = [planOf(4n, {}), planOf(5n, renamed)];
  it.each<readonly [string, Id, Partial<MirrorUser>, Partial<ServiceUser>, readonly Id[]]>([
    ['a name', 3n, renamed, {}, []],
    ['an email that no user had', 3n, { email: 'new@example.com' }, {}, []],
    ['the email of another user in another case', 3n, { email: 'USER4@example.com' }, {}, [4n]],
    ['the phone of another user, written differently', 3n, { phone: '+1 (555) 0104' }, {}, [4n]],
    ['a cleared phone', 3n, { phone: null }, {}, []],
    ['a role of a user who is not an administrator', 3n, { roleId: 5n }, {}, []],
    ['the promotion of a user', 3n, { roleId: 1n }, {}, []],
    ['the demotion of an administrator', 1n, { roleId: 4n }, {}, [1n, 2n]],
    [
      'a demotion that is not sent, since the service leaves the role out',
      1n,
      { roleId: 4n },
      { roleId: undefined as never },
      [],
    ],
  ])('concernedBy lists owners of the address, or administrators, for %s', (_, id, edit, says, concerned) => {
    const plans = [planOf(id, edit, says), ...others];
    expect(concernedBy(plans, present, admins)).toEqual(concerned);
    const { emails, phones, roleIds } = concernOf(plans, admins);
    expect(roleIds).toEqual(plans.some((plan) => 'roleId' in pushOf(plan)) ? admins : []);
    const read = present.filter(
      ({ email, phone, roleId }) =>
        emails.includes(canonicalEmail(email)) ||
        phones.includes(canonicalPhone(phone)) ||
        roleIds.includes(roleId),
    );
    expect(concernedBy(plans, read, admins)).toEqual(concerned);
    expect(read.length).toBeLessThan(present.length);
  });

  const phones = { emails: [], phones: ['15550199'], roleIds: [] };
  it.each<readonly [string, Partial<MirrorUser>, readonly unknown[]]>([
    ['nobody for a name', renamed, []],
    ['users with a phone that is pushed beside a name', { ...renamed, phone: '15550199' }, [phones]],
  ])('readKnown reads only users with a pushed address from the mirror: %s', async (_, edit, asked) => {
    const told: unknown[] = [];
    const answer = (about: unknown) => {
      told.push(about);
      return Promise.resolve([]);
    };
    const mirror = Object.assign(createMirrorStandIn([]), {
      readPresentUsers: answer,
    });
    const plans = [planOf(3n, edit), planOf(4n, {})];
    expect([await readKnown(mirror, plans, guard.adminRoleIds), told]).toEqual([[], asked]);
  });

  const asking = (emails: readonly string[], byPhone: readonly string[] = []) => ({
    emails,
    phones: byPhone,
  });
  it.each<readonly [string, Id, Partial<MirrorUser>, readonly unknown[], readonly Id[]]>([
    ['nobody for a name', 3n, renamed, [], []],
    [
      'the user whom the team list shows with a pushed phone',
      3n,
      { phone: '15550177' },
      [asking([], ['15550177']), asking(['user5@example.com'])],
      [5n],
    ],
    [
      'the user whom the team list shows with a pushed email',
      3n,
      { email: 'listed@example.com' },
      [asking(['listed@example.com']), asking(['user5@example.com'])],
      [5n],
    ],
    [
      'the user who has a pushed email',
      3n,
      { email: 'user5@example.com' },
      [asking(['user5@example.com'])],
      [5n],
    ],
    [
      'the user who had a pushed phone, and has another one by now',
      3n,
      { phone: '15550104' },
      [asking([], ['15550104']), asking(['user4@example.com'])],
      [4n],
    ],
    [
      'the administrators beside one who is demoted',
      1n,
      { roleId: 4n },
      [asking(['user1@example.com', 'user2@example.com'])],
      [1n, 2n],
    ],
  ])('lookAround looks up owners of a pushed address or admins: %s', async (_, id, edit, filters, found) => {
    const service = createServiceStandIn(
      ids.map((one) => shownAs(one, one === 4n ? { phone: '15550188' } : {})),
    );
    const mirror = createMirrorStandIn(ids.map((one) => stateOf(one)));
    const lookup = await createUserLookup({ service, mirror }, teamOf([]));
    const listed = {
      email: new Map([['listed@example.com', [5n]]]),
      phone: new Map([['15550177', [5n]]]),
    };
    await lookAround(lookup, [planOf(id, edit), ...others], present, listed, admins);
    expect([service.filters, [...lookup.roster.users.keys()]]).toEqual([filters, found]);
  });
});

describe('a run of the edits', () => {
  it('holds a phone that another user has on the service only, and still pushes an email of the same user', async () => {
    const states = [stateOf(3n, { phone: '15550999', email: 'new@example.com' }), stateOf(4n)];
    const service = createServiceStandIn([shownAs(3n), shownAs(4n, { phone: '15550999' })]);
    const places = {
      service,
      mirror: createMirrorStandIn(states),
      notes: createRunNotes(),
      monotonicMs: () => 0,
    };
    const { plans } = await planEdited(places, teamOf([]), { policy: holdAll, guard });
    expect([plans.map(pushOf), plans.flatMap(holdsOf).map(({ detail }) => detail)]).toEqual([
      [{ email: 'new@example.com' }, {}],
      ['user 4 has or will get the same phone'],
    ]);
  });

  it('warns if the service refuses to look up a pushed address, and still plans the push', async () => {
    const state = stateOf(3n, { phone: '15550999' });
    const service = createServiceStandIn([shownAs(3n)]);
    service.refusesAddress = (address) => address === '15550999';
    const mirror = createMirrorStandIn([state]);
    const notes = createRunNotes();
    const team = teamOf([{ ...member, id: 3n }]);
    const places = { service, mirror, notes, monotonicMs: () => 0 };
    const { plans } = await planEdited(places, team, { policy: holdAll, guard });
    expect(plans.map(pushOf)).toEqual([{ phone: '15550999' }]);
    expect(notes.warnings).toEqual(['the service rejects 1 of the addresses that lookups use']);
  });
});

it('A run of the edits is partial, and makes no plan, if lookups miss the edited user', async () => {
  const mirror = createMirrorStandIn([stateOf(3n, { phone: '15550999' })]);
  const notes = createRunNotes();
  const service = createServiceStandIn([]);
  const places = { service, mirror, notes, monotonicMs: () => 0 };
  const { plans } = await planEdited(places, teamOf([]), { policy: holdAll, guard });
  expect(plans).toEqual([]);
  expect(notes.reasons).toEqual(['lookups no longer return 1 edited users: their edits wait']);
});

it('A run of the edits warns, but is not partial, if one of seven users has an unreadable field', async () => {
  const mirror = createMirrorStandIn([stateOf(3n, { email: 'new@example.com' })]);
  const notes = createRunNotes();
  const odd = { ...shownAs(3n), phone: { unreadable: '[]' } };
  const places = { service: createServiceStandIn([odd]), mirror, notes, monotonicMs: () => 0 };
  const team = teamOf([{ ...member, id: 3n }]);
  mirror.population = 7;
  await planEdited(places, team, { policy: holdAll, guard });
  expect(notes.reasons).toEqual([]);
  expect(notes.warnings).toEqual([expect.stringContaining('the phone of 1 users cannot be read')]);
});

it.each([
  [3, false],
  [4, true],
])('A run leaves users unchanged if lookups miss over 3 users: %d missing, %s', async (count, leaves) => {
  const lost = Array.from({ length: count }, (_, at) => BigInt(at + 1));
  const mirror = createMirrorStandIn(lost.map((id) => stateOf(id)));
  const notes = createRunNotes();
  const places = { service: createServiceStandIn([]), mirror, notes, monotonicMs: () => 0 };
  const seen = await look(places, teamOf(lost.map((id) => ({ ...member, id }))), 'everybody');
  const { plans } = await planUsers(places, seen, { policy: holdAll, guard });
  expect(plans.map((plan) => plan.case)).toEqual(lost.map(() => 'unresolved'));
  expect(plans.every(({ write }) => write === null)).toBe(leaves);
  expect(notes.reasons.filter((reason) => reason.includes('lookups no longer find'))).toHaveLength(
    leaves ? 1 : 0,
  );
});

describe('a plan of one edit in a large team', () => {
  const size = 1_000;
  /** Whoever is listed, as an answer that is read when it is asked for; the last one with an address that nobody knows of. */
  const createListing = () => {
    const read: Id[] = [];
    const members = Array.from({ length: size }, (_, index) => {
      const id = BigInt(index + 1);
      const email = index + 1 === size ? 'Taken@example.com' : null;
      return Object.defineProperty({ ...member, id }, 'email', {
        get: () => {
          read.push(id);
          return email;
        },
      });
    });
    return { members, takeRead: () => read.splice(0) };
  };
  const plan = async (team: Team, id: Id, edit: Partial<MirrorUser>) => {
    const mirror = Object.assign(createMirrorStandIn([stateOf(id, edit)]), {
      population: size,
    });
    const places = { service: createServiceStandIn([shownAs(id)]), mirror, notes: createRunNotes() };
    const { verdict, plans } = await planEdited({ ...places, monotonicMs: () => 0 }, team, {
      policy: holdAll,
      guard,
    });
    return { sent: plans.map(pushOf), held: plans.flatMap(holdsOf), refused: verdict.refused };
  };

  it('reads the addresses of the team listing once for each new listing, not once for each edit', async () => {
    const { members, takeRead } = createListing();
    const team = teamOf(members);
    expect(await plan(team, 3n, { email: 'new@example.com' })).toMatchObject({
      sent: [{ email: 'new@example.com' }],
      held: [],
    });
    expect(takeRead()).toHaveLength(size);
    const again = { ...team, raw: {} };
    expect(await plan(again, 4n, { email: 'other@example.com' })).toMatchObject({ held: [] });
    expect(await plan(again, 5n, { email: ' taken@EXAMPLE.com' })).toMatchObject({
      sent: [{}],
      held: [{ reason: 'limit', detail: `user ${size} has or will get the same email` }],
    });
    expect(takeRead()).toEqual([BigInt(size)]);
    expect(
      await plan(teamOf(createListing().members.slice(0, -1)), 5n, { email: 'taken@example.com' }),
    ).toMatchObject({
      held: [],
    });
  });

  it('reads no address of the team listing if only a name or a role is edited', async () => {
    const { members, takeRead } = createListing();
    await plan(teamOf(members), 3n, { name: { first: 'Bea', last: 'Berg' }, roleId: 5n });
    expect(takeRead()).toEqual([]);
  });
});
