/** Prints the changes of a plan: the field, both values, and the reason if a change is not made. */
import { showValue } from '../model/field-values.ts';
import { type PlannedChange, sayHold } from '../model/user-changes.ts';
import type { Context } from './context.ts';
import { inMarkdown, printLine } from './output.ts';
import { printTable } from './print-table.ts';

/** The old and the new value. Both sides of a settled field have the same new value, so its old value is the base. */
function fromTo({ change, state, reason, base, mirror, service }: PlannedChange): readonly [string, string] {
  if (change === 'push' || state === 'waiting' || reason === 'limit' || reason === 'review')
    return [showValue(service), showValue(mirror)];
  return [showValue(change === 'settle' ? base : mirror), showValue(service)];
}

const whyOf = ({ state, reason, detail }: PlannedChange): string =>
  sayHold({ reason: reason ?? (state === 'rejected' ? state : ''), detail: detail ?? '' });

export function printUserChanges(
  context: Pick<Context, 'out' | 'env'>,
  rows: readonly PlannedChange[],
): void {
  if (rows.length === 0) return;
  const cells = rows.map((row) => [row.user_id, row.name, row.change, row.field, ...fromTo(row), whyOf(row)]);
  printTable(context, ['user', 'name', 'change', 'field', 'from', 'to', 'why'], cells);
}

/** Prints the changes as Markdown, with a section per user. */
export function printChangesInMarkdown(
  { out }: Pick<Context, 'out'>,
  changes: readonly PlannedChange[],
): void {
  const line = (text: string) => printLine(out, text);
  for (const [id, changesOfUser] of Map.groupBy(changes, ({ user_id }) => user_id)) {
    line('');
    line(`## ${id} ${inMarkdown(changesOfUser[0]?.name ?? '')}`.trimEnd());
    line('');
    line('| change | field | from | to | why |');
    line('|---|---|---|---|---|');
    for (const change of changesOfUser) {
      const [from, to] = fromTo(change);
      line(
        `| ${change.change} | ${change.field ?? ''} | ${inMarkdown(from)} | ${inMarkdown(to)} | ${inMarkdown(whyOf(change))} |`,
      );
    }
  }
}
