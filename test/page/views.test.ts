import { describe, expect, it } from 'vitest';
import type { ChangeRow } from '../../src/page/read/page-changes.ts';
import type { RosterRow } from '../../src/page/read/page-people.ts';
import { changesFilter, inSql } from '../../src/page/render/changes-filter.ts';
import { changes, changesCsv } from '../../src/page/render/ledger-view.ts';
import { html } from '../../src/page/render/html.ts';
import { layout } from '../../src/page/render/layout.ts';
import { people, peopleFilter, peopleCsv } from '../../src/page/render/people.ts';
import { onePerson } from '../../src/page/render/person.ts';
import type { PageWaiting } from '../../src/page/read/page-waiting-view.ts';
import type { PageContext } from '../../src/page/render/view.ts';
import { waitingCsv } from '../../src/page/render/waiting-list.ts';
import { contextOf, now, textOf } from './page-context.ts';

const evil = `<img src=x onerror=alert(1)>\u202e${'W'.repeat(4_096)}\u001b[31m"'`;

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
  open: [{ field: 'phone', state: 'held', reason: 'conflict', batch: null, until: null, decidedBy: null }],
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
  edit_id: null,
  batch: null,
};
const ledger = { rows: [change], isMore: true, searchEnd: null, actors: [evil] };

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

  it('has the service’s name of a team below that of the settings, where there are several', () => {
    const teams = [{ team: 'harbour', teamId: 41n, name: 'Harbour Street Clinic' }];
    const page = (of: typeof teams) =>
      render({ ...contextOf(`/${name}`), teams: of, team: null }).main.toString();
    expect(page(teams)).toMatch(/harbour<\/bdi><span class="note"><bdi class="name">Harbour Street Clinic</);
    expect(page([{ ...teams[0], name: 'harbour' }] as typeof teams)).not.toMatch(
      /harbour<\/bdi><span class="note">/,
    );
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

it('shows no value of a person in the file of what waits where details are off', () => {
  const row = (field: string, value: unknown) => ({
    teamId: 41n,
    userId: 7n,
    name: 'Berg',
    field,
    base: null,
    mirror: value,
    service: value,
  });
  const rows = [
    row('email', 'berg@example.com'),
    row('name', { first: 'Berg', last: '' }),
    row('role_id', 4),
  ];
  const read = { lists: [{ shown: rows }] } as unknown as PageWaiting;
  const fileOf = (details: boolean) => {
    const csv = waitingCsv(read, contextOf('/waiting', '', details));
    return csv.rows.map((cells) => cells[csv.head.indexOf('mirror')]);
  };
  expect(fileOf(true)).toEqual(['berg@example.com', 'Berg', '4']);
  expect(fileOf(false)).toEqual(['not shown', 'not shown', '4']);
  expect(waitingCsv(read, contextOf('/waiting', '', false)).head).not.toContain('name');
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
  };
  const edited = {
    ...period,
    valid_from: new Date('2026-03-01'),
    email: 'b@example.com',
    side: 'mirror',
    edited_by: 'a.novak',
  } as const;
  const first = {
    ...period,
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
    role: 'mem\u202eber',
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
      state: 'held',
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
      asked_by: null,
      held_before: null,
      edited_at: null,
      edited_by: null,
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

  it('is shown with what others wrote as text', () => {
    expect(/<img|\p{Cf}|(?!\n)\p{Cc}|\sstyle=|\son\w+="/u.exec(show(true))).toBe(null);
  });

  it('has the three versions with their differences, and the commands that decide', () => {
    const page = show(true);
    for (const part of [
      '<mark class="mirror none">none</mark>',
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

  const hold = held[0];
  it.each([
    [{}, true, `--if ''`],
    [{ mirror_value: '41440102999' }, true, '--if 41440102999'],
    [
      { field: 'name', mirror_value: { first: 'Ana María', last: "O'Neil" } },
      true,
      `--if 'Ana María|O'\\''Neil'`,
    ],
    [{ field: 'name', mirror_value: { first: 'A|B', last: 'C' }, edit_id: 12n }, true, '--edit 12'],
    [{ mirror_value: '1\u202e2', edit_id: 12n }, true, '--edit 12'],
    [{ mirror_value: '41440102999', edit_id: 12n }, false, '--edit 12'],
    [{ field: 'role_id', mirror_value: 4 }, false, '--if 4'],
  ] as const)('names in its commands what was seen (%#)', (more, details, words) => {
    const one = { ...read, held: [{ ...hold, ...more }] as typeof read.held };
    const page = textOf(onePerson(one, contextOf('/people/harbour/7', '', details)).main);
    const ifService = details || page.includes('role_id --take') ? ' --if-service 41790102217' : '';
    for (const side of ['mirror', 'service'])
      expect(page.includes(`--take ${side} ${words}${ifService}Copy`), side).toBe(true);
  });

  it('offers nothing in a copy, where nothing is decided', () => {
    const context = contextOf('/people/harbour/7');
    const copy = { ...context, placing: { ...context.placing, verdict: 'copy' as const } };
    expect(textOf(onePerson(read, copy).main)).not.toMatch(/musterd (hold|resolve)|Leave it alone/);
  });

  it('is in the team since they joined, and else in the mirror since it began', () => {
    const lead = (more: object) =>
      textOf(onePerson({ ...read, ...more } as typeof read, contextOf('/people/harbour/7')).main);
    expect(lead({})).toContain('in the team since 1 Jan');
    expect(lead({ periods: [edited, { ...first, side: null }] })).toContain('in the mirror since 1 Jan');
    const joined = { ...row, created_at: new Date('2020-02-03') };
    expect(lead({ row: joined, periods: [{ ...first, side: null }] })).toContain(
      'in the team since 3 Feb 2020',
    );
  });

  it('names the one field in the commands about its batch', () => {
    const held = [{ ...hold, reason: 'limit', batch: '5f0c' }] as unknown as typeof read.held;
    const page = textOf(onePerson({ ...read, held }, contextOf('/people/harbour/7')).main);
    for (const verb of ['approve', 'reject'])
      expect(page).toContain(`musterd ${verb} 5f0c --only 7.phone --reason '…'`);
  });

  it('links to a batch only a field that is approved with it', () => {
    const linkOf = (reason: string) => {
      const open = [{ ...user.open[0], reason, batch: '5f0c' }];
      return people(
        { ...roster, rows: [{ ...user, open }] } as typeof roster,
        contextOf('/people'),
      ).main.toString();
    };
    expect(linkOf('limit')).toContain('/waiting/5f0c');
    expect(linkOf('conflict')).toContain('/waiting?state=conflict#c-');
    expect(linkOf('conflict')).not.toContain('/waiting/5f0c');
  });

  it('names the commands that choose a side where no limit holds a field of a batch', () => {
    const held = [{ ...hold, reason: 'conflict', batch: '5f0c' }] as unknown as typeof read.held;
    const page = textOf(onePerson({ ...read, held }, contextOf('/people/harbour/7')).main);
    expect(page).toContain('musterd resolve 7 phone --take mirror');
    expect(page).not.toContain('musterd approve');
  });

  it('that is held on request says until when, by whom and why, and what comes back then', () => {
    const asked = {
      ...hold,
      reason: 'asked',
      detail: 'on leave',
      until: new Date('2026-03-14T14:32:00Z'),
      asked_by: 'kim',
      held_before: 'conflict',
    };
    const shown = (all: readonly object[], details = true) =>
      textOf(
        onePerson(
          { ...read, held: all } as unknown as typeof read,
          contextOf('/people/harbour/7', '', details),
        ).main,
      );
    const one = shown([asked]);
    expect(one).toContain('Held until 14 Mar 14:32 by kim, “on leave”');
    expect(one).toContain(
      'phone: nothing is sent or taken until then; then as before: phone changed on both sides',
    );
    expect(one).toContain('musterd hold 7 phone --end');
    expect(one).toContain('Leave it alone for a while');
    expect(one).not.toMatch(/Take the|End it now|Hold…/);
    expect(shown([asked], false)).not.toContain('on leave');
    const email = { ...asked, field: 'email', held_before: null };
    expect(shown([asked, email])).toMatch(
      /Held until 14 Mar 14:32 by kim, “on leave”email and phone: nothing.*musterd hold 7 --end/,
    );
    expect(shown([asked, { ...email, asked_by: 'anna' }])).toMatch(/hold 7 email --end.*hold 7 phone --end/);
    expect(shown([{ ...asked, asked_by: null, detail: '', held_before: null }])).toContain(
      'Held until 14 Mar 14:32phone: nothing is sent or taken until then$',
    );
  });

  describe('with a history', () => {
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
    const historyOf = (more: object) => {
      const one = { ...read, held: [], ...more } as unknown as typeof read;
      const page = onePerson(one, contextOf('/people/harbour/7')).main.toString();
      return page.slice(page.indexOf('>History<')).replaceAll(/<[^>]*>/g, '');
    };

    it('has one event of one change, with each step that became of it', () => {
      const changes = [
        ledger('push', 9, { outcome: 'confirmed', edited_by: 'a.novak', request_id: 'r-1' }),
        ledger('approve', 5, { decided_by: 'kim', decided_why: 'new domain', batch: '5f0c' }),
        ledger('hold', 2, { old_value: 'b@example.com', new_value: 'a@example.com' }),
        ledger('pull', 40, { field: 'phone', old_value: '1', new_value: '2' }),
      ];
      const history = historyOf({ changes });
      expect(history).toContain('2 changes, newest first');
      expect(history).toMatch(
        /edited by a\.novak 1 Mar 00:00held 1 Mar 10:02, run 3approved by kim 1 Mar 10:05, run 3, “new domain”sent 1 Mar 10:09, run 3, confirmed after 1\.0 s/,
      );
      expect(history).toMatch(
        /changed on the service before 10:40; by whom, it does not sayin the mirror 1 Mar 10:40, run 3/,
      );
      expect(history).toContain('Batch, requestBatch 5f0c X-Request-Id r-1');
    });

    it('has an event for each edit, also where one comes to the value of another', () => {
      const again = { edited_by: null, edit_id: 2n };
      const changes = [
        ledger('push', 20, { ...again, outcome: 'confirmed' }),
        ledger('approve', 15, { ...again, decided_by: 'anna' }),
        ledger('reject', 10, { edit_id: 1n, decided_by: 'eve' }),
        ledger('approve', 5, { edit_id: 1n, decided_by: 'kim' }),
      ];
      const history = historyOf({ changes });
      expect(history).toContain('2 changes, newest first');
      expect(history).toMatch(/approved by anna .*sent .*approved by kim .*rejected by eve/);
    });

    it('names the reason of a hold beside an edit only until somebody decides', () => {
      const held = ledger('hold', 2, { old_value: 'b@example.com', outcome: 'review', edit_id: 1n });
      const rejected = ledger('reject', 5, { edit_id: 1n, decided_by: 'kim' });
      expect(historyOf({ changes: [held] })).toContain('held: to be approved');
      expect(historyOf({ changes: [rejected, held] })).not.toContain('held: to be approved');
    });

    it('ends the newest event of a field that waits for somebody', () => {
      const since = new Date(now.getTime() - 2 * 3_600_000);
      const waits = { ...hold, field: 'email', since, edit_id: 1n };
      const changes = [
        ledger('hold', 8, { old_value: 'b@example.com', edit_id: 1n }),
        ledger('pull', 4, { field: 'phone', old_value: '1', new_value: '2' }),
        ledger('settle', 2, { new_value: 'z@example.com' }),
      ];
      const history = historyOf({ changes, held: [waits] });
      expect(history.split('needs a decision')).toHaveLength(2);
      expect(history).toMatch(/held 1 Mar 10:08, run 3needs a decision, 2 hours/);
      for (const other of [{ edit_id: 9n }, { reason: 'asked' }, { state: 'rejected' }])
        expect(historyOf({ changes, held: [{ ...waits, ...other }] })).not.toContain('needs a decision');
      expect(historyOf({ changes, held: [waits], row: { ...row, gone_at: now } })).not.toContain('needs a');
    });
  });

  it('breaks an email where its parts end, and no phone number', () => {
    const base = { ...names, email: 'anna_b.novak@example.com' };
    const page = onePerson({ ...read, state: { ...state, base } }, contextOf('/people/harbour/7'));
    expect(page.main.toString()).toContain('anna_<wbr>b.<wbr>novak<wbr>@example.<wbr>com');
    expect(page.main.toString()).toContain('<bdi class="value nowrap">41440102217</bdi>');
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
});

describe('what a link asks for', () => {
  const asked = (search: string, isCsv = false) => ({
    query: new URLSearchParams(search),
    params: {},
    details: true,
    isCsv,
  });

  it('of people: nothing that there is not', () => {
    expect(peopleFilter(asked('state=nobody&sort=-secret&role=x&page=1'))).toMatchObject({
      state: 'present',
      sort: 'state',
      isDown: true,
      roleId: null,
      after: null,
    });
    expect(peopleFilter(asked('page=41.7.50&sort=name'))).toMatchObject({
      after: { teamId: 41n, id: 7n },
      sort: 'name',
    });
    expect(peopleFilter(asked('page=41.7.50', true))).toMatchObject({ after: null });
  });

  it.each([
    ['', '2026-03-04'],
    ['q=7', undefined],
    ['run=3', undefined],
    ['since=', undefined],
    ['since=2026-01-02', '2026-01-02'],
    ['since=2026-13-99', undefined],
  ])('of changes since when: %j', (search, expected) => {
    expect(changesFilter(asked(search), now).since?.toISOString().slice(0, 10)).toBe(expected);
  });

  it('as SQL holds no text that could end', () => {
    const sql = inSql(
      changesFilter(asked("q=O'Neil&actor='; drop&direction=pushed&field=phone&since="), now),
      { team: null },
    );
    expect(sql).toBe(
      "select * from report.changes\nwhere name ilike '%O''Neil%'\n  and field = 'phone'\n  and kind in ('push')\n  and '''; drop' in (edited_by, decided_by)\norder by change_id desc",
    );
  });
});
