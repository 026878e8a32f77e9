/** Tags as a service would list them, so many as are wanted, in order and always the same. */
import type { ListedRow } from '../src/model/listed-resource.ts';
import { copyText } from './copy.ts';

export const teamId = 41n;

/** `changed`: every hundredth has another name. */
export type TagCase = 'new' | 'unchanged' | '1 % changed';

const start = Date.UTC(2024, 0, 1);

function tagOf(at: number, what: TagCase): ListedRow {
  const created = new Date(start + at * 61_000).toISOString();
  const changed = what === '1 % changed' && at % 100 === 7;
  return {
    id: BigInt(1_000_000 + at),
    team_id: teamId,
    tag: `${changed ? 'Renamed' : 'Customers'} of branch ${at}`,
    color: `#${(at % 0xffffff).toString(16).padStart(6, '0')}`,
    rev: BigInt(changed ? 2 : 1),
    created,
    updated: created,
    raw: { op: changed ? 'update' : 'create', scope: 'team' },
  };
}

export function* tagsOf(count: number, what: TagCase, from = 0): Generator<ListedRow> {
  for (let at = from; at < count; at += 1) yield tagOf(at, what);
}

/** The same rows as lines for COPY, in the order of `copyColumns`. */
export function* copyLines(count: number): Generator<string> {
  for (const { id, tag, color, rev, created, updated, raw } of tagsOf(count, 'new'))
    yield `${[teamId, id, tag, color, rev, created, updated, raw].map(copyText).join('\t')}\n`;
}

/** As the service says it. */
export const toWire = ({ id, team_id: team, raw, rev, ...rest }: ListedRow): object => ({
  id: Number(id),
  team_id: Number(team),
  ...rest,
  rev: Number(rev),
  ...raw,
});

export const copyColumns = 'team_id, id, tag, color, rev, created, updated, raw';
