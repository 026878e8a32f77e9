import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitSql } from '../../src/model/sql-statements.ts';

const textsOf = (sql: string) => {
  const { statements, rest } = splitSql(sql);
  return { ended: statements.map(({ text }) => text), rest: rest?.text ?? null };
};

describe('splitSql', () => {
  it.each([
    ['select 1', [], 'select 1'],
    ['select 1;', ['select 1'], null],
    [' ;; select 1 ; ;', ['select 1 '], null],
    ["select ';', 'it''s;';x", ["select ';', 'it''s;'"], 'x'],
    ['select ";", "a"";";x', ['select ";", "a"";"'], 'x'],
    [String.raw`select E'\';', e'\\';x`, [String.raw`select E'\';', e'\\'`], 'x'],
    [String.raw`select '\';x`, [String.raw`select '\'`], 'x'],
    [String.raw`select type'\';x`, [String.raw`select type'\'`], 'x'],
    ['do $$ a; $x$ ; $$;x', ['do $$ a; $x$ ; $$'], 'x'],
    ['do $é1$ a; $$ ; $é1$;x', ['do $é1$ a; $$ ; $é1$'], 'x'],
    ['select $1; x$y$;z$y$', ['select $1', 'x$y$'], 'z$y$'],
    ['-- a; b\nselect 1; -- c;', ['select 1'], null],
    ['/* a; /* b; */ c; */ select /* ; */ 1;', ['select /* ; */ 1'], null],
    ['create rule r as on update to t do (a; b); x', ['create rule r as on update to t do (a; b)'], 'x'],
    [
      'create or replace function f() returns int begin atomic select case when a then b end; select 1; end; x',
      [
        'create or replace function f() returns int begin atomic select case when a then b end; select 1; end',
      ],
      'x',
    ],
    ['begin; select case when a then b end; end; x', ['begin', 'select case when a then b end', 'end'], 'x'],
    ['-- alone', [], null],
    ['select 1);x', ['select 1)'], 'x'],
    ['x create function begin;y', ['x create function begin'], 'y'],
    [
      'create function f(begin int) returns int return 1;x',
      ['create function f(begin int) returns int return 1'],
      'x',
    ],
    ['create function case() return 1;x', ['create function case() return 1'], 'x'],
    [
      'create function f() return case when a then b end;x',
      ['create function f() return case when a then b end'],
      'x',
    ],
    ['create procedure p() begin atomic a; end;x', ['create procedure p() begin atomic a; end'], 'x'],
  ])('cuts SQL at the semicolons between statements: %j', (sql, ended, rest) => {
    expect(textsOf(sql)).toEqual({ ended, rest });
  });

  it.each(["select 'a;", 'select "a;', "select E'a\\", 'do $$ a;', 'select (1;', '/* a;', 'select 1 /* b;'])(
    'does not end a statement while a quote, bracket or comment is open: %j',
    (sql) => expect(textsOf(sql)).toEqual({ ended: [], rest: sql }),
  );

  it('returns the line and the first word of each statement', () => {
    const { statements, rest } = splitSql('-- x\n\nSELECT\n1;/* */ Update\n t;\n\n(table t)');
    expect([...statements, rest].map((one) => [one?.line, one?.keyword])).toEqual([
      [3, 'select'],
      [4, 'update'],
      [7, ''],
    ]);
    expect(['/* a', 'select 1; /* a'].map((sql) => splitSql(sql).rest?.keyword)).toEqual(['', '']);
  });

  it('does not cut at a semicolon inside quotes, comments or brackets', () => {
    const inner = fc.string({ maxLength: 8 });
    const piece = fc.oneof(
      inner.map((text) => `'${text.replaceAll("'", "''")}'`),
      inner.map((text) => `"${text.replaceAll('"', '""')}"`),
      inner.map((text) => `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`),
      inner.map((text) => `$q$${text.replaceAll('$', '')}$q$`),
      inner.map((text) => `/*${text.replaceAll(/[*/]/g, '')};*/`),
      inner.map((text) => `--${text.replaceAll('\n', '')};\n`),
      fc.constantFrom('word', '1.5', '(a;b)', '+', ','),
    );
    const statement = fc.array(piece, { maxLength: 6 }).map((pieces) => `x ${pieces.join(' ')}`);
    fc.assert(
      fc.property(fc.array(statement, { maxLength: 5 }), (all) => {
        const { ended, rest } = textsOf(all.map((one) => `${one};`).join('\n'));
        expect(rest).toBeNull();
        expect(ended).toEqual(all);
      }),
    );
  });
});
