/** Reads settings from the environment. */
import { readFileSync } from 'node:fs';
import { type Assignment, type Complaint, invalid } from './complaints.ts';
import { suggestion } from './nearest.ts';
import { type Environment, isSection, type Path } from './raw-settings.ts';
import { judgeMode } from './secret-files.ts';

/** Variables with a name of their own, and their settings. With `_FILE` appended, they name a file with the value. */
export const ownVariables: Readonly<Record<string, Path>> = {
  DATABASE_URL: ['database', 'url'],
  MUSTERD_DATA_DIR: ['database', 'dataDir'],
  MUSTERD_BASE_URL: ['service', 'baseUrl'],
  MUSTERD_SECRET_ID: ['service', 'secretId'],
  MUSTERD_SECRET_KEY: ['service', 'secretKey'],
  MUSTERD_NEXT_SECRET_ID: ['service', 'nextSecretId'],
  MUSTERD_NEXT_SECRET_KEY: ['service', 'nextSecretKey'],
  MUSTERD_API_KEY: ['service', 'apiKey'],
  MUSTERD_CA_FILE: ['service', 'caFile'],
  MUSTERD_NOTIFY_URL: ['notify', 'url'],
  MUSTERD_NOTIFY_SECRET: ['notify', 'secret'],
};

const prefix = 'MUSTERD__';

/** Variables that are not settings: they choose the file or team, name the person, or serve `config/compose.yaml`. */
const others = ['MUSTERD_CONFIG', 'MUSTERD_TEAM', 'MUSTERD_ACTOR', 'MUSTERD_IMAGE', 'MUSTERD_PASSWORD_FILE'];

const ownNames: readonly string[] = [
  ...Object.keys(ownVariables),
  ...Object.keys(ownVariables).map((name) => `${name}_FILE`),
  ...others,
];

/** True for variables that Kubernetes or container links set for a service called `musterd` or `musterd-…`. */
function isOfService(name: string, value: string): boolean {
  return (
    /_SERVICE_(HOST|PORT(_\w+)?)$/.test(name) ||
    /_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(name) ||
    (name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value))
  );
}

/**
 * Complaints about variables that begin with `MUSTERD_` but set nothing, because a person may expect them to take effect.
 * @param inFile the variables that the settings file refers to
 * @param settings all settings, such as `push.batchSize`
 */
export function strangersAmong(
  env: Environment,
  inFile: ReadonlySet<string>,
  settings: readonly string[],
): readonly Complaint[] {
  const knownNames = [...ownNames, ...settings.map((path) => prefix + path.replaceAll('.', '__'))];
  return Object.entries(env).flatMap(([name, value = '']) => {
    if (!name.startsWith('MUSTERD_') || name.startsWith(prefix)) return [];
    if (ownNames.includes(name) || inFile.has(name) || isOfService(name, value)) return [];
    return [{ where: name, message: `there is no such variable${suggestion(name, knownNames)}` }];
  });
}

/** @throws MusterdError `configuration` */
export function readText(path: string, what: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw invalid(`${what}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** Reads a value: a list or an object is written as JSON, every other value is taken literally. */
function parseValue(name: string, text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    // The error's own message repeats the text, which may be a secret.
    throw invalid(`${name}: begins like a list or a mapping, and is not JSON`);
  }
}

/** The variables that hold a secret, and whose `_FILE` form names a file with the secret. */
const secrets = [
  'DATABASE_URL',
  'MUSTERD_SECRET_KEY',
  'MUSTERD_NEXT_SECRET_KEY',
  'MUSTERD_API_KEY',
  'MUSTERD_NOTIFY_URL',
  'MUSTERD_NOTIFY_SECRET',
];

/** Complaints about secret files, and a settings file with secrets, that other accounts can read, write or replace. */
export function openFilesOf(
  env: Environment,
  settings: string | undefined,
): readonly (Complaint & { readonly refused: boolean })[] {
  const files = secrets.map((name) => [`${name}_FILE`, env[`${name}_FILE`]] as const);
  return [...files, ['settings', settings] as const].flatMap(([where, path]) => {
    const open = path ? judgeMode(path, env) : undefined;
    return open === undefined ? [] : [{ where, ...open }];
  });
}

/** Splits the settings of a whole team, which are given as JSON, into assignments for each section. */
function bySection({ path, value, name }: Assignment): readonly Assignment[] {
  if (path[0] !== 'teams' || path.length > 2) return [{ path, value, name }];
  if (!isSection(value)) throw invalid(`${name}: a mapping of settings is expected, as JSON`);
  return Object.entries(value).flatMap(([key, inner]) =>
    bySection({ path: [...path, key], value: inner, name }),
  );
}

/** The settings in environment variables, in ascending order of precedence. @throws MusterdError `configuration` */
export function readEnvironment(env: Environment): readonly Assignment[] {
  const general = Object.entries(env).flatMap(([name, text]) => {
    if (text === undefined || !name.startsWith(prefix)) return [];
    const path = name.slice(prefix.length).split('__');
    return bySection({ path, value: parseValue(name, text), name });
  });
  const own = Object.entries(ownVariables).flatMap(([name, path]) => {
    const file = env[`${name}_FILE`];
    if (file && env[name]) throw invalid(`${name} and ${name}_FILE are both set: unset one of them`);
    if (file) return [{ path, value: readText(file, `${name}_FILE`).trim(), name: `${name}_FILE` }];
    const value = env[name];
    return value ? [{ path, value, name }] : [];
  });
  return [...general, ...own];
}
