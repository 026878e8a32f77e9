import type { IsKnown } from './answer.ts';
import pLimit from 'p-limit';
import type { Clock } from '../clock.ts';
import { ServiceError } from '../errors.ts';
import { toJson } from '../model/json.ts';
import { eitherOf, makeCancellable } from './cancel.ts';
import type { ClockSkew } from './clock-skew.ts';
import type { OnEvent } from './event.ts';
import type { Http } from './http.ts';
import type { ParsedJson } from './parse-json.ts';
import { nameOperation, type Operation } from './operation.ts';
import { type Headers, type Outcome, serviceError } from './call-outcome.ts';
import { type Rate, sleepOrStop } from './rate-limiter.ts';
import { nextStep, type RetrySettings } from './retry.ts';
import type { Authorization, CredentialName, Remedy, Tokens } from './token.ts';

export interface Call {
  readonly operation: Operation;
  /** The path with ids filled in; if absent, the operation's own. */
  readonly path?: string;
  /** The value to send as JSON; `undefined` sends no body. */
  readonly body?: unknown;
  /** If given, the reply has the digest of its body. A body that is known is not parsed. */
  readonly isKnown?: IsKnown | undefined;
  /** Uses only this credential, even after a 401. */
  readonly credential?: CredentialName;
  /** Awaited right before each attempt, after all other waiting; an error ends the call. */
  readonly beforeSend?: () => Promise<void>;
  /** Called again when the connection is open, right before the first byte of each attempt. */
  readonly atStart?: () => void;
  /** After a 401, ends the call instead of sending it again with another token or credential. */
  readonly once?: boolean | undefined;
  /** If this signal is aborted, the call ends at once, and a request in flight is given up. */
  readonly signal?: AbortSignal | undefined;
}

/** A 2xx answer of the service. */
export interface Reply {
  readonly operation: string;
  readonly status: number;
  readonly requestId: string | null;
  readonly headers: Headers;
  readonly body: ParsedJson;
  readonly digest: string | null;
}

/** @throws ServiceError if no attempt got an answer; MusterdError `stopped` */
export type MakeCall = (call: Call) => Promise<Reply>;

interface CallParts {
  readonly http: Http;
  readonly tokens: Tokens;
  readonly rate: Rate;
  readonly skew: ClockSkew;
  readonly clock: Clock;
  readonly concurrency: number;
  readonly retry: RetrySettings;
  readonly random: () => number;
  readonly signal: AbortSignal | undefined;
  readonly onEvent: OnEvent;
}

/** The retry budget starts at this many retries, which is also its maximum. Each answered call adds a tenth of a retry. */
const retryBudget = 20;
const earned = 0.1;

interface Attempt {
  readonly outcome: Outcome;
  readonly authorization: Authorization;
}

/** Makes one request: waits for a place of the rate limit and for a token, then reports the answer to both. */
async function attempt(parts: CallParts, call: Call, number: number, onFlight: () => void): Promise<Attempt> {
  const { clock, tokens, rate, skew, onEvent } = parts;
  const operation = nameOperation(call.operation);
  const askedMs = clock.monotonicMs();
  const order = await rate.acquire(eitherOf(parts.signal, call.signal));
  const authorization = await tokens.authorization(call.credential);
  await call.beforeSend?.();
  const startedMs = clock.monotonicMs();
  const wallMs = clock.now();
  onFlight();
  const outcome = await parts.http.exchange({
    operation: call.operation,
    path: call.path ?? call.operation.path,
    body: call.body === undefined ? undefined : toJson(call.body),
    authorization: authorization.header,
    atStart: call.atStart,
    isKnown: call.isKnown,
    signal: call.signal,
  });
  onEvent({
    kind: 'request',
    operation,
    attempt: number,
    phase: outcome.kind === 'failure' ? outcome.phase : 'answered',
    status: outcome.status,
    requestId: outcome.requestId,
    durationMs: clock.monotonicMs() - startedMs,
    waitedMs: startedMs - askedMs,
  });
  if (outcome.dateMs !== null) {
    const message = skew.observe(outcome.dateMs, wallMs);
    if (message !== null) onEvent({ kind: 'warning', code: 'clock-skew', message });
  }
  await settle(parts, call, order, outcome, authorization);
  return { outcome, authorization };
}

/** Reports an answer to the rate limiter and to the tokens. */
async function settle(
  parts: CallParts,
  call: Call,
  order: number,
  outcome: Outcome,
  used: Authorization,
): Promise<void> {
  const { rate, tokens, onEvent } = parts;
  if (outcome.kind === 'refusal' && outcome.status === 429) {
    const pause = await rate.throttled(order, outcome.retryAfter, outcome.dateMs);
    if (pause === null) return;
    const operation = nameOperation(call.operation);
    onEvent({ kind: 'throttled', operation, pauseMs: pause.pauseMs, inARow: pause.inARow });
  } else if (outcome.kind !== 'failure') {
    rate.accepted(order);
    // A call that only checks a credential does not count as use of this credential.
    if (outcome.status !== 401 && call.credential === undefined) tokens.accepted(used);
  }
}

/** Makes calls in order, within the rate limit and with a token, and repeats a call if that is safe. */
export function createCall(parts: CallParts): MakeCall {
  const { clock, tokens, retry, random, signal, onEvent } = parts;
  const limit = pLimit(parts.concurrency);
  let budget = retryBudget;

  const reauthorize = (used: Authorization, tried: Set<Remedy>, call: Call): boolean => {
    if (call.credential !== undefined || call.once === true) return false;
    const remedy = tokens.refused(used, tried);
    tried.add(remedy);
    if (remedy === 'other-secret') {
      const message = `the ${used.credential} API secret was refused; now using the ${tokens.inUse()} one`;
      onEvent({ kind: 'warning', code: 'secret-refused', message });
    }
    return remedy !== 'none';
  };

  return makeCancellable(async (call, noteFlight) => {
    const operation = nameOperation(call.operation);
    const tried = new Set<Remedy>();
    let failures = 0;
    let throttles = 0;
    for (let number = 1; ; number += 1) {
      noteFlight(false);
      const { outcome, authorization } = await limit(() =>
        attempt(parts, call, number, () => noteFlight(true)),
      );
      if (outcome.kind === 'answer') {
        budget = Math.min(retryBudget, budget + earned);
        const { status, requestId, headers, body, digest } = outcome;
        return { operation, status, requestId, headers, body, digest };
      }
      if (outcome.kind === 'refusal' && outcome.status === 429) throttles += 1;
      else if (outcome.status !== 401) failures += 1;
      const tries = { failures, throttles };
      const step = nextStep(call.operation.effect, outcome, tries, retry, { wallMs: clock.now(), random });
      if (step.kind === 'reauthorize' && reauthorize(authorization, tried, call)) continue;
      if (step.kind !== 'retry' || (step.costs && budget < 1)) throw serviceError(operation, outcome);
      if (step.costs) budget -= 1;
      const { afterMs, because } = step;
      onEvent({ kind: 'retry', operation, attempt: number, afterMs, because });
      await sleepOrStop(clock, afterMs, eitherOf(signal, call.signal));
    }
  });
}

/** The result, or `null` if the service answers 404. */
export async function nullIfMissing<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ServiceError && error.status === 404) return null;
    throw error;
  }
}
