/** Shell completions. The script that `musterd completion` prints runs `musterd complete -- <words>` to get them. */
import { type Complete, type Command as Offered, RootCommand, script } from '@bomb.sh/tab';
import type { Command } from 'commander';
import type { Environment } from '../config/raw-settings.ts';
import { formats } from '../files/format.ts';
import { answerFormats } from '../files/write-answers.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { fieldColumns } from '../model/fields.ts';
import { callSubjects } from '../model/direct-call.ts';
import { ledgerKinds, ledgerOutcomes } from '../model/ledger-words.ts';
import { exportNameOf } from '../model/listed-resource.ts';
import { listedResources } from '../model/listed-resources.ts';
import { shells, withoutJson } from './help.ts';
import type { WaitingNames } from '../runs/decide/waiting-names.ts';

/** The values that an option or argument accepts, by its name. */
export const knownValues: Readonly<Record<string, readonly string[]>> = {
  '--format': formats,
  'sql --format': answerFormats,
  '--field': [...fieldColumns, ...callSubjects],
  '--only': fieldColumns,
  '--kind': ledgerKinds,
  '--outcome': ledgerOutcomes,
  '--take': ['mirror', 'service'],
  '--empty': ['clear'],
  field: fieldColumns,
  what: ['users', ...listedResources.map(exportNameOf), 'contact-counts', 'changes'],
  shell: shells,
};

/** Options with the name of an option above, but with another meaning: a field of a call, or the users of a batch. */
const strangers: ReadonlySet<string> = new Set(['api --field', 'approve --only', 'reject --only']);

interface Names extends WaitingNames {
  readonly teams: readonly string[];
}

/** True for each kind of name that must be read to complete the last word. */
interface NeededValues {
  readonly teams: boolean;
  readonly batches: boolean;
  readonly runs: boolean;
}

function neededFor(words: readonly string[]): NeededValues {
  const [last = '', before = ''] = words.toReversed();
  const isValueOf = (option: string) => before === option || last.startsWith(`${option}=`);
  const ofCommand = (...names: readonly string[]) =>
    !last.startsWith('-') && names.some((name) => words.slice(0, -1).includes(name));
  return {
    teams: isValueOf('--team'),
    batches: ofCommand('approve', 'reject', 'withdraw'),
    runs: ofCommand('undo') || isValueOf('--run'),
  };
}

async function readNames(words: readonly string[], env: Environment): Promise<Names> {
  const needed = neededFor(words);
  const none = { teams: [], batches: [], runs: [] };
  if (!Object.values(needed).includes(true)) return none;
  const { loadConfiguration } = await import('../config/load.ts');
  const optionOf = (name: string) => {
    const at = words.indexOf(name);
    return at < 0 ? words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1) : words[at + 1];
  };
  const { teams } = loadConfiguration(optionOf('--config'), env, () => []);
  const names = teams.map(({ team }) => team);
  if (needed.teams) return { ...none, teams: names };
  const teamName = optionOf('--team') ?? env['MUSTERD_TEAM'];
  const [{ database }] = teams;
  if (database.url === undefined) return none;
  const { readWaitingNames } = await import('../runs/decide/waiting-names.ts');
  return { ...none, ...(await readWaitingNames(database.url, teamName === undefined ? names : [teamName])) };
}

/** Shells insert a completion without quoting, so a space, a quote or a colon in it would change its meaning. */
const isPlain = (word: string) => /^[\w.,+-]+$/.test(word);

const offerAll =
  (words: readonly string[]) =>
  (offer: Complete): void => {
    for (const word of words.filter(isPlain)) offer(word, '');
  };

function describe(at: Offered, path: string, command: Command, program: Command, names: Names): void {
  const dynamic: Readonly<Record<string, readonly string[]>> = {
    '--team': names.teams,
    '--run': names.runs,
    batch: names.batches,
    run: names.runs,
  };
  const valuesOf = (name: string) =>
    strangers.has(`${path} ${name}`)
      ? []
      : (dynamic[name] ?? knownValues[`${path} ${name}`] ?? knownValues[name] ?? []);
  // A shell offers the program's options after a command only if they are declared for the command, too.
  for (const { long, short, description, required, optional } of [...program.options, ...command.options]) {
    const name = long?.replace(/^--/, '');
    if (long === undefined || name === undefined || name === 'version') continue;
    if (name === 'json' && withoutJson.has(path)) continue;
    const alias = short?.replace(/^-/, '');
    if (required || optional) at.option(name, description, offerAll(valuesOf(long)), alias);
    else if (alias === undefined) at.option(name, description);
    else at.option(name, description, alias);
  }
  at.option('help', 'display help for command', 'h');
  for (const argument of command.registeredArguments) {
    const values = argument.argChoices ?? valuesOf(argument.name());
    at.argument(argument.name(), offerAll(values), argument.variadic);
  }
}

/** Prints all completions of the last word, one per line. Names that cannot be read are left out. */
export async function completeWords(
  program: Command,
  words: readonly string[],
  env: Environment,
): Promise<void> {
  const names = await readNames(words, env).catch(() => ({ teams: [], batches: [], runs: [] }));
  const root = new RootCommand();
  const visit = (command: Command, path: string) => {
    const at = path === '' ? root : root.command(path, command.description());
    describe(at, path, command, program, names);
    for (const inner of command.commands) visit(inner, `${path} ${inner.name()}`.trim());
  };
  visit(program, '');
  root.parse([...words]);
}

/** Returns the script as text. It is captured from `console.log`, because the package can only print it. */
function scriptFor(shell: string): string {
  const { log } = console;
  let text = '';
  console.log = (printed: string) => {
    text += `${printed}\n`;
  };
  try {
    script(shell, 'musterd', 'musterd');
  } finally {
    console.log = log;
  }
  return text;
}

/**
 * Prints the completion script for a shell. The package's bash script defines readonly variables with general names, so
 * a second script with these names would fail. Therefore the variables get names of musterd, and stay writable.
 */
export async function completionCommand({ out }: Pick<Context, 'out'>, shell = ''): Promise<ExitCode> {
  const text = scriptFor(shell)
    .replaceAll('readonly ShellComp', 'ShellComp')
    .replaceAll(/\bShellCompDirective/g, '__musterd_directive')
    .replace('local requestComp out directive', 'local requestComp out directive comp ext');
  out.write(text);
  return exitCode.ok;
}
