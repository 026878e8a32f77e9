import { standings, type UserStanding } from '../../src/model/standing.ts';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { type ChangeRow, readChanges } from '../../src/page/read/page-changes.ts';
import { readCounts, readMonths, stepFor } from '../../src/page/read/page-counts.ts';
import { readContacts } from '../../src/page/read/page-glance.ts';
import type { RosterRow } from '../../src/page/read/page-people.ts';
import { readPerson } from '../../src/page/read/page-person.ts';
import type { PageReader } from '../../src/page/read/page-reader.ts';
import { readOneRun } from '../../src/page/read/page-runs.ts';
import { pageViews } from '../../src/page/serve/page-views.ts';
import { readSending } from '../../src/page/read/page-waiting.ts';
import { readWaitingView } from '../../src/page/list/waiting-view.ts';
import { noteDaemon } from '../../src/mirror/team/known-daemons.ts';
import type { ListRead } from '../../src/page/list/list.ts';
import { countsCsv } from '../../src/page/render/counts.ts';
import { changes } from '../../src/page/render/ledger-view.ts';
import { explainAsSeen } from '../../src/runs/look/explain-as-seen.ts';
import { useDatabase } from '../support/use-database.ts';
import { contextOf, textOf } from './page-context.ts';

const now = new Date('2026-03-11T12:00:00Z');
const database = useDatabase();
/** As a person writes, and as a run does. */
const { rows: rowsOf, force: owned } = database;
const readerOf = (...teamIds: bigint[]): PageReader => ({
  db: database.db.kysely,
  teams: [],
  teamIds,
  now,
  decider: null,
});
const asked = (search = '', params: Readonly<Record<string, string>> = {}, details = true) => ({
  params,
  query: new URLSearchParams(search),
  details,
  isCsv: false,
});
/** What the view at this path reads. */
const readView = async <Read>(path: string, reader: PageReader, of: ReturnType<typeof asked>) =>
  (await pageViews.find((view) => view.path === path)?.read(reader, of)) as Read;

/** Ten in team 41, of whom 1 to 7 stand in a way of their own; the same ids, all equal, in team 42. */
const users = `
  insert into mirror.users (team_id, id, name, first_name, last_name, email, phone, role_id, role, resolved, gone_at, updated_at)
  select t, n, 'Name ' || n, 'Name', n::text, 'user' || n || '@example.com', '4144010220' || n, 1 + n % 2,
    case n % 2 when 0 then 'admin' else 'member' end, t = 42 or n <> 3, case when t = 41 and n = 6 then timestamptz '2026-03-01' end,
    timestamptz '2026-03-01' + n * interval '1 hour'
  from generate_series(1, 10) n, (values (41), (42)) t (t);
  insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone, role_id)
  select team_id, id, name, first_name, last_name, email, phone, role_id from mirror.users where team_id = 42 or id <> 3;
  insert into sync.held_fields (team_id, user_id, field, reason, base_value, mirror_value, service_value, shown_value, detail, until, decision, edit_id)
  values (41, 1, 'phone', 'conflict', '"41440102201"', '"41440102998"', '"888"', '"888"', 'both sides changed it', null, null, null),
    (41, 1, 'email', 'asked', null, null, null, null, '', '2100-01-01', null, null),
    (41, 4, 'phone', 'limit', '"41440102204"', '"4"', '"41440102204"', '"41440102204"', '', null, 'rejected', null),
    (41, 5, 'phone', 'asked', null, null, null, null, '', '2100-01-01', null, null),
    (41, 6, 'phone', 'returned', null, null, null, null, '', null, null, null);`;

const ledger = `
  insert into sync.changes (team_id, user_id, kind, base, old, new, outcome, opened_at, closed_at, edited_by, decided_by)
  values (41, 1, 'adopt', '{}', '{}', '{"name": {"first": "Name", "last": "1"}, "email": "a", "phone": "1"}', '{}', '2026-01-01', '2026-01-01', null, null),
    (42, 1, 'pull', '{}', '{"phone": "1"}', '{"phone": "2"}', '{}', '2026-03-09', '2026-03-09', null, null),
    (41, 2, 'push', '{}', '{"phone": "1", "email": "a"}', '{"phone": "2", "email": "b"}', '{"phone": "confirmed", "email": "refused"}', '2026-03-09', '2026-03-09', '{"phone": "a.novak", "email": "a.novak"}', null),
    (41, 1, 'hold', '{"phone": "0"}', '{"phone": "1"}', '{"phone": "2"}', '{"phone": "conflict"}', '2026-03-10', '2026-03-10', null, null),
    (41, 7, 'resolve', '{}', '{"role_id": 1}', '{"role_id": 2}', '{}', '2026-03-11', '2026-03-11', null, 'm.okoye, said by musterd');`;

