import { describe, expect, it } from 'vitest';
import type { Hold } from '../../src/model/user-plan.ts';
import type { UserState, Versions } from '../../src/model/user-state.ts';
import { hasMoved, isOvertaken, overtakenDetail } from '../../src/reconcile/merge/overtaken.ts';
import { countMovedAlone, tellNothing } from '../../src/reconcile/plan-users.ts';
import { planInLists } from './in-lists.ts';
import { holdAll, makeState, member, shown, without } from './states.ts';
import { isYes, rowsOf, type YesNo } from './truth.ts';

type Fate = 'sent' | 'held';
/** newer / telling / edited since / another value moved */
const table: Record<`${YesNo} ${YesNo} ${YesNo} ${YesNo}`, Fate> = {
  'no no no no': 'sent',
  'no no no yes': 'sent',
  'no no yes no': 'sent',
  'no no yes yes': 'sent',
  'no yes no no': 'sent',
  'no yes no yes': 'sent',
  'no yes yes no': 'sent',
  'no yes yes yes': 'sent',
  'yes no no no': 'sent',
  'yes no no yes': 'sent',
  'yes no yes no': 'sent',
  'yes no yes yes': 'sent',
  'yes yes no no': 'held',
  'yes yes no yes': 'sent',
  'yes yes yes no': 'sent',
  'yes yes yes yes': 'sent',
};
const late: Versions = { isNewer: true, isTelling: true };
const edited = { mirror: { email: 'new@example.com' } };
const planOf = (state: UserState, policy = holdAll) => planInLists(state, member, policy);

describe('an edit, where the version is newer, tells something, the edit is newer, another value has moved', () => {
  it.each(rowsOf(table))('%s: it is %s', (key, fate) => {
    const [isNewer, isTelling, isSince = false, moved] = key.split(' ').map(isYes);
    const versions = { isNewer, isTelling } as Versions;
    expect(isOvertaken(versions, isSince, moved === true)).toBe(fate === 'held');
    const edits = { email: { id: 1n, isSince } };
    const plan = planOf(
      makeState({ ...edited, edits, versions, ...(moved ? { service: { phone: '15550199' } } : {}) }),
    );
    expect(plan.patch).toEqual(fate === 'sent' ? { email: 'new@example.com' } : {});
    expect(plan.holds).toEqual(
      fate === 'sent'
        ? []
        : [
            {
              field: 'email',
              reason: 'conflict',
              detail: overtakenDetail,
              base: 'anne@example.com',
              mirror: 'new@example.com',
              service: 'anne@example.com',
            },
          ],
    );
    expect(plan.moves.filter(({ kind }) => kind === 'pull').length).toBe(moved ? 1 : 0);
  });

  it('is sent where the mirror wins, and waits, lest it is lost, where the service wins', () => {
    const state = makeState({ ...edited, versions: late });
    expect(planOf(state, { ...holdAll, email: 'mirror-wins' }).patch).toEqual({ email: 'new@example.com' });
    expect(planOf(state, { ...holdAll, email: 'service-wins' }).holds).toMatchObject([
      { reason: 'conflict' },
    ]);
  });

  it('is sent where the name was edited since, and it is one of the name', () => {
    const name = { first: 'Anna', last: 'Berg' };
    const edits = { name: { id: 1n, isSince: true } };
    expect(planOf(makeState({ mirror: { name }, edits, versions: late })).patch).toEqual({ name });
  });

  it('is held with every other edit of that user', () => {
    const state = makeState({ mirror: { email: 'new@example.com', roleId: 4n }, versions: late });
    expect(planOf(state)).toMatchObject({ patch: {}, holds: [{ field: 'email' }, { field: 'roleId' }] });
  });

  it('stays held, once, until it becomes another one', () => {
    const [hold] = planOf(makeState({ ...edited, versions: late })).holds;
    const held: readonly Hold[] = hold === undefined ? [] : [{ ...hold, shown: 'anne@example.com' }];
    const seen: Versions = { ...late, isNewer: false };
    for (const versions of [seen, late])
      expect(planOf(makeState({ ...edited, held, versions }))).toMatchObject({ held: ['email'], holds: [] });
    const again = makeState({ mirror: { email: 'newer@example.com' }, held, versions: seen });
    expect(planOf(again)).toMatchObject({ patch: { email: 'newer@example.com' }, releases: ['email'] });
    // Somebody resolved it: the version is on record.
    expect(planOf(makeState({ ...edited, versions: seen })).patch).toEqual({ email: 'new@example.com' });
  });

  it('is sent where nobody knows of versions', () => {
    expect(planOf(makeState(edited)).patch).toEqual({ email: 'new@example.com' });
  });
});

describe('a value that has moved', () => {
  const moved = (service: object, held: readonly Hold[] = []) =>
    hasMoved(makeState({ held }), { ...shown, ...service });
  const hold = (last: string | null): Hold => ({
    field: 'phone',
    reason: 'asked',
    base: null,
    mirror: null,
    service: null,
    shown: last,
    detail: '',
  });
  it.each([
    ['nothing', {}, false],
    ['the name', { name: 'Anne Bergh' }, true],
    ['the case of the email', { email: 'Anne@example.com' }, true],
    ['the phone', { phone: null }, true],
    ['the role', { roleId: 4n }, true],
  ] as const)('is told by any of the four: %s', (_, service, expected) => {
    expect(moved(service)).toBe(expected);
  });
  it('is compared with what was last shown where it is held, and not told by what is left out', () => {
    expect(moved({}, [hold('15550100')])).toBe(false);
    expect(moved({}, [hold('15550199')])).toBe(true);
    expect(moved({ phone: '15550199' }, [hold('15550199')])).toBe(false);
    expect(hasMoved(makeState(), without('phone'))).toBe(false);
    expect(hasMoved(makeState({ base: { phone: null } }), { ...shown, phone: '' })).toBe(false);
    expect(hasMoved(makeState({ base: null }), shown)).toBe(true);
  });
  it.each(['', null])('is no name that was %j before', (name) => {
    const nameless = makeState({ base: { name: { first: '', last: '' }, joined: '' } });
    expect(hasMoved(nameless, { ...shown, name })).toBe(false);
    expect(hasMoved(nameless, shown)).toBe(true);
  });
});

describe('users whose version moves alone', () => {
  it('are those of whom nothing else is new on either side', () => {
    const versions = late;
    const alone = makeState({ versions });
    expect(countMovedAlone([alone, alone])).toBe(2);
    const others: readonly UserState[] = [
      makeState(),
      makeState({ versions: { ...late, isNewer: false } }),
      makeState({ versions, ...edited }),
      makeState({ versions, service: { phone: '15550199' } }),
      makeState({ versions, service: null }),
      makeState({ versions, mirror: null }),
      makeState({ versions, base: null }),
      makeState({ versions, mirror: { gone: true } }),
      makeState({ versions, hasOpenIntent: true }),
      makeState({ versions, stale: true }),
    ];
    expect(countMovedAlone(others)).toBe(0);
  });
  it.each([
    [2, 2, false],
    [3, 3, true],
    [3, 60, true],
    [3, 61, false],
    [50, 1000, true],
    [49, 1000, false],
  ])('%i of %i say that versions tell nothing: %s', (users, of, expected) => {
    expect(tellNothing(users, of)).toBe(expected);
  });
});
