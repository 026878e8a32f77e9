/** Each guard can be taken out, and `docs/reliability.md` says what notices it. `npm run simulate -- --without NAME` plays that. */
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { hasTitle } from '../support/has-title.ts';
import { type Guard, guards, guardTable, players, specification } from './guards.ts';

const page = 'docs/reliability.md';
const heading = '| Taken out | It stands in | Until it is noticed | By |\n';

/** Whether what is said to notice it is there. */
function isWatched({ watch }: Guard): boolean {
  const filesOf = () => {
    if (watch.tier === 'test') return [watch.file];
    return watch.tier === 'specification' ? [specification] : players[watch.tier].promises;
  };
  return filesOf().some((file) => hasTitle(readFileSync(file, 'utf8'), watch.by));
}

describe('the guards', () => {
  it('are many, and have a name each', () => {
    expect(guards.length).toBeGreaterThanOrEqual(40);
    expect(new Set(guards.map(({ name }) => name)).size).toBe(guards.length);
  });

  it.each(guards.map((guard) => ({ ...guard })))('$name: it stands in its file, once', (guard) => {
    expect(readFileSync(guard.file, 'utf8').split(guard.find).length - 1).toBe(1);
    expect(guard.replace).not.toBe(guard.find);
  });

  it('are each noticed by what is there, within 300 seeds', () => {
    expect(guards.filter((guard) => !isWatched(guard)).map(({ name }) => name)).toEqual([]);
    const slow = guards.filter(({ watch }) => watch.tier !== 'test' && watch.seeds > 300);
    expect(slow.map(({ name }) => name)).toEqual([]);
  });

  it(`are what ${page} says (UPDATE_GUARDS=1 writes it)`, () => {
    const text = readFileSync(page, 'utf8');
    const [before = '', after = ''] = text.split(heading);
    const rest = after.slice(after.indexOf('\n\n'));
    if (process.env['UPDATE_GUARDS']) writeFileSync(page, before + heading + guardTable() + rest);
    expect(readFileSync(page, 'utf8')).toContain(`${heading}${guardTable()}\n`);
  });
});
