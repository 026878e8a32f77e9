/** The first view, runs and counts, of a mirror that has just begun and of an older one. */
import { describe, expect, it } from 'vitest';
import type { CountsRead } from '../../src/page/read/page-counts.ts';
import type { Glance, GlanceGroup } from '../../src/page/read/page-glance.ts';
import type { PageRun } from '../../src/page/read/page-runs.ts';
import type { SeenDaemon } from '../../src/model/daemons.ts';
import { counts as countsView, countsRange } from '../../src/page/render/counts.ts';
import { glance } from '../../src/page/render/glance.ts';
import { runsPage } from '../../src/page/render/runs-list.ts';
import inboxes from '../../src/model/listed/inboxes.ts';
import { listedCsv, listedRows } from '../../src/page/render/listed-rows.ts';
import type { PageContext } from '../../src/page/render/view.ts';
import { waiting } from '../../src/page/render/waiting-list.ts';
import { contextOf, now, textOf } from './page-context.ts';

const secondsAgo = (seconds: number) => new Date(now.getTime() - seconds * 1_000);
const inSeconds = (seconds: number) => secondsAgo(-seconds);
const day = 86_400;

const run = (runId: number, ago: number, more: Partial<PageRun> = {}): PageRun => ({
  runId: BigInt(runId),
  team: 'harbour',
  teamId: 41n,
  command: 'daemon',
  startedAt: secondsAgo(ago),
  finishedAt: secondsAgo(ago - 2),
  outcome: 'complete',
  reasons: [],
  counts: {},
  waiting: 0,
  requests: 3,
  groups: ['users'],
  ...more,
});
const group = (name: GlanceGroup['group'], more: Partial<GlanceGroup> = {}): GlanceGroup => ({
  teamId: 41n,
  group: name,
  limitSeconds: 900n,
  dueAt: inSeconds(256),
  lastAttempt: secondsAgo(42),
  staleSince: null,
  failures: 0,
  completeAt: secondsAgo(42),
  ...more,
});
const team = { team: 'harbour', teamId: 41n, name: 'Harbour Street Clinic' };
const first = run(1, 604, {
  counts: { adopted: 400, tags_added: 1_200, contact_fields_added: 60 },
  requests: 21,
  groups: ['users', 'listings', 'counts'],
});

/** A mirror that began ten minutes ago. */
const young: Glance = {
  teams: [team],
  groups: [group('users'), group('listings'), group('counts')],
  totals: [
    {
      teamId: 41n,
      users: 400,
      unresolved: 0,
      gone: 0,
      tags: 1_200,
      contactFields: 60,
      pushed: 0,
      refused: 0,
    },
  ],
  counts: [{ teamId: 41n, segment: 'all', day: '2026-03-11', count: 312_456n }],
  runs: [run(3, 42), run(2, 300), first],
  moves: [],
  lists: [],
  missing: [],
} as unknown as Glance;
const contextFor = (path: string, more: Partial<PageContext> = {}): PageContext => ({
  ...contextOf(path),
  teams: [team],
  team,
  standings: new Map([[41n, { waiting: 0, staleSince: null, completeAt: secondsAgo(42) }]]),
  perMinute: () => 500,
  ...more,
});
const textOfGlance = (read: Glance, more: Partial<PageContext> = {}) =>
  textOf(glance(read, contextFor('/', more)).main);

it('counts the fields of each list and each set of missing rows in "Waits for a person"', () => {
  const list = { teamId: 41n, batch: null, state: 'conflict', rows: 2, fields: [], editors: [], details: [] };
  const missing = { teamId: 41n, hash: 'aa', resource: 'tags', rows: 7, reason: 'too many', since: now };
  const read = { ...young, lists: [list], missing: [missing] } as unknown as Glance;
  expect(textOfGlance(read)).toMatch(/Waits for a person\s*3 fields\s*look, and decide/);
  expect(textOfGlance(young)).toMatch(/Waits for a person\s*0 fields\s*nothing waits/);
});

