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

/** Those of all settings, and of each person. */
function pairsIn({ status }: RawSettings): readonly Pair[] {
  const people = isSection(status) ? status['people'] : undefined;
  const names = isSection(people) ? Object.keys(people) : [];
  return [...pairs, ...names.map((name) => pairAt(['status', 'people', name, 'token']))];
}

const valueAt = (settings: unknown, path: Path): unknown =>
  path.reduce((inner, key) => (isSection(inner) ? inner[String(key)] : undefined), settings);

/** Removes rivals: to set a value or its file overrides the other one from a weaker source. */
export function withoutRivals(below: RawSettings, above: RawSettings): RawSettings {
  return pairsIn(above).reduce(
    (settings, { value, file }) =>
      hasSetting(above, value) || hasSetting(above, file)
        ? withoutSetting(withoutSetting(settings, value), file)
        : settings,
    below,
  );
}

/** Values that one source gives in both ways, each by the setting that names the file. */
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

/** The setting that names the file, if the value came from one. */
export function settingOf(path: Path, settings: RawSettings): Path {
  const pair = pairsIn(settings).find(({ value }) => value.every((key, at) => key === path[at]));
  return pair !== undefined && hasSetting(settings, pair.file) ? pair.file : path;
}

export interface SecretPlaces {
  /** The folder to which relative paths refer. */
  readonly folder: string;
  readonly env: Environment;
}

/** systemd's `LoadCredential=` puts files there for this unit alone. Otherwise they lie beside the settings. */
function lookUp(name: string, { folder, env }: SecretPlaces): string {
  const credentials = env['CREDENTIALS_DIRECTORY'];
  if (isAbsolute(name)) return name;
  const granted = credentials ? resolve(credentials, name) : undefined;
  return granted !== undefined && existsSync(granted) ? granted : resolve(folder, name);
}

/** systemd provides them with root as the owner and mode 0440, in a mount that nobody else can see into. */
function isFromSystemd(path: string, env: Environment): boolean {
  const credentials = env['CREDENTIALS_DIRECTORY'];
  return credentials ? relative(resolve(credentials), dirname(path)) === '' : false;
}

/**
 * Judges what others may do to the file of a secret. If they can write to it, they choose what is trusted, so the file
 * is refused. If they can read or replace it, or another account owns it, there is a warning, because a container may
 * have it so.
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
      ? { refused: false, message: `${path} can be replaced by others: they may write to its folder` }
      : undefined;
  }
  const refused = (mode & 0o022) !== 0;
  const deed = refused ? 'changed' : 'read';
  const octal = (mode & 0o777).toString(8);
  return {
    refused,
    message: `${path} can be ${deed} by others than its owner (mode ${octal}); "chmod 600" ends that`,
  };
}

export interface WithSecrets {
  readonly settings: RawSettings;
  readonly complaints: readonly Complaint[];
  /** Complaints of the same kind that are no reason to stop. */
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
