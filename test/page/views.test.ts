import { describe, expect, it } from 'vitest';
import type { ChangeRow } from '../../src/mirror/page-changes.ts';
import type { RosterRow } from '../../src/mirror/page-people.ts';
import { changesAsked, inSql } from '../../src/page/changes-asked.ts';
import { counts as countsView } from '../../src/page/counts.ts';
import { html } from '../../src/page/html.ts';
import { layout } from '../../src/page/layout.ts';
import { changes, changesCsv } from '../../src/page/ledger-view.ts';
import { people, peopleAsked, peopleCsv } from '../../src/page/people.ts';
import { onePerson } from '../../src/page/person.ts';
import type { PageContext } from '../../src/page/view.ts';

const now = new Date('2026-03-11T12:00:00Z');
const evil = `<img src=x onerror=alert(1)>\u202e${'W'.repeat(4_096)}\u001b[31m"'`;

const contextOf = (path: string, search = '', details = true): PageContext => {
  const team = { team: 'harbour', teamId: 41n, name: 'Harbour' };
  return {
    path,
    params: {},
    query: new URLSearchParams(search),
    isCsv: false,
    details,
    teams: [team],
    team,
    now,
    decide: null,
    waiting: 0,
    standings: new Map(),
    placing: {
      verdict: 'unrecorded',
      known: null,
      here: { identifier: null, database: '5', address: { at: 'db-1:5432/muster', machine: null } },
      until: null,
    },
    waitingEdits: 0,
    version: '1',
    explain: () => null,
    perMinute: () => null,
  };
};

const user: RosterRow = {
  team_id: 41n,
  id: 7n,
  name: evil,
  email: evil,
  phone: evil,
  role_id: 4n,
  role: 'member',
  gone_at: null,
  changed_at: now,
  standing: 'waits',
  open: [{ field: 'phone', reason: 'conflict', batch: null, until: null, decidedBy: null }],
};
const counts = { present: 1, waits: 1, moving: 0, unresolved: 0, rejected: 0, asked: 0, equal: 0, left: 0 };
const roster = { rows: [user], isMore: true, counts, found: null, roles: [] };

const change: ChangeRow = {
  change_id: 9n,
  team_id: 41n,
  run_id: 3n,
  user_id: 7n,
  name: evil,
  kind: 'push',
  field: 'name',
  base_value: null,
  old_value: { first: evil, last: '' },
  new_value: { first: 'Robin', last: evil },
  outcome: 'confirmed',
  request_id: null,
  opened_at: now,
  closed_at: now,
  decided_by: null,
  decided_why: null,
  edited_by: evil,
  held: null,
};
const ledger = { rows: [change], isMore: true, lookedTo: null, actors: [evil] };

const views = [
  ['people', (context: PageContext) => people(roster, context)],
  ['changes', (context: PageContext) => changes(ledger, context)],
] as const;

