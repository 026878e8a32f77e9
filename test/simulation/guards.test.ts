/** Each break of `test/mutation/breaks.txt` can be carried out, and `docs/reliability.md` says what notices those of guards. */
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  guardTable,
  placesOf,
  players,
  readBreaks,
  readGuards,
  specification,
  type Watch,
} from '../mutation/read-breaks.ts';
import { hasTitle } from '../support/has-title.ts';

const page = 'docs/reliability.md';
const heading = '| Removed safeguard | File | Effort until a check fails | Failing check |\n';

/** Whether what is said to notice it is there. */
function isWatched(watch: Watch): boolean {
  const filesOf = () => {
    if (watch.tier === 'test') return [watch.file];
    return watch.tier === 'specification' ? [specification] : players[watch.tier].promises;
  };
  return filesOf().some((file) => hasTitle(readFileSync(file, 'utf8'), watch.by));
}

describe('test/mutation/breaks.txt', () => {
  it('contains only changes whose old text occurs exactly once in the source file', () => {
    const unfit = readBreaks().filter((one) => placesOf(one) !== 1 || one.from === one.to);
    expect(unfit.map(({ nr, file, from }) => `${nr} of ${file}: ${from}`)).toEqual([]);
  });

  it('lists at least 40 guards to remove, each under a unique name', () => {
    const names = readGuards().map(({ guard }) => guard.name);
    expect(names.length).toBeGreaterThanOrEqual(40);
    expect(new Set(names).size).toBe(names.length);
  });

  it('names for each guard an existing test, or an invariant of at most 300 seeds, that notices its removal', () => {
    const all = readGuards().map(({ guard }) => guard);
    expect(all.filter(({ watch }) => !isWatched(watch)).map(({ name }) => name)).toEqual([]);
    const slow = all.filter(({ watch }) => watch.tier !== 'test' && watch.seeds > 300);
    expect(slow.map(({ name }) => name)).toEqual([]);
  });

  it(`contains the same guards as the table in ${page} (UPDATE_GUARDS=1 writes the table)`, () => {
    const text = readFileSync(page, 'utf8');
    const [before = '', after = ''] = text.split(heading);
    const rest = after.slice(after.indexOf('\n\n'));
    if (process.env['UPDATE_GUARDS']) writeFileSync(page, before + heading + guardTable() + rest);
    expect(readFileSync(page, 'utf8')).toContain(`${heading}${guardTable()}\n`);
  });
});
