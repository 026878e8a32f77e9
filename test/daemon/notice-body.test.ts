import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeNotice, type TeamFacts } from '../../src/daemon/notice-body.ts';
import { stepsOf } from '../../src/daemon/tell.ts';
import type { TeamsNow } from '../../src/mirror/runs/told.ts';
import type { TeamFreshness } from '../../src/model/freshness.ts';
import { type Notice, type TeamEvent, teamEvents } from '../../src/model/notices.ts';
import type { Placing } from '../../src/model/place.ts';
import { ROOT } from '../support/checkout.ts';

const sinceMs = Date.parse('2026-03-02T09:12:00Z');
const since = '2026-03-02T09:12:00Z';
const standing: Notice = {
  stands: true,
  id: '5f0c0c5e-6a3c-4f5e-9d0a-0d7c2f3b8a11',
  reminder: false,
  sinceMs,
  madeAtMs: Date.parse('2026-03-02T10:40:00.500Z'),
  doneAtMs: null,
  nextTryMs: 0,
};
const over: Notice = { ...standing, stands: false, id: '0b5a4c9e-3f53-4a0b-8b0c-6f1d6f1f2c42' };

const address = { at: 'db-1:5432/muster', machine: null };
const known = {
  kind: 'home',
  identifier: '1',
  database: '5',
  addresses: [address],
  since,
  by: null,
  why: null,
} as const;
const placing: Placing = {
  verdict: 'here',
  known,
  here: { identifier: '1', database: '5', address },
  until: new Date(sinceMs),
};
const moved: Placing = {
  ...placing,
  verdict: 'elsewhere',
  here: { ...placing.here, identifier: '2', address: { at: 'db-2:5432/muster', machine: null } },
};

const group = { limitMs: 1, sinceMs };
const facts: TeamFacts = {
  team: 'north',
  groups: [
    { ...group, group: 'users', fresh: false, outcome: 'failed' },
    { ...group, group: 'listings', fresh: false, outcome: 'partial' },
    { ...group, group: 'counts', fresh: false, outcome: 'complete' },
  ],
  failedRuns: [{ team: 'north', group: 'users', runId: 7n, errorCode: 'service' }],
  refused: { team: 'north', sinceMs, runId: 9n },
  batches: [{ team: 'north', hash: '9c1f0a2b3d4e', unit: 'users', count: 40, sinceMs }],
  held: [
    { reason: 'conflict', count: 2, sinceMs },
    { reason: 'refused', count: 1, sinceMs },
  ],
  placing,
};

describe('describeNotice', () => {
  it('returns the bodies that docs/operations.md shows', () => {
    const [, section = ''] = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8').split('\n## Notices\n');
    const shown = [...section.matchAll(/```json\n([\s\S]*?)```/g)].map(
      ([, json = '']) => JSON.parse(json) as unknown,
    );
    const posted = [standing, over].map((notice) => describeNotice('batch-waits', notice, facts));
    expect(shown).toEqual(posted);
    for (const event of teamEvents) expect(section).toContain(`| \`${event}\` |`);
  });

  const of = (event: TeamEvent, more: Partial<Notice> = {}, other: Partial<TeamFacts> = {}) =>
    describeNotice(event, { ...standing, ...more }, { ...facts, ...other });

  it('lists the failed groups if the event is failing, and the stale groups if the event is stale', () => {
    expect(of('failing')).toMatchObject({
      text: `north: since ${since}, runs do not complete: users failed (service), listings partial\n\`musterd --team north status\``,
      groups: [
        { group: 'users', since, outcome: 'failed', error: 'service', run: 7n },
        { group: 'listings', since, outcome: 'partial', error: null, run: null },
      ],
    });
    const groups = facts.groups.map((one) => ({ ...one, outcome: 'complete', fresh: one.group === 'users' }));
    expect(of('stale', { reminder: true }, { groups })).toMatchObject({
      reminder: true,
      text: `north: still since ${since}, no complete run for too long: listings, counts\n\`musterd --team north status\``,
      groups: [
        { group: 'listings', since },
        { group: 'counts', since },
      ],
    });
  });

  it('gives the run whose credentials the service refused, and counts held fields by reason', () => {
    expect(of('credentials-refused')).toMatchObject({ run: 9n, command: 'musterd --team north check' });
    expect(of('fields-held')).toMatchObject({
      text: `north: since ${since}, 3 fields need a decision: 2 changed on both sides, 1 refused by the service\n\`musterd --team north held\``,
      held: { conflict: 2, refused: 1 },
    });
  });

  it('gives the former and the present address of a mirror that was moved', () => {
    expect(of('elsewhere', {}, { placing: moved })).toMatchObject({
      text: `north: since ${since}, this mirror was at db-1:5432/muster until ${since}, and is at db-2:5432/muster now: nothing is sent from here\n\`musterd --team north status\``,
      at: 'db-2:5432/muster',
      known_at: ['db-1:5432/muster'],
      command: 'musterd --team north status',
    });
  });

  it('quotes the name of the team in the command for the shell', () => {
    expect(of('fields-held', {}, { team: `o'hara & co` }).command).toBe(
      String.raw`musterd --team 'o'\''hara & co' held`,
    );
    const tags = {
      team: 'north',
      hash: 'a',
      unit: 'contact_fields',
      count: 3,
      sinceMs,
    } as const;
    expect(of('batch-waits', {}, { batches: [tags, ...facts.batches] })).toMatchObject({
      text: expect.stringContaining('3 missing contact fields, pushes to 40 users need a decision') as string,
      command: `musterd --team north approve a --reason '…'`,
    });
  });

  it('returns a different text for the end of each event', () => {
    const texts = teamEvents.map((event) => describeNotice(event, over, facts).text);
    expect(new Set(texts).size).toBe(teamEvents.length);
    for (const text of texts) expect(text).toMatch(/^north: .* (again|any more), after 2026/);
  });
});

