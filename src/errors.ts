/**
 * All errors that a person can meet. Each says what was tried, what happened and what to do next.
 * `commands/command-line.ts` makes the words around it and the exit code.
 */

import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

/** The kinds of ends that a command can have. */
export type ErrorCode =
  /** The command line makes no sense. */
  | 'usage'
  /** A setting is missing, malformed or contradicts another. */
  | 'configuration'
  /** The credentials belong to another team than the one that this mirror holds. */
  | 'wrong-team'
  /** The mirror is a copy, or at another place than it was: nothing is sent or decided there. */
  | 'copy'
  /** Another run of the team is under way. */
  | 'lease-held'
  /** The run lost its lease (it stalled, or the database was away) and may neither send nor commit. */
  | 'lease-lost'
  /** The service refused the credentials. */
  | 'credentials'
  /** The login of the database may not do this. */
  | 'denied'
  /** The service did not answer, or not as the interface says. */
  | 'service'
  /** Postgres could not be reached, or refused. */
  | 'mirror'
  /** Somebody asked the process to stop. */
  | 'stopped';

/** An error with a sentence for a person. What an error of the client has as `code` is in docs/client.md. */
export class MusterdError extends Error {
  readonly code: ErrorCode;
  /** The next step for the person who reads it. */
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
 * How far a request got: `not-sent` if no byte left, so that it had no effect; `sent` if nobody knows whether it had
 * its effect; `answered` if the service's answer is known.
 */
export type Phase = 'not-sent' | 'sent' | 'answered';

/** A label that says what was wrong, such as `bad_data`. Others may quote a name or an address, and messages get into logs. */
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
  /** The beginning of the body in printable form, only for the person who made this call, and never for a log or record. */
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
      /** Whether whoever made the call has cancelled it. */
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
 * The stack of an error, with files and lines of the source if the program is built. Node itself would read every map
 * at the start of every command, which takes longer than everything else.
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

/** Whether the service refused the request itself, and not our credentials or the moment. */
export function isRefusal(error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError) || error.status === undefined) return false;
  return (
    error.status >= 400 && error.status < 500 && ![401, 403, 408, 409, 423, 425, 429].includes(error.status)
  );
}