/** Every hour for forty days, but for two days in the middle. */
const listings = `
  insert into mirror.contact_counts (team_id, segment, counted_at, count)
  select 41, s, timestamptz '2026-03-11T11:30Z' - n * interval '1 hour', 1000 - n from generate_series(0, 960) n, (values ('all'), ('new')) s (s)
  where n not between 240 and 290;
  insert into mirror.tags (team_id, id, tag, first_seen_at, gone_at) values (41, 1, 'old', '2026-01-05', null), (41, 2, 'b%d', '2026-02-03', null),
    (41, 3, 'gone', '2026-01-05', '2026-03-02');
  insert into sync.listing_changes (team_id, resource, id, kind, changed_at) values (41, 'tags', 3, 'gone', '2026-03-02');
  insert into mirror.roles (team_id, role_id, name, members) values (41, 1, 'member', 6), (41, 2, 'admin', 4);`;

beforeAll(async () => {
  await owned(`${users} ${ledger} ${listings}`);
  await rowsOf(
    `update mirror.users set phone = '41440102998' where team_id = 41 and id in (1, 2);
     update mirror.users set phone = '41440102999' where team_id = 41 and id = 4;
     update sync.held_fields h set edit_id = e.edit_id from sync.edits e
     where e.team_id = h.team_id and e.user_id = h.user_id and e.field = h.field and h.reason in ('conflict', 'limit')`,
  );
});

describe('the list of users', () => {
  const ask = (search: string, teams: readonly bigint[] = [41n], details = true) =>
    readView<ListRead<RosterRow>>('/people', readerOf(...teams), asked(search, {}, details));
  const idsOf = async (...of: Parameters<typeof ask>) => (await ask(...of)).rows.map(({ id }) => Number(id));

  it('lists each user once with one state, and first the users with a field that waits for a person', async () => {
    const { rows, counts, found } = await ask('');
    expect(rows.map(({ id, state }) => [Number(id), standings[state]])).toEqual([
      [1, 'waits'],
      [2, 'moving'],
      [3, 'unresolved'],
      [4, 'rejected'],
      [5, 'asked'],
      [10, 'equal'],
      [7, 'equal'],
      [8, 'equal'],
      [9, 'equal'],
    ]);
    const each = { waits: 1, moving: 1, unresolved: 1, rejected: 1, asked: 1, equal: 4, left: 1 };
    const named = Object.entries(each).map(([state, rows]) => [
      standings.indexOf(state as UserStanding),
      rows,
    ]);
    expect([counts, found]).toEqual([new Map(named as [number, number][]), 9]);
    expect(rows[0]?.open?.map(({ field, reason }) => [field, reason])).toEqual([
      ['email', 'asked'],
      ['phone', 'conflict'],
    ]);
  });

  it.each(['state', 'name', 'role', 'email', 'phone', 'changed'] as const)(
    'sorts users by %s in both directions, and continues this order on the next page',
    async (sort) => {
      const rows = async (search: string) =>
        (await ask(search, [41n, 42n])).rows.map((row) => `${row.team_id} ${row.id}`);
      const up = await rows(`sort=${sort}`);
      expect(new Set(up).size).toBe(19);
      const down = await rows(`sort=-${sort}`);
      // A role that has no name stands at the end either way.
      expect(sort === 'role' ? down.toSorted() : down).toEqual(
        sort === 'role' ? up.toSorted() : up.toReversed(),
      );
      expect(await rows(`sort=${sort}&page=7`)).toEqual(up.slice(7));
    },
  );

  it.each([
    ['state=waits', [1]],
    ['state=equal', [10, 7, 8, 9]],
    ['state=left', [6]],
    ['q=NAME 1', [1, 10]],
    ['q=user7@', [7]],
    ['q=%2B41 44 010 22 08', [8]],
    ['q=%25', []],
    ['q=ñamé 8', [8]],
    ['q=name ñu', []],
    ['role_id=2', [1, 3, 5, 7, 9]],
    ['state=nobody&sort=-secret&page=x', [1, 2, 3, 4, 5, 10, 7, 8, 9]],
  ] as const)('finds exactly the users that match the query %s', async (search, expected) => {
    const { rows, found } = await ask(search);
    expect([rows.map(({ id }) => Number(id)), found]).toEqual([expected, expected.length]);
  });

  it('finds users by id and by state, but not by name, if details are off', async () => {
    expect(await idsOf('q=8', [41n], false)).toEqual([8]);
    expect(await idsOf('q=name', [41n], false)).toEqual([]);
    expect(await idsOf('state=equal', [41n], false)).toEqual([7, 8, 9, 10]);
  });
});

