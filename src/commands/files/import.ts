import { resolve } from 'node:path';
import { MusterdError } from '../../errors.ts';
import type { Confirmation } from '../../model/waiting.ts';
import { readFormat } from '../../files/format.ts';
import { readBytes, readTable } from '../../files/read-table.ts';
import { writeWholeFile } from '../../files/write-file.ts';
import { createRowWriter } from '../../files/write-rows.ts';
import { plural } from '../../model/in-words.ts';
import { createIsRead, readColumns, readMapping, readOnly } from '../../runs/files/import/columns.ts';
import {
  applyImport,
  type ImportPreview,
  type ImportRequest,
  previewImport,
  settledOf,
} from '../../runs/files/import/import-users.ts';
import { unusableRows } from '../../runs/files/import/unusable-rows.ts';
import type { Setup } from '../../runs/open.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { askAtTerminal, confirmationOf, noteFourEyes } from '../confirmation.ts';
import { printJson, printLine } from '../output.ts';
import { withMirror } from '../setup.ts';
import { codeOfSettled, printSettled, settledWaitMs } from '../show-settled.ts';
import {
  importInJson,
  printImported,
  printPreview,
  printPreviewInMarkdown,
  printWayBack,
  sayGuard,
} from './show-import.ts';

export interface FileOptions {
  readonly format?: string;
  readonly map?: readonly string[];
  readonly only?: string;
  readonly empty?: string;
  readonly country?: string;
  readonly skipErrors?: boolean;
  readonly trustIds?: boolean;
  readonly unusable?: string;
}

export interface ImportOptions extends FileOptions {
  readonly dryRun?: boolean;
  readonly markdown?: boolean;
  readonly exitCode?: boolean;
  readonly yes?: boolean;
  readonly expect?: string;
  readonly reason?: string;
  readonly as?: string;
  readonly wait?: string | boolean;
}

function readClears(empty: string | undefined): boolean {
  if (empty === undefined) return false;
  if (empty === 'clear') return true;
  throw new MusterdError('usage', `--empty "${empty}": the only value is "clear"`);
}

function readCountry(country: string | undefined): string | null {
  const code = /^\+?([1-9][0-9]{0,2})$/.exec(country ?? '')?.[1] ?? null;
  if (country === undefined || code !== null) return code;
  throw new MusterdError('usage', `--country "${country}" is not a calling code`, {
    hint: 'Give the calling code of a country, such as --country 49.',
  });
}

async function readRequest({ signal }: Context, options: FileOptions, file: string): Promise<ImportRequest> {
  const format = readFormat(options.format, file);
  const mappings = (options.map ?? []).map(readMapping);
  const rest = {
    mappings,
    only: readOnly(options.only),
    clears: readClears(options.empty),
    country: readCountry(options.country),
    trustsIds: options.trustIds === true,
  };
  const isRead = createIsRead(mappings);
  return { table: await readTable(await readBytes(file, signal), format, { isRead, signal }), ...rest };
}

/** Writes the rows that cannot be used to the file of --unusable, if that is given. */
async function writeUnusable(
  { table, mappings }: ImportRequest,
  { problems }: ImportPreview,
  file: string | undefined,
): Promise<void> {
  // If all rows can be used, the file gets no rows, but it is still written: it may have rows of an earlier import.
  if (file === undefined) return;
  const { columns, rows } = unusableRows(table, readColumns(table, mappings), problems);
  const writer = createRowWriter(readFormat(undefined, file), columns);
  await writeWholeFile(file, (write) => write(writer.begin + writer.rows(rows) + writer.end()));
}

/** The reason why nothing is written, with the exit code. */
interface Obstacle {
  readonly code: ExitCode;
  readonly why: string;
}

