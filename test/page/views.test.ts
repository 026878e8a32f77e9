import { describe, expect, it, onTestFinished } from 'vitest';
import { showTimesIn } from '../../src/model/zone-time.ts';
import type { ChangeRow } from '../../src/page/read/page-changes.ts';
import { standings } from '../../src/model/standing.ts';
import type { RosterRow } from '../../src/page/read/page-people.ts';
import { changes, changesFilter } from '../../src/page/render/ledger-view.ts';
import { html } from '../../src/page/render/html.ts';
import { layout } from '../../src/page/render/layout.ts';
import { renderList } from '../../src/page/list/list.ts';
import { peopleList } from '../../src/page/list/people.ts';
import { onePerson } from '../../src/page/render/person.ts';
import type { PageContext } from '../../src/page/render/view.ts';
import type { ListOnPage } from '../../src/page/list/held-rows.ts';
import { type PageWaiting, waiting, waitingCsv } from '../../src/page/list/waiting-view.ts';
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
  state: standings.indexOf('waits'),
  open: [{ field: 'phone', state: 'held', reason: 'conflict', batch: null, until: null, by: null }],
};
const roster = {
  rows: [user],
  found: 60,
  counts: new Map([[standings.indexOf('waits'), 60]]),
  options: new Map([['role_id', [{ value: '4', label: evil }]]]),
};
const people = (read: typeof roster, context: PageContext) => renderList(peopleList, read, context);

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
const ledger = { rows: [change], isMore: true, searchEnd: null };

const views = [
  ['people', (context: PageContext) => people(roster, context)],
  ['changes', (context: PageContext) => changes(ledger, context)],
] as const;