describe('the list of changes', () => {
  const usual = {
    q: '',
    details: true,
    field: null,
    direction: null,
    actor: null,
    runId: null,
    decision: null,
    since: null,
    before: null,
    limit: 50,
  } as const;
  const ask = async (asked: object) => {
    const { rows, ...rest } = await readChanges(readerOf(41n), { ...usual, ...asked });
    return { ...rest, moved: rows.map(({ user_id: id, kind, field }) => `${id} ${kind} ${field}`) };
  };

  it('lists changes newest first, with a row for each field and one row for an adopted user', async () => {
    const { moved, isMore, searchEnd } = await ask({});
    expect(moved).toEqual([
      '7 resolve role_id',
      '1 hold phone',
      '2 push email',
      '2 push phone',
      '1 adopt null',
    ]);
    expect({ isMore, searchEnd }).toEqual({ isMore: false, searchEnd: null });
  });

  it.each([
    [{ field: 'email' }, ['2 push email']],
    [{ direction: 'held' }, ['1 hold phone']],
    [{ direction: 'pulled' }, ['1 adopt null']],
    [{ actor: 'a.novak' }, ['2 push email', '2 push phone']],
    [{ actor: 'm.okoye' }, ['7 resolve role_id']],
    [{ since: new Date('2026-03-10') }, ['7 resolve role_id', '1 hold phone']],
    [{ q: 'name 7' }, ['7 resolve role_id']],
    [{ q: '7' }, ['7 resolve role_id']],
    [{ q: '1' }, ['1 hold phone', '1 adopt null']],
    [{ q: 'ñamé 7' }, ['7 resolve role_id']],
    [{ q: 'USER2@' }, ['2 push email', '2 push phone']],
    [{ q: '+41 44 010 22 07' }, ['7 resolve role_id']],
    [{ q: '041440102207' }, ['7 resolve role_id']],
    [{ q: '41440102207' }, ['7 resolve role_id']],
    [{ q: 'name 7', details: false }, []],
    [{ q: '41440102207', details: false }, []],
    [{ runId: 99n }, []],
  ] as const)('finds exactly the changes that match the filter %o', async (asked, expected) => {
    expect((await ask(asked)).moved).toEqual(expected);
  });

  it('shows all fields of a change on one page, even beyond the limit, and older changes on the next page', async () => {
    const { rows, isMore } = await readChanges(readerOf(41n), { ...usual, limit: 3 });
    expect([rows.length, isMore]).toEqual([4, true]);
    const older = await readChanges(readerOf(41n), {
      ...usual,
      limit: 1,
      before: rows.at(-1)?.change_id ?? null,
    });
    expect([older.rows.map(({ kind }) => kind), older.isMore]).toEqual([['adopt'], false]);
  });

  it('stops a search after 10,000 rows, and returns the position where the next search continues', async () => {
    await rowsOf(
      `insert into sync.changes (team_id, user_id, kind, opened_at)
       select 45, 12, 'forget', timestamptz '2026-01-01' + n * interval '1 second' from generate_series(1, 10001) n`,
    );
    const find = async (asked: object) => await readChanges(readerOf(45n), { ...usual, ...asked });
    expect((await find({ q: '12', limit: 2 })).rows).toHaveLength(2);
    const { rows, isMore, searchEnd } = await find({ actor: 'nobody' });
    expect([rows, isMore, searchEnd?.at]).toEqual([[], false, new Date('2026-01-01T00:00:02Z')]);
    expect((await find({ actor: 'nobody', since: new Date('2026-01-01T00:00:03Z') })).searchEnd).toBe(null);
    const older = await find({ actor: 'nobody', before: searchEnd?.changeId ?? null });
    expect([older.rows, older.searchEnd]).toEqual([[], null]);
  });

  it('returns for a held edit the reason of the hold, the last agreed value and the mirror’s value', async () => {
    const { rows } = await readChanges(readerOf(41n), { ...usual, direction: 'held' });
    expect(rows).toMatchObject([{ outcome: 'conflict', old_value: '0', new_value: '1' }]);
  });

  it('shows the text, author and outcome of a message without a link to a user', async () => {
    await rowsOf(
      `insert into sync.changes (team_id, kind, new, outcome, closed_at, decided_by)
       values (43, 'approve', '{"message": ["15550100", "<b>"]}', '{"message": "answered"}', now(), 'kim')`,
    );
    const read = await readChanges(readerOf(43n), usual);
    const [row] = read.rows;
    const called = { ...row, kind: 'call', outcome: 'unknown' } as unknown as ChangeRow;
    const placed = { ...called, kind: 'place', field: null } as unknown as ChangeRow;
    const shown = changes({ ...read, rows: [...read.rows, called, placed] }, contextOf('/changes')).main;
    expect(textOf(shown)).toMatch(/the mirror.*moved/);
    expect(textOf(shown)).toContain('no usermessagenone["15550100", "&lt;b&gt;"]approvedkim–answered');
    expect(textOf(shown)).toMatch(/sent by a commandkim–not known(?! yet)/);
    expect(String(shown)).not.toContain('/people/');
    expect(textOf(changes(read, contextOf('/changes', '', false)).main)).not.toContain('15550100');
  });
});

