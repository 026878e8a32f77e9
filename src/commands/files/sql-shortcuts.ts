/** The command `\d`, as in psql. */
import { MusterdError } from '../../errors.ts';
import { printable } from '../../model/in-words.ts';
import type { Mirror } from '../../runs/open.ts';
import { relationOf, relationsOf } from '../../runs/files/open-sql.ts';
import type { Context } from '../context.ts';
import { printLine } from '../output.ts';

export const isShortcut = (text: string) => text.trimStart().startsWith('\\');

/** Prints columns without the frame of a table, because a comment on a column can be longer than a line. */
function printColumns({ out }: Pick<Context, 'out'>, rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? [])
    .slice(0, -1)
    .map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  for (const row of rows)
    printLine(out, printable(row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')).trimEnd());
}

/** @throws MusterdError `usage` if there is no such view or table */
export async function runShortcut(
  context: Pick<Context, 'out'>,
  mirror: Pick<Mirror, 'db'>,
  text: string,
): Promise<void> {
  const [word = '', name] = text.trim().replace(/;$/, '').split(/\s+/);
  if (word !== '\\d' && word !== '\\d+')
    throw new MusterdError('usage', `${word} is not supported`, {
      hint: 'Use \\d or \\d <view>; use psql for other commands.',
    });
  if (name === undefined) {
    const relations = await relationsOf(mirror);
    return printColumns(
      context,
      relations.map(({ schema, name: own, comment }) => [`${schema}.${own}`, comment]),
    );
  }
  const found = await relationOf(mirror, name);
  if (found === null)
    throw new MusterdError('usage', `No view or table is named "${name}"`, { hint: 'List them with \\d.' });
  printLine(context.out, `${found.relation.schema}.${found.relation.name}: ${found.relation.comment}`);
  return printColumns(
    context,
    found.columns.map(({ name: column, type, comment }) => [column, type, comment]),
  );
}
