#!/usr/bin/env node
/** argv → command; the only place that exits, and the one place where errors become words for a person. */
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import type { Action, Adding } from './commands/add-commands.ts';
import { type Context, type ExitCode, exitCode } from './commands/context.ts';
import { addHoldingCommands } from './commands/holding-commands.ts';
import { addReadingCommands } from './commands/reading-commands.ts';
import { type ErrorCode, MusterdError, ServiceError } from './errors.ts';
import { createLog } from './log.ts';
import { listenForStop } from './stop.ts';

const exitCodes: Readonly<Record<ErrorCode, ExitCode>> = {
  usage: exitCode.usage,
  configuration: exitCode.configuration,
  'wrong-team': exitCode.configuration,
  'lease-held': exitCode.busy,
  'lease-lost': exitCode.partial,
  credentials: exitCode.credentials,
  service: exitCode.partial,
  mirror: exitCode.partial,
  stopped: exitCode.partial,
};

function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return (manifest as { version: string }).version;
}

/** @param who the team that it is about, where there are several */
function explain(error: unknown, who?: string): void {
  const start = who === undefined ? 'musterd' : `musterd: ${who}`;
  const write = (text: string) => process.stderr.write(`${text}\n`);
  if (!(error instanceof Error)) {
    write(`${start}: ${String(error)}`);
    return;
  }
  if (!(error instanceof MusterdError)) {
    write(`${start}: something that should not happen did: ${error.stack ?? error.message}`);
    return;
  }
  write(`${start}: ${error.message}`);
  if (error instanceof ServiceError && error.requestId !== undefined)
    write(`  X-Request-Id: ${error.requestId}`);
  if (error.hint !== undefined) write(`  ${error.hint}`);
}

function exitCodeOf(error: unknown): ExitCode {
  return error instanceof MusterdError ? exitCodes[error.code] : exitCode.partial;
}

function createContext(program: Command, options: Record<string, unknown>, signal: AbortSignal): Context {
  const global = program.opts<{ config?: string; team?: string }>();
  return {
    env: process.env,
    version: version(),
    out: process.stdout,
    err: process.stderr,
    signal,
    configFile: global.config,
    team: global.team,
    json: options['json'] === true,
    explain: (team, error) => {
      explain(error, team);
      return exitCodeOf(error);
    },
    createLog: (level, fallback, secrets) => createLog({ level: level ?? fallback, secrets }),
  };
}

/** Wires a command to its module, which is loaded only when it is called. */
function wire(program: Command, command: Command, action: Action): void {
  command.action(async (...given: unknown[]) => {
    const options = command.opts();
    const args = given.slice(0, -2).flatMap((arg) => (typeof arg === 'string' ? [arg] : []));
    const stop = listenForStop({
      reason: new MusterdError('stopped', 'Asked to stop'),
      leaveAtOnce: () => process.exit(exitCode.partial),
      onCrash: explain,
    });
    try {
      const code = await action(createContext(program, options, stop.signal), options, args);
      process.exitCode = stop.crashed ? exitCode.partial : code;
    } finally {
      stop.close();
    }
  });
}

const collect = (value: string, all: readonly string[] = []) => [...all, value];

function addEmulatorOptions(command: Command): Command {
  return command
    .option('--users <n>', 'users of the team', '200')
    .option('--tags <n>', 'tags', '1200')
    .option('--fields <n>', 'contact fields', '60')
    .option('--contacts <n>', 'contacts', '312456')
    .option('--surveys <n>', 'surveys', '3')
    .option('--team <id>', 'id of the team', '41')
    .option('--secret <id:key>', 'an API Secret; at most two', collect)
    .option('--api-key <key>', 'the legacy team API key')
    .option('--port <n>', 'port; 0: any free one', '0')
    .option('--http', 'plain HTTP, on loopback only')
    .option('--seed <n>', 'what the content follows from', '1')
    .option('--rate <n>', 'requests a minute; 0: no limit', '500')
    .option('--state <file>', 'read the teams from this file if it is there, and keep them in it')
    .option('--authority <file>', 'write the certificate authority to this file')
    .option(
      '--control-token <token>',
      'what the control endpoint asks for; without it, it answers loopback alone',
    )
    .option(
      '--variant <name=value>',
      'how a deployment differs where the interface is silent; repeatable',
      collect,
    )
    .option('--fault <kind,name=value,…>', 'what goes wrong, and when; repeatable', collect)
    .option('--list', 'list the variants and faults');
}

