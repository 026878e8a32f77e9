/** Cuts SQL that a person wrote into statements, like psql. */

export interface SqlStatement {
  /** The text from the first word up to the semicolon. */
  readonly text: string;
  /** The line of the whole text in which the statement begins; the first line is 1. */
  readonly line: number;
  /** The first word in lower case; empty if the statement begins with a sign. */
  readonly keyword: string;
  /** The parameters, only for a statement that musterd itself wrote. */
  readonly values?: readonly string[];
}

export interface SplitSql {
  /** The statements that a semicolon ends. */
  readonly statements: readonly SqlStatement[];
  /** The text after the last of these statements, if it is more than blanks and comments. */
  readonly rest: SqlStatement | null;
}

/** The tokens of SQL. A semicolon inside a token does not end a statement. A token that is not closed ends with the text. */
const tokens = new RegExp(
  [
    String.raw`(?<comment>--[^\n]*|\/\*)`,
    String.raw`(?<text>[eE]'[^'\\]*(?:(?:\\[^]|'')[^'\\]*)*(?:'|\\?$)|'[^']*(?:''[^']*)*(?:'|$)|"[^"]*(?:""[^"]*)*(?:"|$))`,
    String.raw`(?<dollar>\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$)`,
    String.raw`(?<word>[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)`,
    String.raw`(?<blank>\s+)`,
    String.raw`(?<sign>\d[\w.]*|[^])`,
  ].join('|'),
  'y',
);

/** Finds the end of a comment, which can contain comments. @returns the index after it; `undefined` without an end */
function endOfComment(sql: string, from: number): number | undefined {
  let depth = 0;
  const marks = /\/\*|\*\//g;
  marks.lastIndex = from;
  for (let mark = marks.exec(sql); mark !== null; mark = marks.exec(sql)) {
    depth += mark[0] === '/*' ? 1 : -1;
    if (depth === 0) return marks.lastIndex;
  }
  return undefined;
}

/** Counts the open brackets at a place, and the open bodies of routines in plain SQL (`begin atomic … end`). */
interface Depth {
  readonly note: (word: string) => void;
  readonly open: (sign: string) => void;
  readonly isOutside: () => boolean;
}

function createDepth(): Depth {
  const words: string[] = [];
  let brackets = 0;
  let bodies = 0;
  const makesRoutine = () => /^create (or replace )?(function|procedure)\b/.test(words.join(' '));
  return {
    note: (word) => {
      if (words.length < 4) words.push(word);
      if (brackets > 0 || !makesRoutine()) return;
      if (word === 'begin' || (word === 'case' && bodies > 0)) bodies += 1;
      if (word === 'end' && bodies > 0) bodies -= 1;
    },
    open: (sign) => {
      if (sign === '(') brackets += 1;
      if (sign === ')' && brackets > 0) brackets -= 1;
    },
    isOutside: () => brackets === 0 && bodies === 0,
  };
}

export function splitSql(sql: string): SplitSql {
  const statements: SqlStatement[] = [];
  let from: number | null = null;
  let keyword = '';
  let depth = createDepth();
  let counted = 0;
  let line = 1;
  const cut = (to: number): SqlStatement | null => {
    if (from === null) return null;
    line += sql.slice(counted, from).split('\n').length - 1;
    counted = from;
    const statement = { text: sql.slice(from, to), line, keyword };
    from = null;
    keyword = '';
    depth = createDepth();
    return statement;
  };
  for (let at = 0; at < sql.length; ) {
    tokens.lastIndex = at;
    const { 0: token = '', groups = {} } = tokens.exec(sql) ?? {};
    const start = at;
    at += token.length;
    if (groups['blank'] !== undefined) continue;
    if (groups['comment'] !== undefined) {
      if (token !== '/*') continue;
      const end = endOfComment(sql, start);
      at = end ?? sql.length;
      // A comment without an end counts as a statement, because its end may come with later input. If not, Postgres
      // reports the error.
      if (end === undefined) from ??= start;
      continue;
    }
    if (token === ';' && depth.isOutside()) {
      const statement = cut(start);
      if (statement !== null) statements.push(statement);
      continue;
    }
    const word = groups['word']?.toLowerCase();
    if (from === null) {
      from = start;
      keyword = word ?? '';
    }
    if (word !== undefined) depth.note(word);
    depth.open(token);
    if (groups['dollar'] !== undefined) {
      const end = sql.indexOf(token, at);
      at = end < 0 ? sql.length : end + token.length;
    }
  }
  return { statements, rest: cut(sql.length) };
}