describe('the first view', () => {
  it('says what is so of a day, also where the mirror is younger, and calls nothing new', () => {
    const text = textOfGlance(young);
    for (const part of [
      'Nothing to do',
      'Both sides of harbour were equal at 11:59:18, 42 s ago. The next run begins at 12:04.',
      'complete 42 s ago, run 3',
      '0 in 24 hours0 fields pushed',
      'Requests, busiest minute of a day',
      '21 of 500by the minute in which a run began',
      'Last 24 hours',
      '12:00 yesterday to now',
      'on an edit',
      'counted today',
      'Tags1,200',
      'Contact fields60',
      'Nothing has moved yet',
    ])
      expect(text).toContain(part);
    expect(text).not.toMatch(/\bnew\b|added|joined/i);
  });

  it('promises no next run without a daemon', () => {
    const groups = young.groups.map((one) => ({ ...one, dueAt: null }));
    expect(textOfGlance({ ...young, groups })).toContain('No next run is planned.');
  });

  const two: Glance = {
    ...young,
    teams: [team, { team: 'south', teamId: 42n, name: 'Southbank' }],
    groups: [...young.groups, group('users', { teamId: 42n, staleSince: secondsAgo(30) })],
    totals: [...young.totals, ...young.totals.map((one) => ({ ...one, teamId: 42n }))],
  };
  const both = { teams: two.teams, team: null };

  it('of several teams names those that need nothing', () => {
    const text = textOfGlance(two, both);
    expect(text).toContain('Team south is stale. Team harbour needs nothing.');
    expect(text).toContain('run 3');
  });

  it('has the teams that need somebody first, and says which daemon keeps them equal', () => {
    const standings = new Map([
      [41n, { waiting: 0, staleSince: null, completeAt: null }],
      [42n, { waiting: 0, staleSince: secondsAgo(30), completeAt: null }],
    ]);
    const one: SeenDaemon = {
      team: 'harbour',
      host: 'mirror-1',
      pid: 812n,
      bySystemd: false,
      startedAt: secondsAgo(19 * day),
      seenAt: secondsAgo(5),
      endedAt: null,
      how: null,
    };
    const daemons = [one, { ...one, team: 'south' }];
    const page = glance(two, contextFor('/', { ...both, standings, daemons })).main.toString();
    expect(textOf(page)).toContain('TeamsOne daemon, process 812 on mirror-1, up for 19 days');
    const rows = [...page.matchAll(/<th role="rowheader"[^>]*>(.*?)<\/th>/g)].map(([, head = '']) =>
      textOf(head),
    );
    expect(rows.slice(0, 2)).toEqual([
      'southSouthbank, 400 users',
      'harbourHarbour Street Clinic, 400 users',
    ]);
    const others = contextFor('/', { ...both, standings, daemons: [one, { ...one, pid: 9n }] });
    expect(textOf(glance(two, others).main)).toContain('2 daemons');
    const silent = contextFor('/', { ...both, standings, daemons: [{ ...one, seenAt: secondsAgo(day) }] });
    expect(textOf(glance(two, silent).main)).not.toContain('daemon');
  });
});

