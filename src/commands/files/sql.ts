import { readFileSync } from 'node:fs';
import { text as readStream } from 'node:stream/consumers';
import { MusterdError } from '../../errors.ts';
import { type AnswerFormat, answerFormats } from '../../files/write-answers.ts';
import { plural, printableLines } from '../../model/in-words.ts';
import type { EditState } from '../../model/edit-state.ts';
import { splitSql, type SqlStatement } from '../../model/sql-statements.ts';
import { openSql, type SqlSession, transactionWords } from '../../runs/files/open-sql.ts';
import { readWord } from '../add-commands.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { printLine } from '../output.ts';
import { type SetupOfTeams, withMirrorOf } from '../setup.ts';
import { type Answers, createAnswers } from './show-answers.ts';
import { codeOfSettled, settledWaitMs } from '../show-settled.ts';
import { isShortcut, runShortcut } from './sql-shortcuts.ts';

export interface SqlOptions {
  readonly file?: string;
  readonly format?: string;
  readonly write?: boolean;
  readonly wait?: string | boolean;
}

function readAnswerFormat({ format }: SqlOptions, json: boolean): AnswerFormat {
  if (json && format !== undefined && format !== 'json')
    throw new MusterdError('usage', `--json and --format ${format} cannot be combined`);
  return json ? 'json' : readWord('--format', format ?? 'table', answerFormats);
}

/** Reads SQL from the argument, from the file, or from stdin. */
async function readSql(query: string | undefined, file: string | undefined): Promise<string> {
  if (query !== undefined && file !== undefined)
    throw new MusterdError('usage', 'Both a query and a file are given', { hint: 'Give one of them.' });
  if (query !== undefined) return query;
  if (file === undefined && process.stdin.isTTY === true)
    throw new MusterdError('usage', 'No query is given', {
      hint: 'Give a query, or a file with -f. "musterd status" prints the command that opens psql on this mirror.',
    });
  if (file === undefined || file === '-') return await readStream(process.stdin);
  try {
    return readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    throw new MusterdError('usage', `${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

const begin: SqlStatement = { text: 'begin', line: 1, keyword: 'begin' };
const commit: SqlStatement = { text: 'commit', line: 1, keyword: 'commit' };
const nothing = { begin: async () => {}, take: async () => true };

/** Runs several writing statements in one transaction, unless they contain their own transactions. */
async function runStatements(
  session: SqlSession,
  statements: readonly SqlStatement[],
  { err }: Context,
  answers: Answers,
  { isWriting, after }: { readonly isWriting: boolean; readonly after: SqlStatement | undefined },
): Promise<ExitCode> {
  const isOne =
    isWriting && statements.length > 1 && !statements.some(({ keyword }) => transactionWords.has(keyword));
  if (isOne) await session.run(begin, nothing);
  await answers.begin();
  try {
    for (const statement of statements) await answers.show((sink) => session.run(statement, sink));
    if (isOne) await session.run(commit, nothing);
  } catch (error) {
    if (isOne) printLine(err, `All ${plural(statements.length, 'statement')} were rolled back.`);
    throw error;
  }
  if (isWriting && session.isInTransaction())
    throw new MusterdError('mirror', 'The transaction was left open, so it was rolled back', {
      hint: 'End the transaction with commit.',
    });
  const states = after === undefined ? [] : await showSettled(session, answers, after);
  await answers.end();
  return codeOfSettled(states);
}

/** The last statement with --wait, in a transaction of its own: it waits for the outcome of the edits of this session. */
const settledOf = (waitMs: number): SqlStatement => ({
  text: 'select user_id, field, state, detail, request_id, reason from sync.settled(timeout => make_interval(secs => $1::float8))',
  values: [String(waitMs / 1_000)],
  line: 1,
  keyword: 'select',
});

/** Shows the outcome of the session's edits. @returns their states */
async function showSettled(
  session: SqlSession,
  answers: Answers,
  question: SqlStatement,
): Promise<readonly EditState[]> {
  const states: EditState[] = [];
  await answers.show((sink) =>
    session.run(question, {
      begin: sink.begin,
      take: (rows) => {
        for (const [, , state] of rows) states.push(state as EditState);
        return sink.take(rows);
      },
    }),
  );
  return states;
}

/** True if --wait is given. @throws MusterdError `usage` if it is given without --write */
function readWaits({ write, wait }: SqlOptions): boolean {
  if (wait !== undefined && write !== true)
    throw new MusterdError('usage', '--wait needs a statement that may write', {
      hint: 'Add --write.',
    });
  return wait !== undefined;
}

const beyondTables =
  'DATABASE_URL names a superuser, or a role that may use programs or files of the server. Read-only statements can use these too. For SQL that you did not write, connect as a member of musterd_reader.';

/** Runs SQL on the mirror, from the argument, a file or stdin. */
export async function sqlCommand(
  context: Context,
  options: SqlOptions,
  query: string | undefined,
): Promise<ExitCode> {
  const { err, signal } = context;
  const format = readAnswerFormat(options, context.json);
  const text = await readSql(query, options.file);
  const { statements, rest } = splitSql(text);
  const all = rest === null ? statements : [...statements, rest];
  if (all.length === 0) throw new MusterdError('usage', 'There is no statement to run');
  const isWriting = options.write === true;
  const after = readWaits(options) ? settledOf(context.waitMs ?? settledWaitMs) : undefined;
  const ask = async ({ mirror }: SetupOfTeams) => {
    if (isShortcut(text)) {
      await runShortcut(context, mirror, text);
      return exitCode.ok;
    }
    const onNotice = (words: string) => printLine(err, printableLines(words));
    const onBeyondTables = () => printLine(err, beyondTables);
    const session = await openSql(mirror, { isWriting, onNotice, onBeyondTables });
    const cancel = () => void session.cancel().catch(() => {});
    signal.addEventListener('abort', cancel);
    try {
      return await runStatements(
        session,
        all,
        context,
        createAnswers(context, format, all.length === 1 && after === undefined),
        { isWriting, after },
      );
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', cancel);
      await session.close();
    }
  };
  return withMirrorOf(context, ask, { isReading: !isWriting });
}
