/** musterd and its specification (`docs/specification.ts`) say the same of every state that a user can come to. */
import { type Field, fields, type UserValues } from '../../src/model/fields.ts';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { canonical, factsOf, fateOf, guardFate, type Push } from '../../docs/specification.ts';
import { createRandom } from '../../src/emulator/random.ts';
import { canonicalName, joinName, samePair } from '../../src/model/name.ts';
import { readable, type ServiceUser } from '../../src/model/user.ts';
import { decisionsOf, type Hold, isApprovable, type UserPlan } from '../../src/model/user-plan.ts';
import type { UserState } from '../../src/model/user-state.ts';
import { isStopped } from '../../src/reconcile/merge/held-field.ts';
import { guard } from '../../src/reconcile/guard/guard.ts';
import type { GuardSettings } from '../../src/reconcile/guard/limits.ts';
import type { Policy } from '../../src/reconcile/merge/merge-field.ts';
import { longHungAfterMs } from '../support/limits.ts';
import { holdAll, base, makeState, noAddresses } from './states.ts';
import { planUser } from '../../src/reconcile/merge/plan-user.ts';
import { createWalk, type Walk } from './walk.ts';

const seed = Number(process.env['TEST_SEED'] ?? 20_261_123);
/** How many states are compared, unless somebody asks for more or fewer. */
const usual = 200_000;
const asked = Number(process.env['SPECIFICATION_STATES'] ?? usual);
/** Fewer need not come to everything that can become of a field. */
const comesToAll = asked >= usual;

/** Whether the halves are known of the name that an update of other fields would carry. */
function isNameKnown({ base: agreed, mirror, service }: UserState): boolean {
  if (agreed === undefined || mirror === undefined || service === undefined) return true;
  const said = typeof service.name === 'object' && service.name !== null ? undefined : service.name;
  const shown = canonical('name', said === undefined ? agreed.joined : said);
  const isEdited = mirror.name.first !== agreed.name.first || mirror.name.last !== agreed.name.last;
  const isAgreed = canonical('name', agreed.name) === shown;
  return shown.split(' ').length <= 2 || (isAgreed && !isEdited && mirror.split === 'known');
}

function specified(state: UserState, policy: Policy): readonly string[] {
  const name = fateOf('name', state, policy.name, true);
  const goesAlong = name === 'push' || (name === 'settle' && state.mirror?.split === 'known');
  const carries = goesAlong || isNameKnown(state);
  return fields.map((field) => (field === 'name' ? name : fateOf(field, state, policy[field], carries)));
}

function decided(plan: UserPlan): readonly string[] {
  return fields.map((field) => {
    const decision = plan.fields[field];
    return decision.kind === 'hold' ? decision.hold.reason : decision.kind;
  });
}

const print = (value: unknown) =>
  JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? `${inner}n` : inner), 1);

/** What either side has afterwards: of a pull, a settled or an adopted field the service's, else what it had. */
function expectWritten(
  { base: agreed, mirror, service }: UserState,
  { case: of, fields: decided, write }: UserPlan,
) {
  if (agreed === undefined || mirror === undefined || service === undefined || of !== 'merge') return;
  const [here, both] = [write?.mirror ?? mirror, write?.base ?? agreed];
  for (const field of fields) {
    const { kind, ...rest } = decided[field];
    const takes = kind === 'pull' || kind === 'settle' || kind === 'adopt';
    const shown = readable<string | bigint>(service[field]);
    const isTaken = (takes || 'agrees' in rest) && shown !== undefined;
    if (field !== 'name') {
      const value = shown === '' ? null : (shown ?? null);
      const should = [takes && isTaken ? value : mirror[field], isTaken ? value : agreed[field]];
      if (here[field] !== should[0] || both[field] !== should[1])
        expect([field, kind, here[field], both[field]]).toEqual([field, kind, ...should]);
      continue;
    }
    if (!isTaken) {
      if (
        both.joined !== agreed.joined ||
        !samePair(both.name, agreed.name) ||
        !samePair(here.name, mirror.name)
      )
        expect([kind, here.name, both]).toEqual([kind, mirror.name, agreed]);
      continue;
    }
    const joined = canonicalName(String(shown ?? ''));
    const pair =
      kind === 'pull' && canonicalName(agreed.joined) === joined
        ? agreed.name
        : kind === 'pull'
          ? undefined
          : mirror.name;
    expect([kind, both.joined, joinName(both.name), joinName(here.name)]).toEqual([
      kind,
      shown ?? '',
      joined,
      joined,
    ]);
    if (pair !== undefined && joinName(pair) === joined) expect([kind, here.name]).toEqual([kind, pair]);
  }
}

function compare({ state, policy }: Walk, seen: Set<string>) {
  const plan = planUser(state, undefined, policy);
  const [should, does] = [specified(state, policy), decided(plan)];
  for (const fate of does) seen.add(fate);
  expectWritten(state, plan);
  if (should.every((fate, at) => fate === does[at])) return;
  expect(does, print({ state, policy })).toEqual(should);
}

