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

export function moveOf<Kind extends Move['kind']>(kind: Kind, values: Partial<Values> = {}, ends = false) {
  const moved = { kind, values: { base: null, mirror: null, service: null, ...values }, ends };
  return (kind === 'push' ? { ...moved, edit: undefined, seenMs: undefined } : moved) as Move & {
    readonly kind: Kind;
  };
}

export const heldAsBefore: Decision = { kind: 'held', shown: undefined };