describe('the views of counts and tags', () => {
  const counts = (teamId: bigint, days = 30) =>
    readCounts(readerOf(teamId), { days, segment: null, isCsv: true });

  it('returns 30 days of counts in steps of six hours, and omits steps without a count', async () => {
    const read = await counts(41n);
    expect([read.segment, read.stepMs]).toEqual(['all', 6 * 3_600_000]);
    expect(read.last.map(({ segment, count }) => [segment, count])).toEqual([
      ['all', 1000],
      ['new', 1000],
    ]);
    expect(read.steps.filter(({ segment }) => segment === 'all')).toHaveLength(121 - 9);
    expect(read.last[0]?.before).toBe(280);
    expect(read.roles.map(({ role_id: id, members }) => [Number(id), members])).toEqual([
      [1, 6],
      [2, 4],
    ]);
  });

  it.each([7, 30, 90])(
    'returns the last, lowest and highest of all counts of each week in the view of %i days',
    async (days) => {
      const counted = `insert into mirror.contact_counts (team_id, segment, counted_at, count)
      values (45, 'all', '2026-03-04T00:10Z', 9000), (45, 'all', '2026-03-04T00:20Z', 5), (45, 'all', '2026-03-08T23:59Z', 70),
        (45, 'all', '2026-03-09T00:00Z', 80), (45, 'all', '2026-03-11T08:00Z', 60) on conflict do nothing`;
      await owned(counted);
      const { weeks } = await readCounts(readerOf(45n), { days, segment: null, isCsv: false });
      expect(weeks.map(({ monday, ...of }) => [monday.toISOString().slice(0, 10), of])).toEqual([
        ['2026-03-02', { last: 70, lowest: 5, highest: 9000 }],
        ['2026-03-09', { last: 60, lowest: 60, highest: 80 }],
      ]);
    },
  );

  it.each([
    [7, 900_000, 3_600_000],
    [7, 86_400_000, 7 * 86_400_000],
    [365, 900_000, 86_400_000],
    [30, null, 6 * 3_600_000],
  ])('divides %i days of counts taken every %d ms into steps of %i ms', (days, paceMs, expected) => {
    expect(stepFor(days, paceMs)).toBe(expected);
  });

  it('writes a CSV file for each chart: roles, tags, contact fields and counts', async () => {
    const read = await counts(41n);
    const file = (of: string) => countsCsv(read, { query: new URLSearchParams(of === '' ? '' : { of }) });
    expect(file('roles')).toEqual({
      head: ['role_id', 'role', 'users'],
      rows: [
        [1n, 'member', 6],
        [2n, 'admin', 4],
      ],
    });
    expect(file('tags').rows.slice(-2)).toEqual([
      ['2026-02', 1, 0],
      ['2026-03', 0, 1],
    ]);
    expect(file('contact_fields').rows.at(-1)).toEqual(['2026-03', 0, 0]);
    expect(file('').rows).toHaveLength(read.steps.length);
  });

  it('returns one count for each team: of the segment "all", or of the first segment if "all" is missing', async () => {
    await owned(`insert into mirror.contact_counts (team_id, segment, counted_at, count)
      select t, s, now(), t from (values (43, 'all'), (43, 'active'), (44, 'new'), (44, 'old')) v (t, s)`);
    const { rows: contacts } = await readContacts([44n, 43n, 42n], new Date('2100-01-01')).execute(
      database.db.kysely,
    );
    expect(contacts.map(({ teamId, segment, count }) => [teamId, segment, count])).toEqual([
      [43n, 'all', 43],
      [44n, 'new', 44],
    ]);
  });

  it('groups tags by month in UTC, whatever the time zone of the database session', async () => {
    const readIn = async (zone: string) =>
      await database.db.transaction(async (tx) => {
        await sql`select set_config('timezone', ${zone}, true)`.execute(tx);
        return await readMonths({ ...readerOf(41n), db: tx }, [41n], 'tags');
      });
    const inUtc = await readIn('UTC');
    for (const zone of ['Etc/GMT+12', 'Etc/GMT-14', 'America/Los_Angeles'])
      expect(await readIn(zone)).toEqual(inUtc);
  });

  it('returns the last count of all contacts and the count 30 days before', async () => {
    const { rows } = await readContacts([41n, 42n], now).execute(database.db.kysely);
    expect(rows).toEqual([
      { teamId: 41n, segment: 'all', count: 1000, countedAt: new Date('2026-03-11T11:30Z'), before: 280 },
    ]);
  });

  it('returns an empty list of steps for a team without counts', async () => {
    const read = await counts(42n);
    expect([read.segment, read.steps, read.tags.now]).toEqual([null, [], 0]);
  });

  it('lists present tags by default, and removed tags with state=gone', async () => {
    const ask = async (search: string) => {
      const { rows, found } = await readView<ListRead<{ readonly tag: string }>>(
        '/tags',
        readerOf(41n),
        asked(search),
      );
      return [rows.map(({ tag }) => tag), found];
    };
    expect(await ask('')).toEqual([['b%d', 'old'], 2]);
    expect(await ask('q=%25&sort=-name')).toEqual([['b%d'], 1]);
    expect(await ask('state=gone')).toEqual([['gone'], 1]);
  });

  it('counts added and removed tags by month, but not the tags that the first complete run found', async () => {
    await owned(
      `insert into sync.teams (team, team_id) values ('seven', 47), ('eight', 48), ('nine', 49);
       insert into sync.runs (team, team_id, command, groups, outcome, started_at, finished_at)
       values ('seven', 47, 'reconcile', '{listings}', 'partial', '2026-01-05', '2026-01-05'),
         ('seven', 47, 'reconcile', '{edits}', 'complete', '2026-01-04', '2026-01-04'),
         ('eight', 48, 'reconcile', '{listings}', 'complete', '2026-01-01', '2026-01-01'),
         ('seven', 47, 'reconcile', '{listings}', 'complete', '2026-01-06', '2026-01-06');
       insert into mirror.tags (team_id, id, tag, first_seen_at, gone_at)
       values (47, 1, 'read by a run that broke off', '2026-01-05', null), (47, 2, 'read by the first whole one', '2026-01-06', null),
         (47, 3, 'came', '2026-02-01', null), (47, 4, 'went', '2026-01-06', '2026-02-02'),
         (49, 1, 'read by the only run, which broke off', '2026-02-01', null);
       insert into sync.listing_changes (team_id, resource, id, kind, changed_at)
       values (47, 'tags', 4, 'gone', '2026-02-02'), (48, 'tags', 4, 'gone', '2026-02-02'), (47, 'surveys', 4, 'gone', '2026-02-02'),
         (47, 'tags', 3, 'changed', '2026-02-03')`,
    );
    const read = await counts(47n);
    expect(read.tags.months.filter(({ added }) => added > 0)).toEqual([
      { month: new Date('2026-02-01'), added: 1, gone: 1 },
    ]);
    expect(read.tags.now).toBe(3);
    const { months } = await readMonths(readerOf(49n), [49n], 'tags');
    expect(months.filter(({ added }) => added > 0)).toEqual([]);
    const { rows } =
      await sql`select id from report.listing_history where team_id = 47 and kind = 'added'`.execute(
        database.db.kysely,
      );
    expect(rows).toEqual([{ id: 3n }]);
  });
});

