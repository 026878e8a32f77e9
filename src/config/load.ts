/** Where settings come from: a YAML file, then the environment, which wins. Every complaint says where. */
import { dirname } from 'node:path';
import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import {
  type Assignment,
  type Complaint,
  complain,
  complaintsOf,
  invalid,
  complaintsInWords,
  type Origins,
  wordsFor,
} from './complaints.ts';
import { openFilesOf, readEnvironment, readText, strangersAmong } from './environment.ts';
import {
  type Environment,
  hasSetting,
  isSection,
  mergeSettings,
  type Path,
  type RawSettings,
  withoutEmpty,
  withoutSetting,
  withSetting,
} from './raw-settings.ts';
import { readSecretFiles, rivalsIn, settingOf, withoutRivals } from './secret-files.ts';
import { substitute, variablesIn } from './substitute.ts';
import { type Config, configSchema, goneSettings, settingPaths, teamSections } from './config.ts';
import {
  complaintsAboutTeams,
  type FromFile,
  namesOfTeams,
  sharedCredentials,
  strangersIn,
} from './teams.ts';
import { MusterdError } from '../errors.ts';

export interface Configuration {
  /** In the order of the file. */
  readonly teams: readonly [Config, ...(readonly Config[])];
  /** The settings file, if there is one. */
  readonly file: string | undefined;
  /** What does not stop anything but should be seen to. */
  readonly warnings: readonly string[];
}

const keyOf = (key: unknown) => String(isScalar(key) ? key.value : key);

/** What stands at a key of a mapping, with the key, or at a place of a list. */
function childAt(node: unknown, key: PropertyKey): { readonly key?: unknown; readonly value: unknown } {
  if (isSeq(node)) return { value: node.items[Number(key)] };
  const pair = isMap(node) ? node.items.find((one) => keyOf(one.key) === String(key)) : undefined;
  return { key: pair?.key, value: pair?.value };
}

/** Puts the variables into all text values; keys stay as they are. */
function fillIn(node: unknown, visit: (node: Node & { value: string }, path: Path) => void, path: Path = []) {
  if (isMap(node)) for (const { key, value } of node.items) fillIn(value, visit, [...path, keyOf(key)]);
  else if (isSeq(node)) for (const [at, inner] of node.items.entries()) fillIn(inner, visit, [...path, at]);
  else if (isScalar(node) && typeof node.value === 'string') visit(node as Node & { value: string }, path);
}

/** Line and column of the deepest node that the path still leads to; of its key, where that has a line of its own. */
function createLocate(file: string, document: Document, lines: LineCounter): FromFile['locate'] {
  const positionOf = (node: unknown) => {
    const start = (node as Node | null | undefined)?.range?.[0];
    return start === undefined ? undefined : lines.linePos(start);
  };
  return (path) => {
    let place = file;
    let node: unknown = document.contents;
    for (const step of path) {
      const { key, value } = childAt(node, step);
      const [head, body] = [positionOf(key), positionOf(value)];
      const at = body === undefined || (head !== undefined && head.line < body.line) ? head : body;
      if (at === undefined) break;
      place = `${file}:${at.line}:${at.col}`;
      node = value;
    }
    return place;
  };
}

const quoted = 'A value with special characters is written in quotes.';

/** References to what is not there, such as a secret that begins with `*`, by their paths. */
function lostReferences(node: unknown, document: Document, path: Path = []): readonly Path[] {
  if (isAlias(node)) return node.resolve(document) === undefined ? [path] : [];
  if (isMap(node))
    return node.items.flatMap(({ key, value }) => [
      ...(isAlias(key) ? lostReferences(key, document, path) : []),
      ...lostReferences(value, document, [...path, keyOf(key)]),
    ]);
  if (!isSeq(node)) return [];
  return node.items.flatMap((inner, at) => lostReferences(inner, document, [...path, at]));
}

/** @throws MusterdError `configuration`; its words repeat nothing of the text, which may be a secret */
function toSettings(document: Document, file: string): unknown {
  try {
    return document.toJS() ?? {};
  } catch {
    throw invalid(`${file}: this is not YAML that can be read`, quoted);
  }
}

function readConfigFile(file: string, env: Environment): FromFile {
  const lines = new LineCounter();
  const document = parseDocument(readText(file, 'The configuration'), {
    lineCounter: lines,
    prettyErrors: false,
  });
  const [broken] = document.errors;
  if (broken !== undefined) {
    const { line, col } = lines.linePos(broken.pos[0]);
    // Its own words repeat the text, which may be a secret.
    const words = broken.code.toLowerCase().replaceAll('_', ' ');
    throw invalid(`${file}:${line}:${col}: this is not YAML (${words})`, quoted);
  }
  const locate = createLocate(file, document, lines);
  const complaints: Complaint[] = [];
  const variables = new Set<string>();
  fillIn(document.contents, (scalar, path) => {
    for (const name of variablesIn(scalar.value)) variables.add(name);
    scalar.value = substitute(scalar.value, env, (message) => {
      complaints.push({ where: locate(path), setting: path.map(String).join('.'), message });
    });
  });
  for (const path of lostReferences(document.contents, document))
    complaints.push({
      where: locate(path),
      setting: path.map(String).join('.'),
      message: `a reference (*) to what is not there; a value with special characters is written in quotes`,
    });
  if (complaints.length > 0) throw invalid(complaintsInWords(complaints).join('\n'));
  const settings = toSettings(document, file);
  if (!isSection(settings)) throw invalid(`${file}: a mapping of settings is expected`);
  const { value: teams } = childAt(document.contents, 'teams');
  const names = isMap(teams) ? teams.items.map(({ key }) => keyOf(key)) : [];
  return { settings: withoutEmpty(settings), teams: names, variables, locate };
}

