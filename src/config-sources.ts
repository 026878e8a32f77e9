/** Where settings come from: a YAML file, then the environment, which wins. Every complaint says where. */
import { readFileSync } from 'node:fs';
import { LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { type Config, configSchema } from './config.ts';
import { MusterdError } from './errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Path = readonly PropertyKey[];
/** What a setting is called where it was set, by its path. */
type Origins = Map<string, string>;

/** Environment variables with a name of their own. Each can also end in `_FILE`. */
const named: Readonly<Record<string, Path>> = {
  DATABASE_URL: ['database', 'url'],
  MUSTERD_DATA_DIR: ['database', 'dataDir'],
  MUSTERD_BASE_URL: ['service', 'baseUrl'],
  MUSTERD_SECRET_ID: ['service', 'secretId'],
  MUSTERD_SECRET_KEY: ['service', 'secretKey'],
  MUSTERD_NEXT_SECRET_ID: ['service', 'nextSecretId'],
  MUSTERD_NEXT_SECRET_KEY: ['service', 'nextSecretKey'],
  MUSTERD_API_KEY: ['service', 'apiKey'],
  MUSTERD_CA_FILE: ['service', 'caFile'],
};

const prefix = 'MUSTERD__';

function invalid(message: string, hint?: string): MusterdError {
  return new MusterdError('configuration', message, hint === undefined ? {} : { hint });
}

function readText(path: string, what: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw invalid(`${what}: ${path} can not be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

function setAt(target: Record<string, unknown>, path: Path, value: unknown): void {
  const [first, ...rest] = path.map(String);
  if (first === undefined) return;
  if (rest.length === 0) {
    target[first] = value;
    return;
  }
  const next = typeof target[first] === 'object' && target[first] !== null ? target[first] : {};
  target[first] = { ...next };
  setAt(target[first] as Record<string, unknown>, rest, value);
}

/** Lists and objects are written as JSON; everything else is taken as it stands. */
function parseValue(name: string, text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalid(`${name}: ${error instanceof Error ? error.message : 'no JSON'}`);
  }
}

/** A section with everything commented out is no setting. */
function withoutEmpty(settings: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null));
}

interface FromFile {
  readonly settings: Record<string, unknown>;
  readonly locate: (path: Path) => string;
}

function readConfigFile(path: string): FromFile {
  const lines = new LineCounter();
  const document = parseDocument(readText(path, 'The configuration'), {
    lineCounter: lines,
    prettyErrors: false,
  });
  const [broken] = document.errors;
  if (broken !== undefined) {
    const { line, col } = lines.linePos(broken.pos[0]);
    throw invalid(`${path}:${line}:${col}: ${broken.message}`);
  }
  const settings: unknown = document.toJS() ?? {};
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings)) {
    throw invalid(`${path}: a mapping of settings is expected`);
  }
  const locate = (at: Path): string => {
    for (let depth = at.length; depth > 0; depth -= 1) {
      const node = document.getIn(at.slice(0, depth), true) as { range?: readonly number[] } | undefined;
      if (node?.range?.[0] !== undefined) {
        const { line, col } = lines.linePos(node.range[0]);
        return `${path}:${line}:${col}`;
      }
    }
    return path;
  };
  return { settings: withoutEmpty(settings), locate };
}

function readEnvironment(env: Environment, settings: Record<string, unknown>, origins: Origins): void {
  const set = (path: Path, value: unknown, name: string) => {
    setAt(settings, path, value);
    origins.set(path.join('.'), name);
  };
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || !name.startsWith(prefix)) continue;
    set(name.slice(prefix.length).split('__'), parseValue(name, value), name);
  }
  for (const [name, path] of Object.entries(named)) {
    const file = env[`${name}_FILE`];
    if (file) set(path, readText(file, `${name}_FILE`).trim(), `${name}_FILE`);
    else if (env[name]) set(path, env[name], name);
  }
}

/** One complaint per unknown key, each where that key was set. */
function complaintsOf(issue: z.core.$ZodIssue): readonly { readonly path: Path; readonly message: string }[] {
  if (issue.code !== 'unrecognized_keys') return [issue];
  return issue.keys.map((key) => ({ path: [...issue.path, key], message: 'there is no such setting' }));
}

function describeIssue(issue: z.core.$ZodIssue, origins: Origins, locate: (path: Path) => string): string {
  const describe = ({ path, message }: { readonly path: Path; readonly message: string }) => {
    const dotted = path.map(String).join('.');
    const origin = [...origins].find(
      ([at]) => at === dotted || at.startsWith(`${dotted}.`) || dotted.startsWith(`${at}.`),
    )?.[1];
    return `${origin ?? `${locate(path)}: ${dotted}`}: ${message}`;
  };
  return complaintsOf(issue).map(describe).join('\n');
}

/**
 * @param file the YAML file, if any
 * @throws MusterdError `configuration`, with file, line and column or the variable's name
 */
export function loadConfig(file: string | undefined, env: Environment): Config {
  const path = file ?? (env['MUSTERD_CONFIG'] || undefined);
  const from = path === undefined ? { settings: {}, locate: () => 'settings' } : readConfigFile(path);
  const settings = structuredClone(from.settings);
  const origins: Origins = new Map();
  readEnvironment(env, settings, origins);
  const parsed = configSchema.safeParse(settings);
  if (!parsed.success) {
    throw invalid(
      parsed.error.issues.map((issue) => describeIssue(issue, origins, from.locate)).join('\n'),
      'README.md lists all settings.',
    );
  }
  return parsed.data;
}
