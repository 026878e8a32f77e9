/** What holds of every plan, whatever is known of the user. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Field, fields } from '../../src/model/fields.ts';
import { stored } from '../../src/model/canonical.ts';
import { pushOf, type UserPlan } from '../../src/model/user-plan.ts';
import type { TeamMember } from '../../src/model/team-member.ts';
import type { UserState } from '../../src/model/user-state.ts';
import { canonicalName, joinName, samePair, splitName } from '../../src/model/name.ts';
import {
  type BaseUser,
  type MirrorUser,
  readable,
  readingOf,
  sameBytes,
  serviceValue,
} from '../../src/model/user.ts';
import { mergeField, type Policy } from '../../src/reconcile/merge/merge-field.ts';
import { holdAll, anyMember, anyPolicy, anyState } from './states.ts';
import { planField } from '../../src/reconcile/merge/plan-field.ts';
import { planInLists } from './in-lists.ts';
import { resultOf } from '../../src/reconcile/push/result.ts';
import { isUnread } from '../../src/reconcile/unread.ts';
import { judge, patchedFields } from '../../src/reconcile/push/outcome.ts';
import { applyPlan, applyResult, makeIntent, takePatch } from './apply-plan.ts';

const runs = { numRuns: 600 };

/** What a second pass has to do: nothing to write on this side, nothing new to hold or to end. */
const quiet = { holds: [], releases: [], write: null };

/** The same without anything to send, which would be a move: nothing at all. */
const silent = { ...quiet, moves: [] };

/** The service has the name by now to which it was edited here, and of which the email was in want. */
const settling: UserState = {
  id: 7n,
  base: { name: { first: 'Cher', last: '' }, joined: 'Cher', email: null, phone: null, roleId: 4n },
  mirror: {
    name: { first: 'Anne Marie', last: 'Berg' },
    split: 'known',
    joined: 'Cher',
    email: 'a@example.com',
    phone: '15550101',
    roleId: 4n,
    role: null,
    resolved: true,
    gone: false,
  },
  service: { id: 7n, name: 'Anne Marie Berg', email: '', phone: null, roleId: 4n, raw: {} },
  hasOpenIntent: false,
  observedDiffers: false,
  held: [
    { field: 'email', reason: 'unsupported', detail: '', base: null, mirror: 'a@example.com', service: '' },
  ],
  edits: {},
  missingForMs: undefined,
};
const examples: [UserState, undefined, Policy][] = [[settling, undefined, holdAll]];

/** This holds, whatever is known of a user. */
function always(
  check: (state: UserState, member: TeamMember | undefined, policy: Policy) => void,
  also: typeof examples = [],
) {
  fc.assert(fc.property(anyState, anyMember, anyPolicy, check), { ...runs, examples: also });
}

const fieldAt = fc.constantFrom(...fields);

/** The values that a field of the plan may hold: those of one of the versions, as they are stored. */
function origins(field: Field, { mirror, base, service }: UserState): readonly unknown[] {
  const said = service?.[field];
  const shown = typeof said === 'string' ? stored(said) : said;
  return [mirror?.[field], base?.[field], shown, null].filter((value) => value !== undefined);
}

function expectFromSomewhere(
  field: Field,
  values: MirrorUser | BaseUser,
  state: UserState,
  names: readonly (string | null | undefined)[],
) {
  if (field !== 'name') {
    expect(origins(field, state)).toContain(values[field]);
    return;
  }
  const { name } = values;
  const kept = [state.mirror?.name, state.base?.name].some(
    (pair) => pair !== undefined && samePair(pair, name),
  );
  const cut = names.some((joined) => samePair(splitName(joined ?? ''), name));
  expect(kept || cut).toBe(true);
}

