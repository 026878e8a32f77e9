/** The text about an import: the rows that cannot be used, the changes, and what the guard will do with them. */
import type { Config } from '../../config/config.ts';
import { columnOf } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import { firstOf, plural, printable } from '../../model/in-words.ts';
import type { PlannedChange } from '../../model/user-changes.ts';
import type { Confirmation } from '../../model/waiting.ts';
import type { ImportResult, ImportPreview } from '../../runs/files/import/import-users.ts';
import type { ImportChange } from '../../runs/files/import/plan-import.ts';
import type { Context } from '../context.ts';
import { inMarkdown, printLine } from '../output.ts';
import { printTable } from '../print-table.ts';
import { printChangesInMarkdown, printUserChanges } from '../show-user-changes.ts';

/** The state that the edit will have in the mirror. @param unsure why the country of a phone number is not certain */
const stateOf = (unsure: string | undefined) =>
  unsure === undefined
    ? ({ state: 'waiting', reason: null } as const)
    : ({ state: 'held', reason: 'limit' } as const);

/** The change in the form in which the plan of the next run would show it, with its line in the file. */
const plannedOf = ({
  line,
  userId,
  name,
  field,
  from,
  to,
  base,
  isGuess,
  unsure,
}: ImportChange): PlannedChange => ({
  user_id: userId,
  name,
  change: unsure === undefined ? 'push' : 'hold',
  batch: null,
  edited_by: null,
  edited_at: null,
  field: columnOf(field),
  base: base ?? null,
  mirror: to,
  service: from,
  ...stateOf(unsure),
  detail: `line ${line}${isGuess ? '; where the first name ends is a guess' : ''}`,
});

/** The lines about what the guard will do. @param why the reason for the import, or `undefined` if none is given */
export function sayGuard(
  { refused, limited }: Pick<ImportPreview, 'refused' | 'limited'>,
  { push }: Pick<Config, 'push'>,
  { why }: Pick<Confirmation, 'why'>,
): readonly string[] {
  const heldAs = (reason: string) => {
    if (push.fourEyes)
      return `the guard will hold it: ${reason}; another person must approve it (push.fourEyes)`;
    return why === undefined
      ? `the guard will hold it: ${reason}; the owner's login can approve it with --reason`
      : `approved beyond the limit: ${reason}`;
  };
  const isSeenByAnother = push.approve === 'always' && push.fourEyes && refused.length === 0;
  return [
    ...refused.map(heldAs),
    ...limited.map((reason) => `will be held on its own: ${reason}`),
    ...(isSeenByAnother ? ['it waits until another person approves it (push.approve, push.fourEyes)'] : []),
  ];
}

/** The most unusable rows that are listed in text and in JSON. A file can have a million of them. */
const mostNamed = { inWords: 200, inJson: 10_000 } as const;

/** The sentence that counts the unusable rows that are not listed. */
const sayUnnamed = (all: number): readonly string[] =>
  all > mostNamed.inWords ? [`and ${all - mostNamed.inWords} more that cannot be used`] : [];

const sayRows = ({ rows, matched, changing }: ImportPreview): string =>
  `${plural(rows, 'row')}: ${matched} matched, ${rows - matched} that cannot be used, ${plural(changing, 'user')} to change`;

const sayCost = ({ cost: { requests, seconds } }: ImportPreview): string =>
  `pushing costs ${plural(requests, 'request')}, about ${seconds} s at the rate limit`;

/** Counts the users of the team who are not in the file. Names them unless they outnumber the rows of the file. */
function sayNotInFile({ notInFile, rows }: ImportPreview): readonly string[] {
  const names = notInFile.length > rows ? [] : notInFile.map(({ user_id, name }) => `${name} (${user_id})`);
  const count = `${plural(notInFile.length, 'user')} of the team not in the file`;
  return notInFile.length === 0 ? [] : [`${count}${names.length > 0 ? `: ${firstOf(names)}` : ''}`];
}

const sayNotes = (preview: ImportPreview): readonly string[] => [
  ...preview.notes,
  ...sayNotInFile(preview),
  ...(preview.ignored.length > 0 ? [`columns that are not read: ${preview.ignored.join(', ')}`] : []),
];

