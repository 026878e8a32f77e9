import { seedOf } from '../random.ts';
import type { LoggedRequest } from '../wire/request-log.ts';

/** Selects requests: `times` of those that match, beginning with the `at`-th. */
export interface Match {
  readonly method?: string;
  /** The path as sent, without the query. A `*` at the end stands for any rest. */
  readonly path?: string;
  readonly team?: number;
  /** The number of the first request, counted from 1 since the match was set up. The default is 1. */
  readonly at?: number;
  /** The default is 1. */
  readonly times?: number | 'always';
  /** The percentage of those that is selected at random, but always the same ones. By default it is all. */
  readonly percent?: number;
}

/** Whether the request is selected. It must be called once per request, because it counts them. */
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