describe('the page of one user', () => {
  const settings = {
    policy: { name: 'hold', email: 'hold', phone: 'hold', roleId: 'hold' },
    absence: { confirmAfterMs: 60_000 },
  } as const;
  const read = async (id: string) => {
    const found = await readPerson(readerOf(41n), id);
    if (found === null) throw new Error(`nobody is ${id}`);
    return { ...found, next: explainAsSeen(found.state, found.held, settings) };
  };

  it('returns the base, the mirror’s values, the values last read from the service, and the history', async () => {
    const { state, next, history } = await read('1');
    expect([state.base?.phone, state.mirror?.phone, state.service?.phone]).toEqual([
      '41440102201',
      '41440102998',
      '888',
    ]);
    expect(next).toBe(
      'Email stays held until 2100-01-01T00:00:00Z; phone stays held until one of the two values changes or somebody decides.',
    );
    const told = history.map(({ kind, field, old_value: old, new_value: is }) => [kind, field, old, is]);
    expect(told.slice(0, 2)).toEqual([
      ['edit', 'phone', '41440102201', '41440102998'],
      ['hold', 'phone', '0', '1'],
    ]);
    expect(told.at(-1)?.[0]).toBe('adopt');
  });

  it.each([
    ['2', 'The next run pushes phone, unless a guard stops it.'],
    ['7', 'Nothing: both sides agree.'],
    ['6', 'The user has left the team: the row stays as it is unless they come back.'],
  ])('explains for user %s what the next run does: %s', async (id, expected) => {
    expect((await read(id)).next).toBe(expected);
  });

  it.each([
    ['empty, in a conflict', 'conflict', null, 'null', null],
    ['empty, in a conflict that a person holds', 'conflict', '2100-01-01', 'null', null],
    ['empty, before a review', 'review', null, 'null', null],
    ['empty, after the refusal of another value', 'refused', null, '"1"', null],
    ['the base, after the return of a user', 'returned', null, 'null', '1'],
  ])('returns a phone that the service emptied as %s', async (_, reason, until, then, expected) => {
    await owned(
      `insert into mirror.users (team_id, id, name, first_name, last_name, phone, resolved) values (49, 7, 'A B', 'A', 'B', '2', true)
       on conflict do nothing;
       insert into sync.user_base (team_id, id, name, first_name, last_name, phone) values (49, 7, 'A B', 'A', 'B', '1') on conflict do nothing;
       delete from sync.held_fields where team_id = 49;
       insert into sync.held_fields (team_id, user_id, field, reason, base_value, mirror_value, service_value, shown_value, until)
       values (49, 7, 'phone', '${reason}', '"1"', '"2"', '${then}', 'null', ${until === null ? 'null' : `'${until}'`})`,
    );
    const found = await readPerson(readerOf(49n), '7');
    expect(found?.state.service?.phone).toBe(expected);
  });

  it('lists the fields that one statement edited in alphabetical order in the history', async () => {
    await rowsOf(
      `update mirror.users set phone = '41440102997', email = 'a@example.com', role_id = 1 where team_id = 41 and id = 9`,
    );
    expect((await read('9')).history.map(({ field }) => field)).toEqual(['email', 'phone', 'role_id']);
  });

  it.each(['0', 'x', '9'.repeat(30), '1; drop'])('returns null for the invalid id %s', async (id) => {
    expect(await readPerson(readerOf(41n), id)).toBe(null);
  });
});