interface Settled {
  readonly config: Config | undefined;
  readonly origins: Origins;
  readonly complaints: readonly Complaint[];
  readonly warnings: readonly Complaint[];
}

const given = (assigned: readonly Assignment[]) =>
  assigned.reduce<RawSettings>((all, { path, value }) => withSetting(all, path, value), {});

/** Something that is wrong with a value of the right kind. */
export interface Mistake {
  readonly path: Path;
  readonly message: string;
}

interface Surroundings {
  /** Of the settings file. */
  readonly folder: string;
  readonly env: Environment;
  readonly check: (config: Config) => readonly Mistake[];
}

/** Without what is no setting any more, and a warning for each of those. */
function withoutGone(merged: RawSettings, origins: Origins) {
  let settings = merged;
  const warnings: Complaint[] = [];
  for (const [name, instead] of Object.entries(goneSettings)) {
    const path = name.split('.');
    if (!hasSetting(merged, path)) continue;
    settings = withoutSetting(settings, path);
    warnings.push(complain(origins, path, `this is no setting any more: ${instead}`));
  }
  return { settings, warnings };
}

/** The settings of one team: the file's, its own above them, and the environment's above these. */
function settleTeam(origins: Origins, { folder, env, check }: Surroundings): Settled {
  const { team, common, own, assigned } = origins;
  const written = mergeSettings(withoutRivals(common, own), own);
  const all = assigned.reduce(
    (below, { path, value }) =>
      withSetting(withoutRivals(below, given([{ path, value, name: '' }])), path, value),
    team === undefined ? written : { ...written, team },
  );
  const { settings: merged, warnings } = withoutGone(all, origins);
  const secrets = readSecretFiles(merged, origins, { folder, env });
  // Compiling the schema takes longer than reading one configuration does without.
  const parsed = configSchema.safeParse(secrets.settings, { error: wordsFor, jitless: true });
  const issues = (parsed.error?.issues ?? []).flatMap((issue) =>
    complaintsOf({ ...issue, path: [...settingOf(issue.path, merged)] }, origins, settingPaths),
  );
  // What one source says twice; what stands in two of them is decided by their order.
  const [general, special] = [true, false].map((forAll) =>
    given(assigned.filter((one) => (one.team === undefined) === forAll)),
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
  return { config: parsed.data, origins, complaints, warnings: [...warnings, ...secrets.warnings] };
}

/**
 * @param file the YAML file, if any; otherwise the one that MUSTERD_CONFIG names
 * @param check what is wrong with the values of one team's settings, which are of the right kind
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
      ? { settings: {}, teams: [], variables: new Set(), locate: () => 'settings' }
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
      .map((one) => ({ ...one, path: one.path.slice(2), team }));
    const set = [...general, ...special];
    const origins = { team, teamSections, common, own, assigned: set, locate: from.locate };
    return settleTeam(origins, { folder: path === undefined ? '.' : dirname(path), env, check });
  });
  const open = openFilesOf(env);
  const complaints = [
    ...open.filter(({ refused }) => refused),
    ...strangersAmong(env, from.variables, settingPaths),
    ...complaintsAboutTeams(from, assigned, names),
    ...settled.flatMap(({ origins }) => strangersIn(origins)),
    ...settled.flatMap((one) => one.complaints),
    ...sharedCredentials(settled),
  ];
  const [first, ...others] = settled.flatMap(({ config }) => (config === undefined ? [] : [config]));
  if (complaints.length > 0 || first === undefined)
    throw invalid(complaintsInWords(complaints).join('\n'), 'docs/settings.md lists all settings.');
  return {
    teams: [first, ...others],
    file: path,
    warnings: complaintsInWords([...open, ...settled.flatMap((one) => one.warnings)]),
  };
}

/** Those of the teams that are asked for: all, or the one of this name. @throws MusterdError `usage` */
export function selectTeam(configuration: Configuration, name: string | undefined): Configuration {
  if (name === undefined) return configuration;
  const found = configuration.teams.find(({ team }) => team === name);
  if (found !== undefined) return { ...configuration, teams: [found] };
  throw new MusterdError('usage', `There is no team "${name}" in the configuration`, {
    hint: `There is: ${configuration.teams.map(({ team }) => team).join(', ')}.`,
  });
}

/** The only team. @throws MusterdError `usage` where there are several */
export function onlyTeam({ teams }: Configuration): Config {
  const [config, ...others] = teams;
  if (others.length === 0) return config;
  throw new MusterdError('usage', `There are several teams: ${teams.map(({ team }) => team).join(', ')}`, {
    hint: 'Say which one with --team.',
  });
}

/** The team that is asked for by name or by MUSTERD_TEAM. */
export function teamAsked(env: Environment, name?: string): string | undefined {
  return name ?? (env['MUSTERD_TEAM'] || undefined);
}
