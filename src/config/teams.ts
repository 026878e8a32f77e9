/** Checks for several teams in one configuration. */

import { type Assignment, type Complaint, complain, type Origins } from './complaints.ts';
import { isSection, type Path, type RawSettings } from './raw-settings.ts';
import { type Config, configSchema, teamSections } from './config.ts';

/** The content of the settings file. */
export interface FromFile {
  readonly settings: RawSettings;
  /** The names under `teams`, in the order of the file. */
  readonly teams: readonly string[];
  /** The environment variables that the file refers to. */
  readonly variables: ReadonlySet<string>;
  /** True if the file itself contains secrets. */
  readonly hasSecrets: boolean;
  /** The line and column of a path in the file, or of its nearest parent if the file lacks the path. */
  readonly locate: (path: Path) => string;
}

/** The names of the teams in the file. If it has none, the names of the teams in the environment. */
export function namesOfTeams(inFile: readonly string[], assigned: readonly Assignment[]): readonly string[] {
  if (inFile.length > 0) return [...new Set(inFile)];
  const named = assigned.flatMap(({ path: [first, name] }) => (first === 'teams' ? [String(name)] : []));
  return [...new Set(named)];
}

const credentialSettings: readonly string[] = [
  'secretId',
  'secretKey',
  'secretKeyFile',
  'nextSecretId',
  'nextSecretKey',
  'nextSecretKeyFile',
  'apiKey',
];

/** True if an assignment for all teams sets a credential, which only one team can have. */
function isCredential({ path: [section, key], value }: Assignment): boolean {
  if (section !== 'service') return false;
  const keys = key === undefined ? Object.keys(isSection(value) ? value : {}) : [String(key)];
  return keys.some((name) => credentialSettings.includes(name));
}

/** Complaints about teams in the file and the environment. */
export function complaintsAboutTeams(
  { settings, teams, locate }: FromFile,
  assigned: readonly Assignment[],
  names: readonly string[],
): readonly Complaint[] {
  const inFile = (path: Path, message: string) => ({
    where: locate(path),
    setting: path.map(String).join('.'),
    message,
  });
  const sections = settings['teams'];
  const misshapen =
    sections !== undefined && (!isSection(sections) || teams.length === 0)
      ? [inFile(['teams'], 'a mapping is expected, from the name of each team to its settings')]
      : [];
  const bad = teams.filter((name) => name === '' || name.trim() !== name);
  const shapeless = teams.filter((name) => {
    const section = isSection(sections) ? sections[name] : undefined;
    return section !== undefined && section !== null && !isSection(section);
  });
  const unknown = assigned.filter(
    ({ path: [first, name] }) => first === 'teams' && !names.includes(String(name)),
  );
  const common = assigned.filter((value) => names.length > 1 && isCredential(value));
  const single = names.length === 0 ? [] : assigned.filter(({ path: [first] }) => first === 'team');
  return [
    ...misshapen,
    ...bad.map((name) => inFile(['teams', name], 'a name is expected, without white space around it')),
    ...shapeless.map((name) => inFile(['teams', name], 'a mapping of settings is expected')),
    ...(names.length > 0 && settings['team'] !== undefined
      ? [inFile(['team'], 'the teams are named under "teams"; leave this out')]
      : []),
    ...single.map(({ name }) => ({
      where: name,
      message: 'the teams are named under "teams"; to choose one of them, use --team or MUSTERD_TEAM',
    })),
    ...unknown.map(({ name }) => ({ where: name, message: 'the file names no such team' })),
    ...common.map(({ name }) => ({
      where: name,
      message: `this setting would apply to all teams (${names.join(', ')}). Write each team's credentials below its name in the file, or into MUSTERD__teams__${names[0]}__service__secretId and so on`,
    })),
  ];
}

/** Complaints about one team's settings that cannot differ from team to team. The schema reports unknown settings. */
export function strangersIn(origins: Origins): readonly Complaint[] {
  const { own, assigned } = origins;
  const special = assigned.flatMap(({ team, path: [first] }) => (team === undefined ? [] : [String(first)]));
  return [...new Set([...Object.keys(own), ...special])]
    .filter((key) => Object.hasOwn(configSchema.shape, key) && !teamSections.has(key))
    .map((key) => complain(origins, [key], 'cannot differ from team to team'));
}

interface Claim {
  readonly path: Path;
  readonly key: string;
  readonly what: string;
}

function addressOf(baseUrl: string | undefined): string {
  return baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl).href : (baseUrl ?? '');
}

/** The credentials of a team, which no other team may have. */
function claimsOf({ service }: Config): readonly Claim[] {
  const address = addressOf(service.baseUrl);
  const claims = [
    ['service', 'secretId', service.secretId, `secret ${address}`, 'API Secret'],
    ['service', 'nextSecretId', service.nextSecretId, `secret ${address}`, 'API Secret'],
    ['service', 'apiKey', service.apiKey, `key ${address}`, 'API key'],
  ] as const;
  return claims.flatMap(([section, name, value, kind, what]) =>
    value === undefined ? [] : [{ path: [section, name], key: `${kind} ${value}`, what }],
  );
}

/** Complaints about credentials that two teams share: both teams would be the same team of the service. */
export function sharedCredentials(
  settled: readonly { readonly config: Config | undefined; readonly origins: Origins }[],
): readonly Complaint[] {
  const holders = new Map<string, string>();
  return settled.flatMap(({ config, origins }) => {
    if (config === undefined) return [];
    return claimsOf(config).flatMap(({ path, key, what }) => {
      const holder = holders.get(key);
      if (holder === undefined) holders.set(key, config.team);
      if (holder === undefined || holder === config.team) return [];
      return [complain(origins, path, `teams.${holder} has the same ${what}; each team needs its own`)];
    });
  });
}
