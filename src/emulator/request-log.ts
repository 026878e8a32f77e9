/** One request as the service saw it. Never holds a credential. */
export interface LoggedRequest {
  /** 1 for the first. */
  readonly number: number;
  /** `X-Request-Id` of the answer. */
  readonly requestId: string;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** After the question mark; empty when there is none. */
  readonly query: string;
  /** When its headers were there: ms since 1970, by the service's clock. */
  readonly atMs: number;
  /** The parsed JSON body; undefined when there was none. A body that is not JSON stands here as text. */
  body: unknown;
  /** The team that the credentials belong to; undefined when they were refused. */
  team: number | undefined;
  /** Which credential it was: the id of the API Secret, or `api key`. */
  credential: string | undefined;
  /** The status of the answer; undefined while there is none, and forever when the connection was cut. */
  status: number | undefined;
  /** Why the answer is not a 200; in words for people. */
  why: string | undefined;
  /** The kinds of the faults that were played on it. */
  faults: readonly string[];
}

export interface RequestLog {
  readonly requests: readonly LoggedRequest[];
  add(request: Pick<LoggedRequest, 'requestId' | 'method' | 'path' | 'query' | 'atMs'>): LoggedRequest;
  clear(): void;
}

/** The newest `size` requests are kept, so that an emulator can run for months. */
export function createRequestLog(size = 100_000): RequestLog {
  const requests: LoggedRequest[] = [];
  let count = 0;
  return {
    requests,
    add: (request) => {
      count += 1;
      const logged: LoggedRequest = {
        number: count,
        ...request,
        body: undefined,
        team: undefined,
        credential: undefined,
        status: undefined,
        why: undefined,
        faults: [],
      };
      requests.push(logged);
      if (requests.length > size) requests.splice(0, Math.ceil(size / 10));
      return logged;
    },
    clear: () => {
      requests.length = 0;
    },
  };
}
