import { readFileSync } from 'node:fs';
import { MusterdError } from '../../errors.ts';
import { printable } from '../../model/in-words.ts';
import { callService, explainRefusal } from '../../runs/call/call-service.ts';
import { findOperation } from '../../service/operation.ts';
import { parseJson } from '../../service/parse-json.ts';
import type { RawRequest } from '../../service/raw-request.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { printJson, printLine } from '../output.ts';
import { readSettings } from '../setup.ts';

interface ApiOptions {
  readonly field?: readonly string[];
  readonly input?: string;
  readonly paginate?: boolean;
  readonly include?: boolean;
}

type Method = Parameters<RawRequest['request']>[0];

const methods: readonly string[] = ['GET', 'POST', 'PUT', 'DELETE'] satisfies readonly Method[];

/** Calls any endpoint, authenticated and within the shared rate limit, and prints the reply as JSON. */
export async function apiCommand(
  context: Context,
  options: ApiOptions,
  args: readonly string[],
): Promise<ExitCode> {
  const [word = '', path = ''] = args;
  const method = word.toUpperCase();
  if (!methods.includes(method))
    throw new MusterdError('usage', `"${word}" is not a method; use one of ${methods.join(', ')}`);
  const body = readBody(options);
  const { effect } = findOperation(method as Method, path);
  const { config, log } = readSettings(context);
  return callService({ config, log, signal: context.signal }, effect, async (service) => {
    if (options.paginate === true) return paginate(context, service, method as Method, path, body);
    const reply = await service.request(method as Method, path, body).catch((error: unknown) => {
      // The error is printed last, where people look first, so the service's reply is added to it.
      throw explainRefusal(error);
    });
    if (options.include === true) {
      printLine(context.out, `HTTP ${reply.status}`);
      for (const [name, value] of Object.entries(reply.headers)) {
        for (const text of [value].flat()) printLine(context.out, printable(`${name}: ${String(text)}`));
      }
      printLine(context.out, '');
    }
    printJson(context, reply.value);
    return exitCode.ok;
  });
}

async function paginate(
  context: Context,
  service: RawRequest,
  method: Method,
  path: string,
  body: unknown,
): Promise<ExitCode> {
  if (body !== undefined && (typeof body !== 'object' || body === null || Array.isArray(body))) {
    throw new MusterdError('usage', '--paginate needs a JSON object as body, and adds the page to it');
  }
  const listing = await service.requestPages(method, path, (body ?? {}) as Readonly<Record<string, unknown>>);
  printJson(
    context,
    listing.rows.map(({ row }) => row),
  );
  for (const { reason, excerpt } of listing.rejected)
    printLine(context.err, printable(`row left out: ${reason}: ${excerpt}`));
  if (listing.status === 'complete') return exitCode.ok;
  printLine(context.err, `musterd: The listing is incomplete: ${listing.because}`);
  return exitCode.partial;
}

function readBody({ field, input }: ApiOptions): unknown {
  if (input !== undefined && field !== undefined)
    throw new MusterdError('usage', 'Give either --input or --field');
  if (input !== undefined) return parseInput(readText(input), input);
  if (field === undefined) return undefined;
  const body: Record<string, unknown> = {};
  for (const text of field) {
    const equals = text.indexOf('=');
    if (equals < 1) throw new MusterdError('usage', `--field "${text}" is not of the form key=value`);
    setField(body, parseKey(text.slice(0, equals)), parseValue(text.slice(equals + 1)));
  }
  return body;
}

function readText(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new MusterdError('usage', `${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

function parseInput(text: string, what: string): unknown {
  try {
    return parseJson(text).value;
  } catch (error) {
    throw new MusterdError('usage', `${what} is not JSON: ${error instanceof Error ? error.message : ''}`);
  }
}

/**
 * Reads a value of the command line. `true`, `false`, `null` and integers become JSON values, `@file` becomes the text
 * of that file, and everything else stays text.
 */
export function parseValue(text: string): unknown {
  if (text === 'true' || text === 'false' || text === 'null') return JSON.parse(text);
  if (/^-?(0|[1-9]\d*)$/.test(text)) return Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text);
  return text.startsWith('@') ? readText(text.slice(1)) : text;
}

/** Splits `filters[inboxes][]` into `['filters', 'inboxes', '']`. An empty last step appends to a list. */
export function parseKey(key: string): readonly string[] {
  const match = /^([^[\]]+)((?:\[[^[\]]*\])*)$/.exec(key);
  if (match === null)
    throw new MusterdError('usage', `--field: "${key}" is not a valid key: use name, name[part] or name[]`);
  return [match[1] ?? '', ...[...(match[2] ?? '').matchAll(/\[([^[\]]*)\]/g)].map(([, step]) => step ?? '')];
}

export function setField(body: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [step = '', next, ...rest] = path;
  if (next === undefined) {
    body[step] = value;
    return;
  }
  if (next === '') {
    if (rest.length > 0) throw new MusterdError('usage', '--field: [] is allowed only at the end of a key');
    const list = body[step];
    body[step] = [...(Array.isArray(list) ? (list as unknown[]) : []), value];
    return;
  }
  const inner = body[step];
  const object = { ...(typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? inner : {}) };
  setField(object as Record<string, unknown>, [next, ...rest], value);
  body[step] = object;
}