export function printPreview(context: Context, preview: ImportPreview, guard: readonly string[]): void {
  const { out } = context;
  const { problems, changes, cost, hash } = preview;
  printLine(out, `${sayRows(preview)}; import ${hash}`);
  for (const note of sayNotes(preview)) printLine(out, `note: ${printable(note)}`);
  if (problems.length > 0)
    printTable(
      context,
      ['line', 'row', 'why'],
      problems.slice(0, mostNamed.inWords).map(({ line, kind, reason }) => [line, kind, reason]),
    );
  for (const sentence of sayUnnamed(problems.length)) printLine(out, sentence);
  printUserChanges(context, changes.map(plannedOf));
  for (const sentence of guard) printLine(out, printable(sentence));
  if (cost.requests > 0) printLine(out, sayCost(preview));
}

/** Prints the preview as Markdown. Its first line has the hash for programs, and no text that other people wrote. */
export function printPreviewInMarkdown(
  { out }: Pick<Context, 'out'>,
  preview: ImportPreview,
  { guard, why }: { readonly guard: readonly string[]; readonly why: string },
): void {
  const { teamId, problems, changes, cost, hash } = preview;
  const line = (text: string) => printLine(out, text);
  line(`# Import \`${hash}\` into team ${teamId}`);
  line('');
  line(`${sayRows(preview)}${cost.requests > 0 ? `; ${sayCost(preview)}` : ''}.`);
  line('');
  line(`**${why}**`);
  const remarks = [...guard, ...sayNotes(preview).map((note) => `note: ${note}`)];
  if (remarks.length > 0) line('');
  for (const remark of remarks) line(`- ${inMarkdown(remark)}`);
  if (problems.length > 0) {
    line('');
    line('| line | row | why |');
    line('|---|---|---|');
    for (const { line: at, kind, reason } of problems.slice(0, mostNamed.inWords))
      line(`| ${at} | ${kind} | ${inMarkdown(reason)} |`);
    for (const sentence of sayUnnamed(problems.length)) line(`\n${sentence}`);
  }
  printChangesInMarkdown({ out }, changes.map(plannedOf));
}

export function printImported(context: Context, { changes, missed, approved }: ImportResult): void {
  const users = new Set(changes.map(({ userId }) => userId)).size;
  const held = changes.filter(({ unsure }) => unsure !== undefined).length;
  const butHeld = `, except ${held} that ${held === 1 ? 'is' : 'are'} held until a person approves (musterd held)`;
  printLine(
    context.out,
    `Written into the mirror: ${plural(changes.length, 'field')} of ${plural(users, 'user')}; the next run sends them${held > 0 ? butHeld : ''}${approved > 0 ? `, and ${approved} of them may pass the limits on a whole run once` : ''}.`,
  );
  for (const [id, [first]] of Map.groupBy(missed, ({ userId }) => userId))
    printLine(
      context.err,
      `left alone: ${id} ${printable(first?.name ?? '')} has gone, or was edited since this was shown`,
    );
}

/** Prints the commands that undo an import. @param runs the runs that are known to have sent its edits */
export function printWayBack({ out }: Pick<Context, 'out'>, runs: readonly Id[]): void {
  for (const run of runs) printLine(out, `take it back: musterd undo ${run}`);
  if (runs.length === 0)
    printLine(out, 'take it back: musterd withdraw, or musterd undo <run> after a run has sent it');
}

const changeInJson = ({ line, userId, name, field, from, to, isGuess, unsure }: ImportChange) => ({
  line,
  user_id: userId,
  name,
  field: columnOf(field),
  from,
  to,
  guessed: isGuess,
  ...stateOf(unsure),
  detail: unsure ?? null,
});

export function importInJson(
  preview: ImportPreview,
  imported: ImportResult | undefined,
  why: string | null,
): object {
  const { hash, rows, matched, problems, changes, ignored, notInFile, notes, refused, limited, cost } =
    preview;
  return {
    hash,
    rows,
    matched,
    problems: problems.slice(0, mostNamed.inJson),
    problems_left_out: Math.max(0, problems.length - mostNamed.inJson),
    ignored_columns: ignored,
    not_in_file: notInFile,
    notes,
    changes: changes.map(changeInJson),
    limit: refused,
    limited,
    cost,
    applied: imported !== undefined,
    why,
    approved: imported?.approved ?? 0,
    missed: (imported?.missed ?? []).map(changeInJson),
  };
}