describe('the waiting view', () => {
  it('groups waiting fields by batch, filters and sorts the fields, and names the request that the service refused', async () => {
    await owned(
      `insert into sync.changes (team_id, user_id, kind, new, outcome, request_id, opened_at, closed_at)
       select 42, 2, 'push', '{"email": "x"}', jsonb_build_object('email', o), r, now(), now()
       from (values ('refused', 'first'), ('refused', 'second'), ('confirmed', 'third')) v (o, r);
       insert into sync.held_fields (team_id, user_id, field, reason, batch) values (42, 2, 'email', 'refused', null), (42, 3, 'phone', 'limit', 'abc'),
         (42, 3, 'email', 'limit', 'abc'), (42, 5, 'phone', 'limit', 'abc'), (42, 4, 'phone', 'limit', 'abc'), (42, 6, 'phone', 'limit', 'xyz');
       update sync.held_fields set since = since - interval '1 day' where team_id = 42 and batch is null`,
    );
    const read = (...of: Parameters<typeof asked>) => readWaitingView(readerOf(42n), asked(...of));
    const { lists } = await read();
    expect(lists.some(({ isAlone, isOneEdit }) => isAlone || isOneEdit)).toBe(false);
    expect(lists.map(({ batch, reasons, rows, fields }) => [batch, reasons, rows, fields])).toEqual([
      [
        'abc',
        [{ what: 'limit', rows: 4 }],
        4,
        [
          { what: 'phone', rows: 3 },
          { what: 'email', rows: 1 },
        ],
      ],
      ['xyz', [{ what: 'limit', rows: 1 }], 1, [{ what: 'phone', rows: 1 }]],
      [null, [{ what: 'refused', rows: 1 }], 1, [{ what: 'email', rows: 1 }]],
    ]);
    expect(lists.map(({ page }) => page.rows.map(({ requestId }) => requestId))).toEqual([
      [null, null, null, null],
      [null],
      ['second'],
    ]);
    const fields = async (...of: Parameters<typeof asked>) =>
      (await read(...of)).lists.map(({ page }) => page.rows.map(({ userId, field }) => `${userId} ${field}`));
    expect(await fields('state=refused')).toEqual([['2 email']]);
    expect(await fields('field=phone&sort=-field', { batch: 'abc' })).toEqual([
      ['5 phone', '4 phone', '3 phone'],
    ]);
    expect(await fields('q=ñame 4', { batch: 'abc' })).toEqual([['4 phone']]);
    expect(await fields('q=%2B41 44 010 22 05', { batch: 'abc' })).toEqual([['5 phone']]);
    expect(await fields('sort=field', { batch: 'abc' })).toEqual([
      ['3 email', '3 phone', '4 phone', '5 phone'],
    ]);
    expect(await fields('editedBy=nobody', { batch: 'abc' })).toEqual([[]]);
    expect(await fields('page=200', { batch: 'abc' })).toEqual([[]]);
    expect((await read('', { batch: 'other' })).lists).toEqual([]);
    await owned(`update mirror.users set name = 'A' where team_id = 42 and id = 5`);
    expect(await fields('', { batch: 'abc' })).toEqual([['5 phone', '3 email', '3 phone', '4 phone']]);
    await rowsOf(
      `insert into sync.held_fields (team_id, user_id, field, reason, batch) values (42, 6, 'email', 'conflict', 'xyz'), (42, 5, 'email', 'conflict', null)`,
    );
    expect(await fields('state=conflict')).toEqual([['6 email'], ['5 email']]);
    expect(await fields('', { batch: 'xyz' })).toEqual([['6 email', '6 phone']]);
  });
});