describe.each(views)('%s', (name, render) => {
  it('shows what others wrote as text, with marks for what it hides', () => {
    // What a form sends back is as it was: it is not shown.
    const page = render(contextOf(`/${name}`))
      .main.toString()
      .replaceAll(/ value="[^"]*"/g, '');
    expect(page.includes('&lt;img src=x onerror=alert(1)&gt;')).toBe(true);
    expect(/<img|\p{Cf}|(?!\n)\p{Cc}|\sstyle=|\son\w+="/u.exec(page)).toBe(null);
    expect(page.includes('U+202E')).toBe(true);
  });

  it('shows ids alone where details are off, in links too', () => {
    const quiet = { ...user, name: 'Berg', email: 'berg@example.com', phone: '415550100' };
    const moved = {
      ...change,
      name: 'Berg',
      old_value: { first: 'Berg', last: '' },
      new_value: { first: 'Bergson', last: '' },
      edited_by: null,
    };
    const context = contextOf(`/${name}`, '', false);
    const page =
      name === 'people'
        ? people({ ...roster, rows: [quiet] }, context).main.toString()
        : changes({ ...ledger, rows: [moved], actors: [] }, context).main.toString();
    expect(page).not.toMatch(/berg|415550100/i);
    expect(page).toContain('/people/harbour/7');
    const csv =
      name === 'people'
        ? peopleCsv({ ...roster, rows: [quiet] }, context)
        : changesCsv({ ...ledger, rows: [moved] }, context);
    expect(csv.rows.flat().map(String).join(' ')).not.toMatch(/berg|415550100/i);
  });
});

describe('one person', () => {
  const period = {
    valid_from: new Date('2026-01-01'),
    resolved: true,
    first_name: evil,
    last_name: '',
    email: evil,
    phone: null,
    role_id: 4n,
    role: 'mem\u202eber',
  };
  const edited = {
    ...period,
    valid_from: new Date('2026-03-01'),
    email: 'b@example.com',
    valid_to: null,
    side: 'mirror',
    edited_by: 'a.novak',
  } as const;
  const first = {
    ...period,
    valid_to: edited.valid_from,
    side: 'service',
    edited_by: null,
  } as const;
  const row = {
    name: evil,
    first_name: evil,
    last_name: '',
    name_split: 'guessed',
    email: 'b@example.com',
    phone: null,
    role_id: 4n,
    role: 'member',
    resolved: true,
    gone_at: null,
    created_at: null,
    edited_at: null,
    edited_by: null,
  } as const;
  const names = {
    name: { first: evil, last: '' },
    email: evil,
    phone: '41440102217',
    roleId: 4n,
    joined: evil,
  };
  const held = [
    {
      user_id: 7n,
      name: evil,
      field: 'phone',
      reason: 'conflict',
      base_value: '41440102217',
      mirror_value: null,
      service_value: '41790102217',
      mirror_value_then: null,
      service_value_then: null,
      detail: evil,
      since: now,
      until: null,
      run_id: null,
      batch: null,
      decided_at: null,
      decided_by: null,
      edit_id: null,
      decided_why: null,
    },
  ] as const;
  const state = {
    id: 7n,
    base: names,
    mirror: {
      ...names,
      email: 'b@example.com',
      phone: null,
      split: 'guessed',
      role: 'member',
      resolved: true,
      gone: false,
    },
    service: { id: 7n, name: evil, email: evil, phone: '41790102217', roleId: 4n, raw: {} },
    held: [],
    edits: {},
    hasOpenIntent: false,
    missingForMs: undefined,
    observedDiffers: false,
  } as const;
  const read = {
    id: 7n,
    teamId: 41n,
    row,
    state,
    held,
    periods: [edited, first],
    changes: [change],
    roleNames: new Map([[4n, 'member']]),
  };
  const show = (details: boolean) =>
    onePerson(read, contextOf('/people/harbour/7', '', details)).main.toString();

  it('is shown with what others wrote as text, lanes included', () => {
    expect(/<img|\p{Cf}|(?!\n)\p{Cc}|\sstyle=|\son\w+="/u.exec(show(true))).toBe(null);
  });

  it('has the three versions with their differences, and the commands that decide', () => {
    const page = show(true);
    for (const part of [
      '41<mark class="service">79</mark>0102217',
      'resolve 7 phone --take mirror',
      'resolve 7 phone --take service',
      'Goes with the next run',
      '4 member',
      '<b>email</b>',
      'a.novak',
    ])
      expect(page.includes(part), part).toBe(true);
  });

  it('has one event of one change, with each step that became of it', () => {
    const ledger = (kind: ChangeRow['kind'], minute: number, more: Partial<ChangeRow> = {}): ChangeRow => ({
      ...change,
      kind,
      field: 'email',
      change_id: BigInt(minute),
      base_value: 'a@example.com',
      old_value: 'a@example.com',
      new_value: 'b@example.com',
      outcome: null,
      opened_at: new Date(Date.UTC(2026, 2, 1, 10, minute)),
      closed_at: new Date(Date.UTC(2026, 2, 1, 10, minute, 1)),
      edited_by: null,
      ...more,
    });
    const changes = [
      ledger('push', 9, { outcome: 'confirmed', edited_by: 'a.novak', request_id: 'r-1' }),
      ledger('approve', 5, { decided_by: 'kim', decided_why: 'new domain' }),
      ledger('hold', 2, { old_value: 'b@example.com', new_value: 'a@example.com' }),
      ledger('pull', 40, { field: 'phone', old_value: '1', new_value: '2' }),
    ];
    const page = onePerson({ ...read, changes }, contextOf('/people/harbour/7')).main.toString();
    const history = page.slice(page.indexOf('>History<')).replaceAll(/<[^>]*>/g, '');
    expect(history).toContain('2 changes, newest first');
    expect(history).toMatch(
      /edited by a\.novak 1 Mar 00:00held 1 Mar 10:02, run 3approved by kim 1 Mar 10:05, run 3, “new domain”sent 1 Mar 10:09, run 3, confirmed after 1\.0 s/,
    );
    expect(history).toMatch(
      /changed on the service before 10:40; by whom, it does not sayin the mirror 1 Mar 10:40, run 3/,
    );
  });

  it('is an id where details are off', () => {
    const quiet = { ...read, changes: [] };
    const page = onePerson(quiet, contextOf('/people/harbour/7', '', false)).main.toString();
    expect(/WWW|example\.com|0102217/.exec(page)).toBe(null);
    expect(page.includes('>7<')).toBe(true);
  });
});

describe('the header', () => {
  const shown = { title: 'Waiting', main: html`` };
  const nameIn = (page: string, place: RegExp) =>
    place
      .exec(page)?.[1]
      ?.replaceAll(/<[^>]+>/g, '')
      .replaceAll(/\s+/g, ' ')
      .trim();

  it('tells teams of one name apart by that of the settings', () => {
    const [north, south] = ['north', 'south'].map((team, at) => ({
      team,
      teamId: BigInt(41 + at),
      name: 'Harbour',
    }));
    if (north === undefined || south === undefined) throw new Error('no team');
    const context = { ...contextOf('/'), teams: [north, south], team: south };
    const page = layout(context, 'Waiting', shown, []).toString();
    expect(nameIn(page, /<summary>(.*?)<\/summary>/)).toBe('south Harbour');
    expect([...page.matchAll(/<li><a href="\/\?team=.*?<\/li>/g)].map(([li]) => nameIn(li, /(.*)/))).toEqual([
      'north Harbournothing waits',
      'south Harbournothing waits',
    ]);
    const one = { ...context, teams: [south] };
    expect(
      nameIn(layout(one, 'Waiting', shown, []).toString(), /<span class="team">(.*?)<\/span><span/),
    ).toBe('south Harbour');
  });

  it('leads to the manual, and says below each title where ids stand for names', () => {
    const main = html`<h1>3 things to do</h1><p class="lead">So it is.</p>`;
    const quiet = layout(contextOf('/', '', false), 'Waiting', { ...shown, main }, []).toString();
    expect(quiet).toMatch(
      /3 things to do<\/h1><p class="note">Instead of names, emails and phones this page shows ids/,
    );
    expect(quiet.split('Instead of names').length).toBe(2);
    const page = layout(contextOf('/'), 'Waiting', { ...shown, main }, []).toString();
    expect(page).not.toContain('Instead of names');
    expect(page).toMatch(/<footer>.*href="\/assets\/guide\.md">manual/s);
  });

  it('says a name once that both have, and that of the settings where the service gives none', () => {
    for (const name of ['harbour', '', null]) {
      const context = contextOf('/');
      const team = { team: 'harbour', teamId: 41n, name };
      const page = layout({ ...context, teams: [team], team }, 'Waiting', shown, []).toString();
      expect(nameIn(page, /<span class="team">(.*?)<\/span><span/)).toBe('harbour');
    }
  });
});

describe('counts of a first day', () => {
  const at = new Date('2026-03-11T11:40:00Z');
  const one = { segment: 'all', count: 312, countedAt: at };
  const listed = { now: 0, months: [] };
  const read = {
    teamId: 41n,
    days: 90,
    segment: 'all',
    last: [one],
    steps: [{ segment: 'all', from: at, last: 312, countedAt: at }],
    stepMs: 86_400_000,
    paceMs: 40_000,
    counted: 3,
    everyMs: 900_000,
    weeks: [],
    monthAgo: [],
    tags: listed,
    contactFields: listed,
    roles: [],
    counts: [],
  };
  const show = (more: Partial<typeof read> | { readonly everyMs: null }) =>
    countsView({ ...read, ...more }, contextOf('/counts')).main.toString();

  it('are not called one where there are several, and are made as often as the settings say', () => {
    expect(show({})).not.toMatch(/One count so far|40 seconds/);
    expect(show({})).toContain('Counted every 15 minutes.');
    expect(show({ counted: 1 })).toContain('One count so far');
    expect(show({ everyMs: null })).not.toContain('Counted every');
  });
});

describe('what a link asks for', () => {
  const asked = (search: string, isCsv = false) => ({
    query: new URLSearchParams(search),
    params: {},
    details: true,
    isCsv,
  });

  it('of people: nothing that there is not', () => {
    expect(peopleAsked(asked('state=nobody&sort=-secret&role=x&page=1'))).toMatchObject({
      state: 'present',
      sort: 'state',
      isDown: true,
      roleId: null,
      after: null,
    });
    expect(peopleAsked(asked('page=41.7.50&sort=name'))).toMatchObject({
      after: { teamId: 41n, id: 7n },
      sort: 'name',
    });
    expect(peopleAsked(asked('page=41.7.50', true))).toMatchObject({ after: null });
  });

  it.each([
    ['', '2026-03-04'],
    ['q=7', undefined],
    ['run=3', undefined],
    ['since=', undefined],
    ['since=2026-01-02', '2026-01-02'],
    ['since=2026-13-99', undefined],
  ])('of changes since when: %j', (search, expected) => {
    expect(changesAsked(asked(search), now).since?.toISOString().slice(0, 10)).toBe(expected);
  });

  it('as SQL holds no text that could end', () => {
    const sql = inSql(
      changesAsked(asked("q=O'Neil&actor='; drop&direction=pushed&field=phone&since="), now),
      { team: null },
    );
    expect(sql).toBe(
      "select * from report.changes\nwhere name ilike '%O''Neil%'\n  and field = 'phone'\n  and kind in ('push')\n  and '''; drop' in (edited_by, decided_by)\norder by change_id desc",
    );
  });
});
