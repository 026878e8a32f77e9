/** The first view, of a mirror that has just begun and of an older one; and the counts. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { showTimesIn } from '../../src/model/zone-time.ts';
import type { CountsRead } from '../../src/page/read/page-counts.ts';
import type { Glance } from '../../src/page/read/page-glance.ts';
import type { Lane } from '../../src/page/read/page-runs.ts';
import type { SeenDaemon } from '../../src/model/daemons.ts';
import inboxes from '../../src/model/listed/inboxes.ts';
import { counts as countsView, countsRange } from '../../src/page/render/counts.ts';
import { glance } from '../../src/page/render/glance.ts';
import { listCsv, renderList } from '../../src/page/list/list.ts';
import { listingOf } from '../../src/page/list/listed-view.ts';
import type { PageContext } from '../../src/page/render/view.ts';
import { waiting } from '../../src/page/list/waiting-view.ts';
import { contextOf, now, textOf } from './page-context.ts';

const secondsAgo = (seconds: number) => new Date(now.getTime() - seconds * 1_000);
const day = 86_400;

const laneOf = (lane: Lane['lane'], more: Partial<Lane> = {}): Lane => ({
  teamId: 41n,
  lane,
  next: lane === 'edits' ? null : secondsAgo(-256),
  last: secondsAgo(42),
  staleSince: null,
  completeAt: secondsAgo(42),
  failures: 0,
  runs: 3,
  ticks: [
    [95, 0, 0],
    [90, 1, 400],
  ],
  ...more,
});
const facts = {
  users: 400,
  unresolved: 0,
  gone: 0,
  tags: 1_200,
  contactFields: 60,
  pushed: 0,
  refused: 0,
  busiest: 21,
  lastRun: 3n,
  reason: null,
};
const team = { team: 'harbour', teamId: 41n, name: 'Harbour Street Clinic', ...facts };

/** A mirror that began ten minutes ago. */
const young: Glance = {
  teams: [team],
  lanes: [laneOf('users'), laneOf('edits'), laneOf('listings'), laneOf('counts')],
  contacts: [{ teamId: 41n, segment: 'all', count: 312_456, countedAt: now, before: null }],
  moves: [],
  lists: [],
  missing: [],
};
const list = {
  teamId: 41n,
  batch: null,
  reasons: [{ what: 'conflict', rows: 2 }],
  rows: 2,
  users: 2,
  fields: [{ what: 'phone', rows: 2 }],
  editors: [{ what: 'kim', rows: 2 }],
  details: [],
  since: now,
  runId: null,
  editedFrom: null,
  editedTo: null,
  isOneEdit: false,
} as const;
const contextFor = (path: string, more: Partial<PageContext> = {}): PageContext => ({
  ...contextOf(path),
  teams: [team],
  team,
  standings: new Map([[41n, { waiting: 0, staleSince: null, completeAt: secondsAgo(42) }]]),
  perMinute: () => 500,
  ...more,
});
const pageOf = (read: Glance, more: Partial<PageContext> = {}) => {
  const { title, main } = glance(read, contextFor('/', more));
  return { title, page: main.toString(), text: textOf(main) };
};

