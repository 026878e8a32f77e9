/** What people, the service and accidents do, at random. */
import fc from 'fast-check';
import type { Field } from './agreement-model.ts';

export interface Settings {
  /** Every edit is seen first; otherwise the guard stops those of more than two users. */
  readonly isReviewed: boolean;
}

interface Edit {
  readonly who: number;
  readonly field: Field;
  readonly value: number;
  /** For whom. */
  readonly actor?: number | undefined;
}

/** Something that happens when the so-manieth request of a run arrives, or before its answer leaves. */
export interface Aim {
  readonly path: string;
  readonly at: number;
  readonly when: 'before' | 'after';
  readonly act: Step;
}

export type Step =
  | (Edit & { readonly kind: 'edit'; readonly at: number; readonly also?: Field | undefined })
  /** `bad`: the value of this user is refused. */
  | (Edit & { readonly kind: 'bulk'; readonly users: number; readonly bad?: number | undefined })
  | {
      readonly kind: 'withdraw';
      readonly who: number;
      readonly pick: number;
      readonly isSetAgain: boolean;
      readonly actor?: number | undefined;
    }
  | {
      readonly kind: 'past';
      readonly how: 'owner' | 'off';
      readonly at: number;
      readonly field: Field;
      readonly value: number;
    }
  | {
      readonly kind: 'decide';
      readonly verb: 'approve' | 'reject';
      readonly who: 'carol' | 'mallory' | 'dora';
      readonly actor?: number | undefined;
      /** This one; otherwise which of those that wait, or of all that were ever shown. */
      readonly batch?: string;
      readonly isStale: boolean;
      readonly pick: number;
      readonly only: 'all' | 'users' | 'edits';
      readonly mask: number;
      readonly isReverted: boolean;
    }
  | {
      readonly kind: 'resolve';
      readonly pick: number;
      readonly actor: number;
      readonly take: 'mirror' | 'service' | 'value';
      readonly value: number;
      readonly seen: 'edit' | 'stale' | 'value';
    }
  | { readonly kind: 'service'; readonly at: number; readonly field: Field; readonly value: number }
  | {
      readonly kind: 'there and back';
      readonly at: number;
      readonly field: Field;
      readonly isLookedAt: boolean;
    }
  | { readonly kind: 'login'; readonly at: number }
  | {
      readonly kind: 'run';
      readonly fault:
        | 'none'
        | 'lost before'
        | 'lost after'
        | 'partial'
        | 'killed at a statement'
        | 'killed at a request';
      readonly number: number;
      readonly aims: readonly Aim[];
      /** Absent: of all users. */
      readonly group?: 'users' | 'edits';
    }
  | { readonly kind: 'keep' }
  /** With the numbers that edits get, as a copy of the files has them. */
  | { readonly kind: 'put back'; readonly isWhole: boolean };

const below = (end: number) => fc.nat({ max: end - 1 });
/** Mostly the same two users, so that steps meet. */
const at = fc.constantFrom(0, 0, 0, 0, 1, 1, 2, 3);
const field = fc.constantFrom<Field>('email', 'email', 'email', 'role_id', 'role_id', 'phone', 'name');
/** Mostly the same two values; the fifth is refused, the sixth another user's. */
const value = fc.constantFrom(1, 1, 1, 1, 2, 2, 2, 3, 0, 4, 5);
const who = fc.constantFrom(0, 0, 1, 1, 2);
const pick = below(12);
const actor = fc.option(below(6), { nil: undefined, freq: 2 });
const seldom = fc.constantFrom(false, false, false, true);