/** The reason why the import is not done, or `undefined` if there is none. */
function whyNot(
  { rows, matched, problems, hash, changes }: ImportPreview,
  { skipErrors, expect }: ImportOptions,
): Obstacle | undefined {
  const mixed = problems.filter(({ kind }) => kind === 'contradictory').length;
  if (mixed * 2 > rows) {
    const why = `${mixed} of ${rows} rows name two users, so nothing is applied, not even with --skip-errors: were columns sorted without the ids?`;
    return { code: exitCode.usage, why };
  }
  if (problems.length > 0 && skipErrors !== true) {
    const why = `${plural(rows - matched, 'row')} cannot be used, so nothing is applied: correct them, or leave them out with --skip-errors`;
    return { code: exitCode.usage, why };
  }
  if (expect !== undefined && expect !== hash) {
    const why = `this import is ${hash}, not ${expect}: rows, values or bases differ, so nothing is applied`;
    return { code: exitCode.refused, why };
  }
  return changes.length === 0 ? { code: exitCode.ok, why: 'nothing would change' } : undefined;
}

/** The reason why the import is not confirmed, or `undefined` if --yes was given or a person confirmed it. */
async function whyNotAgreed(
  context: Context,
  { dryRun, yes }: ImportOptions,
  file: string,
  { hash, changing }: ImportPreview,
): Promise<Obstacle | undefined> {
  if (dryRun === true) return { code: exitCode.ok, why: `nothing is written yet; this import is ${hash}` };
  if (yes === true) return undefined;
  const ask = file === '-' ? undefined : askAtTerminal(context);
  if (ask === undefined)
    return {
      code: exitCode.usage,
      why: 'nothing is applied: add --yes to apply it, or --dry-run to look only',
    };
  const isAgreed = await ask(`Write this into the mirror, for ${plural(changing, 'user')}?`);
  return isAgreed ? undefined : { code: exitCode.ok, why: 'nothing is applied' };
}

/** Changes many users from a file. It shows the changes first, and then applies exactly these changes. */
export async function importCommand(
  context: Context,
  options: ImportOptions,
  file: string,
): Promise<ExitCode> {
  if (options.unusable !== undefined && resolve(options.unusable) === resolve(file))
    throw new MusterdError('usage', '--unusable must name another file than the imported one');
  if (options.dryRun !== true && (options.markdown === true || options.exitCode === true))
    throw new MusterdError('usage', '--markdown and --exit-code need --dry-run');
  const request = await readRequest(context, options, file);
  return withMirror(context, async (setup) => {
    const preview = await previewImport(setup, request);
    await writeUnusable(request, preview, options.unusable);
    const confirmation = confirmationOf(context, options);
    const guard = sayGuard(preview, setup.config, confirmation);
    const inMarkdown = options.markdown === true;
    if (!context.json && !inMarkdown) printPreview(context, preview, guard);
    const obstacle = whyNot(preview, options) ?? (await whyNotAgreed(context, options, file, preview));
    if (obstacle === undefined) return await apply(context, setup, options, { preview, confirmation });
    const { code, why } = obstacle;
    if (context.json) printJson(context, importInJson(preview, undefined, why));
    else if (inMarkdown) printPreviewInMarkdown(context, preview, { guard, why });
    else printLine(context.err, why);
    const differs = code === exitCode.ok && preview.changes.length > 0;
    return options.exitCode === true && differs ? exitCode.changes : code;
  });
}

/** Writes the changes that were shown. With --wait, it also waits for the outcome of the edits and prints it. */
async function apply(
  context: Context,
  setup: Setup,
  options: ImportOptions,
  { preview, confirmation }: { readonly preview: ImportPreview; readonly confirmation: Confirmation },
): Promise<ExitCode> {
  const imported = await applyImport(setup, preview, confirmation);
  const { waitMs = settledWaitMs, signal } = context;
  if (!context.json) printImported(context, imported);
  noteFourEyes(context, setup.config, confirmation);
  const settled =
    options.wait === undefined ? undefined : await settledOf(setup, imported, { waitMs, signal });
  const { edits, runs } = settled ?? { runs: [] };
  if (context.json)
    printJson(context, {
      ...importInJson(preview, imported, null),
      ...(settled && { settled: edits, runs }),
    });
  else {
    if (edits !== undefined) printSettled(context, edits);
    printWayBack(context, runs);
  }
  if (imported.missed.length > 0) return exitCode.partial;
  return edits === undefined ? exitCode.ok : codeOfSettled(edits.map(({ state }) => state));
}