describe.each(views)('the view of %s', (name, render) => {
  it('escapes HTML in names and values, and marks hidden characters', () => {
    // What a form sends back is as it was: it is not shown.
    const page = render(contextOf(`/${name}`))
      .main.toString()
      .replaceAll(/ value="[^"]*"/g, '');
    expect(page.includes('&lt;img src=x onerror=alert(1)&gt;')).toBe(true);
    expect(/<img|\p{Cf}|(?!\n)\p{Cc}|\sstyle=|\son\w+="/u.exec(page)).toBe(null);
    expect(page.includes('U+202E')).toBe(true);
  });

  it('shows the service’s name of a team below the configured name if the two names differ', () => {
    const teams = [{ team: 'harbour', teamId: 41n, name: 'Harbour Street Clinic' }];
    const page = (of: typeof teams) =>
      render({ ...contextOf(`/${name}`), teams: of, team: null }).main.toString();
    expect(page(teams)).toMatch(/harbour<\/bdi><span class="note"><bdi class="name">Harbour Street Clinic</);
    expect(page([{ ...teams[0], name: 'harbour' }] as typeof teams)).not.toMatch(
      /harbour<\/bdi><span class="note">/,
    );
  });
});

const heldField = {
  teamId: 41n,
  userId: 7n,
  name: 'Berg',
  field: 'phone',
  reason: 'limit',
  detail: '',
  base: null,
  mirror: null,
  service: null,
  since: now,
  batch: '5f0c',
  editId: 1n,
  editedBy: 'hr',
  editedAt: now,
  requestId: null,
} as const;

it('waitingCsv omits names, emails and phones if details are off', () => {
  const detail = 'the split of "Berg "B" Ada" is a guess';
  const row = (field: string, value: unknown) => ({ ...heldField, detail, field, mirror: value });
  const rows = [
    row('email', 'berg@example.com'),
    row('name', { first: 'Berg', last: '' }),
    row('role_id', 4),
  ];
  const read = { lists: [{ page: { rows } }] } as unknown as PageWaiting;
  const fileOf = (details: boolean) => {
    const csv = waitingCsv(read, contextOf('/waiting', '', details));
    return csv.rows.map((cells) => cells[csv.head.indexOf('mirror')]);
  };
  expect(fileOf(true)).toEqual(['berg@example.com', 'Berg', '4']);
  expect(fileOf(false)).toEqual(['not shown', 'not shown', '4']);
  const quiet = waitingCsv(read, contextOf('/waiting', '', false));
  expect(quiet.head).not.toContain('name');
  expect(quiet.rows[0]?.[quiet.head.indexOf('detail')]).toBe(
    'the split of a value that is not shown is a guess',
  );
});

describe('the page of one user', () => {
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
      detail: `the split of "${evil}" is a guess`,
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
    history: [
      change,
      {
        ...change,
        kind: 'edit' as const,
        field: 'email',
        old_value: null,
        new_value: 'b@example.com',
        edited_by: 'a.novak',
      },
    ],
  };
  const roleNames = new Map([['41 4', 'member']]);
  const path = '/people/harbour/7';
  const show = (more: object = {}, context: Partial<PageContext> = {}) =>
    onePerson({ ...read, ...more } as typeof read, {
      ...contextOf(path),
      roleNames,
      ...context,
    }).main.toString();

  it('escapes HTML and hidden characters in all values', () => {
    expect(/<img|\p{Cf}|(?!\n)\p{Cc}|\sstyle=|\son\w+="/u.exec(show())).toBe(null);
  });

  it('shows the values of base, mirror and service, and marks their differences', () => {
    const page = show();
    for (const part of [
      '<mark class="mirror none">none</mark>',
      '41<mark class="service">79</mark>0102217',
      'Waiting',
      '4 member',
      'edited here',
      'a.novak',
    ])
      expect(page.includes(part), part).toBe(true);
    expect(page).not.toContain('<form');
    expect(textOf(page)).toContain('Nobody decides on this page: musterd held names the commands.');
  });

  const hold = held[0];
  const decide = { actor: 'kim', token: () => 'secret', barred: null };
  it.each([
    ['conflict', null, 'Take the mirror’s…Take the service’s…Another value…'],
    ['refused', null, 'Take the service’s…Another value…'],
    ['limit', '5f0c', 'Reject and put back…Reject…Approve…Another value…Its batch'],
    [
      'conflict',
      '5f0c',
      'Reject and put back…Reject…Take the mirror’s…Take the service’s…Another value…Its batch',
    ],
    ['asked', null, ''],
  ])('shows for a field held with reason "%s" and batch %s only the buttons: %s', (reason, batch, words) => {
    const page = show({ held: [{ ...hold, reason, batch }] }, { decide });
    const [, buttons = ''] = /<div class="part row"><h3>Phone<\/h3>(.*?)<\/div>/.exec(page) ?? [];
    expect([textOf(buttons), page.includes('class="command"')]).toEqual([words, false]);
  });

  it('offers neither a command nor a form if the mirror is a copy', () => {
    const placing = { ...contextOf(path).placing, verdict: 'copy' as const };
    expect(textOf(show({}, { placing }))).not.toMatch(/musterd (hold|resolve)|Leave it alone/);
  });

  it('the list of users links a held field to its batch, or to the fields held for the same reason if it has no batch', () => {
    const linkOf = (batch: string | null) => {
      const open = [{ ...user.open?.[0], batch }];
      return people(
        { ...roster, rows: [{ ...user, open }] } as typeof roster,
        contextOf('/people'),
      ).main.toString();
    };
    expect(linkOf('5f0c')).toContain('/waiting/5f0c#c-7-phone');
    expect(linkOf(null)).toContain('/waiting?state=conflict#c-7-phone');
  });

  it('shows the end, the author and the reason of a requested hold, and the state after the hold', () => {
    const asked = {
      ...hold,
      reason: 'asked',
      detail: 'on leave',
      until: new Date('2026-03-14T14:32:00Z'),
      asked_by: 'kim',
      held_before: 'conflict',
    };
    const shown = (all: readonly object[], details = true) => textOf(show({ held: all }, { details }));
    const one = shown([asked]);
    expect(one).toContain('Held until 14 Mar 14:32 by kim, “on leave”');
    expect(one).toContain(
      'phone: nothing is sent or taken until then; then as before: phone changed on both sides',
    );
    expect(one).not.toMatch(/Take the|End it now|Leave it alone/);
    expect(shown([asked], false)).not.toContain('on leave');
    const email = { ...asked, field: 'email', held_before: null };
    expect(shown([asked, email])).toMatch(/“on leave”phone and email: nothing/);
    expect(shown([asked, { ...email, asked_by: 'anna' }])).toMatch(
      /by kim.*phone: nothing.*by anna.*email: nothing/,
    );
  });

  it('describes each change in the history: kind, side, author and reason', () => {
    const line = (kind: ChangeRow['kind'] | 'edit', more: Partial<ChangeRow>) => ({
      ...change,
      kind,
      field: 'email',
      old_value: 'a@example.com',
      new_value: 'b@example.com',
      outcome: null,
      edited_by: 'a.novak',
      ...more,
    });
    const history = [
      line('push', { outcome: 'confirmed' }),
      line('approve', { decided_by: 'kim', decided_why: 'new domain' }),
      line('hold', { old_value: 'a@example.com', new_value: 'b@example.com', outcome: 'review' }),
      line('discard', { decided_by: 'kim', outcome: 'withdrawn' as ChangeRow['outcome'] }),
      line('edit', {}),
      line('pull', { field: 'phone', old_value: '1', new_value: '2' }),
    ];
    const page = textOf(show({ held: [], history }));
    const past = page.slice(page.indexOf('HistoryAmong'));
    for (const part of [
      'emaila@example.comb@example.com → pusheda.novak3confirmed',
      'approvedkim“new domain”3–',
      'emaila@example.comb@example.com ıı helda.novak3held: to be approved',
      'given upkim3withdrawn',
      'edited herea.novak',
      'phone12 → pulledon the service',
    ])
      expect(past).toContain(part);
  });

  it('allows line breaks between the parts of an email, but none in a phone number', () => {
    const base = { ...names, email: 'anna_b.novak@example.com' };
    const page = show({ state: { ...state, base } });
    expect(page).toContain('anna_<wbr>b.<wbr>novak<wbr>@example.<wbr>com');
    expect(page).toContain('<bdi class="value nowrap">41440102217</bdi>');
  });
});

describe('the waiting view of a batch', () => {
  const decide = { actor: 'kim', token: () => 'secret', barred: null };
  const listOf = (reasons: readonly string[], more: Partial<ListOnPage> = {}): ListOnPage => {
    const rows = reasons.map((detail, i) => ({ ...heldField, userId: BigInt(i), name: `Name ${i}`, detail }));
    return {
      teamId: 41n,
      batch: '5f0c',
      reasons: [{ what: 'limit', rows: rows.length }],
      rows: rows.length,
      users: rows.length,
      fields: [{ what: 'phone', rows: rows.length }],
      editors: [{ what: 'hr', rows: rows.length }],
      details: [...new Set(reasons)].map((what) => ({ what, rows: 1 })),
      since: now,
      runId: null,
      editedFrom: now,
      editedTo: now,
      isOneEdit: true,
      isAlone: true,
      own: new Set(),
      page: { rows, found: rows.length, options: new Map() },
      ...more,
    };
  };
  const show = (list: ListOnPage) => {
    const rest = { all: [list], missing: [], decided: [], done: undefined };
    const read = { ...rest, lists: [list], sending: { listens: true, nextRun: null } };
    return waiting(read, { ...contextOf('/waiting/5f0c'), decide }).main.toString();
  };

  it.each([
    [true, 'putBack'],
    [false, 'approve'],
  ])(
    'highlights the button putBack if one transaction made all edits, and the button approve otherwise: %s, %s',
    (isOneEdit, main) => {
      const page = show(listOf(['two would change'], { isOneEdit }));
      const buttons = [...page.matchAll(/<button class="(button[^"]*)" name="verb" value="(\w+)"/g)];
      expect(buttons.map(([, , verb]) => verb)).toEqual(['putBack', 'reject', 'approve']);
      expect(buttons.flatMap(([, kind, verb]) => (kind === 'button main' ? [verb] : []))).toEqual([main]);
    },
  );

  it('shows up to three different reasons above the rows, and more than three beside each row', () => {
    const reasons = ['first', 'second', 'third', 'fourth'].map((one) => `${one} reason`);
    const few = textOf(show(listOf(reasons.slice(1))));
    expect(few).toContain('Second reason. Third reason. Fourth reason. Not sent until');
    expect(few.match(/reason\./g)).toHaveLength(3);
    expect(textOf(show(listOf(reasons)))).toMatch(
      /limitNot sent until.*Name 0.*First reason\..*Name 1.*Second reason\..*Name 3.*Fourth reason\./,
    );
  });
});

describe('the layout of a page', () => {
  const shown = { title: 'Waiting', main: html`` };

  it('links to the manual, and states below the title that ids replace names if details are off', () => {
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

describe('changesFilter', () => {
  const asked = (search: string, isCsv = false) => ({
    query: new URLSearchParams(search),
    params: {},
    details: true,
    isCsv,
  });

  it.each([
    ['', undefined],
    ['since=', undefined],
    ['since=2026-01-02', '2026-01-02'],
    ['since=2026-13-99', undefined],
  ])('reads a valid `since` as the start day, and any other as undefined: %j as %s', (search, expected) => {
    expect(changesFilter(asked(search)).since?.toISOString().slice(0, 10)).toBe(expected);
  });

  it.each([
    ['Africa/Cairo', 'since=2027-04-30', '2027-04-29T22:00:00.000Z'],
    ['America/New_York', 'since=2026-01-02', '2026-01-02T05:00:00.000Z'],
  ])('begins a day at its first moment in %s, also if clocks skip midnight: %j', (zone, search, expected) => {
    onTestFinished(() => showTimesIn('UTC'));
    showTimesIn(zone);
    expect(changesFilter(asked(search)).since?.toISOString()).toBe(expected);
  });
});