describe('the first view without a daemon', () => {
  const last = {
    team: 'harbour',
    host: 'mirror-1',
    pid: 812n,
    bySystemd: false,
    startedAt: secondsAgo(day),
    seenAt: secondsAgo(1_200),
    endedAt: secondsAgo(1_200),
    how: 'asked',
  } as const;
  const stopped = new Map([['harbour', last]]);
  const old: Glance = {
    ...young,
    groups: young.groups.map((one) => ({ ...one, completeAt: secondsAgo(1_320) })),
  };

  it('has one thing to do, no green tick, and no next run', () => {
    const { title, main } = glance(old, contextFor('/', { stopped }));
    expect(title).toBe('1 thing to do');
    expect(textOf(main)).toContain(
      '1 thing to doNo daemon keeps harbour equal. Both sides were equal at 11:38:00, 22 minutes ago. No next run is planned.',
    );
    expect(main.toString()).not.toMatch(/class="icon ok" width="30"/);
    expect(main.toString()).toMatch(/class="icon act" width="30"/);
    expect(textOf(main)).not.toContain('12:04');
  });

  it('counts a team that is stale for that once', () => {
    const groups = old.groups.map((one) => ({ ...one, staleSince: secondsAgo(60) }));
    expect(glance({ ...old, groups }, contextFor('/', { stopped })).title).toBe('1 thing to do');
    expect(glance({ ...old, groups }, contextFor('/')).title).toBe('1 thing to do');
    const list = {
      teamId: 41n,
      batch: null,
      state: 'conflict',
      rows: 2,
      fields: [{ field: 'phone', rows: 2 }],
      details: [],
      editors: [],
      editedTo: null,
    };
    const { title, main } = glance(
      { ...old, groups, lists: [list] } as unknown as Glance,
      contextFor('/', { stopped }),
    );
    expect(title).toBe('2 things to do');
    expect(textOf(main)).toContain('No daemon keeps harbour equal. 2 fields need a decision.');
  });

  it('in a copy asks for what a copy asks for alone', () => {
    const placing = { ...contextOf('/').placing, verdict: 'elsewhere' } as const;
    const { title, main } = glance(old, contextFor('/', { placing }));
    expect(title).toBe('1 thing to do');
    expect(textOf(main)).toContain(
      'Say whether this mirror has moved or is a copy. Until then harbour is read every 5 minutes, last at 11:38:00, and nothing of it is sent.',
    );
    const meant = glance(old, contextFor('/', { stopped, placing: { ...placing, verdict: 'copy' } }));
    expect(meant.title).toBe('Nothing to do');
    expect(meant.main.toString()).not.toMatch(/class="icon ok" width="30"/);
  });

  it.each([
    [{}, 'icon ok'],
    [{ stopped }, 'icon dim'],
    [{ placing: { ...contextOf('/').placing, verdict: 'copy' } }, 'icon dim'],
  ] as const)('calls nothing that waits well below a banner (%#)', (more, sign) => {
    const read = {
      teams: [],
      all: [],
      lists: [],
      missing: [],
      own: new Set<string>(),
      decided: [],
      isAlone: false,
      done: undefined,
      sending: { listens: true, nextRun: null },
    };
    for (const params of [{}, { batch: 'abc' }]) {
      const shown = waiting(read, contextFor('/waiting', { ...more, params })).main.toString();
      expect(shown).toContain(`<svg class="${sign}" width="28"`);
    }
  });

  it('is ready to say that nobody answers: without a tick, and without how long ago', () => {
    const page = glance(young, contextFor('/')).main.toString();
    expect(page).toMatch(
      /<span data-now><svg class="icon ok" width="30".*?<\/span><span data-late hidden><svg class="icon dim" width="30"/,
    );
    const late = textOf(page.replaceAll(/<span data-now>.*?<\/span>(?=<span data-late hidden>)/g, ''));
    expect(late).toContain(
      'Both sides of harbour were equal at 11:59:18. Whether they still are, this page cannot say.',
    );
  });
});

describe('runs', () => {
  const read = { runs: young.runs, open: null, isRecent: true };

  it('are those of a day that moved something', () => {
    const text = textOf(runsPage(read, contextFor('/runs')).main);
    for (const part of ['3 runs of the users: 3 complete.', 'Shown: 1 of 3 runs of the last 24 hours'])
      expect(text).toContain(part);
  });

  it('say that there was none of a kind', () => {
    const text = textOf(
      runsPage(read, contextFor('/runs', { query: new URLSearchParams('state=broken') })).main,
    );
    expect(text).toContain('There was no run of this kind. Shown: 0 of 3 runs');
  });

  it('add up while one is under way, and say large numbers as all others', () => {
    const running = run(2, 1, { outcome: 'running', finishedAt: null });
    const whole = run(1, 42, { counts: { adopted: 4_000, tags_added: 1_200 } });
    const text = textOf(runsPage({ ...read, runs: [running, whole] }, contextFor('/runs')).main);
    expect(text).toContain('In 24 hours 2 runs of the users: 1 complete, 1 under way.');
    expect(text).toContain('4,000 adopted, 1,200 tags new');
  });
});

