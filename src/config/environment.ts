/** What the environment says of the settings. */
import { readFileSync } from 'node:fs';
import { type Assignment, invalid } from './complaints.ts';
import { type Environment, isSection, type Path } from './raw-settings.ts';

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

/** @throws MusterdError `configuration` */
export function readText(path: string, what: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw invalid(`${what}: ${path} can not be read (${(error as NodeJS.ErrnoException).code})`);
  }
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

/** Whole teams, given as JSON, section by section. */
function bySection({ path, value, name }: Assignment): readonly Assignment[] {
  if (path[0] !== 'teams' || path.length > 2) return [{ path, value, name }];
  if (!isSection(value)) throw invalid(`${name}: a mapping of settings is expected, as JSON`);
  return Object.entries(value).flatMap(([key, inner]) =>
    bySection({ path: [...path, key], value: inner, name }),
  );
}

/** All that it says, the stronger later. @throws MusterdError `configuration` */
export function readEnvironment(env: Environment): readonly Assignment[] {
  const general = Object.entries(env).flatMap(([name, text]) => {
    if (text === undefined || !name.startsWith(prefix)) return [];
    const path = name.slice(prefix.length).split('__');
    return bySection({ path, value: parseValue(name, text), name });
  });
  const own = Object.entries(named).flatMap(([name, path]) => {
    const file = env[`${name}_FILE`];
    if (file) return [{ path, value: readText(file, `${name}_FILE`).trim(), name: `${name}_FILE` }];
    const value = env[name];
    return value ? [{ path, value, name }] : [];
  });
  return [...general, ...own];
}