describe('a plan', () => {
  it('gives each field at most one decision (moved, newly held or still held) in any state of the user', () => {
    always((state, member, policy) => {
      const plan = planInLists(state, member, policy);
      expect(plan.id).toBe(state.id);
      // Nothing is both held and released, moved and held, or held twice.
      const touched = [...plan.moves, ...plan.holds].map(({ field }) => field);
      expect(new Set([...touched, ...plan.held]).size).toBe(touched.length + plan.held.length);
      const held = [...plan.holds.map(({ field }) => field), ...plan.held];
      expect(plan.releases.filter((field) => held.includes(field))).toEqual([]);
      expect(patchedFields(plan.patch)).toEqual(
        plan.moves.filter(({ kind }) => kind === 'push').map(({ field }) => field),
      );
    });
  });

  it('writes nothing more and sends the same values if it is made again after it was applied', () => {
    always((state, member, policy) => {
      const plan = planInLists(state, member, policy);
      const next = planInLists(applyPlan(state, plan), member, policy);
      expect(next).toMatchObject(quiet);
      expect(next.moves.every(({ kind }) => kind === 'push')).toBe(true);
      if (plan.case === 'merge') expect(next.patch).toEqual(plan.patch);
    }, examples);
  });

  it('ends the hold of an email that waits for the name if the split of the name is known, not if guessed', () => {
    const releasesOf = (split: 'known' | 'guessed') => {
      const mirror = settling.mirror && { ...settling.mirror, split };
      return planInLists({ ...settling, mirror }, undefined, holdAll).releases;
    };
    expect([releasesOf('known'), releasesOf('guessed')]).toEqual([['email'], []]);
  });

  it('writes and sends nothing more once the service shows the pushed values', () => {
    always((state, member, policy) => {
      const applied = applyPlan(state, planInLists(state, member, policy));
      const { patch } = planInLists(applied, member, policy);
      if (patchedFields(patch).length === 0 || applied.service === undefined) return;
      const seen = takePatch(applied.service, patch);
      const intent = makeIntent(applied, patch);
      const outcomes = judge(patch, intent.base, seen);
      const result = resultOf(
        { intent, seen, before: applied.service, outcomes, requestId: null },
        new Map(),
        3,
      );
      expect(result.closed).toBe(true);
      expect(new Set(Object.values(outcomes))).toEqual(new Set(['confirmed']));
      const confirmed = applyResult({ ...applied, service: seen }, result);
      expect(planInLists(confirmed, member, policy)).toMatchObject(silent);
      for (const field of patchedFields(patch)) {
        expect(mergeField(field, confirmed.base, confirmed.mirror ?? intent.base, seen)).toBe('nothing');
      }
    });
  });

  it('writes and sends only values from mirror, base, service or listing, or a split of a name there', () => {
    always((state, member, policy) => {
      const { write, patch } = planInLists(state, member, policy);
      for (const field of patchedFields(patch)) expect(patch[field]).toBe(state.mirror?.[field]);
      if (write === null) return;
      const names = [readable(state.service?.name), member?.name];
      for (const field of fields) {
        expectFromSomewhere(field, write.mirror, state, names);
        expectFromSomewhere(field, write.base, state, names);
      }
      const joined = [state.base?.joined, readable(state.service?.name), member?.name, ''];
      const own = state.mirror === undefined ? '' : joinName(state.mirror.name);
      expect([...joined, own]).toContain(write.base.joined);
      expect(write.expected).toBe(state.mirror ?? null);
    });
  });

  it('writes a first and a last name into base that join to the full name of base', () => {
    always((state, member, policy) => {
      const { write } = planInLists(state, member, policy);
      if (write === null) return;
      expect(joinName(write.base.name)).toBe(canonicalName(write.base.joined));
    });
  });

  it('decides each field independently of other fields', () => {
    fc.assert(
      fc.property(anyState, anyState, anyPolicy, fieldAt, (one, other, policy, field) => {
        const { mirror, service } = one;
        if (mirror === undefined || service === undefined) return;
        if (other.mirror === undefined || other.service === undefined) return;
        // One that is held for want of a name to go along goes by the name, too.
        const waits = one.held.some((hold) => hold.field === field && hold.reason === 'unsupported');
        if (field !== 'name' && waits) return;
        const named = field === 'name' ? one : other;
        const mixed: UserState = {
          ...other,
          mirror: { ...other.mirror, [field]: mirror[field], split: named.mirror?.split ?? mirror.split },
          service: { ...other.service, [field]: service[field] },
          base:
            one.base === undefined
              ? undefined
              : {
                  ...(other.base ?? one.base),
                  [field]: one.base[field],
                  joined: named.base?.joined ?? one.base.joined,
                },
          held: [
            ...other.held.filter((hold) => hold.field !== field),
            ...one.held.filter((hold) => hold.field === field),
          ],
        };
        const planOf = (state: UserState) =>
          planField(
            field,
            { ...state, mirror: state.mirror ?? mirror, service: state.service ?? service },
            policy,
          );
        expect(planOf(mixed)).toEqual(planOf(one));
      }),
      runs,
    );
  });

  it('stays the same whatever the order of properties and held fields in the state of the user', () => {
    const turned = <T extends object>(value: T): T =>
      Object.fromEntries(Object.entries(value).toReversed()) as T;
    always((state, member, policy) => {
      const shuffled: UserState = {
        ...turned(state),
        held: state.held.toReversed().map(turned),
        base: state.base && turned(state.base),
        mirror: state.mirror && turned(state.mirror),
        service: state.service && turned(state.service),
      };
      expect(planInLists(shuffled, member, turned(policy))).toEqual(planInLists(state, member, policy));
    });
  });
});

const saidBy = ({ service }: UserState, field: Field) => service && serviceValue(service, field);

