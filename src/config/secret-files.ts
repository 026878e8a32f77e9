/** Reads secrets from the files that settings name. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, isAbsolute, relative, resolve } from 'node:path';
import { type Complaint, complain, type Origins } from './complaints.ts';
import {
  type Environment,
  hasSetting,
  isSection,
  type Path,
  type RawSettings,
  withoutSetting,
  withSetting,
} from './raw-settings.ts';

interface Pair {
  readonly value: Path;
  /** The setting that names the file. */
  readonly file: Path;
}

const pairAt = (path: readonly string[]): Pair => ({
  value: path,
  file: [...path.slice(0, -1), `${path.at(-1)}File`],
});

const pairs: readonly Pair[] = [
  ['service', 'secretKey'],
  ['service', 'nextSecretKey'],
].map(pairAt);

/** The fixed pairs of settings (a value, and a file with it), and such a pair for the token of each person. */
function pairsIn({ status }: RawSettings): readonly Pair[] {
  const people = isSection(status) ? status['people'] : undefined;
  const names = isSection(people) ? Object.keys(people) : [];
  return [...pairs, ...names.map((name) => pairAt(['status', 'people', name, 'token']))];
}

const valueAt = (settings: unknown, path: Path): unknown =>
  path.reduce((inner, key) => (isSection(inner) ? inner[String(key)] : undefined), settings);

/** If `above` sets a value or its file, removes both from `below`, so that the stronger source wins. */
export function withoutRivals(below: RawSettings, above: RawSettings): RawSettings {
  return pairsIn(above).reduce(
    (settings, { value, file }) =>
      hasSetting(above, value) || hasSetting(above, file)
        ? withoutSetting(withoutSetting(settings, value), file)
        : settings,
    below,
  );
}

/** Complaints about values that one source gives both directly and as a file. The path names the setting of the file. */
export function rivalsIn(
  settings: RawSettings,
): readonly { readonly path: Path; readonly message: string }[] {
  return pairsIn(settings)
    .filter(({ value, file }) => hasSetting(settings, value) && hasSetting(settings, file))
    .map(({ value, file }) => ({
      path: file,
      message: `${value.join('.')} is set as well: give one of the two`,
    }));
}

/** If the value came from a file, the path of the setting that names this file; otherwise the path itself. */
export function settingOf(path: Path, settings: RawSettings): Path {
  const pair = pairsIn(settings).find(({ value }) => value.every((key, at) => key === path[at]));
  return pair !== undefined && hasSetting(settings, pair.file) ? pair.file : path;
}

export interface SecretPlaces {
  /** The folder to which relative paths refer. */
  readonly folder: string;
  readonly env: Environment;
}

/** Finds a file by relative name: among the credentials that systemd passes to this unit, else beside the settings. */
function lookUp(name: string, { folder, env }: SecretPlaces): string {
  const credentials = env['CREDENTIALS_DIRECTORY'];
  if (isAbsolute(name)) return name;
  const granted = credentials ? resolve(credentials, name) : undefined;
  return granted !== undefined && existsSync(granted) ? granted : resolve(folder, name);
}

/** True for a file from systemd. It belongs to root and has mode 0440, but its mount is closed to other accounts. */
function isFromSystemd(path: string, env: Environment): boolean {
  const credentials = env['CREDENTIALS_DIRECTORY'];
  return credentials ? relative(resolve(credentials), dirname(path)) === '' : false;
}

/**
 * Checks what other accounts can do to the file of a secret. If they can write to it, they can replace a trusted value,
 * so the file is refused. If they can read or replace it, or another account owns it, there is only a warning, because
 * that can be normal in a container.
 */
export function judgeMode(
  path: string,
  env: Environment,
): { readonly refused: boolean; readonly message: string } | undefined {
  if (process.platform === 'win32' || isFromSystemd(path, env)) return undefined;
  const { mode, uid } = statSync(path);
  if ((mode & 0o066) === 0) {
    const folder = statSync(dirname(path)).mode;
    const isReplaceable = (folder & 0o022) !== 0 && (folder & 0o1000) === 0;
    if (uid !== 0 && uid !== process.geteuid?.())
      return {
        refused: false,
        message: `${path} belongs to another account (uid ${uid}), which can change it`,
      };
    return isReplaceable
      ? { refused: false, message: `${path} can be replaced by other accounts: they may write to its folder` }
      : undefined;
  }
  const refused = (mode & 0o022) !== 0;
  const deed = refused ? 'changed' : 'read';
  const octal = (mode & 0o777).toString(8);
  return {
    refused,
    message: `${path} can be ${deed} by accounts other than its owner (mode ${octal}); run "chmod 600"`,
  };
}

export interface WithSecrets {
  readonly settings: RawSettings;
  readonly complaints: readonly Complaint[];
  /** Complaints that do not prevent the start. */
  readonly warnings: readonly Complaint[];
}

/** Reads the files that the settings name, and trims their content. */
export function readSecretFiles(settings: RawSettings, origins: Origins, places: SecretPlaces): WithSecrets {
  const complaints: Complaint[] = [];
  const warnings: Complaint[] = [];
  let complete = settings;
  for (const { value, file } of pairsIn(settings)) {
    const name = valueAt(settings, file);
    if (typeof name !== 'string' || name.trim() === '') continue;
    const path = lookUp(name.trim(), places);
    try {
      const content = readFileSync(path, 'utf8').trim();
      if (content === '') complaints.push(complain(origins, file, `${path} is empty`));
      else complete = withSetting(complete, value, content);
      const open = judgeMode(path, places.env);
      if (open !== undefined)
        (open.refused ? complaints : warnings).push(complain(origins, file, open.message));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      complaints.push(complain(origins, file, `${path} cannot be read (${code})`));
    }
  }
  return { settings: complete, complaints, warnings };
}
