/** The states of an edit and the reasons to hold one, each with the words in which people are told of it everywhere. */
import type { HoldReason } from './user-plan.ts';

/** The states, as `sync.settled()` and the views of `report` name them, and the words for them. */
export const editStates = {
  /** It goes by itself. */
  waiting: 'waiting',
  /** A person is to decide; the reason says why. */
  held: 'needs a decision',
  /** It is written down, and perhaps on the way. */
  sending: 'being sent',
  /** It was sent, and the answer was lost. */
  unknown: 'outcome not known yet',
  /** It was seen on the service. */
  confirmed: 'confirmed',
  /** A person said no, and the mirror still has it. */
  rejected: 'rejected',
  /** It was taken back, replaced by a later edit, or given up. */
  ended: 'no longer wanted',
} as const;
export type EditState = keyof typeof editStates;

/** The reasons of a hold, as they are stored. A plan says `rejected` of one that a person has rejected. */
export type HeldReason = Exclude<HoldReason, 'rejected'>;

/** Whether what becomes of the edit is not known yet. */
export const isOpen = ({ state }: { readonly state: EditState }): boolean =>
  state === 'waiting' || state === 'sending' || state === 'unknown';

/** Whether a person is to decide, which nobody is about a hold that was asked for. */
export const needsDecision = ({
  state,
  reason,
}: {
  readonly state: EditState;
  readonly reason: HeldReason | null;
}): boolean => state === 'held' && reason !== 'asked';

interface ReasonWords {
  /** The words behind the fields that are held. */
  readonly words: string;
  /** The meaning, and what follows. */
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
      'The service took it, and shows its own value still. Not sent again until one of the two values changes or somebody decides.',
  },
  unsupported: {
    words: 'cannot be sent',
    means: 'The service has no way to take it, until the value changes or somebody decides.',
  },
  returned: {
    words: 'edited before the user left and came back',
    means: 'Held until somebody edits it again or decides.',
  },
  limit: {
    words: 'more than the limit',
    means:
      'Nothing of it was sent, until one of the two values changes, somebody decides or, where it is about one field alone, the limit goes.',
  },
  review: {
    words: 'to be approved',
    means: 'Nothing of it was sent, until somebody approves or rejects it.',
  },
  asked: {
    words: 'held on request',
    means: 'Left alone on both sides until then.',
  },
};

export const needDecision = (edits: number): string =>
  edits === 1 ? editStates.held : editStates.held.replace('needs', 'need');
