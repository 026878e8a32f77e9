/** Turns arguments into a command and an exit code. Only this module turns errors into text, or JSON for a script. */
import { type Command, CommanderError } from 'commander';
import type { Action } from './add-commands.ts';
import { type Context, type ExitCode, exitCode, type Stream } from './context.ts';
import { errorInJson, printJson, printLine } from './output.ts';
import { printableLines } from '../model/in-words.ts';
import { type ErrorCode, MusterdError, ServiceError, stackInSource } from '../errors.ts';
import { createKnownSecrets, type KnownSecrets } from '../config/known-secrets.ts';
import type { LogOptions } from '../log.ts';
import { describeDenial } from '../runs/denial.ts';
import { withoutJson } from './help.ts';
import { createProgram, fullNameOf } from './program.ts';
import { programVersion } from '../runs/program-version.ts';
import { listenForStop } from './stop.ts';
import { waitForRoom } from './stream-write.ts';
import { showUnderWay } from './under-way.ts';

export const exitCodes: Readonly<Record<ErrorCode, ExitCode>> = {
  usage: exitCode.usage,
  configuration: exitCode.configuration,
  'wrong-team': exitCode.configuration,
  copy: exitCode.waiting,
  'lease-held': exitCode.busy,
  'lease-lost': exitCode.partial,
  credentials: exitCode.credentials,
  denied: exitCode.credentials,
  service: exitCode.partial,
  mirror: exitCode.partial,
  stopped: exitCode.partial,
};

/** The arguments, environment and streams of the process. */
export interface ProcessWorld {
  /** The arguments, without the program itself. */
  readonly args: readonly string[];
  readonly env: Context['env'];
  readonly out: Stream;
  readonly err: Stream;
  /** The stream of the log, which is stderr by default. */
  readonly log?: LogOptions['stream'] | undefined;
  /** Values that the text of an error must not contain. */
  readonly secrets?: KnownSecrets;
  /** Ends the process immediately. */
  readonly leave: (code: ExitCode) => void;
}

/** Prints an error. @param team the team whose work failed, if there are several */
function explain(err: Stream, error: unknown, team?: string): void {
  const start = team === undefined ? 'musterd' : `musterd: ${team}`;
  if (!(error instanceof Error)) {
    printLine(err, `${start}: ${printableLines(String(error))}`);
    return;
  }
  if (!(error instanceof MusterdError)) {
    printLine(err, `${start}: Unexpected error: ${printableLines(stackInSource(error))}`);
    return;
  }
  printLine(err, `${start}: ${printableLines(error.message)}`);
  if (error instanceof ServiceError && error.requestId !== undefined)
    printLine(err, `  X-Request-Id: ${error.requestId}`);
  if (error.hint !== undefined) printLine(err, `  ${error.hint}`);
}

function exitCodeOf(error: unknown): ExitCode {
  return error instanceof MusterdError ? exitCodes[error.code] : exitCode.partial;
}

/** With `--json`, stdout gets one document: the result of the command, or the error that ended it. */
interface Output {
  readonly json: boolean;
  readonly out: Stream;
  /** Writes the collected output. */
  done(): void;
  /** Drops the collected output and writes the error instead. */
  failed(error: unknown): void;
}

/** @param heldAtMost the most characters to collect. Longer output is written at once, so an error leaves it cut off */
function createOutput({ out, secrets }: ProcessWorld, json: boolean, heldAtMost = Infinity): Output {
  if (!json) return { json, out, done: () => {}, failed: () => {} };
  let held = '';
  let isOpen = false;
  const release = () => {
    const text = held;
    held = '';
    return text === '' ? true : out.write(text);
  };
  const write = (text: string) => {
    held += text;
    isOpen ||= held.length > heldAtMost;
    return isOpen ? release() : true;
  };
  const room = (signal: AbortSignal) => waitForRoom(out, signal);
  return {
    json,
    out: { write, room },
    done: () => void release(),
    failed: (error) => {
      if (isOpen) return;
      const { code, message, hint } = errorInJson(error);
      const blot = (text: string) => secrets?.blot(text) ?? text;
      printJson({ out }, { error: { code, message: blot(message), hint: hint && blot(hint) } });
    },
  };
}

/** Reads the seconds of --wait. @returns ms. @throws MusterdError `usage` */
function readWait(seconds: string): number {
  if (!/^\d{1,6}$/.test(seconds))
    throw new MusterdError('usage', `--wait: "${seconds}" is not a number of seconds`, {
      hint: '--wait takes the next word as its value: write it last, or with a number, such as --wait 60.',
    });
  return Number(seconds) * 1000;
}

/** True if --json is given. @throws MusterdError `usage` if the command does not accept it */
function readJson(program: Command, command: Command): boolean {
  if (program.opts()['json'] !== true) return false;
  const hint = withoutJson.get(command.name());
  if (hint !== undefined) throw new MusterdError('usage', `${command.name()} has no --json`, { hint });
  if (command.opts()['markdown'] === true)
    throw new MusterdError('usage', '--json and --markdown cannot be combined', {
      hint: 'Give one of them.',
    });
  return true;
}

