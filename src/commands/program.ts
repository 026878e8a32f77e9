/** Declares the commands with their arguments and options. The caller connects each command to its action. */
import { Argument, Command } from 'commander';
import { MusterdError } from '../errors.ts';
import { type Action, type Adding, waitOption } from './add-commands.ts';
import type { Stream } from './context.ts';
import { addDirectCommands } from './call/direct-commands.ts';
import { addFileCommands } from './files/file-commands.ts';
import { type HelpGroup, helpBelow, overviewOf, shells, withoutJson } from './help.ts';
import { addHoldingCommands, addReturningCommands } from './decide/holding-commands.ts';
import { addReadingCommands } from './look/reading-commands.ts';

const collect = (value: string, all: readonly string[] = []) => [...all, value];

function addEmulatorOptions(command: Command): Command {
  return command
    .option('--users <n>', 'users of the team', '200')
    .option('--tags <n>', 'tags', '1200')
    .option('--fields <n>', 'contact fields', '60')
    .option('--surveys <n>', 'surveys', '3')
    .option('--secret <id:key>', 'an API Secret; at most two', collect)
    .option('--api-key <key>', 'the legacy team API key')
    .option('--port <n>', 'port; 0: any free one', '0')
    .option('--host <address>', 'address to listen on; anything but loopback requires HTTPS', '127.0.0.1')
    .option('--name <name>', 'host name that clients use: for the certificate and the printed address')
    .option('--http', 'plain HTTP, on loopback only')
    .option('--seed <n>', 'seed of the random content', '1')
    .option('--rate <n>', 'requests a minute; 0: no limit', '500')
    .option('--state <file>', 'keep the teams in this file, and load them from it if it exists')
    .option(
      '--control-token <token>',
      'token that the control endpoint requires; without one it answers loopback only',
    )
    .option(
      '--variant <name=value>',
      'how this deployment behaves where the interface is silent; repeatable',
      collect,
    )
    .option('--fault <kind,name=value,…>', 'what should go wrong, and when; repeatable', collect)
    .option('--list', 'list the variants and faults, and which requests a fault can be played on');
}

/** Loads a command that needs the emulator. In the container image, which lacks the emulator, it reports that. */
async function loadEmulated<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    const hint = 'Start the emulator outside the container, from the npm package or a checkout.';
    throw new MusterdError('usage', 'The emulator is not in this image', { hint, cause });
  }
}

/** Commands that need neither the service nor a mirror: they start an emulated service and a temporary mirror. */
function addRehearsal({ add, group }: Adding<Command>): void {
  group('Rehearse');
  addEmulatorOptions(
    add(
      'emulator',
      'emulate the service on this machine, for rehearsals; --team is the id of its team',
      async (context, options) =>
        (await loadEmulated(() => import('./rehearse/emulator.ts'))).emulatorCommand(context, options),
    ),
  );
  add('demo', 'run the whole story on an emulated service and an empty mirror', async (context, options) =>
    (await loadEmulated(() => import('./rehearse/demo.ts'))).demoCommand(context, options),
  ).option('--serve', 'keep everything running at the end, with a page, and say what to try');
}

function addPlan({ add }: Adding<Command>): void {
  add('plan', 'show what a run would do; writes nothing on either side', async (context, options) =>
    (await import('./look/plan.ts')).planCommand(context, options),
  )
    .option('--exit-code', 'exit 2 if there are changes')
    .option('--markdown', 'print Markdown, one section per user');
}

/** Commands that call the service directly. */
function addServiceCommands({ add, group }: Adding<Command>): void {
  group('Look');
  const api = add(
    'api <method> <path>',
    'call any endpoint, with authentication and rate limit; prints JSON',
    async (context, options, args) => (await import('./call/api.ts')).apiCommand(context, options, args),
  );
  api
    .option(
      '--field <key=value>',
      'a field of the JSON body: a=1, a[b]=x, a[]=x, a=@file; repeatable',
      collect,
    )
    .option('--input <file>', 'the JSON body; - for stdin')
    .option('--paginate', 'fetch all pages of a listing, as one list')
    .option('-i, --include', 'print status and headers first');
  const check = add(
    'check',
    'check settings, database, credentials, clock, and how this service behaves',
    async (context, options) => (await import('./set-up/check.ts')).checkCommand(context, options),
  );
  check.option(
    '--write-probe <user>',
    'also test what an update does, on this user (id, email or phone); restores it',
  );
  check.option('--notify-probe', 'also post a test to notify.url');
}

