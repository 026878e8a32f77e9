/** Compares the team's row and the rows of listings. Editors cannot change these, so every difference counts as drift. */

import { isDeepStrictEqual } from 'node:util';
import type { Id } from '../model/id.ts';
import { fromJson, toJson } from '../model/json.ts';
import type { Difference, Differences, OneSided, Value } from './difference.ts';

export interface ServiceRow {
  readonly id: Id;
  readonly columns: Readonly<Record<string, Value>>;
}

export interface ComparedRow extends ServiceRow {
  readonly gone_at: Date | null;
  readonly missing_since: Date | null;
  /** True if the service returned the row by its id, although the listing leaves it out. */
  readonly found: boolean;
}

/** The value of the first column, which is used as the name of a row. */
function nameOf({ columns }: ServiceRow): string {
  const [name] = Object.values(columns);
  return typeof name === 'string' ? name : '';
}

/**
 * Compares lists and objects by their contents, regardless of the order of keys and the JavaScript types of numbers.
 */
const isSame = (ours: Value, theirs: Value) =>
  ours === theirs || isDeepStrictEqual(fromJson(toJson(ours)), fromJson(toJson(theirs)));

function compareRow(resource: string, mirror: ServiceRow, service: ServiceRow): readonly Difference[] {
  return Object.entries(service.columns).flatMap(([field, theirs]): Difference[] => {
    const ours = mirror.columns[field] ?? null;
    if (isSame(ours, theirs)) return [];
    const judged = { judgement: 'drift', because: null } as const;
    return [
      { resource, id: service.id, name: nameOf(service), field, mirror: ours, service: theirs, ...judged },
    ];
  });
}

/** @param complete true if the service's listing was read to its end, so that a row that is not in it is missing */
export function compareRows(
  resource: string,
  mirrored: readonly ComparedRow[],
  rows: readonly ServiceRow[],
  complete: boolean,
): Differences {
  const byId = new Map(mirrored.map((row) => [row.id, row]));
  const shown = new Set(rows.map(({ id }) => id));
  const differences: Difference[] = [];
  const oneSided: OneSided[] = [];
  for (const service of rows) {
    const mirror = byId.get(service.id);
    if (mirror !== undefined && mirror.gone_at === null) {
      differences.push(...compareRow(resource, mirror, service));
      continue;
    }
    const because =
      mirror === undefined ? null : `the mirror calls it gone since ${mirror.gone_at?.toISOString()}`;
    oneSided.push({
      resource,
      id: service.id,
      name: nameOf(service),
      side: 'service',
      judgement: 'drift',
      because,
    });
  }
  for (const row of mirrored) {
    if (!complete || row.gone_at !== null || shown.has(row.id)) continue;
    const since = row.missing_since?.toISOString();
    const missed =
      since === undefined ? null : `missed by complete runs since ${since}, and not yet proven gone`;
    oneSided.push({
      resource,
      id: row.id,
      name: nameOf(row),
      side: 'mirror',
      judgement: row.found ? 'expected' : 'drift',
      because: row.found ? 'the listing leaves it out, and the service says that it is there' : missed,
    });
  }
  return { differences, oneSided };
}
