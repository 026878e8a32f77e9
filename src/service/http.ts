import type { Dispatcher } from 'undici';
import { ServiceError } from '../errors.ts';
import { failAfterHead, type AnswerHead, type IsKnown, judgeHead, readAnswer } from './answer.ts';
import type { BaseUrl } from './base-url.ts';
import { type Connections, type ConnectionSettings, createConnections } from './connections.ts';
import { type Body, createBody } from './body.ts';
import { nameOperation, type Operation } from './operation.ts';
import { describeConnectFailure } from './proxy.ts';
import type { Failure, FailureReason, Headers, Outcome } from './call-outcome.ts';

/** The settings of connections to the service, and of the answers that are accepted. */
export interface HttpSettings extends ConnectionSettings {
  /** The longest answer that is read, in bytes. */
  readonly maxResponseBytes: number;
  /** Accepts JSON with any content type. Off by default, so that a proxy's page is not taken for an answer. */
  readonly anyContentType: boolean;
}

export const defaultHttpSettings: HttpSettings = {
  connectTimeoutMs: 5_000,
  headersTimeoutMs: 30_000,
  totalDeadlineMs: 60_000,
  concurrency: 4,
  maxResponseBytes: 33_554_432,
  anyContentType: false,
  caFile: undefined,
};

interface HttpRequest {
  readonly operation: Operation;
  /** The path as sent, with ids filled in. */
  readonly path: string;
  /** The JSON body. A GET can have a body, too: `GET /v1/users/get` needs it (interface.md, Endpoints, note 1). */
  readonly body: string | undefined;
  /** The value of the `Authorization` header. */
  readonly authorization: string;
  /** Called when the connection is open, right before the first byte. If it throws, nothing is sent. */
  readonly atStart?: (() => void) | undefined;
  readonly isKnown?: IsKnown | undefined;
  /** If this signal is aborted, the request is given up. */
  readonly signal?: AbortSignal | undefined;
}

/** The longest answer so far, counting only operations whose answers grow with the team. */
export interface LongestAnswer {
  readonly operation: string;
  readonly bytes: number;
  /** The largest size allowed. */
  readonly maxBytes: number;
}

export interface Http {
  /**
   * Sends one request once. It follows no redirect, decompresses no body and does not try again.
   *
   * @throws ServiceError `not-sent` for a write in read-only mode, or the error that `atStart` throws. All other failures
   * are returned as an outcome
   */
  exchange(request: HttpRequest): Promise<Outcome>;
  /** The longest complete answer; `null` before the first. */
  longestAnswer(): LongestAnswer | null;
  /** Waits for the end of requests in flight, at most until their deadline. */
  close(): Promise<void>;
  /** Aborts requests in flight. It is then unknown whether they had an effect. */
  cut(): void;
}

const maxErrorBytes = 65_536;
const tlsCode =
  /^(?:ERR_TLS|ERR_SSL|EPROTO|CERT_|CRL_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO|UNSPECIFIED|HOSTNAME_|INVALID_|ERROR_IN_)/;

/**
 * @param shared connections that other clients use, too; if absent, this client has its own connections
 * @throws MusterdError `configuration` when the CA file cannot be read.
 */
