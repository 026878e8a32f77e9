import { seedOf } from './random.ts';
import type { LoggedRequest } from './request-log.ts';

/** Selects requests: of those that match, `times` from the `at`-th on. */
export interface Match {
  readonly method?: string;
  /** The path as sent, without the query; a `*` at the end stands for any rest. */
  readonly path?: string;
  readonly team?: number;
  /** Counted from 1, from the moment that the match is set up; 1 when left out. */
  readonly at?: number;
  /** 1 when left out. */
  readonly times?: number | 'always';
  /** How many of those are selected at random, but the same ones each time; default: all. */
  readonly percent?: number;
}

/** Whether the request is selected. To be called once per request, because it counts them. */
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
