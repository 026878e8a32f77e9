import { isIP } from 'node:net';
import { createEmulator } from '../../emulator/create-emulator.ts';
import {
  describeMatches,
  faultKinds,
  faultSettings,
  faultTable,
  parseFaults,
} from '../../emulator/faults/faults.ts';
import type { TeamSecret, EmulatorOptions } from '../../emulator/options.ts';
import { parseVariants, variantNames, variantTable, variantValues } from '../../emulator/faults/variants.ts';
import { MusterdError } from '../../errors.ts';
import { quoted } from '../../model/in-words.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { printLine } from '../output.ts';

function usage(message: string, cause?: unknown): MusterdError {
  return new MusterdError('usage', message, {
    hint: '"musterd emulator --help" and "--list" show the options.',
    cause,
  });
}

function whole(options: Record<string, unknown>, name: string): number {
  const text = String(options[name]);
  if (!/^\d{1,12}$/.test(text)) throw usage(`--${name}: "${text}" is not a whole number`);
  return Number(text);
}

function text(options: Record<string, unknown>, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
}

function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function parseSecret(text: string): TeamSecret {
  const colon = text.indexOf(':');
  if (colon < 1 || colon === text.length - 1) throw usage(`--secret: "${text}" is not of the form id:key`);
  return { id: text.slice(0, colon), key: text.slice(colon + 1) };
}

/** Checks that a text is a host name or an IP address that fits in certificates and URLs. */
function checkName(text: string): string {
  if (isIP(text) === 0 && !/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(text))
    throw usage(`--name: "${text}" is not the name of a host`);
  return text;
}

function readOptions(options: Record<string, unknown>, team = '41'): EmulatorOptions {
  const secrets = strings(options['secret']).map(parseSecret);
  const name = text(options, 'name');
  return {
    teamId: whole({ team }, 'team'),
    users: whole(options, 'users'),
    tags: whole(options, 'tags'),
    fields: whole(options, 'fields'),
    surveys: whole(options, 'surveys'),
    port: whole(options, 'port'),
    seed: whole(options, 'seed'),
    ratePerMinute: whole(options, 'rate'),
    secrets: secrets.length > 0 ? secrets : undefined,
    host: text(options, 'host'),
    hostName: name === undefined ? undefined : checkName(name),
    apiKey: text(options, 'apiKey'),
    stateFile: text(options, 'state'),
    controlToken: text(options, 'controlToken'),
    http: options['http'] === true,
    variants: parseVariants(strings(options['variant'])),
    faults: parseFaults(strings(options['fault'])),
  };
}

/** Describes all variants and faults, for `musterd emulator --list`. */
function describePlays(): string {
  const variants = variantNames.map((name) => {
    const { default: usual, plays } = variantTable[name];
    return `  ${name}=${variantValues(name)}\n      ${plays} The default is ${usual}.`;
  });
  const faults = faultKinds.map(
    (kind) => `  ${kind} ${faultSettings(kind)}\n      ${faultTable[kind].plays}`,
  );
  return ['Variants:', ...variants, '', 'Faults:', ...faults, '', describeMatches()].join('\n');
}

/** Emulates the service until the process is asked to stop. Once ready, prints the environment variables to paste. */
export async function emulatorCommand(context: Context, options: Record<string, unknown>): Promise<ExitCode> {
  if (options['list'] === true) {
    printLine(context.out, describePlays());
    return exitCode.ok;
  }
  const started = async () => {
    try {
      return await createEmulator(readOptions(options, context.team));
    } catch (error) {
      if (error instanceof MusterdError) throw error;
      throw usage(error instanceof Error ? error.message : String(error), error);
    }
  };
  const emulator = await started();
  for (const [name, value] of Object.entries(emulator.environment))
    printLine(context.out, `export ${name}=${quoted(value)}`);
  if (!context.signal.aborted) {
    await new Promise<void>((resolve) =>
      context.signal.addEventListener('abort', () => resolve(), { once: true }),
    );
  }
  await emulator.close();
  return exitCode.ok;
}
