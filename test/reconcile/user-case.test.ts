import { describe, expect, it } from 'vitest';
import type { UserCase } from '../../src/model/user-plan.ts';
import { planInLists } from './in-lists.ts';
import { holdAll, makeState, member } from './states.ts';
import { decideUserCase } from '../../src/reconcile/merge/user-case.ts';
import { rowsOf } from './truth.ts';

type Cell = UserCase | 'impossible';
type ByGone = Record<'there' | 'gone', Cell>;
type Table = Record<
  'base' | 'no base',
  Record<'mirror' | 'no mirror', Record<'service' | 'no service', Record<'listed' | 'unlisted', ByGone>>>
>;

/** Only a mirror row can be gone. */
const only = (presence: UserCase): ByGone => ({ there: presence, gone: 'impossible' });

/** Where no service shows the user, and the team does not list them, it depends on the base: for a row, and without one. */
const seen = (row: UserCase, noRow: UserCase): Table['base'] => ({
  mirror: {
    service: {
      listed: { there: 'merge', gone: 'return' },
      unlisted: { there: 'merge', gone: 'return' },
    },
    'no service': {
      listed: { there: 'unresolved', gone: 'unresolved' },
      unlisted: { there: row, gone: 'waiting' },
    },
  },
  'no mirror': {
    service: { listed: only('adopt'), unlisted: only('adopt') },
    'no service': { listed: only('adopt'), unlisted: only(noRow) },
  },
});
const table: Table = { base: seen('missing', 'forget'), 'no base': seen('stranger', 'waiting') };

const cases = rowsOf(table).flatMap(([b, byMirror]) =>
  rowsOf(byMirror).flatMap(([m, byService]) =>
    rowsOf(byService).flatMap(([s, byListed]) =>
      rowsOf(byListed).flatMap(([l, byGone]) =>
        rowsOf(byGone).map(([gone, presence]) => ({ b, m, s, l, gone, presence })),
      ),
    ),
  ),
);

describe('decideUserCase', () => {
  it('covers 32 cases, and only a gone user without a mirror row is impossible', () => {
    expect(cases).toHaveLength(32);
    const impossible = cases.filter(({ presence }) => presence === 'impossible');
    expect(impossible).toEqual(cases.filter(({ m, gone }) => m === 'no mirror' && gone === 'gone'));
  });

  it.each(cases.filter(({ presence }) => presence !== 'impossible'))(
    'returns $presence for $b, $m, $s, $l and $gone',
    ({ b, m, s, l, gone, presence }) => {
      const sighting = {
        base: b === 'base',
        mirror: m === 'mirror',
        service: s === 'service',
        listed: l === 'listed',
        gone: gone === 'gone',
      };
      expect(decideUserCase(sighting)).toBe(presence);
      const state = makeState({
        ...(sighting.base ? {} : { base: null }),
        mirror: sighting.mirror ? { gone: sighting.gone } : null,
        ...(sighting.service ? {} : { service: null }),
      });
      const listed = sighting.listed ? member : undefined;
      expect(planInLists(state, listed, holdAll).case).toBe(presence);
      for (const more of [{ hasOpenIntent: true }, { stale: true }])
        expect(planInLists({ ...state, ...more }, listed, holdAll).case).toBe('waiting');
    },
  );
});