describe('a field', () => {
  it('keeps its values in mirror and base if it is in conflict, and its hold records both sides (A23)', () => {
    always((state, member) => {
      const plan = planInLists(state, member, holdAll);
      for (const hold of plan.holds.filter(({ reason }) => reason === 'conflict')) {
        const { field } = hold;
        // Where the row was lost, it is made again of what was last agreed on.
        expect(hold.mirror).toEqual((state.mirror ?? state.base)?.[field]);
        expect(hold.service).toEqual(state.service && serviceValue(state.service, field));
        expect(plan.patch[field]).toBeUndefined();
        if (plan.write === null || state.mirror === undefined) continue;
        expect(sameBytes(field, plan.write.mirror, state.mirror)).toBe(true);
        if (state.base !== undefined) expect(sameBytes(field, plan.write.base, state.base)).toBe(true);
        if (field === 'name' && state.base !== undefined) {
          expect(plan.write.base.joined).toBe(state.base.joined);
        }
      }
    });
  });

  it('changes neither in mirror nor in base if the service leaves the field out or shows it unreadably (A10)', () => {
    always((state, member, policy) => {
      const { write, moves } = planInLists(state, member, policy);
      const { service } = state;
      if (service === undefined) return;
      for (const field of fields.filter((of) => typeof readingOf(of, service) !== 'object')) {
        expect(moves.filter((move) => move.field === field && move.kind !== 'push')).toEqual([]);
        if (write === null) continue;
        const before = state.mirror ?? state.base;
        if (before !== undefined) expect(sameBytes(field, write.mirror, before)).toBe(true);
        if (state.base !== undefined) expect(sameBytes(field, write.base, state.base)).toBe(true);
        if (field === 'name' && state.base) expect(write.base.joined).toBe(state.base.joined);
      }
    });
  });

  it('keeps its hold, and is neither pulled nor pushed, while the service hides its value (A10)', () => {
    always((state, member, policy) => {
      const { moves, patch, releases, case: userCase } = planInLists(state, member, policy);
      for (const field of fields.filter((of) => isUnread(of, state))) {
        expect(moves.filter((move) => move.field === field)).toEqual([]);
        expect(patch[field]).toBeUndefined();
        if (userCase === 'merge') expect(releases).not.toContain(field);
      }
    });
  });

  it('changes in base only to a value that the service or the listing shows, and does not change there by a push', () => {
    always((state, member, policy) => {
      const { write, patch, case: userCase } = planInLists(state, member, policy);
      if (write === null || state.base === undefined) return;
      for (const field of fields) {
        if (sameBytes(field, write.base, state.base)) continue;
        if (field === 'name') {
          const shown =
            readable(state.service?.name) ?? (state.service === undefined ? member?.name : null) ?? '';
          expect(joinName(write.base.name)).toBe(canonicalName(shown));
        } else
          expect(write.base[field]).toBe(stored(String(saidBy(state, field) ?? '')) && saidBy(state, field));
        if (userCase === 'merge') expect(patch[field]).toBeUndefined();
      }
    });
  });

  it('keeps an edited value in the mirror, and is pushed or held, until the service has the edited value', () => {
    always((state, member) => {
      const { write, patch, holds, held, case: userCase } = planInLists(state, member, holdAll);
      const { mirror, base, service } = state;
      if (mirror === undefined || base === undefined || userCase === 'waiting') return;
      for (const field of fields.filter((of) => !sameBytes(of, mirror, base))) {
        if (service === undefined) {
          expect(sameBytes(field, write?.mirror ?? mirror, mirror)).toBe(true);
          expect(sameBytes(field, write?.base ?? base, base)).toBe(true);
          continue;
        }
        const verdict = mergeField(field, base, mirror, service);
        if (verdict !== 'push' && verdict !== 'conflict') continue;
        const after = write ?? { mirror, base };
        expect(sameBytes(field, after.mirror, mirror)).toBe(true);
        const waits = [...holds.map((hold) => hold.field), ...held, ...patchedFields(patch)].includes(field);
        // Back again, the service may show the very bytes of the edit: then there is nothing left to wait.
        expect(waits || (userCase === 'return' && sameBytes(field, after.base, mirror))).toBe(true);
      }
    });
  });
});

describe('a name', () => {
  const pushedName = (plan: UserPlan) => pushOf(plan).name;

  it('sends first and last name of the mirror together, and never an empty name (A15)', () => {
    always((state, member, policy) => {
      const name = pushedName(planInLists(state, member, policy));
      if (name === undefined) return;
      expect(name).toEqual(state.mirror?.name);
      expect(Object.keys(name).toSorted((a, b) => (a < b ? -1 : 1))).toEqual(['first', 'last']);
      expect(joinName(name)).not.toBe('');
    });
  });

  it('keeps the mark "guessed" of its split in every plan', () => {
    always((state, member, policy) => {
      const { write } = planInLists(state, member, policy);
      if (write === null || write.mirror.split === 'guessed') return;
      expect(state.mirror?.split).toBe('known');
      expect(samePair(write.mirror.name, state.mirror?.name ?? { first: '', last: '' })).toBe(true);
    });
  });
});
