import type { Phase } from '../errors.ts';

/** A request that came to an end, one way or the other. */
export interface RequestEvent {
  readonly kind: 'request';
  /** Such as `POST /v1/tags`, without ids. */
  readonly operation: string;
  /** 1 for the first try of a call. */
  readonly attempt: number;
  readonly phase: Phase;
  readonly status: number | null;
  readonly requestId: string | null;
  /** From handing the request to the network to the last byte of the answer. */
  readonly durationMs: number;
  /** What the call waited before it, for its turn and for the rate limit. */
  readonly waitedMs: number;
}

/** A call is tried again. */
export interface RetryEvent {
  readonly kind: 'retry';
  readonly operation: string;
  /** The try that failed. */
  readonly attempt: number;
  readonly afterMs: number;
  readonly because: string;
}

/** The service said 429: no call leaves before the pause is over. */
export interface ThrottledEvent {
  readonly kind: 'throttled';
  readonly operation: string;
  readonly pauseMs: number;
  /** How many pauses came without an accepted call between them. */
  readonly inARow: number;
}

export type WarningCode = 'clock-skew' | 'legacy-api-key' | 'secret-refused' | 'rate-lowered';

export interface WarningEvent {
  readonly kind: 'warning';
  readonly code: WarningCode;
  /** One sentence for a person, without names, addresses or credentials. */
  readonly message: string;
}

/**
 * What the client tells while it works, for logs, metrics and progress: chosen values only, never a
 * credential, a header or a body. A listener must not throw.
 */
export type ServiceEvent = RequestEvent | RetryEvent | ThrottledEvent | WarningEvent;

export type OnEvent = (event: ServiceEvent) => void;