/** The same user under another id and, but for a few, with addresses of their own, or of the user with the next id. */
function renumber(state: UserState, id: bigint): UserState {
  const own = <T>(field: string, value: T): T => {
    if (typeof value !== 'string' || value === '' || id % 6n === 0n) return value;
    const [owner, first] = /^b|1$/.test(value)
      ? [id + 1n, value.replace('b', 'a').replace(/1$/, '0')]
      : [id, value];
    return (field === 'email' ? `${owner}${first}` : field === 'phone' ? `${first}${owner}` : value) as T;
  };
  const all = <T extends object>(values: T): T =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, own(key, value)])) as T;
  const hold = (one: Hold): Hold => ({
    ...one,
    base: own(one.field, one.base),
    mirror: own(one.field, one.mirror),
    service: own(one.field, one.service),
  });
  return {
    ...state,
    id,
    held: state.held.map(hold),
    base: state.base && all(state.base),
    mirror: state.mirror && all(state.mirror),
    service: state.service && { ...all(state.service), id },
  };
}

const isWhole = ({ service, base: agreed, mirror, edits, hasOpenIntent, stale }: UserState) =>
  service !== undefined &&
  agreed !== undefined &&
  mirror?.gone === false &&
  !hasOpenIntent &&
  stale !== true &&
  edits.name !== undefined &&
  fields.every((field) => service[field] !== undefined && !(service[field] instanceof Object));

/** True if a limit on a single field holds a field that this transaction edited. */
const isBeside = (transaction: string, { id, held, edits }: UserState, plans: readonly UserPlan[]): boolean =>
  held.some(
    ({ field, reason, isAlone, decision }) =>
      isAlone === true &&
      reason !== 'rejected' &&
      decision === undefined &&
      edits[field]?.transaction === transaction &&
      plans.find((plan) => plan.id === id)?.fields[field].kind === 'held',
  );

/** A run over a small team, as the specification is told of it. */
function pushesOf(states: readonly UserState[], plans: readonly UserPlan[], policy: Policy): readonly Push[] {
  const wanted = plans.flatMap((plan) =>
    decisionsOf(plan, 'push').map(([field, move]) => ({ plan, field, move })),
  );
  const othersOf = (field: Field, value: string, user: bigint) => {
    const having = states.filter(({ service }) => canonical(field, service?.[field]) === value);
    const getting = wanted.filter(
      (one) => one.field === field && canonical(field, one.move.values.mirror) === value,
    );
    const owners = new Set([...having.map(({ id }) => id), ...getting.map(({ plan }) => plan.id)]);
    return [...owners].filter((id) => id !== user);
  };
  return wanted.map(({ plan: { id: user }, field, move }) => {
    const state = states.find(({ id }) => id === user) as UserState;
    const transaction = state.edits[field]?.transaction ?? undefined;
    const { hold, decided: isDecided, asSeen } = factsOf(field, state, policy[field], true);
    const approved = isDecided && asSeen;
    const chosen = approved && hold !== undefined && !isApprovable(hold.reason);
    const again = hold !== undefined && isStopped(hold) && !approved;
    const left = again && !isDecided && hold.edit === state.edits[field]?.id;
    const value = canonical(field, move.values.mirror as UserValues[Field]);
    return {
      user,
      field,
      transaction,
      beside: !chosen && transaction !== undefined && isBeside(transaction, state, plans),
      approved,
      chosen,
      again,
      resolved: approved && hold?.decision === 'resolved',
      fresh: !approved && !left,
      others: (field === 'email' || field === 'phone') && value !== '' ? othersOf(field, value, user) : [],
    };
  });
}

const otherLimits = { adminRoleIds: [] };

function compareGuard(states: readonly UserState[], policy: Policy, random: ReturnType<typeof createRandom>) {
  const settings: GuardSettings = {
    ...otherLimits,
    maxRows: random.between(0, 8),
    maxShare: random.pick([0.1, 0.3]),
    maxRoleChanges: random.between(0, 3),
    isReviewed: random.between(0, 5) === 0,
  };
  const plans = states.map((state) => planUser(state, undefined, policy));
  const others = random.between(0, 30);
  const population = states.length + (random.between(0, 2) === 0 ? 0 : others);
  const pushedToday = new Set(states.map(({ id }) => id).filter(() => random.between(0, 3) === 0));
  const users = new Map(states.map(({ id, service }) => [id, service as ServiceUser]));
  const verdict = guard(
    {
      states,
      plans,
      users,
      isWhole: true,
      members: new Map(),
      listed: noAddresses,
      open: [],
      differing: [...users.keys()],
      present: [],
      offers: [],
      history: { population, pushedToday, undone: [], waiting: [], isOld: false },
    },
    settings,
  );
  const pushes = pushesOf(states, plans, policy);
  const fate = guardFate(pushes, population, pushedToday, settings);
  const after = new Map(verdict.plans.map((plan) => [plan.id, plan]));
  return pushes.map((push) => {
    const decision = after.get(push.user)?.fields[push.field];
    const does = decision?.kind !== 'hold' ? decision?.kind : isStopped(decision.hold) ? 'batch' : 'alone';
    const should = fate(push);
    if (does !== should)
      expect(does, print({ push, pushes, population, settings, pushedToday: [...pushedToday] })).toBe(should);
    return does;
  });
}

