/** The outcome of one request, by which the retry policy decides whether to repeat the call. */
import { type Phase, ServiceError, plainWords } from '../errors.ts';
import type { ParsedJson } from './parse-json.ts';

export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

interface AnswerMetadata {
  readonly status: number;
  /** `X-Request-Id`: "identifies the request for support" (interface.md, General rules, 3). */
  readonly requestId: string | null;
  /** The `Date` header in ms since 1970. */
  readonly dateMs: number | null;
}

/** A 2xx answer whose body is JSON. */
export interface Answer extends AnswerMetadata {
  readonly kind: 'answer';
  readonly body: ParsedJson;
  /** The SHA-256 of the body, if the call asked for it. A body with a known digest is not parsed. */
  readonly digest: string | null;
  readonly headers: Headers;
}

/** A 4xx or 5xx. "Errors are a status code with a JSON string body" (interface.md, Errors). */
export interface Refusal extends AnswerMetadata {
  readonly kind: 'refusal';
  readonly label: string | null;
  /** The beginning of the body, made printable, if the body contains more than the label. */
  readonly excerpt: string | undefined;
  readonly retryAfter: string | null;
}

export type FailureReason =
  /** The name was not resolved, no server listens at the address, or connecting took too long. */
  | 'unreachable'
  /** The certificate is not valid for this host, or the TLS handshake failed. */
  | 'tls'
  /** The connection broke, or the received bytes were not HTTP. */
  | 'broken'
  | 'timeout'
  /** Neither a length nor chunks mark the end of the body, so a broken connection would look like the end. */
  | 'unframed'
  | 'encoded'
  | 'not-json'
  | 'malformed'
  | 'too-large'
  | 'redirect'
  /** The caller has cancelled the call. */
  | 'cancelled';

/** The request got no usable answer. */
export interface Failure {
  readonly kind: 'failure';
  readonly reason: FailureReason;
  readonly phase: Exclude<Phase, 'answered'>;
  readonly message: string;
  readonly status: number | null;
  readonly requestId: string | null;
  readonly dateMs: number | null;
  readonly cause?: unknown;
}

export type Outcome = Answer | Refusal | Failure;

const hints: Partial<Record<FailureReason, string>> = {
  unreachable: 'check the base URL, the name resolution and the network',
  tls: "check the base URL's host name and, for a private authority, MUSTERD_CA_FILE",
  'not-json': 'a proxy, a login page or another program may be answering in place of the service',
  redirect: 'redirects are never followed; set the base URL to where the service is',
  encoded: 'something between musterd and the service compresses answers without being asked',
  unframed: 'something between musterd and the service strips the length of answers',
  'too-large': 'a smaller pages.size makes listing pages smaller; no setting allows longer answers',
};

function hintForStatus(status: number): string | undefined {
  if (status === 401) return 'check the API secret (web app: Settings > Integrations > API) and the clock';
  if (status === 429) return 'other integrations may be using the same limit; lower rate.share';
  return undefined;
}

/** The error of a failed call, from the outcome of its last attempt. */
export function serviceError(operation: string, outcome: Refusal | Failure): ServiceError {
  const requestId = outcome.requestId ?? undefined;
  if (outcome.kind === 'refusal') {
    const { status } = outcome;
    const label = outcome.label ?? undefined;
    const said = label !== undefined && plainWords.test(label) ? ` (${label})` : '';
    const message = `${operation} was answered ${status}${said}`;
    return new ServiceError(message, {
      operation,
      phase: 'answered',
      status,
      label,
      excerpt: outcome.excerpt,
      requestId,
      hint: hintForStatus(status),
    });
  }
  return new ServiceError(`${operation}: ${outcome.message}`, {
    operation,
    phase: outcome.phase,
    status: outcome.status ?? undefined,
    requestId,
    cause: outcome.cause,
    hint: hints[outcome.reason],
    isCancelled: outcome.reason === 'cancelled',
  });
}
