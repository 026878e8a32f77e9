import { readFileSync } from 'node:fs';
import { MusterdError } from '../errors.ts';
import { addLookups } from '../mirror/addresses.ts';
import { readTeamId } from '../mirror/pinned-teams.ts';
import { canonicalPhone } from '../model/canonical.ts';
import { prepareSchema } from '../runs/open.ts';
import { withReading } from '../runs/with-run.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { printJson, printLine } from './output.ts';
import { plural } from '../model/in-words.ts';
import type { Setup } from '../runs/open.ts';
import { withMirror } from './setup.ts';

interface Lookup {
  readonly email: string | null;
  readonly phone: string | null;
}

/** Takes addresses from a file: one per line, or several separated by commas, semicolons or tabs. */
export async function addLookupsCommand(context: Context, file: string): Promise<ExitCode> {
  const { lookups, unusable } = parseLookups(readLookupFile(file));
  for (const { line, text } of unusable)
    printLine(context.err, `line ${line}: "${text}" is neither an email address nor a phone number`);
  if (lookups.length === 0) {
    throw new MusterdError('usage', `${file} holds no email address and no phone number`, {
      hint: 'One address per line: an email, or a phone number with its country code.',
    });
  }
  return withMirror(context, async (setup) => {
    await prepareSchema(setup.mirror.db, setup.config);
    const teamId = await findTeamId(setup, context);
    const added = await addLookups(setup.mirror.db, teamId, lookups);
    if (context.json) printJson(context, { added, known: lookups.length - added, unusable: unusable.length });
    else
      printLine(
        context.out,
        `${plural(added, 'address', 'addresses')} added, ${lookups.length - added} already known`,
      );
    return unusable.length > 0 ? exitCode.partial : exitCode.ok;
  });
}

function readLookupFile(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new MusterdError('usage', `${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** The mirror takes no longer one; of a phone number it takes less. */
const longestAddress = 320;
const longestPhone = 40;

function isPhone(cell: string): boolean {
  const { length } = canonicalPhone(cell);
  return /^\+?[0-9 ()./-]+$/.test(cell) && length >= 3 && length <= longestPhone;
}

export function parseLookups(text: string): {
  readonly lookups: readonly Lookup[];
  readonly unusable: readonly { readonly line: number; readonly text: string }[];
} {
  const lookups: Lookup[] = [];
  const unusable: { line: number; text: string }[] = [];
  const header = /^(e-?mail|phone|address|name|first.?name|last.?name)s?$/i;
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    for (const cell of line.split(/[,;\t]/).map((part) => part.trim().replace(/^"|"$/g, ''))) {
      if (cell === '' || cell.startsWith('#') || (index === 0 && header.test(cell))) continue;
      if (cell.length > longestAddress) unusable.push({ line: index + 1, text: `${cell.slice(0, 40)}…` });
      else if (/^\S+@\S+$/.test(cell)) lookups.push({ email: cell, phone: null });
      else if (isPhone(cell)) {
        lookups.push({ email: null, phone: canonicalPhone(cell) });
      } else unusable.push({ line: index + 1, text: cell });
    }
  }
  return { lookups, unusable };
}

/** The team's id from the mirror, or, before the first run, from the service. */
async function findTeamId({ config, log, mirror }: Setup, { signal }: Context): Promise<bigint> {
  const known = await readTeamId(mirror.db.kysely, config.team);
  if (known !== null) return known;
  return withReading(mirror.db, config, { log, signal }, (_, team) => Promise.resolve(team.id));
}
