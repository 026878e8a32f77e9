/**
 * All errors that a person can see. Each message says what was tried, what happened and what to do next.
 * `commands/command-line.ts` prints it and chooses the exit code.
 */

import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

/** The kinds of errors that can end a command. */
export type ErrorCode =
  /** The command line has a mistake. */
  | 'usage'
  /** A setting is missing, malformed or contradicts another. */
  | 'configuration'
  /** The credentials belong to a team other than the team of this mirror. */
  | 'wrong-team'
  /** The mirror is a copy, or is not at its recorded place, so nothing is sent or decided from it. */
  | 'copy'
  /** Another run of the team is under way. */
  | 'lease-held'
  /** The run lost its lease (it stalled, or the database did not answer), so it must not send or commit. */
  | 'lease-lost'
  /** The service refused the credentials. */
  | 'credentials'
  /** The database login has no right to do this. */
  | 'denied'
  /** The service did not answer, or its answer does not match the interface. */
  | 'service'
  /** Postgres could not be reached, or returned an error. */
  | 'mirror'
  /** The process was asked to stop. */
  | 'stopped';

/** An error with a sentence for a person. For errors of the client, docs/client.md lists the values of `code`. */
export class MusterdError extends Error {
  readonly code: ErrorCode;
  /** The next step for the person who reads the message. */
  readonly hint: string | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly hint?: string | undefined; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'MusterdError';
    this.code = code;
    this.hint = options.hint;
  }
}

/** Another session has held a lock on the same rows or table for longer than a statement waits. */
export class LockedError extends MusterdError {}

/**
 * How far a request got: `not-sent` if no byte was sent, so that it had no effect; `sent` if it is unknown whether it
 * had its effect; `answered` if the service's answer is known.
 */
export type Phase = 'not-sent' | 'sent' | 'answered';

/** Labels that only name the mistake, such as `bad_data`. Other labels can quote a name or an address: not logged. */
export const plainWords = /^[A-Z]?[a-z]+(?:[ _][a-z]+){0,3}$/;

/** A call to the service that did not end in a usable answer. Never holds a credential. */
export class ServiceError extends MusterdError {
  declare readonly code: 'credentials' | 'service' | 'stopped';
  /** For example `POST /v1/tags`. */
  readonly operation: string;
  readonly phase: Phase;
  readonly status: number | undefined;
  /** The body of the error, a JSON string such as `bad_data` (interface.md, Errors). */
  readonly label: string | undefined;
  /** The beginning of the body in printable form. Only the caller sees it; it is never logged or recorded. */
  readonly excerpt: string | undefined;
  /** `X-Request-Id` of the answer, for the service's support. */
  readonly requestId: string | undefined;

  constructor(
    message: string,
    details: {
      readonly operation: string;
      readonly phase: Phase;
      readonly status?: number | undefined;
      readonly label?: string | undefined;
      readonly excerpt?: string | undefined;
      readonly requestId?: string | undefined;
      readonly hint?: string | undefined;
      readonly cause?: unknown;
      /** True if the caller has cancelled the call. */
      readonly isCancelled?: boolean;
    },
  ) {
    const code = details.isCancelled === true ? 'stopped' : 'service';
    super(details.status === 401 ? 'credentials' : code, message, details);
    this.name = 'ServiceError';
    this.operation = details.operation;
    this.phase = details.phase;
    this.status = details.status;
    this.label = details.label;
    this.excerpt = details.excerpt;
    this.requestId = details.requestId;
  }
}

/**
 * The stack of an error, with files and lines of the source if the program is built. Node's own support for source maps
 * is not used, because it reads every map at the start of every command, which takes longer than all other work.
 */
export function stackInSource({ stack, message }: Error): string {
  const maps = new Map<string, SourceMap | null>();
  const mapOf = (url: string) => {
    const cached = maps.get(url);
    if (cached !== undefined) return cached;
    let map: SourceMap | null = null;
    try {
      map = new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, 'utf8')));
    } catch {
      // There is no map, because the file is the source.
    }
    maps.set(url, map);
    return map;
  };
  return (stack ?? message).replaceAll(/(file:[^\s)]+):(\d+):(\d+)/g, (place, url: string, line, column) => {
    const found = mapOf(url)?.findOrigin(Number(line), Number(column));
    if (found === undefined || !('fileName' in found)) return place;
    return `${new URL(found.fileName, url).href}:${found.lineNumber}:${found.columnNumber}`;
  });
}

/** True if the service refused the request itself: the reason is neither the credentials nor a temporary state. */
export function isRefusal(error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError) || error.status === undefined) return false;
  return (
    error.status >= 400 && error.status < 500 && ![401, 403, 408, 409, 423, 425, 429].includes(error.status)
  );
}
