/** Shows the results of SQL statements page by page, as a table or in a format for programs. */
import { type AnswerFormat, createAnswersWriter, wordsOf } from '../../files/write-answers.ts';
import { plural, printable } from '../../model/in-words.ts';
import type { AnswerSink, SqlColumn, SqlRow } from '../../runs/files/open-sql.ts';
import { escapeUnprintable } from '../../service/printable.ts';
import type { Context } from '../context.ts';
import { printLine } from '../output.ts';
import { printTable } from '../print-table.ts';
import { createBulkWriter } from '../stream-write.ts';

export interface Answers {
  begin(): Promise<void>;
  /** Shows one result. @param ask runs the statement: it passes the rows to the sink and returns the command tag */
  show(ask: (sink: AnswerSink) => Promise<string>): Promise<void>;
  end(): Promise<void>;
}

type Shown = Pick<Context, 'out' | 'err' | 'env' | 'signal'>;

/** The most rows that a table shows, because it must hold all of them in memory before it can draw the first one. */
const tableRows = 1_000;

/** Draws a table on a terminal. Elsewhere, writes each row as a tab-separated line as soon as the row arrives. */
function createTableAnswers(context: Shown): Answers {
  const { out, err, signal } = context;
  const { write, flush } = createBulkWriter(out, signal);
  return {
    begin: async () => {},
    show: async (ask) => {
      let columns: readonly SqlColumn[] | undefined;
      const kept: SqlRow[] = [];
      let count = 0;
      const inWords = (rows: readonly SqlRow[]) => rows.map((row) => wordsOf(columns ?? [], row));
      const lines = (rows: readonly (readonly (string | null)[])[]) =>
        rows.map((row) => `${row.map((cell) => printable(cell ?? '')).join('\t')}\n`).join('');
      const tag = await ask({
        begin: async (all) => {
          columns = all;
          if (out.isTTY !== true) await write(lines([all.map(({ name }) => name)]));
        },
        take: async (rows) => {
          count += rows.length;
          if (out.isTTY === true) kept.push(...rows.slice(0, Math.max(0, tableRows - kept.length)));
          return out.isTTY === true || write(lines(inWords(rows)));
        },
      });
      await flush();
      if (columns === undefined) printLine(err, tag);
      else if (out.isTTY === true) {
        printTable(
          context,
          columns.map(({ name }) => name),
          inWords(kept),
        );
        const more = count - kept.length;
        printLine(
          out,
          more === 0
            ? `(${plural(count, 'row')})`
            : `(${count} rows, ${more} more than shown; --format csv prints all)`,
        );
      }
    },
    end: async () => {},
  };
}

/** @param isOne true if there is only one statement */
export function createAnswers(context: Shown, format: AnswerFormat, isOne: boolean): Answers {
  if (format === 'table') return createTableAnswers(context);
  const { out, err, signal } = context;
  const { write, flush } = createBulkWriter(out, signal);
  const writer = createAnswersWriter(format, isOne);
  // Escapes line by line: these formats use line breaks only between rows, never within a value.
  const safe = (text: string) =>
    format === 'csv' ? text : text.split('\n').map(escapeUnprintable).join('\n');
  return {
    begin: async () => void (await write(writer.begin)),
    show: async (ask) => {
      let columns: readonly SqlColumn[] | undefined;
      const tag = await ask({
        begin: async (all) => {
          columns = all;
          await write(safe(writer.head(all)));
        },
        take: (rows) => write(safe(writer.rows(columns ?? [], rows))),
      });
      await write(writer.tail(columns !== undefined));
      if (columns === undefined) printLine(err, tag);
    },
    end: async () => {
      await write(writer.end);
      await flush();
    },
  };
}
