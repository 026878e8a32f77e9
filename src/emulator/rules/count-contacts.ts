import { seedOf } from '../random.ts';
import type { PageRequest } from '../wire/request-schemas.ts';
import type { PlayedTeam } from './played-team.ts';

const narrowing = ['archived', 'assigned', 'date', 'filter', 'filters', 'id', 'parent_id'] as const;

/** The number of contacts that a pagination body selects: all, or a share derived from its filters. */
export function countMatching(team: PlayedTeam, request: PageRequest): number {
  const segment = segmentOf(request);
  const set = team.segments.get(segment);
  if (set !== undefined) return set;
  return segment === '' ? team.contacts : Math.floor((team.contacts * (seedOf(segment) % 900)) / 1000);
}

/** The filters of a pagination body as one text; empty if there are none. Paging and order are ignored. */
export function segmentOf(request: PageRequest): string {
  return narrowing
    .filter((key) => request[key] !== undefined && request[key] !== '')
    .filter((key) => request[key] !== false)
    .map((key) => `${key}=${JSON.stringify(request[key])}`)
    .join('&');
}
