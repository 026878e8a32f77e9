/** What the mirror makes of a plan and of the outcome of a push: as its SQL does it, on values. */
import { type Field, fields } from '../../src/model/fields.ts';
import { type DecidedUser, endedHolds, type Hold, holdsOf } from '../../src/model/user-plan.ts';
import type { Intent, IntentResult } from '../../src/model/intent.ts';
import type { UserState } from '../../src/model/user-state.ts';
import { type ServiceUser, sameBytes, type UserPatch } from '../../src/model/user.ts';

/** A hold as it comes back from the database, where there is no `undefined`. */
function storedHold(hold: Hold): Hold {
  return { ...hold, base: hold.base ?? null, mirror: hold.mirror ?? null, service: hold.service ?? null };
}

/** New holds replace those on the same field. */
function withHolds(held: readonly Hold[], holds: readonly Hold[]): readonly Hold[] {
  const replaced = new Set(holds.map(({ field }) => field));
  return [...held.filter(({ field }) => !replaced.has(field)), ...holds.map(storedHold)];
}

/** Holds are ended before new ones are written, as in `applyUsers`. */
export function applyPlan(state: UserState, plan: DecidedUser): UserState {
  const { write } = plan;
  const ended = endedHolds(plan);
  const stay = state.held.filter(({ field }) => !ended.includes(field));
  const held = withHolds(stay, holdsOf(plan));
  if (write === null) return { ...state, held };
  const { observed, mirror, base } = write;
  return {
    ...state,
    held,
    mirror: {
      name: mirror.name,
      split: mirror.split,
      email: mirror.email,
      phone: mirror.phone,
      roleId: mirror.roleId,
      joined: observed.name,
      role: observed.role,
      resolved: observed.resolved,
      gone: false,
    },
    base: {
      name: base.name,
      joined: base.joined,
      email: base.email,
      phone: base.phone,
      roleId: base.roleId,
    },
    observedDiffers: false,
  };
}

/** Base takes what is confirmed or harmed; the mirror takes the former where it still holds what was sent. */
export function applyResult(state: UserState, result: IntentResult): UserState {
  const { intent, outcomes, taken, joined } = result;
  // A name that waits already is left as it is.
  const waits = result.harmed && state.held.some(({ field }) => field === 'name');
  const harmed = result.harmed && !waits;
  const held = withHolds(
    state.held,
    result.holds.filter(({ field }) => field !== 'name' || !waits),
  );
  const { mirror, base } = state;
  if (mirror === undefined || base === undefined) throw new Error('a push needs a row and a base');
  const confirmed = fields.filter((field) => outcomes[field] === 'confirmed');
  const unedited = confirmed.filter((field) => sameBytes(field, mirror, { ...mirror, ...intent.sent }));
  const of = (some: readonly Field[]) => Object.fromEntries(some.map((field) => [field, taken[field]]));
  const named = confirmed.includes('name');
  return {
    ...state,
    held,
    hasOpenIntent: !result.closed,
    mirror: {
      ...mirror,
      ...of(unedited),
      split: unedited.includes('name') ? 'known' : mirror.split,
      joined: named ? joined : mirror.joined,
    },
    base: {
      ...base,
      ...of(harmed ? [...confirmed, 'name'] : confirmed),
      joined: named || harmed ? joined : base.joined,
    },
  };
}

/** An intent as it is written down for a user in this state. */
export function makeIntent(state: UserState, sent: UserPatch, ageMs = 0): Intent {
  if (state.base === undefined) throw new Error('a push needs a base');
  const { id, base } = state;
  return { changeId: id, userId: id, sent, base, before: base, decided: [], hasLeft: true, ageMs };
}

/** A service that takes what it is sent: names joined with one space, emails in lower case, digits of phones. */
export function takePatch(user: ServiceUser, { name, email, phone, roleId }: UserPatch): ServiceUser {
  return {
    ...user,
    ...(name === undefined ? {} : { name: `${name.first} ${name.last}`.trim() }),
    ...(email === undefined
      ? {}
      : { email: email?.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) ?? '' }),
    ...(phone === undefined ? {} : { phone: phone?.replace(/\D+/g, '') ?? '' }),
    ...(roleId === undefined ? {} : { roleId }),
  };
}
