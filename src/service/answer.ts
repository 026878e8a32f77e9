/** Turns status, headers and bytes of an answer into an outcome, without side effects. */
import { setImmediate } from 'node:timers/promises';
import { blotOut } from '../secret.ts';
import type { Body } from './body.ts';
import { isObject } from './json-object.ts';
import { measureBounds } from './json-bounds.ts';
import { type ParsedJson, readJson, readLongJson } from './parse-json.ts';
import type { Answer, Failure, FailureReason, Headers, Refusal } from './call-outcome.ts';
import { toPrintable } from './printable.ts';

export interface AnswerHead {
  readonly status: number;
  readonly headers: Headers;
  /** The token that was sent. If the answer repeats it, it must be removed. */
  readonly token: string;
}

const maxQuoteLength = 200;

function header(head: AnswerHead, name: string): string | null {
  const value = head.headers[name];
  return typeof value === 'string' ? value : (value?.[0] ?? null);
}

/** Makes a text of the service safe to appear in an error or an event. */
function quote(head: AnswerHead, text: string, maxLength = maxQuoteLength): string {
  // First the text is made printable, because invisible characters inside the token would hide it from `blotOut`.
  return blotOut(toPrintable(text, text.length), [head.token]).slice(0, maxLength).toWellFormed();
}

function common(head: AnswerHead) {
  const id = header(head, 'x-request-id');
  const requestId = id === null ? null : quote(head, id);
  // The `Date` of an answer from a cache is the time when the answer was made. It is old, so it is ignored.
  const dateMs = head.headers['age'] === undefined ? Date.parse(header(head, 'date') ?? '') : Number.NaN;
  return { status: head.status, requestId, dateMs: Number.isNaN(dateMs) ? null : dateMs };
}

function failure(head: AnswerHead, reason: FailureReason, message: string, cause?: unknown): Failure {
  return { kind: 'failure', reason, phase: 'sent', message, cause, ...common(head) };
}

function hasLength(head: AnswerHead): boolean {
  const chunked = /(?:^|,)\s*chunked\s*$/i.test(header(head, 'transfer-encoding') ?? '');
  return chunked || header(head, 'content-length') !== null;
}

function isEncoded(head: AnswerHead): boolean {
  const encoding = header(head, 'content-encoding');
  return encoding !== null && encoding.trim() !== '' && encoding.trim().toLowerCase() !== 'identity';
}

function redirectHost(location: string | null): string {
  return location !== null && URL.canParse(location) ? new URL(location).host : 'the same host';
}

/** The failure that status and headers show; `null` if they show no failure. */
export function judgeHead(head: AnswerHead, anyContentType: boolean): Failure | null {
  if (head.status >= 400) return null;
  if (head.status >= 300) {
    const host = quote(head, redirectHost(header(head, 'location')));
    return failure(head, 'redirect', `answered ${head.status}, a redirect to ${host}`);
  }
  if (isEncoded(head)) return failure(head, 'encoded', 'the answer is compressed');
  if (!hasLength(head)) return failure(head, 'unframed', 'the answer has neither a length nor chunks');
  const type = (header(head, 'content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  if (!anyContentType && !/^application\/(?:json|[\w.-]+\+json)$/.test(type)) {
    const typeWords = type === '' ? 'no content type' : quote(head, type, 60);
    return failure(head, 'not-json', `the answer is not JSON (${typeWords})`);
  }
  return null;
}

/** Length of the excerpt of a refusal's body. */
const maxExcerptLength = 1_000;

/** The service's message about the error, and the beginning of the body, if the body contains more than the message. */
function readRefusal(head: AnswerHead, body: Pick<Body, 'take'>): Pick<Refusal, 'label' | 'excerpt'> {
  if (isEncoded(head) || !hasLength(head)) return { label: null, excerpt: undefined };
  const bytes = body.take();
  // A character has at most four bytes, so later bytes are not in the excerpt.
  const text = new TextDecoder().decode(bytes.subarray(0, 4 * maxExcerptLength)).trim();
  const read = readJson({ take: () => bytes });
  const message = read?.value;
  const label = isObject(message) ? (message['message'] ?? message['error']) : message;
  return {
    label: typeof label !== 'string' || label === '' ? null : quote(head, label),
    excerpt: text === '' || typeof message === 'string' ? undefined : quote(head, text, maxExcerptLength),
  };
}

/** True if a body with this digest is known, so that it need not be parsed. */
export type IsKnown = (digest: string) => Promise<boolean>;

/** The body of an answer that was not parsed. */
const unread: ParsedJson = { value: undefined, spelling: null, suspicious: false };

/**
 * Reads a whole body after {@link judgeHead} found no failure. Releases the bytes before parsing.
 * @param isKnown if given, the answer has the digest of its body
 */
export async function readAnswer(
  head: AnswerHead,
  body: Omit<Body, 'add'>,
  isKnown?: IsKnown,
): Promise<Answer | Refusal | Failure> {
  if (head.status >= 400) {
    const retryAfter = header(head, 'retry-after');
    return { kind: 'refusal', ...readRefusal(head, body), retryAfter, ...common(head) };
  }
  const digest = isKnown === undefined ? null : body.digest();
  if (digest !== null && (await isKnown?.(digest)) === true) return answerOf(head, unread, digest);
  return body.size() > shortBytes ? readLong(head, body, digest) : answerOf(head, readJson(body), digest);
}

/** An answer of up to this many bytes takes little memory, whatever it contains. */
const shortBytes = 4_194_304;

/** Reads a long answer in steps, between which other work can run. Rejects an answer that would take too much memory. */
async function readLong(
  head: AnswerHead,
  body: Omit<Body, 'add'>,
  digest: string | null,
): Promise<Answer | Failure> {
  const bytes = body.take();
  await setImmediate();
  const { excess, hasLongNumber } = measureBounds(bytes);
  if (excess !== null) return failure(head, 'too-large', `the answer was rejected: ${excess}`);
  await setImmediate();
  return answerOf(head, await readLongJson(bytes, hasLongNumber), digest);
}

function answerOf(head: AnswerHead, read: ParsedJson | null, digest: string | null): Answer | Failure {
  if (read === null) return failure(head, 'malformed', 'the answer claims to be JSON and is not');
  return { kind: 'answer', body: read, digest, headers: head.headers, ...common(head) };
}

/** The outcome of an incomplete body. A 4xx or 5xx still counts as a refusal, without a message. */
export function failAfterHead(
  head: AnswerHead,
  reason: FailureReason,
  message: string,
  cause?: unknown,
): Refusal | Failure {
  if (head.status < 400) return failure(head, reason, message, cause);
  const retryAfter = header(head, 'retry-after');
  return { kind: 'refusal', label: null, excerpt: undefined, retryAfter, ...common(head) };
}
