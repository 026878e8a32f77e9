/** One request as the service received it. It never holds a secret. */
export interface LoggedRequest {
  /** The first request is number 1. */
  readonly number: number;
  /** `X-Request-Id` of the answer. */
  readonly requestId: string;
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  /** The part after the question mark; empty if there is none. */
  readonly query: string;
  /** The time at which the request's headers arrived, in ms since 1970 by the service's clock. */
  readonly atMs: number;
  /** The parsed JSON body; `undefined` without a body. A body that is not JSON is kept as text. */
  body: unknown;
  /** The team of the credentials; `undefined` if they were refused. */
  team: number | undefined;
  /** The name of the credential: the id of the API Secret, or `api key`. */
  credential: string | undefined;
  /** The status of the answer; `undefined` before the answer, and if the connection was cut. */
  status: number | undefined;
  /** The beginning of the answer's body. Kept only for the newest requests, and not if the connection was cut. */
  answer: string | undefined;
  /** The reason why the answer is not a 200, for people. */
  why: string | undefined;
  /** The kinds of the faults that were played on the request. */
  faults: readonly string[];
}

/** Why an answer is unusual: a fault or an error. `undefined` for a usual answer. */
export function oddityOf({ faults, why }: LoggedRequest): string | undefined {
  return faults.length > 0 ? `fault: ${faults.join(', ')}` : why;
}

export interface RequestLog {
  readonly requests: readonly LoggedRequest[];
  add(request: Pick<LoggedRequest, 'requestId' | 'method' | 'path' | 'query' | 'atMs'>): LoggedRequest;
  clear(): void;
}

/** The number of newest requests whose answers the log keeps, too. */
const answersKept = 50;

/** The largest number of requests in the log. This limit lets an emulator run for months. */
const mostKept = 100_000;

export function createRequestLog(): RequestLog {
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
        answer: undefined,
        why: undefined,
        faults: [],
      };
      requests.push(logged);
      const older = requests.at(-answersKept - 1);
      if (older !== undefined) older.answer = undefined;
      if (requests.length > mostKept) requests.splice(0, mostKept / 10);
      return logged;
    },
    clear: () => {
      requests.length = 0;
    },
  };
}
