import { CompiledQuery, sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { withSpool } from '../../src/mirror/db/spool.ts';
import { publishListing, readLackingRows, tableOf } from '../../src/mirror/listings/listings.ts';
import { readKnownTeam, isSameTeam } from '../../src/mirror/team/known-team.ts';
import { writeTeam } from '../../src/mirror/team/pinned-teams.ts';
import type { ListedResource, ListedRow } from '../../src/model/listed-resource.ts';
import { listedResources } from '../../src/model/listed-resources.ts';
import inboxes from '../../src/model/listed/inboxes.ts';
import surveys from '../../src/model/listed/surveys.ts';
import { decodeListed } from '../../src/service/wire-lists.ts';
import { oldestServer } from '../support/servers.ts';
import { useDatabase } from '../support/use-database.ts';

const teamId = 41n;
const run = { teamId, runId: 1n };
const rowOf = (
  of: ListedResource,
  { id, ...row }: { readonly id: number } & Readonly<Record<string, unknown>>,
) => decodeListed(of)({ id, ...row }, BigInt(id));
const inbox = (id: number, row: object = {}) =>
  rowOf(inboxes, { id, name: `Inbox ${id}`, team: 41, members: [1, 2], phones: ['+15550100'], ...row });
const survey = (id: number, row: object = {}) =>
  rowOf(surveys, { id, name: `Survey ${id}`, updated: '2026-01-01', ...row });

describe.each([oldestServer()])('rows of a listing on $name', (server) => {
  const database = useDatabase({ server });
  const { rows: query, write } = database;
  beforeEach(() =>
    write((tx) =>
      tx.executeQuery(
        CompiledQuery.raw(
          'truncate mirror.inboxes, mirror.surveys, mirror.teams, mirror.users, sync.listing_changes, sync.absences',
        ),
      ),
    ),
  );
  const show = (of: ListedResource, ...rows: readonly ListedRow[]) =>
    withSpool(tableOf(of), rows, (spool) => write((tx) => publishListing(tx, run, spool)));
  const lacking = (most: number, ...rows: readonly ListedRow[]) => lackingAfter(0n, most, ...rows);
  const lackingAfter = async (after: bigint, most: number, ...rows: readonly ListedRow[]) => {
    const found = await withSpool(tableOf(surveys), rows, (spool) =>
      readLackingRows(database.db, teamId, spool, most, after),
    );
    return found.map(({ id }) => id);
  };

  it('each listing has one table with the columns of its description', async () => {
    const types = {
      text: 'text',
      integer: 'bigint',
      boolean: 'boolean',
      texts: 'jsonb',
      ids: 'jsonb',
      object: 'jsonb',
    };
    const own = [
      ['first_seen_at', 'timestamp with time zone'],
      ['gone_at', 'timestamp with time zone'],
      ['id', 'bigint'],
      ['raw', 'jsonb'],
      ['team_id', 'bigint'],
    ];
    for (const { name, columns } of listedResources) {
      const described = Object.entries(columns).flatMap(([column, kind]) =>
        kind === 'team' ? [] : [[column, types[kind]]],
      );
      expect([
        name,
        await query(`select attname::text, format_type(atttypid, null) from pg_attribute
          where attrelid = 'mirror.${name}'::regclass and attnum > 0 and not attisdropped order by attname::text collate "C"`),
      ]).toEqual([name, [...described, ...own].toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1))]);
    }
    expect(await query('select t from mirror.listed_tables() t')).toEqual(
      listedResources.map(({ name }) => [name]),
    );
  });

  it('publishListing writes each described value to the column of that name, and values without a column to raw', async () => {
    const whole = {
      id: 7,
      name: 'Sales',
      team: 41,
      members: [9007199254740993n, 2],
      phones: ['+15550100', '15550101'],
      phone: '15550100',
      allowed_domains: ['a.example'],
      auto_assignable: true,
      bco_chats: false,
      forward_number: '15550102',
      invited: ['b@a.example'],
      op: 'update',
      rev: 3,
      widget_code: '<w>',
      widget_settings: { position: 2, tos: 'yes', more: { x: 1 } },
      odd: 'kept',
    };
    expect(await show(inboxes, rowOf(inboxes, whole))).toMatchObject({ added: 1, changed: 0 });
    const { id: _id, team: _team, odd, members, ...rest } = whole;
    const [[row] = []] = await query(
      `select to_jsonb(i) - 'first_seen_at' - 'members' from mirror.inboxes i`,
    );
    expect(row).toEqual({ team_id: 41, id: 7, ...rest, gone_at: null, raw: { odd } });
    expect(await query('select members::text from mirror.inboxes')).toEqual([[`[${members.join(', ')}]`]]);
    expect(await show(inboxes, rowOf(inboxes, whole))).toMatchObject({ added: 0, changed: 0 });
  });

  it.each([
    ['left out', { members: undefined, phones: undefined, widget_settings: undefined }],
    ['null', { members: null, phones: null, widget_settings: null }],
    ['of another type', { members: 'all', phones: true, widget_settings: [] }],
  ])('publishListing keeps a stored list or object that is %s in the answer', async (_, without) => {
    await show(inboxes, inbox(1, { widget_settings: { tos: 'x' }, forward_number: '1555' }));
    const kept = 'select name, members, phones, widget_settings, forward_number from mirror.inboxes';
    const before = await query(kept);
    expect(await show(inboxes, inbox(1, { ...without, forward_number: '1555' }))).toMatchObject({
      changed: 0,
    });
    expect(await query(kept)).toEqual(before);
    expect(await show(inboxes, inbox(1, { ...without, name: 'Other' }))).toMatchObject({ changed: 1 });
    expect(await query(kept)).toEqual([['Other', [1, 2], ['+15550100'], { tos: 'x' }, null]]);
    // An empty list is one.
    await show(inboxes, inbox(1, { name: 'Other', members: [], phones: [] }));
    expect(await query('select members, phones from mirror.inboxes')).toEqual([[[], []]]);
  });

  it('readLackingRows returns rows that need a lookup: new, changed and returned rows, and rows never looked up', async () => {
    const all = [survey(1), survey(2), survey(3, { question: 'Why?' })];
    expect(await lacking(9, ...all)).toEqual([1n, 2n]);
    expect(await lacking(1, ...all)).toEqual([1n]);
    expect(await lackingAfter(1n, 9, ...all)).toEqual([2n, 1n]);
    expect(await lackingAfter(1n, 1, ...all)).toEqual([2n]);
    await show(surveys, survey(1, { question: 'How?' }), survey(2), survey(3, { question: 'Why?' }));
    expect(await lacking(9, ...all, survey(4))).toEqual([2n, 4n]);
    await show(surveys, survey(2, { question: '' }));
    expect(await lacking(9, ...all)).toEqual([]);
    expect(await lacking(9, survey(1, { updated: '2026-01-02' }), survey(2), survey(3))).toEqual([1n]);
    await write((tx) => sql`update mirror.surveys set gone_at = now() where id = 3`.execute(tx));
    expect(await lacking(9, survey(3))).toEqual([3n]);
  });

  it('publishListing keeps the stored value of an omitted field, and clears the value once the row changes', async () => {
    const question = `select question from mirror.surveys`;
    await show(surveys, survey(1, { question: 'How?' }));
    expect(await show(surveys, survey(1))).toMatchObject({ changed: 0 });
    expect(await query(question)).toEqual([['How?']]);
    expect(await show(surveys, survey(1, { name: 'Other' }))).toMatchObject({ changed: 1 });
    expect(await query(question)).toEqual([[null]]);
  });

  it.each(listedResources)('SQL cannot insert into or truncate mirror.$name', async ({ name }) => {
    for (const edit of [`insert into mirror.${name} (team_id, id) values (41, 9)`, `truncate mirror.${name}`])
      await expect(query(edit)).rejects.toThrow(
        /^(INSERT|TRUNCATE) on mirror\.\w+ is not|^A new tag has only team_id, tag/,
      );
  });

  it('publishListing does not report a missing row if the row is already marked as gone', async () => {
    await show(surveys, survey(1), survey(2));
    expect(await show(surveys, survey(1))).toMatchObject({ absent: [{ id: 2n }], population: 2 });
    await write((tx) => sql`update mirror.surveys set gone_at = now() where id = 2`.execute(tx));
    expect(await show(surveys, survey(1))).toMatchObject({ absent: [], population: 1 });
  });

  it('publishListing deletes the absence of a row that the listing shows again, and keeps other absences', async () => {
    await show(surveys, survey(1), survey(2));
    await write((tx) =>
      sql`insert into sync.absences (team_id, resource, id, missing_since)
        values (41, 'surveys', 1, now()), (41, 'surveys', 2, now()), (41, 'inboxes', 1, now()), (42, 'surveys', 1, now())`.execute(
        tx,
      ),
    );
    await show(surveys, survey(1));
    expect(await query('select team_id, resource, id from sync.absences order by 1, 2, 3')).toEqual([
      [41n, 'inboxes', 1n],
      [41n, 'surveys', 2n],
      [42n, 'surveys', 1n],
    ]);
  });

  it('inbox_members shows each member of an inbox once, also a user who has left', async () => {
    await show(
      inboxes,
      inbox(1, { members: [2, 99, 2] }),
      inbox(2, { members: [] }),
      inbox(3, { members: null }),
    );
    await write((tx) =>
      sql`insert into mirror.users (team_id, id, name, email, resolved, gone_at)
        values (41, 2, 'Ana Berg', 'ana@a.example', true, null), (41, 99, 'Left', null, true, now())`.execute(
        tx,
      ),
    );
    expect(
      await query('select team_id, inbox_id, user_id from mirror.inbox_members order by user_id'),
    ).toEqual([
      [41n, 1n, 2n],
      [41n, 1n, 99n],
    ]);
    const members =
      'select inbox, user_id, user_name, email, present from report.inbox_members order by user_id';
    expect(await query(members)).toEqual([
      ['Inbox 1', 2n, 'Ana Berg', 'ana@a.example', true],
      ['Inbox 1', 99n, 'Left', null, false],
    ]);
    await write((tx) => sql`update mirror.inboxes set gone_at = now() where id = 1`.execute(tx));
    expect(await query(members)).toEqual([]);
    await expect(query('insert into mirror.inbox_members values (41, 1, 3)')).rejects.toThrow('view');
  });

  it('isSameTeam returns false if the number of members has changed, and writeTeam stores the new number', async () => {
    const member = (id: number) => ({ id: BigInt(id), name: null, role: null, email: null, phone: null });
    const team = { id: teamId, name: 'North', listSize: 5n, rejected: [], raw: {} };
    await query(`insert into sync.teams (team, team_id) values ('north', 41) on conflict do nothing`);
    const known = () => readKnownTeam(database.db.kysely, 'north');
    for (const ids of [[1, 2], [1, 2, 3], []]) {
      const now = { ...team, members: ids.map(member) };
      expect(isSameTeam(await known(), now)).toBe(false);
      await write((tx) => writeTeam(tx, now));
      expect(isSameTeam(await known(), now)).toBe(true);
      expect(await query('select team, list_size, members from report.teams')).toEqual([
        ['North', 5n, BigInt(ids.length)],
      ]);
    }
  });
});
