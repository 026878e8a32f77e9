/** The states of an edit and the reasons for a hold, each with the words that people read for it everywhere. */
import type { HoldReason } from './user-plan.ts';

/** The states by their names in `sync.settled()` and the views of `report`, with the words for people. */
export const editStates = {
  /** The next run sends the edit. No person has to decide. */
  waiting: 'waiting',
  /** A person must decide about the edit. The reason of its hold shows why. */
  held: 'needs a decision',
  /** The push of the edit is recorded, and the update may be in flight. */
  sending: 'being sent',
  /** The edit was sent, and the service's answer was lost. */
  unknown: 'outcome not known yet',
  /** The edit's value was seen on the service. */
  confirmed: 'confirmed',
  /** A person rejected the edit, and the mirror still has its value. */
  rejected: 'rejected',
  /** The edit was withdrawn, replaced by a later edit, or given up. */
  ended: 'no longer wanted',
} as const;
export type EditState = keyof typeof editStates;

/** The reasons of a hold that the database stores. `rejected` is the reason of a rejected edit's hold in a plan only. */
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
  /** The words that follow the names of the held fields in a message. */
  readonly words: string;
  /** A sentence that explains the reason and what happens to the held field. */
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
