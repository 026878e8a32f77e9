import { seedOf } from '../random.ts';
import type { LoggedRequest } from '../wire/request-log.ts';

/** Selects `times` of the requests that match, beginning with the matching request of number `at`. */
export interface Match {
  readonly method?: string;
  /** The path as sent, without the query. A `*` at the end matches any ending. */
  readonly path?: string;
  readonly team?: number;
  /** The first selected request, counted from 1 among the matching requests. The default is 1. */
  readonly at?: number;
  /** How many requests are selected. The default is 1. */
  readonly times?: number | 'always';
  /** The percentage of these requests that is selected: the same requests in each run. The default is 100. */
  readonly percent?: number;
}

/** Returns true if the request is selected. It must be called once per request, because it counts requests. */
export type Trigger = (request: Readonly<LoggedRequest>) => boolean;

export function createTrigger(match: Match): Trigger {
  const { at = 1, times = 1, percent = 100 } = match;
  const last = times === 'always' ? Number.POSITIVE_INFINITY : at + times - 1;
  let seen = 0;
  return (request) => {
    if (!fits(match, request)) return false;
    seen += 1;
    return seen >= at && seen <= last && seedOf(`lot ${request.path} ${seen}`) % 100 < percent;
  };
}

function fits(match: Match, request: Readonly<LoggedRequest>): boolean {
  if (match.method !== undefined && match.method.toUpperCase() !== request.method) return false;
  if (match.team !== undefined && match.team !== request.team) return false;
  if (match.path === undefined) return true;
  return match.path.endsWith('*')
    ? request.path.startsWith(match.path.slice(0, -1))
    : match.path === request.path;
}