describe('the overview of the page', () => {
  it('shows the last and next run, counts and the runs of 24 hours for a mirror that is ten minutes old', () => {
    const { page, text } = pageOf(young);
    for (const part of [
      'Nothing to do',
      'Both sides were compared last at 11:59:18, 42 s ago. Next run: 12:04.',
      'Freshcomplete 42 s ago, run 3; next in 4 min',
      'Waits for a person0nothing waits',
      'Refused, 24 hours00 pushed',
      'Requests, busiest minute21of 500',
      'Users4000 unresolved, 0 gone',
      'Tags1,20060 contact fields',
      'Contacts312,456not counted 30 days ago',
      'Last 24 hours',
      '10 Mar 12:00 to now',
      'on an edit',
      'Nothing has moved yet',
    ])
      expect(text).toContain(part);
    expect(page).toContain('aria-label="Users: 3 runs"');
    expect(page.match(/<svg class="drawn strip"/g)).toHaveLength(4);
  });

  it('lists waiting batches, held fields and missing rows, and names who may decide to a login that may not decide', () => {
    const batch = {
      ...list,
      batch: '5f0c',
      details: [{ what: 'two would change', rows: 2 }],
      editedTo: secondsAgo(60),
    };
    const read = {
      ...young,
      lists: [batch, list],
      missing: [{ teamId: 41n, hash: 'aa', resource: 'tags', rows: 7, reason: 'too many', since: now }],
    };
    const { text } = pageOf(read);
    expect(text).toContain('3 things to do');
    expect(text).toContain('2 phone numbers: changed on both sidesTwo would change. Edited at 11:59 by kim.');
    expect(text).toContain('7 tags: missing on the service');
    expect(text.match(/musterd held/g)).toHaveLength(1);
    const decide = { actor: 'kim', token: () => '', barred: null };
    expect(pageOf(read, { decide }).text).not.toContain('musterd held');
    const barred = 'You may look, and kim may decide.';
    const bo = pageOf(read, { decide: { ...decide, barred } }).text;
    expect([bo.includes(barred), bo.includes('musterd held')]).toEqual([true, false]);
  });

  const two: Glance = {
    ...young,
    teams: [
      team,
      {
        ...team,
        team: 'south',
        teamId: 42n,
        name: 'Southbank',
        reason: 'the service did not answer',
      },
    ],
    lanes: [...young.lanes, laneOf('users', { teamId: 42n, staleSince: secondsAgo(30), failures: 2 })],
  };
  const both = { teams: two.teams, team: null };

  it('lists a stale team first, and names the teams with nothing to do', () => {
    const standings = new Map([
      [41n, { waiting: 0, staleSince: null, completeAt: null }],
      [42n, { waiting: 0, staleSince: secondsAgo(30), completeAt: null }],
    ]);
    const { page, text } = pageOf(two, { ...both, standings });
    expect(text).toContain('1 thing to do Nothing to do: harbour.Team south is stale since');
    expect(text).toContain('The service did not answer. Last complete run of the users: 11:59:18.');
    const rows = [...page.matchAll(/<th role="rowheader"[^>]*>(.*?)<\/th>/g)].map(([, head = '']) =>
      textOf(head),
    );
    expect(rows.slice(0, 2)).toEqual(['southSouthbank', 'harbourHarbour Street Clinic']);
  });
});

describe('the page without a daemon', () => {
  const ended = secondsAgo(1_200);
  const last: SeenDaemon = {
    team: 'harbour',
    host: 'mirror-1',
    pid: 812n,
    bySystemd: false,
    startedAt: secondsAgo(day),
    seenAt: ended,
    endedAt: ended,
    how: 'asked',
  };
  const stopped = new Map([['harbour', last]]);
  const old: Glance = {
    ...young,
    lanes: young.lanes.map((lane) => ({
      ...lane,
      completeAt: secondsAgo(1_320),
      staleSince: secondsAgo(60),
    })),
  };

  it('counts the missing daemon as one thing to do, and shows no green tick on the overview', () => {
    const { title, page, text } = pageOf(old, { stopped });
    expect(title).toBe('1 thing to do');
    expect(text).toContain(
      '1 thing to doNo daemon keeps harbour equal. Both sides were compared last at 11:38:00, 22 min ago. Next run: none planned.',
    );
    expect(page).not.toMatch(/class="icon ok" width="30"/);
    expect(pageOf(old).title).toBe('1 thing to do');
    const more = pageOf({ ...old, lists: [list] }, { stopped });
    expect([more.title, more.text]).toEqual([
      '2 things to do',
      expect.stringMatching(/No daemon keeps harbour equal\. *2 phone numbers: changed on both sides/),
    ]);
  });

  it('asks whether the mirror has moved or is a copy if its database was copied, unless a person has declared the copy', () => {
    const placing = { ...contextOf('/').placing, verdict: 'elsewhere' } as const;
    const fresh = { ...old, lanes: old.lanes.map((lane) => ({ ...lane, staleSince: null })) };
    const { title, text } = pageOf(fresh, { placing });
    expect(title).toBe('1 thing to do');
    expect(text).toContain(
      'Say whether this mirror has moved or is a copy. Until then runs read, and send nothing: harbour.',
    );
    const meant = pageOf(fresh, { stopped, placing: { ...placing, verdict: 'copy' } });
    expect(meant.title).toBe('Nothing to do');
    expect(meant.page).not.toMatch(/class="icon ok" width="30"/);
  });

  it.each([
    [{}, 'icon ok'],
    [{ stopped }, 'icon dim'],
    [{ placing: { ...contextOf('/').placing, verdict: 'copy' } }, 'icon dim'],
  ] as const)('shows the empty waiting list with a green icon, or grey below a banner: $1', (more, sign) => {
    const nothing = { all: [], lists: [], missing: [], decided: [] };
    const read = { ...nothing, done: undefined, sending: { listens: true, nextRun: null } };
    for (const params of [{}, { batch: 'abc' }]) {
      const shown = waiting(read, contextFor('/waiting', { ...more, params })).main.toString();
      expect(shown).toContain(`<svg class="${sign}" width="28"`);
    }
  });
});