async function createContext(
  { env, err, log: stream, secrets: knownSecrets }: ProcessWorld,
  program: Command,
  { json, out }: Output,
  signal: AbortSignal,
  command: Command,
): Promise<Context> {
  const { createLog } = await import('../log.ts');
  const global = program.opts<{ config?: string; team?: string }>();
  const { wait } = command.opts<{ wait?: unknown }>();
  return {
    env,
    version: programVersion(),
    out,
    err,
    signal,
    configFile: global.config,
    team: global.team,
    waitMs: typeof wait === 'string' ? readWait(wait) : undefined,
    json,
    explain: (team, error) => {
      const told = describeDenial(error, fullNameOf(command));
      explain(err, told, team);
      return { code: exitCodeOf(told), told };
    },
    createLog: (level, fallback, secrets) => {
      knownSecrets?.add(secrets);
      return createLog({ level: level ?? fallback, secrets, stream });
    },
  };
}

/** Carries out one command, and handles its failure. */
export async function carryOut(
  world: ProcessWorld,
  json: boolean,
  work: (output: Output, signal: AbortSignal) => Promise<ExitCode>,
  heldAtMost?: number,
): Promise<ExitCode> {
  const output = createOutput(world, json, heldAtMost);
  const stopped = new MusterdError('stopped', 'Stopped on request');
  const crashes: unknown[] = [];
  const stop = listenForStop({
    reason: stopped,
    leaveAtOnce: () => {
      output.failed(crashes[0] ?? stopped);
      world.leave(exitCode.partial);
    },
    onCrash: (error) => {
      crashes.push(error);
      explain(world.err, error);
    },
  });
  try {
    const code = await work(output, stop.signal);
    if (crashes.length === 0) {
      output.done();
      return code;
    }
    output.failed(crashes[0]);
    return exitCode.partial;
  } catch (error) {
    explain(world.err, error);
    output.failed(crashes[0] ?? error);
    return exitCodeOf(error);
  } finally {
    stop.close();
  }
}

function usageError({ code, message }: CommanderError): MusterdError {
  const words = code === 'commander.help' ? 'A command is missing' : message.replace(/^error: /, '');
  return new MusterdError('usage', words.replaceAll('\n', ' '), {
    hint: '"musterd --help" lists the commands.',
  });
}

/** A copy of the world whose stderr hides all secrets. */
function withoutSecrets(world: ProcessWorld): ProcessWorld {
  const { env, err } = world;
  const secrets = createKnownSecrets(env);
  const write = (text: string) => err.write(secrets.blot(text));
  return { ...world, secrets, err: { isTTY: err.isTTY, write } };
}

/** The output of `sql` can be larger than memory, so it is collected only up to this many characters, then written. */
const heldOfAnswers = 65_536;

/** Commands that run until they are stopped. They print themselves that they are running. */
const endless: ReadonlySet<string> = new Set(['daemon', 'emulator', 'demo']);

/** A copy of the world whose terminal shows a sign while the command works without output. */
function withSign(world: ProcessWorld, name: string) {
  const { aside, ...sign } = showUnderWay(world.err, `musterd ${name}`);
  const err = aside(world.err);
  // Before output to a terminal, the progress sign must be erased. Output to a file or a pipe is not shown beside it.
  const out = world.out.isTTY === true ? aside(world.out) : world.out;
  const log =
    world.log ?? (err.isTTY === true ? { write: (line: string) => void err.write(line) } : undefined);
  return { seen: { ...world, err, out, log }, sign };
}

/** @returns the exit code; it never throws */
export async function runCommandLine(given: ProcessWorld): Promise<ExitCode> {
  const world = withoutSecrets(given);
  const { args, out, err } = world;
  let code: ExitCode = exitCode.ok;
  const wire = (command: Command, action: Action) => {
    command.action(async (...passed: unknown[]) => {
      const options = command.opts();
      const words = passed
        .slice(0, -2)
        .flat()
        .flatMap((arg) => (typeof arg === 'string' ? [arg] : []));
      const isSql = command.name() === 'sql';
      const json = readJson(program, command) || (isSql && options['format'] === 'json');
      const isShown = !json && !endless.has(command.name());
      const { seen, sign } = isShown ? withSign(world, command.name()) : { seen: world };
      const work = carryOut(
        seen,
        json,
        async (output, signal) => {
          const context = await createContext(seen, program, output, signal, command);
          return action({ ...context, sign }, options, words).catch((error: unknown) => {
            throw describeDenial(error, fullNameOf(command));
          });
        },
        isSql ? heldOfAnswers : Infinity,
      );
      code = await work.finally(sign?.close);
    });
  };
  const program = createProgram({ version: programVersion(), out, err, wire });
  try {
    if (args[0] === 'complete' && args[1] === '--') {
      await (await import('./complete.ts')).completeWords(program, args.slice(2), world.env);
      return code;
    }
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCode.ok;
    // For a `CommanderError`, the parser has already printed its message on stderr.
    const namedError = error instanceof CommanderError ? usageError(error) : error;
    if (namedError === error) explain(err, error);
    createOutput(world, args.includes('--json')).failed(namedError);
    return exitCodeOf(namedError);
  }
}
