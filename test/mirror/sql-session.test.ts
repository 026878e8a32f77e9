import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MusterdError } from '../../src/errors.ts';
import { openSqlSession, type SqlRow, type SqlSession } from '../../src/mirror/db/sql-session.ts';
import { splitSql } from '../../src/model/sql-statements.ts';
import { eventually } from '../support/eventually.ts';
import { useDatabase } from '../support/use-database.ts';

const database = useDatabase();
let reading: SqlSession;
let writing: SqlSession;
const said: string[] = [];
beforeAll(async () => {
  const open = (isWriting: boolean) =>
    openSqlSession({ url: database.url, isWriting, onNotice: (words) => said.push(words) });
  [reading, writing] = [await open(false), await open(true)];
  await ask(writing, 'create table public.kept (a int)');
  await ask(writing, 'insert into public.kept values (1)');
});
afterAll(() => Promise.all([reading.close(), writing.close()]));

function statementOf(sql: string) {
  const { rest } = splitSql(sql);
  if (rest === null) throw new Error('nothing to run');
  return rest;
}

async function ask(session: SqlSession, sql: string) {
  const rows: SqlRow[] = [];
  const shown: string[] = [];
  const tag = await session.run(statementOf(sql), {
    begin: async (columns) => {
      shown.push(...columns.map(({ name }) => name));
    },
    take: async (page) => rows.push(...page) > 0,
  });
  return { tag, columns: shown, rows };
}

const refusal = (session: SqlSession, sql: string) =>
  ask(session, sql).then(
    () => new MusterdError('stopped', 'It was let through'),
    (error: MusterdError) => error,
  );

describe('a session that reads', () => {
  it.each([
    'insert into public.kept values (2)',
    'delete from public.kept',
    'with gone as (delete from public.kept returning a) select * from gone',
    'truncate public.kept',
    'create table public.other ()',
    'drop table public.kept',
    'explain analyze delete from public.kept',
    'do $$ begin delete from public.kept; end $$',
  ])('a reading session rejects a write: %s', async (sql) => {
    const error = await refusal(reading, sql);
    expect(error).toMatchObject({ code: 'mirror', hint: expect.stringContaining('--write') as string });
    expect(error.message).toContain('read-only transaction');
  });

  it.each([
    'set transaction read write',
    'set transaction_read_only to off',
    "select set_config('transaction_read_only', 'off', false)",
    'do $$ begin commit; delete from public.kept; end $$',
    'do $$ begin rollback; delete from public.kept; end $$',
    'do $$ begin set transaction read write; delete from public.kept; end $$',
    "do $$ begin perform set_config('transaction_read_only', 'off', true); delete from public.kept; end $$",
    'commit',
    'rollback',
    'begin',
    'end',
    'abort',
    'start transaction',
    "prepare transaction 'x'",
    'copy public.kept to stdout',
  ])('a reading session rejects "%s", and stays read-only', async (sql) => {
    await expect(refusal(reading, sql)).resolves.toMatchObject({
      code: expect.stringMatching(/mirror|usage/) as string,
    });
    expect((await ask(writing, 'select count(*) from public.kept')).rows).toEqual([['1']]);
  });

  it.each([
    'set session characteristics as transaction read write',
    'set default_transaction_read_only to off',
    "select set_config('default_transaction_read_only', 'off', false)",
  ])('a reading session accepts "%s", and stays read-only', async (sql) => {
    await ask(reading, sql);
    expect((await refusal(reading, 'delete from public.kept')).message).toContain('read-only');
  });

  it('a session rejects a text with two statements', async () => {
    const both = { text: 'commit; delete from public.kept', line: 1, keyword: 'select' };
    await expect(reading.run(both, { begin: async () => {}, take: async () => true })).rejects.toThrow(
      'multiple commands',
    );
  });

  it('a session stops fetching pages once the reader wants no more rows', async () => {
    let taken = 0;
    const endless = statementOf('select generate_series(1, 1000000000000)');
    await reading.run(endless, {
      begin: async () => {},
      take: async (rows) => {
        taken += rows.length;
        return taken < 3_000;
      },
    });
    expect(taken).toBe(3_000);
    expect((await ask(reading, 'select 1 as a')).rows).toEqual([['1']]);
  });

  it('a session rethrows an error of the reader, and runs the next statement', async () => {
    const full = new Error('the disk is full');
    const work = reading.run(statementOf('select generate_series(1, 5000)'), {
      begin: async () => {},
      take: () => Promise.reject(full),
    });
    await expect(work).rejects.toBe(full);
    expect((await ask(reading, 'select 1 as a')).columns).toEqual(['a']);
  });

  it('a session cancels a statement on request, and runs the next statement', async () => {
    const sleeping = refusal(reading, 'select pg_sleep(60)');
    await eventually('it sleeps', async () => {
      const { rows } = await ask(
        writing,
        "select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'",
      );
      return rows.length > 0;
    });
    await reading.cancel();
    expect((await sleeping).message).toContain('canceling statement');
    await reading.cancel();
    expect((await ask(reading, 'select 1 as a')).rows).toEqual([['1']]);
  });
});

describe('a message of Postgres', () => {
  it('shows line and column of a mistake in SQL, as psql does', async () => {
    const error = await refusal(reading, 'select 1,\n  nam from report.roster');
    expect(error.message.split('\n')).toEqual([
      'ERROR:  column "nam" does not exist',
      'LINE 2:   nam from report.roster',
      '          ^',
    ]);
    expect(error.hint).toContain('Perhaps you meant');
  });

  it('shows the text around a mistake in a long line of SQL', async () => {
    const [, line = '', mark = ''] = (
      await refusal(reading, `select '${'é'.repeat(90)}', nope, '${'b'.repeat(90)}'`)
    ).message.split('\n');
    expect(line).toMatch(/^LINE 1: …é+', nope, 'b+…$/);
    expect(line.indexOf('nope')).toBe(mark.indexOf('^'));
  });

  it('hints at musterd migrate if a table is missing', async () => {
    expect((await refusal(reading, 'select * from mirror.nothing')).hint).toContain('musterd migrate');
  });

  it('reaches onNotice if the message is a warning', async () => {
    said.length = 0;
    await ask(reading, "do $$ begin raise warning 'mind the gap'; end $$");
    expect(said).toEqual(['WARNING:  mind the gap']);
  });
});

describe('a session that writes', () => {
  it('a writing session keeps a transaction open from a typed begin to a typed rollback', async () => {
    await ask(writing, 'begin');
    expect((await ask(writing, 'insert into public.kept values (7), (8)')).tag).toBe('INSERT 2');
    expect(writing.isInTransaction()).toBe(true);
    await ask(writing, 'rollback');
    expect(writing.isInTransaction()).toBe(false);
    expect((await ask(writing, 'select count(*) from public.kept')).rows).toEqual([['1']]);
  });
});
