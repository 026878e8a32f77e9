import { MusterdError } from '../errors.ts';
import { decodeText } from '../files/decode-text.ts';
import { eachRow, linesOf } from '../files/each-row.ts';
import { readBytes } from '../files/read-table.ts';
import { canonicalPhone, isEmailAddress } from '../model/canonical.ts';
import { addTeamLookups } from '../runs/add-lookups.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { printJson, printLine } from './output.ts';
import { plural } from '../model/in-words.ts';
import { withMirror } from './setup.ts';
import { mostNamed, sayUnnamed } from './show-import.ts';

interface Lookup {
  readonly email: string | null;
  readonly phone: string | null;
}

/** Takes addresses from a file: one per line, or several separated by commas, semicolons or tabs. */
export async function addLookupsCommand(context: Context, file: string): Promise<ExitCode> {
  const { text } = decodeText(await readBytes(file, context.signal), true);
  const { lookups, unusable } = await parseLookups(text, context.signal);
  for (const { line, text } of unusable.slice(0, mostNamed.inWords))
    printLine(context.err, `line ${line}: "${text}" is neither an email address nor a phone number`);
  for (const sentence of sayUnnamed(unusable.length)) printLine(context.err, sentence);
  if (lookups.length === 0) {
    throw new MusterdError('usage', `${file} holds no email address and no phone number`, {
      hint: 'One address per line: an email, or a phone number with its country code.',
    });
  }
  return withMirror(context, async (setup) => {
    const added = await addTeamLookups(setup, lookups, context.signal);
    if (context.json) printJson(context, { added, known: lookups.length - added, unusable: unusable.length });
    else
      printLine(
        context.out,
        `${plural(added, 'address', 'addresses')} added, ${lookups.length - added} already known`,
      );
    return unusable.length > 0 ? exitCode.partial : exitCode.ok;
  });
}

/** Bounds for what is looked for. The mirror refuses longer addresses, and numbers that are even shorter. */
const longestAddress = 320;
const longestPhone = 40;

function isPhone(cell: string): boolean {
  const { length } = canonicalPhone(cell);
  return /^\+?[0-9 ()./-]+$/.test(cell) && length >= 3 && length <= longestPhone;
}

/** The addresses of a file, parsed in turns with other work until the signal. */
export async function parseLookups(text: string, signal: AbortSignal) {
  const lookups: Lookup[] = [];
  const unusable: { line: number; text: string }[] = [];
  const header = /^(e-?mail|phone|address|name|first.?name|last.?name)s?$/i;
  await eachRow(linesOf(text), signal, ({ line, text: row }) => {
    for (const cell of row.split(/[,;\t]/).map((part) => part.trim().replace(/^"|"$/g, ''))) {
      if (cell === '' || cell.startsWith('#') || (line === 1 && header.test(cell))) continue;
      if (cell.length > longestAddress) unusable.push({ line, text: `${cell.slice(0, 40)}…` });
      else if (isEmailAddress(cell)) lookups.push({ email: cell, phone: null });
      else if (isPhone(cell)) lookups.push({ email: null, phone: canonicalPhone(cell) });
      else unusable.push({ line, text: cell });
    }
  });
  return { lookups, unusable };
}
