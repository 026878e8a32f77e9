/** How an import is shown: what cannot be used, what it changes, and what will become of it. */
import { columnOf } from '../model/field-values.ts';
import { plural, printable } from '../model/in-words.ts';
import type { PlannedChange } from '../model/user-changes.ts';
import type { Confirmation } from '../mirror/approve-edits.ts';
import type { Imported, ImportPreview } from '../runs/import/import-users.ts';
import type { ImportChange } from '../runs/import/plan-import.ts';
import type { Context } from './context.ts';
import { printLine } from './output.ts';
import { printTable } from './print-table.ts';
import { printUserChanges } from './show-user-changes.ts';

/** As the plan of the next run would show it, with its line. */
const plannedOf = ({ line, userId, name, field, from, to, base, isGuess }: ImportChange): PlannedChange => ({
  user_id: userId,
  name,
  change: 'push',
  field: columnOf(field),
  base: base ?? null,
  mirror: to,
  service: from,
  reason: `line ${line}${isGuess ? '; where the first name ends is a guess' : ''}`,
});

export function printPreview(context: Context, preview: ImportPreview, { why }: Confirmation): void {
  const { out } = context;
  const { rows, matched, changing, problems, changes, ignored, notes, refused, limited, cost, hash } =
    preview;
  printLine(
    out,
    `${plural(rows, 'row')}: ${matched} matched, ${problems.length} that cannot be used, ${plural(changing, 'user')} to change; import ${hash}`,
  );
  for (const note of notes) printLine(out, `note: ${printable(note)}`);
  if (ignored.length > 0) printLine(out, `note: columns that are not read: ${printable(ignored.join(', '))}`);
  if (problems.length > 0)
    printTable(
      context,
      ['line', 'row', 'why'],
      problems.map(({ line, kind, reason }) => [line, kind, reason]),
    );
  printUserChanges(context, changes.map(plannedOf));
  for (const reason of refused)
    printLine(
      out,
      why === undefined
        ? `the guard will hold it: ${reason}; with --reason it is approved as it is`
        : `approved beyond the limit: ${reason}`,
    );
  for (const reason of limited) printLine(out, `will be held on its own: ${printable(reason)}`);
  if (cost.requests > 0)
    printLine(
      out,
      `pushing costs ${plural(cost.requests, 'request')}, about ${cost.seconds} s at the rate limit`,
    );
}

export function printImported(context: Context, { changes, missed, approved }: Imported): void {
  const users = new Set(changes.map(({ userId }) => userId)).size;
  printLine(
    context.out,
    `Written into the mirror: ${plural(changes.length, 'field')} of ${plural(users, 'user')}; the next run sends them${approved > 0 ? `, and ${approved} of them may pass the limits once` : ''}.`,
  );
  for (const [id, [first]] of Map.groupBy(missed, ({ userId }) => userId))
    printLine(
      context.err,
      `left alone: ${id} ${printable(first?.name ?? '')} has gone, or was edited since this was shown`,
    );
}

const changeInJson = ({ line, userId, name, field, from, to, isGuess }: ImportChange) => ({
  line,
  user_id: userId,
  name,
  field: columnOf(field),
  from,
  to,
  guessed: isGuess,
});

export function importInJson(
  preview: ImportPreview,
  imported: Imported | undefined,
  why: string | null,
): object {
  const { hash, rows, matched, problems, changes, ignored, notes, refused, limited, cost } = preview;
  return {
    hash,
    rows,
    matched,
    problems,
    ignored_columns: ignored,
    notes,
    changes: changes.map(changeInJson),
    refused,
    limited,
    cost,
    applied: imported !== undefined,
    why,
    approved: imported?.approved ?? 0,
    missed: (imported?.missed ?? []).map(changeInJson),
  };
}