describe('stepsOf', () => {
  const freshness: readonly TeamFreshness[] = ['north', 'south'].map((team) => ({
    team,
    fresh: false,
    groups: [{ group: 'users', fresh: false, ageMs: 60_000, limitMs: 2_000, never: false }],
  }));
  const status = { group: 'users', knownForMs: 0, startedAt: null, failures: 0, completeAt: null } as const;
  const read: TeamsNow = {
    nowMs: sinceMs,
    standings: [
      { ...status, team: 'north', outcome: 'failed', completeForMs: 60_000 },
      { ...status, team: 'south', outcome: 'complete', completeForMs: 60_000 },
    ],
    refused: [],
    failedRuns: [],
    batches: [{ team: 'south', hash: 'a', unit: 'users', count: 2, sinceMs: 5 }],
    held: [
      { team: 'north', state: 'held', inBatch: false, reason: 'asked', count: 1, sinceMs: 1 },
      { team: 'north', state: 'rejected', inBatch: false, reason: 'limit', count: 1, sinceMs: 1 },
      { team: 'south', state: 'held', inBatch: true, reason: 'limit', count: 9, sinceMs: 1 },
      { team: 'south', state: 'held', inBatch: false, reason: 'conflict', count: 4, sinceMs: 3 },
      { team: 'south', state: 'held', inBatch: false, reason: 'returned', count: 1, sinceMs: 2 },
    ],
    told: [{ team: 'south', event: 'batch-waits', notice: { ...standing, doneAtMs: sinceMs } }],
    placing,
  };
  const steps = (more: Partial<TeamsNow> = {}) =>
    stepsOf({ ...read, ...more }, freshness, () => 'new').map(({ team, event, send, notice, before }) => [
      `${team} ${event}`,
      send,
      notice.sinceMs,
      before?.id,
    ]);

  it('returns the events of each team, without fields that are held on request, rejected or in a batch', () => {
    const ago = sinceMs - 60_000;
    expect(steps()).toEqual([
      ['north failing', true, ago, undefined],
      ['south stale', true, ago, undefined],
      ['south fields-held', true, 2, undefined],
    ]);
    expect(steps({ refused: [{ team: 'north', sinceMs: 4, runId: 1n }], batches: [], held: [] })).toEqual([
      ['north credentials-refused', true, 4, undefined],
      ['south stale', true, ago, undefined],
      ['south batch-waits', true, sinceMs, standing.id],
    ]);
  });

  it('reports that a mirror is at another address, and omits the batches and held fields of this mirror', () => {
    const ago = sinceMs - 60_000;
    expect(steps({ placing: moved })).toEqual([
      ['north failing', true, ago, undefined],
      ['north elsewhere', true, sinceMs, undefined],
      ['south stale', true, ago, undefined],
      ['south elsewhere', true, sinceMs, undefined],
    ]);
    expect(steps({ placing: { ...moved, verdict: 'copy' } }).map(([what]) => what)).toEqual([
      'north failing',
      'south stale',
    ]);
  });
});
