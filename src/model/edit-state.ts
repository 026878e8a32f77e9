/** The states of an edit and the reasons for a hold, each with the words that people read for it everywhere. */
import type { HoldReason } from './user-plan.ts';

/** The states by their names in `sync.settled()` and the views of `report`, with the words for people. */
export const editStates = {
  /** A run sends it without a decision. */
  waiting: 'waiting',
  /** A person must decide; the reason of the hold shows why. */
  held: 'needs a decision',
  /** Its intent is recorded, and the update may be in flight. */
  sending: 'being sent',
  /** It was sent, and the answer was lost. */
  unknown: 'outcome not known yet',
  /** It was seen on the service. */
  confirmed: 'confirmed',
  /** A person rejected it, and the mirror still has its value. */
  rejected: 'rejected',
  /** It was taken back, replaced by a later edit, or given up. */
  ended: 'no longer wanted',
} as const;
export type EditState = keyof typeof editStates;

/** The reasons of a hold, as they are stored. In a plan, the hold of a rejected edit has the reason `rejected`. */
export type HeldReason = Exclude<HoldReason, 'rejected'>;

/** True if the outcome of the edit is not known yet, and no person has to decide. */
export const isOpen = ({ state }: { readonly state: EditState }): boolean =>
  state === 'waiting' || state === 'sending' || state === 'unknown';

/** True if a person must decide. A hold on request needs no decision. */
export const needsDecision = ({
  state,
  reason,
}: {
  readonly state: EditState;
  readonly reason: HeldReason | null;
}): boolean => state === 'held' && reason !== 'asked';

interface ReasonWords {
  /** The words that follow the names of the held fields. */
  readonly words: string;
  /** A sentence about the meaning and the consequence. */
  readonly means: string;
}

export const holdReasons: Readonly<Record<HeldReason, ReasonWords>> = {
  conflict: {
    words: 'changed on both sides',
    means:
      'Each side has a value that the other has not seen, so neither is overwritten until one of the two changes or somebody decides.',
  },
  refused: {
    words: 'refused by the service',
    means: 'Not sent again until one of the two values changes or somebody decides.',
  },
  ineffective: {
    words: 'taken without effect by the service',
    means:
      'The service accepted it, but still shows its own value. Not sent again until one of the two values changes or somebody decides.',
  },
  unsupported: {
    words: 'cannot be sent',
    means: 'The service has no way to take it. Held until the value changes or somebody decides.',
  },
  returned: {
    words: 'edited before the user left and came back',
    means: 'Held until somebody edits it again or decides.',
  },
  limit: {
    words: 'more than the limit',
    means:
      'Not sent until one of the two values changes or somebody decides. A limit on a single field can also end by itself.',
  },
  review: {
    words: 'to be approved',
    means: 'Not sent until somebody approves or rejects it.',
  },
  asked: {
    words: 'held on request',
    means: 'Left alone on both sides until the hold ends.',
  },
};

export const needDecision = (edits: number): string =>
  edits === 1 ? editStates.held : editStates.held.replace('needs', 'need');
