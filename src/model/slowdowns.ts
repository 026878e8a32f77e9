/** The causes why each run of a team reads everything although nothing has changed, and what to do about them. */
import type { Id } from './id.ts';
import { plural } from './in-words.ts';
import type { RejectedRow } from './rejected-row.ts';

export interface Slowdowns {
  /** Members whom no lookup finds. */
  readonly unresolved: readonly Id[];
  /** Rows that could not be taken, or whose id came twice. */
  readonly rows: readonly Pick<RejectedRow, 'resource' | 'id' | 'reason'>[];
}

const mostNamed = 5;

const named = (all: readonly string[]): string =>
  `${all.slice(0, mostNamed).join(', ')}${all.length > mostNamed ? ', …' : ''}`;

export function sayWhatSlows({ unresolved, rows }: Slowdowns): readonly string[] {
  const users = plural(unresolved.length, 'member is', 'members are');
  const unanswered = `${users} answered by no lookup (${named(unresolved.map(String))}), so each run reads all users: musterd lookups add <file> with an address of each`;
  const flawed = Map.groupBy(rows, ({ resource }) => resource.replace('_', ' '));
  return [
    ...(unresolved.length === 0 ? [] : [unanswered]),
    ...[...flawed].map(([resource, rows]) => {
      const each = rows.map(({ id, reason }) => `${id === null ? '' : `${id}: `}${reason}`);
      const what = plural(rows.length, 'flawed row', 'flawed rows');
      return `The service sends ${what} (${named(each)}), so each run reads all ${resource}: correct it there, or ask its support; sync.rejected_rows has ${rows.length === 1 ? 'it' : 'them'}`;
    }),
  ];
}
