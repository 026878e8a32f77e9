import type { Phase } from '../errors.ts';

/** A request has ended, with any outcome. */
export interface RequestEvent {
  readonly kind: 'request';
  /** The name of the operation without ids, for example `POST /v1/tags`. */
  readonly operation: string;
  /** 1 for the first attempt of a call. */
  readonly attempt: number;
  readonly phase: Phase;
  readonly status: number | null;
  readonly requestId: string | null;
  /** Ms from handing the request to the network to the last byte of the answer. */
  readonly durationMs: number;
  /** Ms that the request waited before that, for the rate limit and a token. */
  readonly waitedMs: number;
}

/** A call is repeated. */
export interface RetryEvent {
  readonly kind: 'retry';
  readonly operation: string;
  /** The attempt that failed. */
  readonly attempt: number;
  readonly afterMs: number;
  readonly because: string;
}

/** The service answered 429: no call leaves before the pause is over. */
export interface ThrottledEvent {
  readonly kind: 'throttled';
  readonly operation: string;
  readonly pauseMs: number;
  /** The number of pauses since the last call that was accepted, including this one. */
  readonly inARow: number;
}

export type WarningCode = 'clock-skew' | 'legacy-api-key' | 'secret-refused';

export interface WarningEvent {
  readonly kind: 'warning';
  readonly code: WarningCode;
  /** One sentence for a person, without names, addresses or credentials. */
  readonly message: string;
}

/**
 * Events of the client, for logs, metrics and progress. They never contain a credential, a header or a body. A listener
 * must not throw.
 */
export type ServiceEvent = RequestEvent | RetryEvent | ThrottledEvent | WarningEvent;

export type OnEvent = (event: ServiceEvent) => void;