describe('counts', () => {
  const at = secondsAgo(600);
  const months = Array.from({ length: 12 }, (_, i) => ({
    month: new Date(Date.UTC(2025, 3 + i)),
    added: 0,
    gone: 0,
  }));
  const step = (ago: number, value: number, segment = 'all') => ({
    segment,
    from: secondsAgo(ago),
    last: value,
    countedAt: secondsAgo(ago),
  });
  const read: CountsRead = {
    teamId: 41n,
    days: 90,
    segment: 'all',
    last: [{ segment: 'all', count: 312_456, countedAt: at }],
    steps: [step(600, 312_456)],
    stepMs: 900_000,
    paceMs: null,
    everyMs: 900_000,
    nextAt: inSeconds(300),
    weeks: [],
    monthAgo: [],
    tags: { now: 1_200, months },
    contactFields: { now: 60, months },
    roles: [{ team_id: 41n, role_id: 4n, name: 'member', members: 400 }],
    counts: [],
  };
  const show = (more: Partial<CountsRead> = {}, context: Partial<PageContext> = {}) =>
    textOf(countsView({ ...read, ...more }, contextFor('/counts', context)).main);

  it('say how many there are, how often they are made and when next, and what a line needs', () => {
    const text = show();
    for (const part of [
      '312,456 contacts. Counted every 15 minutes; next at 12:05. Last at 11:50:00.',
      '7 days30 days90 days1 yearCSV of these counts',
      'It begins with the second count that is more than 15 minutes after another.',
      'None came or went in twelve months, as far as this mirror knows.',
      'Tags1,200 now',
      'Roles400 users, as of 11:59',
    ])
      expect(text).toContain(part);
    expect(text).not.toContain('added above');
  });

  it('promise no count where nobody makes one', () => {
    for (const text of [
      show({ everyMs: null, nextAt: null }),
      show({}, { stopped: new Map([['harbour', {} as SeenDaemon]]) }),
      show({ nextAt: secondsAgo(5) }),
    ])
      expect(text).not.toContain('next at');
    expect(show({ everyMs: null })).not.toContain('Counted every');
  });

  it('are drawn where there are two of a segment, and list the others with how they moved', () => {
    const more = {
      steps: [step(20 * day, 300), step(day, 301)],
      last: [
        ...read.last,
        { segment: 'new', count: 7, countedAt: at },
        { segment: 'old', count: 9, countedAt: at },
      ],
      monthAgo: [{ segment: 'old', count: 6, countedAt: at }],
    };
    const page = countsView({ ...read, ...more }, contextFor('/counts')).main.toString();
    expect(page).toContain('aria-label="Contacts over 90 days: from 300 to 301');
    expect(textOf(page)).toContain('new7–old9+50 %');
  });

  it('are asked for by a range', () => {
    const asked = (query: string) => countsRange({ query: new URLSearchParams(query) }).days;
    expect([asked(''), asked('days=7'), asked('days=1e9')]).toEqual([90, 7, 90]);
    const page = countsView({ ...read, days: 30 }, contextFor('/counts')).main.toString();
    expect([...page.matchAll(/days=(\w+)" aria-current/g)].map(([, which]) => which)).toEqual(['30']);
  });

  it('show the rows of any listing, with its first columns, and all of them in the file', () => {
    const row = {
      team_id: 41n,
      id: 7n,
      name: 'Sales',
      members: [1, 2],
      phones: ['+15550100', '15550101'],
      phone: null,
      widget_settings: { tos: 'x' },
      first_seen_at: new Date('2026-02-03'),
      gone_at: null,
    };
    const listed = { ...read.tags, rows: [row], found: 1, gone: 0, now: 1 };
    const context = contextFor('/inboxes');
    const text = textOf(listedRows(inboxes, listed, context).main);
    for (const part of ['1 inbox now', 'Sales', '+15550100, 15550101', 'Contact fields', 'Surveys'])
      expect(text).toContain(part);
    const { head, rows } = listedCsv(inboxes, listed, context);
    expect(Object.fromEntries(head.map((name, at) => [name, rows[0]?.[at]]))).toMatchObject({
      id: 7n,
      name: 'Sales',
      members: '[1,2]',
      widget_settings: '{"tos":"x"}',
    });
  });
});