const edit = fc.record({
  kind: fc.constant('edit' as const),
  who,
  at,
  field,
  value,
  actor,
  also: fc.option(field, { nil: undefined, freq: 1 }),
});
const bulk = fc.record({
  kind: fc.constant('bulk' as const),
  who,
  users: fc.constantFrom(2, 2, 3, 4, 4, 5),
  bad: fc.option(below(5), { nil: undefined, freq: 1 }),
  field,
  value: fc.constantFrom(1, 2, 3),
  actor,
});
const withdraw = fc.record({
  kind: fc.constant('withdraw' as const),
  who,
  pick,
  isSetAgain: fc.boolean(),
  actor,
});
const past = fc.record({
  kind: fc.constant('past' as const),
  how: fc.constantFrom('owner' as const, 'off' as const),
  at,
  field,
  value,
});
const agreeing = {
  kind: fc.constant('decide' as const),
  verb: fc.constant('approve' as const),
  who: fc.constant('carol' as const),
  isStale: fc.constant(false),
  only: fc.constant('all' as const),
  mask: fc.constant(0),
  isReverted: fc.constant(false),
};
const decide = fc.record({
  kind: fc.constant('decide' as const),
  verb: fc.constantFrom('approve' as const, 'approve' as const, 'approve' as const, 'reject' as const),
  who: fc.constantFrom('carol' as const, 'carol' as const, 'mallory' as const),
  actor,
  isStale: seldom,
  pick,
  only: fc.constantFrom('all' as const, 'all' as const, 'users' as const, 'edits' as const),
  mask: below(256),
  isReverted: fc.boolean(),
});
const resolve = fc.record({
  kind: fc.constant('resolve' as const),
  pick,
  actor: below(6),
  take: fc.constantFrom('mirror' as const, 'mirror' as const, 'service' as const, 'value' as const),
  value: fc.constantFrom(1, 2, 3),
  seen: fc.constantFrom('edit' as const, 'edit' as const, 'stale' as const, 'value' as const),
});
const service = fc.record({
  kind: fc.constant('service' as const),
  at,
  field,
  value: fc.constantFrom(0, 0, 1, 2, 3),
});
const thereAndBack = fc.record({
  kind: fc.constant('there and back' as const),
  at,
  field,
  isLookedAt: fc.constant(false),
});
const login = fc.record({ kind: fc.constant('login' as const), at });

/** What can also happen while a run waits for the service. */
const meanwhile = fc.oneof(
  { weight: 3, arbitrary: edit },
  { weight: 3, arbitrary: withdraw },
  { weight: 5, arbitrary: decide },
  { weight: 2, arbitrary: service },
  { weight: 2, arbitrary: thereAndBack },
  { weight: 1, arbitrary: login },
  { weight: 1, arbitrary: past },
);
const aim: fc.Arbitrary<Aim> = fc.record({
  path: fc.constantFrom('/v1/team', '/v1/users/get', '/v1/users/get', '/v1/users/update', '/v1/users/update'),
  at: fc.constantFrom(1, 1, 2, 3),
  when: fc.constantFrom('before' as const, 'after' as const),
  act: meanwhile,
});
const run = fc.record({
  kind: fc.constant('run' as const),
  fault: fc.constantFrom(
    'none' as const,
    'none' as const,
    'none' as const,
    'none' as const,
    'lost before' as const,
    'lost after' as const,
    'partial' as const,
    'killed at a statement' as const,
    'killed at a request' as const,
  ),
  number: below(240),
  group: fc.constantFrom('users' as const, 'users' as const, 'users' as const, 'edits' as const),
  aims: fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(aim, { minLength: 1, maxLength: 2 }) },
  ),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 7, arbitrary: edit },
  { weight: 2, arbitrary: bulk },
  { weight: 3, arbitrary: withdraw },
  { weight: 1, arbitrary: past },
  { weight: 9, arbitrary: decide },
  { weight: 3, arbitrary: resolve },
  { weight: 3, arbitrary: service },
  { weight: 2, arbitrary: thereAndBack },
  { weight: 1, arbitrary: login },
  { weight: 9, arbitrary: run },
  { weight: 2, arbitrary: fc.constant<Step>({ kind: 'keep' }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('put back' as const), isWhole: fc.boolean() }) },
);

/** What mostly happens: an edit is held, somebody agrees, and something comes between that and the push. */
const episode: fc.Arbitrary<readonly Step[]> = fc
  .tuple(
    fc.oneof(edit, bulk),
    fc.option(meanwhile, { freq: 1 }),
    fc.record({ ...agreeing, pick }),
    fc.option(meanwhile, { freq: 2 }),
    run,
  )
  .map(([first, before, agree, after, last]) => [
    first,
    { kind: 'run', fault: 'none', number: 0, aims: [] },
    ...(before === null ? [] : [before]),
    agree,
    ...(after === null ? [] : [after]),
    last,
  ]);

/** Settings and steps. */
export const sequences = (maxLength: number) =>
  fc.tuple(
    fc.record<Settings>({
      isReviewed: fc.constantFrom(true, true, false),
    }),
    fc
      .array(
        fc.oneof(
          { weight: 4, arbitrary: step.map((one): readonly Step[] => [one]) },
          { weight: 1, arbitrary: episode },
        ),
        { minLength: 2, maxLength },
      )
      .map((parts) => parts.flat()),
  );