describe('counts and listings on the page', () => {
  const at = secondsAgo(600);
  const months = Array.from({ length: 12 }, (_, i) => ({
    month: new Date(Date.UTC(2025, 3 + i)),
    added: i,
    gone: 0,
  }));
  const step = (ago: number, value: number) => ({
    segment: 'all',
    from: secondsAgo(ago),
    last: value,
    countedAt: secondsAgo(ago),
  });
  const read: CountsRead = {
    teamId: 41n,
    days: 90,
    segment: 'all',
    last: [{ segment: 'all', count: 312_456, countedAt: at, before: null }],
    steps: [step(600, 312_456)],
    weeks: [],
    stepMs: 900_000,
    tags: { now: 1_200, months },
    contactFields: { now: 60, months },
    roles: [{ team_id: 41n, role_id: 4n, name: 'member', members: 400 }],
  };

  it('shows the number of contacts, and explains why a single count gives no chart', () => {
    const text = textOf(countsView(read, contextFor('/counts')).main);
    for (const part of [
      '312,456 contacts. Counted last at 11:50:00.',
      '7 days30 days90 days1 yearCSV of these counts',
      'It begins with the second count that is more than 15 minutes after another.',
      'Listings by monthNow: 1,200 tags, 60 contact fields',
      'Mar 202611' + '0110',
      'Roles400 users, as of 11:59',
    ])
      expect(text).toContain(part);
  });

  it('draws a chart once there are several counts, and lists the count of each segment with its change', () => {
    const more = {
      steps: [step(5 * day, 300), step(2.5 * day, 299), step(day, 301)],
      weeks: [
        { monday: new Date('2026-03-02T00:00Z'), last: 300, lowest: 280, highest: 310 },
        { monday: new Date('2026-03-09T00:00Z'), last: 301, lowest: 299, highest: 301 },
      ],
      last: [
        ...read.last,
        { segment: 'new', count: 7, countedAt: at, before: null },
        { segment: 'old', count: 9, countedAt: at, before: 6 },
      ],
    };
    const page = countsView({ ...read, ...more }, contextFor('/counts')).main.toString();
    expect(page).toContain('aria-label="Contacts over 90 days: from 300 to 301');
    expect(textOf(page)).toContain('9 Mar301299301+1');
    onTestFinished(() => showTimesIn('UTC'));
    showTimesIn('America/New_York');
    const there = countsView({ ...read, ...more }, contextFor('/counts')).main.toString();
    expect(textOf(there)).toContain('9 Mar301299301+1');
    expect(textOf(page)).toContain('new7–old9+3');
  });

  it('reads the number of days from the query, and shows 90 days if the number is missing or invalid', () => {
    const asked = (query: string) => countsRange({ query: new URLSearchParams(query), isCsv: false }).days;
    expect([asked(''), asked('days=7'), asked('days=1e9')]).toEqual([90, 7, 90]);
    const page = countsView({ ...read, days: 30 }, contextFor('/counts')).main.toString();
    expect([...page.matchAll(/days=(\w+)" aria-current/g)].map(([, which]) => which)).toEqual(['30']);
  });

  it('shows a part of the columns of a listing on the page, and writes all columns to the CSV file', () => {
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
    const listing = listingOf(inboxes);
    const rows = { rows: [row], found: 1, counts: new Map([['there', 1]]), options: new Map<string, []>() };
    const context = contextFor('/inboxes');
    const text = textOf(renderList(listing, rows, context).main);
    for (const part of [
      'Now: 1, gone: 0',
      'Sales',
      '+15550100, 15550101',
      'Contact fields',
      'Surveys',
      '1 to 1 of 1',
    ])
      expect(text).toContain(part);
    const { head, rows: cells } = listCsv(listing, rows, context);
    expect(Object.fromEntries(head.map((name, nth) => [name, cells[0]?.[nth]]))).toMatchObject({
      id: 7n,
      name: 'Sales',
      members: '[1,2]',
      widget_settings: '{"tos":"x"}',
    });
  });
});
