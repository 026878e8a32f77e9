/** An empty name never takes the place of a full one, but where a person says so. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UserState } from '../../src/model/user-state.ts';
import { joinName } from '../../src/model/name.ts';
import { inLists, planInLists } from './in-lists.ts';
import { holdAll, anyMember, anyPolicy, anyState, base, makeState, member } from './states.ts';
import { planResyncOf } from '../../src/reconcile/merge/plan-resync.ts';
import { applyPlan } from './apply-plan.ts';

const emptyNames = ['', null, ' ', '\t\n', '\u00A0', '\u2007\u202F', '\uFEFF'] as const;
const emptyName = fc.constantFrom(...emptyNames);
const isFull = (of: { readonly name: { readonly first: string; readonly last: string } } | undefined) =>
  of !== undefined && joinName(of.name) !== '';

describe('an empty name on the service', () => {
  it.each([
    ['a run', planInLists],
    ['a resync', planResyncOf],
  ] as const)(
    'never replaces a full name in mirror or base during %s, in any state of the user (A16)',
    (_, plan) => {
      fc.assert(
        fc.property(anyState, anyMember, anyPolicy, emptyName, (made, listed, policy, name) => {
          let state: UserState = {
            ...made,
            service: made.service === undefined ? undefined : { ...made.service, name },
          };
          const user = listed === undefined ? undefined : { ...listed, name };
          const hadMirror = isFull(state.mirror);
          // A mirror without a name agrees with the service.
          const hadBase = isFull(state.base) && (hadMirror || state.mirror === undefined);
          // Whatever the first pass leaves behind: so it is in the second.
          for (const _pass of [1, 2]) {
            state = applyPlan(state, plan(state, user, policy));
            if (hadMirror || (hadBase && state.mirror !== undefined)) expect(isFull(state.mirror)).toBe(true);
            if (hadBase) expect(isFull(state.base)).toBe(true);
          }
        }),
        { numRuns: 1000 },
      );
    },
  );

  it.each(emptyNames)('holds the full name as a conflict in a resync if the service shows %j', (name) => {
    const plan = inLists(planResyncOf(makeState({ service: { name } }), member, holdAll));
    const hold = { field: 'name', reason: 'conflict', base: base.name, service: name };
    expect(plan.holds).toMatchObject([{ ...hold, mirror: base.name }]);
    expect(plan.holds[0]?.detail).toContain('the service no longer shows a name');
  });
});
