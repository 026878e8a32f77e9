/** Decisions for plans that a test makes by hand. */
import {
  type Decision,
  type Decisions,
  decideEach,
  type Move,
  type Values,
} from '../../src/model/user-plan.ts';

/** Nothing but these. */
export const decisions = (some: Partial<Decisions> = {}): Decisions => ({
  ...decideEach(() => ({ kind: 'same', ends: false })),
  ...some,
});

export const moveOf = (kind: Move['kind'], values: Partial<Values> = {}, ends = false): Move => ({
  kind,
  values: { base: null, mirror: null, service: null, ...values },
  ends,
});

export const heldAsBefore: Decision = { kind: 'held', shown: undefined };