export function createHttp(
  base: BaseUrl,
  mode: 'read-only' | 'read-write',
  settings: HttpSettings,
  shared?: Connections,
): Http {
  const own = createConnections();
  const pool = (shared ?? own).to(base.origin, settings);
  const proxy = settings.proxy && new URL(settings.proxy).host;
  const underWay = new Map<Promise<Outcome>, GiveUp>();
  let closing: Promise<void> | undefined;
  const close = async () => {
    await Promise.allSettled(underWay.keys());
    await own.close();
  };
  let longest: LongestAnswer | null = null;
  const noteLength = (operation: Operation, bytes: number) => {
    if (operation.maxAnswerBytes !== undefined || bytes <= (longest?.bytes ?? -1)) return;
    longest = { operation: nameOperation(operation), bytes, maxBytes: settings.maxResponseBytes };
  };
  return {
    longestAnswer: () => longest,
    exchange: async (request) => {
      const { operation } = request;
      if (mode === 'read-only' && operation.effect === 'write') throw refuseWrite(operation);
      if (closing !== undefined) return failWithoutHead(false, 'unreachable', givenUp);
      const token = request.authorization.replace(/^Bearer /, '');
      const maxAnswerBytes = Math.min(settings.maxResponseBytes, operation.maxAnswerBytes ?? Infinity);
      const options: Dispatcher.DispatchOptions = {
        origin: base.origin,
        method: operation.method,
        path: base.pathPrefix + request.path,
        headers: {
          authorization: request.authorization,
          accept: 'application/json',
          'accept-encoding': 'identity',
          'user-agent': 'musterd',
          ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: request.body ?? null,
        // Without `reset: false`, undici closes the connection after every GET that has a body.
        ...(operation.method === 'GET' ? { reset: false } : {}),
      };
      const { atStart, isKnown, signal } = request;
      const onLength = (bytes: number) => noteLength(operation, bytes);
      let giveUp: GiveUp = () => {};
      const onDispatch = (how: GiveUp) => {
        giveUp = how;
      };
      const parts = { token, atStart, isKnown, signal, maxAnswerBytes, onLength, onDispatch, proxy };
      const outcome = transfer(pool, settings, parts, options);
      underWay.set(outcome, giveUp);
      return await outcome.finally(() => underWay.delete(outcome));
    },
    close: () => {
      closing ??= close();
      return closing;
    },
    cut: () => {
      for (const giveUp of underWay.values()) giveUp();
      closing ??= close();
    },
  };
}

function refuseWrite(operation: Operation): ServiceError {
  const name = nameOperation(operation);
  return new ServiceError(`${name} is a write, and this client only reads`, {
    operation: name,
    phase: 'not-sent',
  });
}

function classify(
  error: Error,
  sent: boolean,
  proxy: string | undefined,
): { reason: FailureReason; message: string } {
  const code = (error as NodeJS.ErrnoException).code ?? error.name;
  if (!sent && tlsCode.test(code)) return { reason: 'tls', message: `no trusted TLS connection (${code})` };
  if (!sent) {
    const way = proxy === undefined ? '' : ` by way of the proxy ${proxy}`;
    return {
      reason: 'unreachable',
      message: `no connection to the service${way} (${describeConnectFailure(error)})`,
    };
  }
  if (code.endsWith('_TIMEOUT')) return { reason: 'timeout', message: `no answer in time (${code})` };
  return { reason: 'broken', message: `the connection broke before the answer was complete (${code})` };
}

function failWithoutHead(sent: boolean, reason: FailureReason, message: string, cause?: unknown): Failure {
  const phase = sent ? 'sent' : 'not-sent';
  return { kind: 'failure', reason, phase, message, cause, status: null, requestId: null, dateMs: null };
}

/** The context of a request. */
interface Transfer extends Pick<HttpRequest, 'atStart' | 'isKnown' | 'signal'> {
  readonly token: string;
  readonly maxAnswerBytes: number;
  /** The host and port of the proxy, if there is one. */
  readonly proxy: string | undefined;
  /** Called with each complete answer. */
  readonly onLength: (bytes: number) => void;
  /** Called with a function that gives the request up. */
  readonly onDispatch: (giveUp: GiveUp) => void;
}

type GiveUp = () => void;
const givenUp = 'given up: this client is closed';

/** Sends one request and reads its answer. undici reports when it begins to write, which shows whether a byte left. */
function transfer(
  pool: Dispatcher,
  settings: HttpSettings,
  { token, atStart, isKnown, signal, maxAnswerBytes, onLength, onDispatch, proxy }: Transfer,
  options: Dispatcher.DispatchOptions,
): Promise<Outcome> {
  return new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | undefined;
    let over = false;
    let head: AnswerHead | undefined;
    let body: Body | undefined;
    let maxBytes = 0;
    const deadline = setTimeout(onDeadline, settings.totalDeadlineMs).unref();
    const end = (outcome: Outcome | Promise<Outcome>) => {
      if (over) return;
      over = true;
      clearTimeout(deadline);
      signal?.removeEventListener('abort', onCancel);
      resolve(outcome);
    };
    const stop = (outcome: Outcome) => {
      end(outcome);
      controller?.abort(new Error('the answer is not wanted any more'));
    };
    const fail = (reason: FailureReason, message: string, cause?: unknown): Outcome =>
      head === undefined
        ? failWithoutHead(controller !== undefined, reason, message, cause)
        : failAfterHead(head, reason, message, cause);
    function onDeadline() {
      stop(fail('timeout', `not finished within ${settings.totalDeadlineMs} ms`));
    }
    function onCancel() {
      stop(fail('cancelled', 'cancelled', signal?.reason));
    }
    if (signal?.aborted === true) return onCancel();
    signal?.addEventListener('abort', onCancel, { once: true });
    onDispatch(() => stop(fail(controller === undefined ? 'unreachable' : 'broken', givenUp)));
    pool.dispatch(options, {
      onRequestStart: (started) => {
        // The request was already given up before there was a connection, for example at the deadline.
        if (over) {
          started.abort(new Error('not to be sent'));
          return;
        }
        try {
          atStart?.();
          controller = started;
        } catch (error) {
          end(Promise.reject(error as Error));
          started.abort(error as Error);
        }
      },
      onResponseStart: (_controller, status, headers) => {
        if (status < 200) return;
        head = { status, headers: headers as Headers, token };
        const objection = judgeHead(head, settings.anyContentType === true);
        if (objection !== null) stop(objection);
        maxBytes = status >= 400 ? maxErrorBytes : maxAnswerBytes;
        body = createBody(maxBytes);
      },
      onResponseData: (_controller, chunk) => {
        if (body === undefined || over || body.add(chunk)) return;
        stop(fail('too-large', `the answer is longer than ${maxBytes} bytes`));
      },
      onResponseEnd: () => {
        if (head === undefined || body === undefined) return end(fail('broken', 'the answer has no headers'));
        onLength(body.size());
        end(readAnswer(head, body, isKnown));
      },
      onResponseError: (_controller, error) => {
        const { reason, message } = classify(error, controller !== undefined, proxy);
        end(fail(reason, message, error));
      },
    });
  });
}