/** If the word after `--wait` is not a number, makes it the argument of the command: `sql --write --wait 'update …'`. */
function keepOwnWord(command: Command): void {
  const parse = command.parseOptions.bind(command);
  command.parseOptions = (args) => {
    const wait = command.options.find(({ long }) => long === '--wait');
    const words = command.registeredArguments;
    const at = args.indexOf('--wait');
    const isOwn = at !== -1 && /^(?:-$|[^-\d])/.test(args[at + 1] ?? '');
    if (wait?.optional !== true || words.length !== 1 || words[0]?.variadic !== false || !isOwn)
      return parse(args);
    command.setOptionValue('wait', true);
    return parse(args.toSpliced(at, 1));
  };
}

/** Makes a command print how it is used below an error about its arguments. */
function showUsage(command: Command): void {
  const fail = command.error.bind(command);
  command.error = (message, options) => {
    command.showHelpAfterError(`Usage: ${fullNameOf(command)} ${command.usage()}`);
    return fail(message, options);
  };
}

/** The full name of a command as it is typed, such as `musterd tag create`. */
export const fullNameOf = (command: Command): string =>
  command.parent === null ? command.name() : `${fullNameOf(command.parent)} ${command.name()}`;

/** The help of the program is the overview. The help of a command also lists the global options that it accepts. */
function setUpHelp(program: Command): void {
  const showGlobalOptions = true;
  const ofCommand = Object.assign(program.createHelp(), { showGlobalOptions });
  program.configureHelp({
    showGlobalOptions,
    visibleGlobalOptions: (command) =>
      ofCommand
        .visibleGlobalOptions(command)
        .filter(({ long }) => long !== '--json' || !withoutJson.has(command.name())),
    formatHelp: (command, helper) =>
      command === program ? overviewOf(program) : ofCommand.formatHelp(command, helper),
  });
}

export interface ProgramOptions {
  /** The version of musterd. */
  readonly version: string;
  /** The streams for help (`out`), and for messages about wrong usage (`err`). */
  readonly out: Stream;
  readonly err: Stream;
  /** Connects a command to the action to run when it is called. */
  readonly wire: (command: Command, action: Action) => void;
}

export function createProgram({ version, out, err, wire }: ProgramOptions): Command {
  const program = new Command('musterd')
    .configureOutput({ writeOut: (text) => void out.write(text), writeErr: (text) => void err.write(text) })
    .description('Keeps a messaging team equal to a Postgres mirror that you can edit, both ways.')
    .version(version)
    .option('--config <file>', 'settings, YAML (or MUSTERD_CONFIG)')
    .option('--team <name>', 'one team of several (or MUSTERD_TEAM)')
    .option('--json', 'print JSON instead of text')
    .showHelpAfterError('(musterd --help lists the commands)')
    .exitOverride();
  setUpHelp(program);
  const group = (name: HelpGroup) => void program.commandsGroup(`${name}:`);
  const below =
    (parent: Command, path = '') =>
    (name: string, description: string, action: Action, isDefault = false) => {
      const command = parent.command(name, { isDefault }).description(description);
      command.addHelpText('after', () => helpBelow(`${path} ${command.name()}`.trim()));
      keepOwnWord(command);
      showUsage(command);
      wire(command, action);
      return command;
    };
  const add = below(program);
  const family = (name: string, description: string) =>
    below(
      program
        .command(name)
        .description(description)
        .addHelpText('after', () => helpBelow(name)),
      name,
    );
  group('Run');
  add('reconcile', 'do one complete run, both ways', async (context) =>
    (await import('./sync/reconcile.ts')).reconcileCommand(context),
  ).option(...waitOption);
  group('Look');
  addPlan({ add, group });
  group('Run');
  add('daemon', 'reconcile now, on a schedule, and after each edit', async (context) =>
    (await import('./sync/daemon.ts')).daemonCommand(context),
  );
  group('Look');
  add('status', 'show the state of the mirror', async (context) =>
    (await import('./look/status.ts')).statusCommand(context),
  );
  const adding = { add, group };
  group('Run');
  add('migrate', 'bring the schema up to date', async (context, options) =>
    (await import('./set-up/migrate.ts')).migrateCommand(context, options),
  ).option(
    '--drop-requests <file>',
    'write the messages, tags and read conversations that 0.1.0 has left open in SQL to this file, and drop them',
  );
  addReadingCommands<Command>(adding);
  addServiceCommands(adding);
  addHoldingCommands<Command>(adding);
  addDirectCommands<Command>({ ...adding, family });
  addFileCommands<Command>(adding, collect);
  addReturningCommands<Command>(adding);
  group('Look');
  program.helpCommand(true);
  add('completion', 'print a completion script for your shell', async (context, _, [shell]) =>
    (await import('./complete.ts')).completionCommand(context, shell),
  ).addArgument(new Argument('<shell>', 'your shell').choices(shells));
  addRehearsal(adding);
  return program;
}