/** The rows of a table of the guide, below this heading. */
function tableBelow(heading: string): readonly (readonly string[])[] {
  const guide = readFileSync('docs/guide.md', 'utf8');
  const section = guide.slice(guide.indexOf(`\n## ${heading}\n`)).split('\n');
  const from = section.findIndex((line) => line.startsWith('|---'));
  const rows = section.slice(from + 1);
  return rows
    .slice(
      0,
      rows.findIndex((line) => !line.startsWith('|')),
    )
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

describe('the specification', () => {
  it('fits into 150 lines', () => {
    expect(readFileSync('docs/specification.ts', 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(
      150,
    );
  });

  it(
    'decides each field like musterd in many random states of a user',
    () => {
      const seen = new Set<string>();
      const walk = createWalk(seed);
      for (let states = 0; states < asked; ) {
        walk.begin();
        for (let step = 0; step < 24; step += 1) {
          walk.step();
          if (walk.state.service === undefined) continue;
          compare(walk, seen);
          states += 1;
        }
      }
      const all = 'adopt conflict held pull push rejected returned review same settle unsupported wait';
      if (comesToAll) expect([...seen].toSorted((a, b) => (a < b ? -1 : 1)).join(' ')).toBe(all);
    },
    longHungAfterMs,
  );

  it(
    'sends and holds the same pushes as the guard in many random runs',
    () => {
      const random = createRandom(seed);
      const walk = createWalk(seed + 1);
      const seen = new Map<string | undefined, number>();
      for (let run = 0; run < asked / 100; run += 1) {
        const states: UserState[] = [];
        walk.begin();
        const { policy } = walk;
        for (let step = 0, most = random.between(3, 60); step < most; step += 1) {
          walk.step();
          if (isWhole(walk.state)) states.push(renumber(walk.state, BigInt(states.length + 1)));
        }
        for (const does of compareGuard(states, policy, random)) seen.set(does, (seen.get(does) ?? 0) + 1);
      }
      const found = [...seen.keys()].toSorted((a, b) => String(a).localeCompare(String(b)));
      if (comesToAll) expect(found).toEqual(['alone', 'batch', 'push', 'wait']);
    },
    longHungAfterMs,
  );

  it('matches the table of the guide about values that either side changed', () => {
    const values = {
      'as in the base': base.email,
      changed: 'new@example.com',
      'changed to the same': 'NEW@example.com',
      'changed to something else': 'x@example.com',
    };
    const fates = tableBelow('What a run does').map(([mirror, service, does]) => {
      const at = (cell: string | undefined) => values[cell as keyof typeof values];
      const state = makeState({ mirror: { email: at(mirror) }, service: { email: at(service) } });
      return [fateOf('email', state, holdAll.email, true), does?.split(':')[0]];
    });
    expect(fates).toEqual([
      ['same', 'nothing'],
      ['pull', 'pull'],
      ['push', 'push'],
      ['settle', 'settle'],
      ['conflict', 'hold'],
    ]);
  });

  it('matches the table of the guide about the end of each hold', () => {
    const other = 'x@example.com';
    // A value that could not be sent is looked at again where it can be.
    const mineOf = (reason: Hold['reason']) => (reason === 'unsupported' ? ' ' : 'new@example.com');
    const held = (
      reason: Hold['reason'],
      isAlone: boolean,
      service: string,
      mirror = mineOf(reason),
      endsInMs = 1_000,
    ) => {
      const seen = reason === 'conflict' ? other : base.email;
      const values = { base: base.email, mirror: mineOf(reason), service: seen };
      const hold: Hold = { field: 'email', reason, detail: '', ...values };
      const state = makeState({
        mirror: { email: mirror },
        service: { email: service },
        held: [{ ...hold, ...(isAlone ? { isAlone } : {}), ...(reason === 'asked' ? { endsInMs } : {}) }],
      });
      return fateOf('email', state, 'hold', true) === 'held';
    };
    for (const [reasons = '', , ends = ''] of tableBelow('Held fields')) {
      const reason = reasons.replaceAll('`', '') as Hold['reason'];
      const still = reason === 'conflict' ? other : (base.email ?? '');
      const isAsked = reason === 'asked';
      for (const isAlone of reason === 'limit' ? [true, false] : [false]) {
        const byService =
          ends.includes('either side') || (isAlone && ends.includes('held alone, also when the service'));
        const does = {
          stays: held(reason, isAlone, still),
          'the edit ends': !held(reason, isAlone, still, base.email ?? ''),
          'the service changes it': !held(reason, isAlone, 'y@example.com'),
          'its time is up': isAsked && !held(reason, isAlone, still, mineOf(reason), 0),
        };
        expect({ reason, isAlone, ...does }).toEqual({
          reason,
          isAlone,
          stays: true,
          'the edit ends': !isAsked,
          'its time is up': ends.includes('its time is up'),
          'the service changes it': byService,
        });
      }
    }
  });
});
