/** The prompt of `musterd sql`. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { judgeMode } from '../config/secret-files.ts';
import { MusterdError } from '../errors.ts';
import type { AnswerFormat } from '../files/write-answers.ts';
import type { Database } from '../mirror/database.ts';
import { readNamesToComplete } from '../mirror/sql-catalog.ts';
import type { SqlSession } from '../mirror/sql-session.ts';
import { printableLines } from '../model/in-words.ts';
import { splitSql } from '../model/sql-statements.ts';
import type { Context } from './context.ts';
import { printLine } from './output.ts';
import { createAnswers } from './show-answers.ts';
import { isShortcut, runShortcut } from './sql-shortcuts.ts';

export interface PromptOptions {
  readonly session: SqlSession;
  readonly db: Database;
  readonly isWriting: boolean;
  readonly format: AnswerFormat;
  /** Where somebody types, and where what they type is shown. */
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

const linesKept = 1_000;

/** Lines that were typed before, the newest first. */
interface History {
  readonly lines: string[];
  readonly keep: (lines: readonly string[]) => void;
}

/** In the user's folder for such things, for their eyes only. Without one nothing is remembered. */
export function openHistory(env: Context['env']): History {
  const state = env['XDG_STATE_HOME'];
  const base = state?.startsWith('/') === true ? state : join(env['HOME'] ?? homedir(), '.local', 'state');
  const file = join(base, 'musterd', 'sql-history');
  let lines: string[] = [];
  try {
    // What others could write there would stand where a person looks for what they typed themselves.
    if (judgeMode(file, env)?.refused !== true)
      lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  } catch {
    // Nobody has typed anything yet.
  }
  const keep = (all: readonly string[]) => {
    try {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      // A file that is there would keep its mode, and those who have it open.
      rmSync(file, { force: true });
      writeFileSync(file, `${all.slice(0, linesKept).join('\n')}\n`, { mode: 0o600, flag: 'wx' });
    } catch {
      // A folder that cannot be written to is no reason to stop asking.
    }
  };
  return { lines, keep };
}

const keywords =
  'select from where group by order limit join left on and or not null is in like between having distinct count sum min max case when then else end with as asc desc explain analyze'.split(
    ' ',
  );

/** What fits the word at the end of the line. */
export function completionsOf(names: readonly string[], line: string): [string[], string] {
  const [word = ''] = /[\w.]*$/.exec(line) ?? [];
  const wanted = word.toLowerCase();
  const offered = line.startsWith('\\') ? names : [...keywords, ...names];
  return [word === '' ? [] : offered.filter((name) => name.startsWith(wanted)), word];
}

function explain(context: Context, error: unknown): void {
  // Whatever else happened ends the session: the connection is not there any more.
  if (!(error instanceof MusterdError) || !isOfStatement(error)) throw error;
  printLine(context.err, printableLines(error.message));
  if (error.hint !== undefined) printLine(context.err, `HINT:  ${error.hint}`);
}

const isOfStatement = ({ code, cause }: MusterdError) =>
  code === 'usage' || (cause instanceof Error && 'severity' in cause && cause.severity === 'ERROR');

const leaving: ReadonlySet<string> = new Set(['\\q', 'quit', 'exit', 'quit;', 'exit;']);

/** Asks until somebody leaves. */
export async function promptForSql(context: Context, options: PromptOptions): Promise<void> {
  const { session, db, isWriting, format, input, output } = options;
  const { out, err, env, showItself } = context;
  const signal = AbortSignal.any([context.signal, session.lost]);
  const names = await readNamesToComplete(db);
  const history = openHistory(env);
  showItself?.();
  const reader = createInterface({
    input,
    output,
    terminal: true,
    history: history.lines,
    historySize: linesKept,
    removeHistoryDuplicates: true,
    completer: (line: string) => completionsOf(names, line),
    signal,
  });
  let typed = '';
  let isRunning = false;
  const ask = () => {
    reader.setPrompt(typed === '' ? `musterd=${isWriting ? '#' : '>'} ` : 'musterd-> ');
    reader.prompt();
  };
  const attempt = async (work: () => Promise<void>) => {
    isRunning = true;
    await work().catch((error: unknown) => explain(context, error));
    isRunning = false;
  };
  reader.on('history', history.keep);
  reader.on('SIGINT', () => {
    if (isRunning) {
      void session.cancel().catch((error: unknown) => printLine(err, printableLines(String(error))));
      return;
    }
    typed = '';
    reader.write(null, { ctrl: true, name: 'e' });
    reader.write(null, { ctrl: true, name: 'u' });
    out.write('\n');
    ask();
  });
  printLine(
    err,
    `${isWriting ? 'What you write is kept.' : 'Read-only; --write lets edits through.'} \\? helps, \\q ends.`,
  );
  ask();
  for await (const line of reader) {
    if (typed === '' && leaving.has(line.trim())) break;
    if (typed === '' && isShortcut(line)) await attempt(() => runShortcut(context, db, line));
    else {
      const { statements, rest } = splitSql(`${typed}${line}\n`);
      typed = rest?.text ?? '';
      for (const statement of statements) {
        const answers = createAnswers(context, format, true);
        await attempt(async () => {
          await answers.begin();
          await answers.show((sink) => session.run(statement, sink));
          await answers.end();
        });
      }
    }
    ask();
  }
  reader.close();
  if (session.lost.aborted) output.write('\n');
  session.lost.throwIfAborted();
  if (session.isInTransaction()) printLine(err, 'The transaction was left open: nothing of it was kept.');
}
