import { readFileSync } from 'node:fs';
import { text as readStream } from 'node:stream/consumers';
import { MusterdError } from '../errors.ts';
import { type AnswerFormat, answerFormats } from '../files/write-answers.ts';
import { openSqlSession, promptName, type SqlSession, transactionWords } from '../mirror/sql-session.ts';
import { plural, printableLines } from '../model/in-words.ts';
import { splitSql, type SqlStatement } from '../model/sql-statements.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { printLine } from './output.ts';
import { type SetupOfTeams, withMirrorOf } from './setup.ts';
import { type Answers, createAnswers } from './show-answers.ts';
import { isShortcut, runShortcut } from './sql-shortcuts.ts';

export interface SqlOptions {
  readonly file?: string;
  readonly format?: string;
  readonly json?: boolean;
  readonly write?: boolean;
}

function readAnswerFormat({ format, json }: SqlOptions): AnswerFormat {
  if (json === true && format !== undefined && format !== 'json')
    throw new MusterdError('usage', `--json and --format ${format} do not go together`);
  const asked = json === true ? 'json' : (format ?? 'table');
  const found = answerFormats.find((one) => one === asked);
  if (found !== undefined) return found;
  throw new MusterdError('usage', `--format "${asked}": use one of ${answerFormats.join(', ')}`);
}

/** `null`: a person is to be asked. */
async function readSql(query: string | undefined, file: string | undefined): Promise<string | null> {
  if (query !== undefined && file !== undefined)
    throw new MusterdError('usage', 'There is a query, and a file as well', { hint: 'Give one of them.' });
  if (query !== undefined) return query;
  if (file === undefined && process.stdin.isTTY === true) return null;
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

/** All or nothing where several statements write, unless they say themselves where transactions begin and end. */
async function runStatements(
  session: SqlSession,
  statements: readonly SqlStatement[],
  { err }: Context,
  answers: Answers,
  isWriting: boolean,
): Promise<void> {
  const isOne =
    isWriting && statements.length > 1 && !statements.some(({ keyword }) => transactionWords.has(keyword));
  if (isOne) await session.run(begin, nothing);
  await answers.begin();
  try {
    for (const statement of statements) await answers.show((sink) => session.run(statement, sink));
    if (isOne) await session.run(commit, nothing);
  } catch (error) {
    if (isOne) printLine(err, `None of the ${plural(statements.length, 'statement')} was kept.`);
    throw error;
  }
  if (isWriting && session.isInTransaction())
    throw new MusterdError('mirror', 'The transaction was left open, so nothing of it was kept', {
      hint: 'End it with commit.',
    });
  await answers.end();
}

/** SQL on the mirror: a query, a file, what is piped, or a prompt. */
export async function sqlCommand(
  context: Context,
  options: SqlOptions,
  query: string | undefined,
): Promise<ExitCode> {
  const { err, signal } = context;
  const format = readAnswerFormat(options);
  const text = await readSql(query, options.file);
  const { statements, rest } = splitSql(text ?? '');
  const all = rest === null ? statements : [...statements, rest];
  if (text !== null && all.length === 0) throw new MusterdError('usage', 'There is no statement to run');
  const isWriting = options.write === true;
  const guest = text === null ? promptName : undefined;
  const ask = async ({ mirror }: SetupOfTeams) => {
    if (text !== null && isShortcut(text)) {
      await runShortcut(context, mirror.db, text);
      return exitCode.ok;
    }
    const onNotice = (words: string) => printLine(err, printableLines(words));
    const session = await openSqlSession({ url: mirror.url, isWriting, onNotice, applicationName: guest });
    const cancel = () => void session.cancel().catch(() => {});
    signal.addEventListener('abort', cancel);
    try {
      if (text === null) {
        const { promptForSql } = await import('./sql-prompt.ts');
        const { stdin: input, stdout, stderr } = process;
        const output = stdout.isTTY === true ? stdout : stderr;
        await promptForSql(context, { session, db: mirror.db, isWriting, format, input, output });
      } else
        await runStatements(
          session,
          all,
          context,
          createAnswers(context, format, all.length === 1),
          isWriting,
        );
      return exitCode.ok;
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', cancel);
      await session.close();
    }
  };
  return withMirrorOf(context, ask, { isReading: !isWriting, guest });
}