describe('readSending', () => {
  const teams = [
    { team: 'north', teamId: 41n, name: null },
    { team: 'south', teamId: 42n, name: null },
  ];
  const listens = async (...teamIds: bigint[]) =>
    (await readSending({ ...readerOf(...teamIds), teams, now: new Date() })).listens;

  it('reports that a decision is sent at once if daemons of all given teams run, and not if one is missing', async () => {
    await rowsOf(`insert into sync.teams (team, team_id) values ('north', 41), ('south', 42)`);
    const note = { bySystemd: false, end: null };
    expect([await listens(41n), await listens(42n)]).toEqual([false, false]);
    await noteDaemon(database.db, { ...note, teams: ['south'] });
    expect([await listens(41n), await listens(42n), await listens(41n, 42n)]).toEqual([false, true, false]);
    await noteDaemon(database.db, { ...note, teams: ['north'] });
    expect(await listens(41n, 42n)).toBe(true);
    await noteDaemon(database.db, { ...note, teams: ['south'], end: 'asked' });
    expect([await listens(41n), await listens(42n), await listens(41n, 42n)]).toEqual([true, false, false]);
  });
});

describe('the views of the page', () => {
  /** Users with the same ids, edits and names of batches in each team; what is of one has its word in it. */
  const fill = async (teamId: number, word: string, held: number) => {
    const edit = (turn: number) =>
      rowsOf(
        `update mirror.users set phone = '1555010' || ${turn} || id where team_id = ${teamId} and id <= 3`,
      );
    await owned(`
      insert into sync.teams (team, team_id) values ('${word}', ${teamId});
      insert into mirror.teams (team_id, name) values (${teamId}, '${word}');
      insert into sync.due (team, run_group, schedule, due_at, since, finished_at, outcome, complete_at, stale_after)
      select '${word}', g, '* * * * * UTC', now() + interval '1 day', now(), now(), 'complete', now(), '3 min' from unnest(array['users', 'counts']) g;
      insert into sync.runs (team, team_id, command, groups, outcome, reasons, started_at, finished_at)
      select '${word}', ${teamId}, 'daemon', '{users}', 'partial', '{${word}}', now() - n * interval '1 hour', now() from generate_series(1, 30) n;
      insert into mirror.roles (team_id, role_id, name, members) values (${teamId}, 1, '${word}', ${teamId});
      insert into mirror.tags (team_id, id, tag) values (${teamId}, 1, '${word}');
      insert into mirror.contact_counts (team_id, segment, counted_at, count)
      select ${teamId}, 'all', timestamptz '2026-03-11T11:30Z' - n * interval '1 hour', ${teamId} from generate_series(0, 60) n;
      insert into sync.changes (team_id, kind, new) values (${teamId}, 'approve', '{"message": "${word}"}');
      insert into mirror.users (team_id, id, name, first_name, last_name, email, phone, role_id, resolved)
      select ${teamId}, n, 'Kim ${word}', 'Kim', '${word}', '${word}@example.com', '15550100', 1, n <> 4 from generate_series(1, 5) n;
      insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone, role_id)
      select team_id, id, name, first_name, last_name, email, phone, role_id from mirror.users where team_id = ${teamId}`);
    await edit(1);
    await owned(`
      insert into sync.changes (team_id, user_id, kind, old, new, edits, batch, decision_id, decided_by, closed_at)
      select team_id, user_id, 'approve', '{"phone": "1"}', '{"phone": "2"}', jsonb_build_object('phone', edit_id), 'abc', ${teamId}, 'boss of ${word}', now()
      from sync.edits where team_id = ${teamId} and ended_at is null`);
    await edit(2);
    await owned(`
      insert into sync.held_fields (team_id, user_id, field, reason, batch, edit_id, detail)
      select team_id, user_id, field, (array['refused', 'limit', 'limit'])[user_id], case when user_id > 1 then 'abc' end, edit_id, 'seen in ${word}'
      from sync.edits where team_id = ${teamId} and user_id <= ${held} and ended_at is null;
      insert into sync.changes (team_id, user_id, kind, old, new, edits, outcome, request_id, closed_at)
      select team_id, user_id, k, '{"phone": "1"}', '{"phone": "2"}', jsonb_build_object('phone', edit_id),
        case k when 'push' then '{"phone": "refused"}'::jsonb else '{}' end, 'asked by ${word}', now()
      from sync.edits, unnest(array['hold', 'push']) k where team_id = ${teamId} and user_id <= ${held} and ended_at is null`);
  };

  it('each view shows nothing of another team that has the same user ids and batch names', async () => {
    await fill(51, 'north of all', 2);
    const readerFor = (team: string, teamId: bigint) => ({
      ...readerOf(teamId),
      teams: [{ team, teamId, name: null }],
    });
    const reader = readerFor('north of all', 51n);
    const readAll = async () => {
      const all: [string, unknown][] = [];
      for (const { path, read } of pageViews)
        for (const search of ['', 'decision=51&before=999999999&done=51&q=kim']) {
          const batch = path.includes(':batch') ? { batch: 'abc' } : {};
          const params = { team: 'north of all', id: '2', ...batch };
          all.push([`${path}?${search}`, await read(reader, asked(search, params))]);
        }
      return Object.fromEntries(all);
    };
    const before = await readAll();
    await fill(52, 'another of all', 3);
    expect(await readAll()).toEqual(before);
    for (const [teamId, word] of [
      [51n, 'north of all'],
      [52n, 'another of all'],
    ] as const)
      expect((await readPerson(readerOf(teamId), '2'))?.row).toMatchObject({
        name: `Kim ${word}`,
        role: word,
      });
    const [[last] = []] = await rowsOf(`select max(run_id)::text from sync.runs`);
    const params = { id: String(last) };
    expect(await readOneRun(reader, { params })).toBe(null);
    expect(await readOneRun(readerFor('another of all', 52n), { params })).not.toBe(null);
  });
});
