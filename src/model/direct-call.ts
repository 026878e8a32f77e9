/** Calls that a person makes with a direct command. Each call is sent once. */

/** The subject of a call, which is the key of its values in the ledger. */
export const callSubjects = ['tag', 'message', 'conversation_read'] as const;
export type CallSubject = (typeof callSubjects)[number];

/**
 * The outcome of a call: `answered` by a 2xx; `confirmed` if a listing shows the effect; `refused` with a 4xx; `unsent`
 * if no byte left; `unknown` if it is not known whether the call had an effect.
 */
export const callOutcomes = ['answered', 'confirmed', 'refused', 'unsent', 'unknown'] as const;
export type CallOutcome = (typeof callOutcomes)[number];
