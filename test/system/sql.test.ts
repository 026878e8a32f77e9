import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/commands/command-line.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { ownFolder } from './own-folder.ts';
import { runMusterd, spawnMusterd } from './run-musterd.ts';

let database: TestDatabase;
const folder = ownFolder();
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => {
  await database.close();
});

const sql = (...args: readonly string[]) => runMusterd(['sql', ...args], { DATABASE_URL: database.url });
const values = `select 9007199254740993::bigint as id, 12345678901234567890.50::numeric as n, 'NaN'::float8 as odd,
  true as yes, null::text as none, '' as empty, '{"a": 12345678901234567890}'::jsonb as j,
  '2026-03-01 09:00:00.123456+01'::timestamptz as at, '2026-03-01'::date as day,
  array[1, null, 9007199254740993]::bigint[] as list, array['a', 'b,c'] as words, E'a"\\u2028b' as text, 1 as id`;

describe('musterd sql', () => {
  it('prints each type of value exactly as JSON and NDJSON', async () => {
    const { code, stdout, stderr } = await sql(values, '--json');
    expect(code).toBe(0);
    expect(stderr).toMatch(/^DATABASE_URL names a superuser.*\n$/);
    expect(stdout).toBe(
      '[\n  {"id":9007199254740993,"n":12345678901234567890.50,"odd":"NaN","yes":true,"none":null,"empty":"",' +
        '"j":{"a": 12345678901234567890},"at":"2026-03-01T08:00:00.123456Z","day":"2026-03-01",' +
        '"list":[1,null,9007199254740993],"words":["a","b,c"],"text":"a\\"\\u2028b","id_2":1}\n]\n',
    );
    expect((await sql(values, '--format', 'ndjson')).stdout).toBe(`${stdout.slice(4, -3)}\n`);
  });

  it('prints values as CSV in which null differs from an empty text', async () => {
    const { stdout } = await sql(
      `${values.replace("E'a\"\\u2028b'", "E'=a\\nb'")}; select 1 as x`,
      '--format',
      'csv',
    );
    expect(stdout).toBe(
      'id,n,odd,yes,none,empty,j,at,day,list,words,text,id_2\n' +
        '9007199254740993,12345678901234567890.50,NaN,true,,"","{""a"": 12345678901234567890}",' +
        '2026-03-01T08:00:00.123456Z,2026-03-01,"{1,NULL,9007199254740993}","{a,""b,c""}","=a\nb",1\n\nx\n1\n',
    );
  });

  it('prints tab-separated lines without escape characters if stdout is not a terminal', async () => {
    const { stdout } = await sql("select chr(27) || '[31m' || chr(9) as a, 2 as b; select 3 as c");
    expect(stdout).toBe('a\tb\n [31m \t2\nc\n3\n');
  });

  it.each([
    [['select 1 as a where false', '--json'], '[]\n'],
    [['select 1 as a where false', '--format', 'csv'], 'a\n'],
    [
      ['select 1 as a; do $$ begin end $$; select 2 as b', '--json'],
      '[[\n  {"a":1}\n],\n[],\n[\n  {"b":2}\n]]\n',
    ],
    [['do $$ begin end $$', '--json'], '[]\n'],
  ])('prints one result per statement, empty if it has no rows, for %j', async (args, stdout) => {
    expect(await sql(...args)).toMatchObject({ code: 0, stdout });
  });

  it('writes only with --write, and commits either all statements or none', async () => {
    const count = async () => (await sql('select count(*) as n from public.t', '--format', 'ndjson')).stdout;
    const made = await sql('create table public.t (a int); insert into public.t values (1)', '--write');
    expect(made).toMatchObject({ code: 0, stdout: '', stderr: 'CREATE\nINSERT 1\n' });
    const refused = await sql('delete from public.t');
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/Refused: cannot execute DELETE.*\n {2}Add --write/);
    const torn = await sql('delete from public.t; select nope', '--write');
    expect(torn.code).toBe(1);
    expect(torn.stderr).toContain('All 2 statements were rolled back.');
    const open = await sql('begin; delete from public.t', '--write');
    expect(open.code).toBe(1);
    expect(open.stderr).toContain('left open');
    expect(await count()).toBe('{"n":1}\n');
    expect((await sql('begin; delete from public.t; commit', '--write')).code).toBe(0);
    expect(await count()).toBe('{"n":0}\n');
    expect((await sql('vacuum public.t', '--write')).code).toBe(0);
  });

  it.each([
    [['select 1', '-f', 'x.sql']],
    [['']],
    [['-- nothing']],
    [['-f', '/nowhere/x.sql']],
    [['select 1', '--format', 'xml']],
    [['select 1', '--format', 'JSON']],
    [['copy mirror.users to stdout']],
    [['begin']],
    [[String.raw`\x`]],
  ])('exits 64 for the wrong arguments %j', async (args) => {
    expect(await sql(...args)).toMatchObject({ code: 64, stdout: '' });
  });

  it('exits 64 without a query on a terminal, and names the command that prints how to open psql', async () => {
    const { isTTY } = process.stdin;
    try {
      process.stdin.isTTY = true;
      const { code, stdout, stderr } = await sql();
      expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
      expect(stderr).toMatch(/No query is given\n.*"musterd status" prints the command that opens psql/);
    } finally {
      process.stdin.isTTY = isTTY;
    }
  });

  it('prints on stdout only the error, as JSON, if a statement fails under --format json', async () => {
    const { code, stdout, stderr } = await sql('select 1; select nope', '--format', 'json');
    expect(code).toBe(1);
    const { error } = JSON.parse(stdout) as { error: Record<string, unknown> };
    expect(error).toEqual({
      code: 'mirror',
      message: expect.stringContaining('LINE 1') as string,
      hint: null,
    });
    expect(stderr).toContain('LINE 1: select nope\n               ^\n');
  });

  it('leaves the JSON incomplete if an error follows after many rows were printed', async () => {
    const late = "select 1 / (5000 - g) as a, repeat('x', 90) as b from generate_series(1, 6000) g";
    const { code, stdout } = await sql(late, '--json');
    expect(code).toBe(1);
    expect(stdout.startsWith('[\n  {"a":0')).toBe(true);
    expect(stdout).not.toContain('"error"');
    expect(() => JSON.parse(stdout) as unknown).toThrow(SyntaxError);
  });

  it('runs the statements of the file given by -f, or else of stdin', async () => {
    const file = join(folder, 'query.sql');
    writeFileSync(file, '\uFEFF-- two\nselect 1 as a;\nselect 2 as b');
    expect((await sql('-f', file)).stdout).toBe('a\n1\nb\n2\n');
    const env = { DATABASE_URL: database.url, MUSTERD__log__level: 'error' };
    const piped = await spawnMusterd(['sql'], env, 'select 1 as a;\nselect 2 as b;\n');
    expect(piped).toMatchObject({
      code: 0,
      stdout: 'a\n1\nb\n2\n',
      stderr: expect.stringMatching(/^[^\n]*superuser[^\n]*\n$/),
    });
  });

  it('shows the first 1,000 rows on a terminal, and counts the rows left out', async () => {
    const written: string[] = [];
    const terminal = { isTTY: true, write: (text: string) => written.push(text) };
    await runCommandLine({
      args: ['sql', "select g as n, E'\\u001b[2J' as x from generate_series(1, 2345) g"],
      env: { DATABASE_URL: database.url, NO_COLOR: '1' },
      out: terminal,
      err: { write: () => true },
      leave: () => {},
    });
    const lines = written.join('').split('\n');
    expect(lines.filter((line) => line.startsWith('│'))).toHaveLength(1001);
    expect(lines.at(-2)).toBe('(2345 rows, 1345 more than shown; --format csv prints all)');
    expect(written.join('')).not.toContain('\x1b');
  });

  it(String.raw`lists with \d the views and tables, and with \d <name> the meaning of columns`, async () => {
    const { stdout } = await sql(String.raw`\d`);
    expect(stdout).toMatch(/^report\.held +The fields that wait for a person/m);
    expect(stdout.indexOf('mirror.users')).toBeGreaterThan(stdout.indexOf('report.runs'));
    for (const name of ['report.pending', 'pending', 'REPORT.Pending;']) {
      const shown = await sql(String.raw`\d ${name}`);
      expect(shown.stdout).toMatch(/^report\.pending: .*\nteam_id +bigint +The team\.$/m);
    }
    expect((await sql(String.raw`\d nothing`)).code).toBe(64);
  });
});
