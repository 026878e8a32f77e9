/** What a view is told, where nothing is said of it. */
import type { PageContext } from '../../src/page/render/view.ts';

export const now = new Date('2026-03-11T12:00:00Z');

export const contextOf = (path: string, search = '', details = true): PageContext => {
  const team = { team: 'harbour', teamId: 41n, name: 'Harbour' };
  return {
    path,
    params: {},
    query: new URLSearchParams(search),
    isCsv: false,
    note: undefined,
    details,
    teams: [team],
    team,
    now,
    decide: null,
    waiting: 0,
    standings: new Map(),
    roleNames: new Map(),
    placing: {
      verdict: 'unrecorded',
      known: null,
      here: { identifier: null, database: '5', address: { at: 'db-1:5432/muster', machine: null } },
      until: null,
    },
    stopped: new Map(),
    waitingEdits: 0,
    version: '1',
    explain: () => null,
    perMinute: () => null,
  };
};

/** As people read it. */
export const textOf = (page: { toString(): string }): string =>
  page
    .toString()
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replaceAll(/\s+/g, ' ')
    .trim();
