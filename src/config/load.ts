/** Loads settings from a YAML file and the environment, which takes precedence. Complaints name the place of an error. */
import { dirname } from 'node:path';
import { MusterdError } from '../errors.ts';
import {
  type Assignment,
  type Complaint,
  complain,
  complaintsInWords,
  complaintsOf,
  invalid,
  type Origins,
  wordsFor,
} from './complaints.ts';
import { type Config, configSchema, settingPaths, teamSections } from './config.ts';
import { readConfigFile } from './config-file.ts';
import { openFilesOf, readEnvironment, strangersAmong } from './environment.ts';
import {
  type Environment,
  isSection,
  mergeSettings,
  type Path,
  type RawSettings,
  withoutEmpty,
  withSetting,
} from './raw-settings.ts';
import { readSecretFiles, rivalsIn, settingOf, withoutRivals } from './secret-files.ts';
import {
  complaintsAboutTeams,
  type FromFile,
  namesOfTeams,
  sharedCredentials,
  strangersIn,
} from './teams.ts';

export interface Configuration {
  /** The teams in the order of the file. */
  readonly teams: readonly [Config, ...(readonly Config[])];
  /** The settings file, if there is one. */
  readonly file: string | undefined;
  /** Complaints that do not prevent the start. */
  readonly warnings: readonly string[];
}

interface TeamSettings {
  readonly config: Config | undefined;
  readonly origins: Origins;
  readonly complaints: readonly Complaint[];
  readonly warnings: readonly Complaint[];
}

const asTree = (assigned: readonly Assignment[]) =>
  assigned.reduce<RawSettings>((all, { path, value }) => withSetting(all, path, value), {});

/** A mistake in a value that has the right type, such as an impossible schedule. */
export interface Mistake {
  readonly path: Path;
  readonly message: string;
}

interface SettingsSources {
  /** The folder of the settings file. */
  readonly folder: string;
  readonly env: Environment;
  readonly check: (config: Config) => readonly Mistake[];
}

/** Merges one team's settings: the common settings of the file, then the team's own, then those of the environment. */
function settleTeam(origins: Origins, { folder, env, check }: SettingsSources): TeamSettings {
  const { team, common, own, assigned } = origins;
  const written = mergeSettings(withoutRivals(common, own), own);
  const merged = assigned.reduce(
    (below, { path, value }) =>
      withSetting(withoutRivals(below, asTree([{ path, value, name: '' }])), path, value),
    team === undefined ? written : { ...written, team },
  );
  const secrets = readSecretFiles(merged, origins, { folder, env });
  // `jitless`: compiling the schema would take longer than it saves for a single configuration.
  const parsed = configSchema.safeParse(secrets.settings, { error: wordsFor, jitless: true });
  const issues = (parsed.error?.issues ?? []).flatMap((issue) =>
    complaintsOf({ ...issue, path: [...settingOf(issue.path, merged)] }, origins, settingPaths),
  );
  // A source must not give both a value and a file with it. If two sources give one each, the stronger source wins.
  const [general, special] = [true, false].map((forAll) =>
    asTree(assigned.filter((value) => (value.team === undefined) === forAll)),
  );
  const rivals = [common, own, general ?? {}, special ?? {}].flatMap(rivalsIn);
  const complaints = [
    ...rivals.map(({ path, message }) => complain(origins, path, message)),
    ...secrets.complaints,
    ...issues,
    ...(parsed.data === undefined ? [] : check(parsed.data)).map(({ path, message }) =>
      complain(origins, settingOf(path, merged), message),
    ),
  ];
  return { config: parsed.data, origins, complaints, warnings: secrets.warnings };
}

/**
 * @param file the YAML file; if it is `undefined`, the file that MUSTERD_CONFIG names, if any
 * @param check finds mistakes in one team's settings, after the types of their values have been checked
 * @throws MusterdError `configuration`, with file, line and column or the variable's name
 */
export function loadConfiguration(
  file: string | undefined,
  env: Environment,
  check: (config: Config) => readonly Mistake[],
): Configuration {
  const path = file ?? (env['MUSTERD_CONFIG'] || undefined);
  const from: FromFile =
    path === undefined
      ? { settings: {}, teams: [], variables: new Set(), hasSecrets: false, locate: () => 'settings' }
      : readConfigFile(path, env);
  const { teams: sections, ...common } = from.settings;
  const assigned = readEnvironment(env);
  const general = assigned.filter(({ path: [first] }) => first !== 'teams');
  const names = namesOfTeams(from.teams, assigned);
  const settled = (names.length === 0 ? [undefined] : names).map((team) => {
    const section = team !== undefined && isSection(sections) ? sections[team] : {};
    const own = isSection(section) ? withoutEmpty(section) : {};
    const special = assigned
      .filter(({ path: [first, name] }) => first === 'teams' && name === team)
      .map((value) => ({ ...value, path: value.path.slice(2), team }));
    const set = [...general, ...special];
    const origins = { team, teamSections, common, own, assigned: set, locate: from.locate };
    return settleTeam(origins, { folder: path === undefined ? '.' : dirname(path), env, check });
  });
  const open = openFilesOf(env, from.hasSecrets ? path : undefined);
  const complaints = [
    ...open.filter(({ refused }) => refused),
    ...strangersAmong(env, from.variables, settingPaths),
    ...complaintsAboutTeams(from, assigned, names),
    ...settled.flatMap(({ origins }) => strangersIn(origins)),
    ...settled.flatMap((result) => result.complaints),
    ...sharedCredentials(settled),
  ];
  const [first, ...others] = settled.flatMap(({ config }) => (config === undefined ? [] : [config]));
  if (complaints.length > 0 || first === undefined)
    throw invalid(complaintsInWords(complaints).join('\n'), 'docs/settings.md lists all settings.');
  return {
    teams: [first, ...others],
    file: path,
    warnings: complaintsInWords([...open, ...settled.flatMap((result) => result.warnings)]),
  };
}

/** All teams, or only the team of this name. @throws MusterdError `usage` if there is none */
export function selectTeam(configuration: Configuration, name: string | undefined): Configuration {
  if (name === undefined) return configuration;
  const found = configuration.teams.find(({ team }) => team === name);
  if (found !== undefined) return { ...configuration, teams: [found] };
  throw new MusterdError('usage', `There is no team "${name}" in the configuration`, {
    hint: `The teams are: ${configuration.teams.map(({ team }) => team).join(', ')}.`,
  });
}

/** The only team. @throws MusterdError `usage` if there are several */
export function onlyTeam({ teams }: Configuration): Config {
  const [config, ...others] = teams;
  if (others.length === 0) return config;
  throw new MusterdError('usage', `There are several teams: ${teams.map(({ team }) => team).join(', ')}`, {
    hint: 'Choose one with --team.',
  });
}

/** The name of the team from the command line or MUSTERD_TEAM. */
export function requestedTeam(env: Environment, name?: string): string | undefined {
  return name ?? (env['MUSTERD_TEAM'] || undefined);
}