/** The commands that look at the service itself. */
function addServiceCommands({ add, json }: Adding<Command>): void {
  const api = add(
    'api <method> <path>',
    'one call of any endpoint, authenticated and within the rate; JSON out',
    async (context, options, args) => (await import('./commands/api.ts')).apiCommand(context, options, args),
  );
  api
    .option(
      '--field <key=value>',
      'a field of the JSON body: a=1, a[b]=x, a[]=x, a=@file; repeatable',
      collect,
    )
    .option('--input <file>', 'the JSON body; - for stdin')
    .option('--paginate', 'all pages of a listing, as one list')
    .option('-i, --include', 'status and headers first');
  const check = json(
    add(
      'check',
      'the doctor: settings, database, credentials, clock, and what the interface leaves open',
      async (context, options) => (await import('./commands/check.ts')).checkCommand(context, options),
    ),
  );
  check.option(
    '--write-probe <user>',
    'also test what an update does, on this user (id, email or phone); restores it',
  );
}

function createProgram(): Command {
  const program = new Command('musterd')
    .description(
      "Keeps a messaging team's users, tags, contact fields and contact counts equal to a Postgres mirror, both ways.",
    )
    .version(version())
    .option('--config <file>', 'settings, YAML (or MUSTERD_CONFIG)')
    .option('--team <name>', 'one team of several (or MUSTERD_TEAM)')
    .showHelpAfterError('(musterd --help lists what there is)')
    .exitOverride();
  const json = (command: Command) => command.option('--json', 'JSON instead of words');
  const add = (name: string, description: string, action: Action) => {
    const command = program.command(name).description(description).exitOverride();
    wire(program, command, action);
    return command;
  };
  json(
    add('reconcile', 'one complete run, both ways', async (context, options) =>
      (await import('./commands/reconcile.ts')).reconcileCommand(context, options),
    ),
  ).option('--wait <seconds>', 'how long to wait for another run to end; else exit 75 at once');
  json(
    add('plan', 'what a run would do; writes nothing on either side', async (context, options) =>
      (await import('./commands/plan.ts')).planCommand(context, options),
    ),
  )
    .option('--exit-code', 'exit 2 if there are changes')
    .option('--markdown', 'as Markdown, a section per user');
  add('daemon', 'reconcile now and on a schedule', async (context) =>
    (await import('./commands/daemon.ts')).daemonCommand(context),
  );
  json(
    add('status', 'how the mirror stands', async (context) =>
      (await import('./commands/status.ts')).statusCommand(context),
    ),
  );
  json(
    add('migrate', 'bring the schema up to date', async (context) =>
      (await import('./commands/migrate.ts')).migrateCommand(context),
    ),
  );
  const lookups = program.command('lookups').description('addresses to look users up by').exitOverride();
  const addLookups = json(
    lookups
      .command('add <file>')
      .description('add them from a file, one per line; - for stdin')
      .exitOverride(),
  );
  wire(program, addLookups, async (context, _, [file = '-']) =>
    (await import('./commands/lookups.ts')).addLookupsCommand(context, file),
  );
  addReadingCommands<Command>({ add, json });
  addServiceCommands({ add, json });
  addHoldingCommands<Command>({ add, json });
  addEmulatorOptions(
    add('emulator', 'the service, played on this machine, to rehearse on', async (context, options) =>
      // Its --team is the id of a team; the option of that name for all commands takes it away.
      (await import('./commands/emulator.ts')).emulatorCommand(context, {
        ...options,
        team: context.team ?? options['team'],
      }),
    ),
  );
  add('demo', 'the whole story on a service and a mirror of its own', async (context, options) =>
    (await import('./commands/demo.ts')).demoCommand(context, options),
  ).option('--serve', 'keep everything running at the end');
  return program;
}

/** A reader that has gone away is no reason to fail, and neither are words that find no room. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return;
  process.stderr.write(`musterd: the result could not be written: ${error.message}\n`);
  process.exitCode = exitCode.partial;
  process.on('exit', () => {
    process.exitCode = exitCode.partial;
  });
});
process.stderr.on('error', () => undefined);

try {
  await createProgram().parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? exitCode.ok : exitCode.usage;
  else {
    explain(error);
    process.exitCode = exitCodeOf(error);
  }
}
