import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { exitCode } from '../../src/commands/context.ts';
import { configSchema, fileSchema, teamSections } from '../../src/config/config.ts';
import { loadConfig, loadConfiguration } from '../support/load-config.ts';
import { everyCommand } from './every-command.ts';
import { ownFolder } from './own-folder.ts';
import { settingsTable } from './settings-table.ts';
import { tableBelow } from './table-below.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const schemaFile = join(root, 'config/musterd.schema.json');
const settingsFile = join(root, 'docs/settings.md');
const exampleFile = join(root, 'config/musterd.example.yaml');

interface JsonSchema {
  readonly $ref?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | false;
}

/** As the code has it: what may stand in the file. */
const written = JSON.parse(
  JSON.stringify(z.toJSONSchema(fileSchema, { io: 'input', target: 'draft-7' })),
) as JsonSchema;
const { teams, ...common } = written.properties ?? {};
const ofTeams = teams?.additionalProperties === false ? undefined : teams?.additionalProperties;

/** As editors read it: the sections of a team are those of the top level, and stand there alone. */
const jsonSchema: JsonSchema = {
  ...written,
  properties: {
    ...common,
    teams: {
      ...teams,
      additionalProperties: {
        ...ofTeams,
        properties: Object.fromEntries(
          Object.keys(ofTeams?.properties ?? {}).map((name) => [name, { $ref: `#/properties/${name}` }]),
        ),
      },
    },
  },
};

/** All settings by their path, such as `push.batchSize`; what says of itself what it is, is one setting. */
function settingsOf({ properties = {} }: JsonSchema, prefix = ''): readonly string[] {
  return Object.entries(properties).flatMap(([name, inner]) =>
    inner.properties === undefined || inner.description !== undefined
      ? [`${prefix}${name}`]
      : settingsOf(inner, `${prefix}${name}.`),
  );
}

function valueAt(settings: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (value, name) => (value as Readonly<Record<string, unknown>> | undefined)?.[name],
      settings,
    );
}

const settings = settingsOf(jsonSchema);
/** Settings that a file can hold. */
const secretFiles = settings.filter((path) => settings.includes(`${path}File`));
const defaults = configSchema.parse({});

/** Without backticks. */
const tableIn = (document: string, heading: string) =>
  tableBelow(readFileSync(join(root, document), 'utf8'), heading).map((row) =>
    row.map((cell) => cell.replace(/^`(.*)`$/, '$1')),
  );

describe('config/musterd.schema.json', () => {
  it('equals the schema that the code defines (UPDATE_SCHEMA=1 writes the file)', () => {
    if (process.env['UPDATE_SCHEMA']) writeFileSync(schemaFile, `${JSON.stringify(jsonSchema, null, 2)}\n`);
    expect(JSON.parse(readFileSync(schemaFile, 'utf8'))).toEqual(jsonSchema);
  });

  it('allows below teams every top-level section but team, database, display, log, daemon and status', () => {
    const properties = ofTeams?.properties ?? {};
    expect(Object.entries(properties)).toEqual(
      Object.entries(common).filter(([name]) => Object.hasOwn(properties, name)),
    );
    expect(Object.keys(properties)).toEqual([...teamSections]);
    expect(Object.keys(common).filter((name) => !teamSections.has(name))).toEqual([
      'team',
      'database',
      'display',
      'log',
      'daemon',
      'status',
    ]);
  });

  it('gives every setting a description', () => {
    const bare = settings.filter((path) => {
      const found = path
        .split('.')
        .reduce<JsonSchema | undefined>((inner, name) => inner?.properties?.[name], jsonSchema);
      return (found as { readonly description?: string } | undefined)?.description === undefined;
    });
    expect(bare).toEqual([]);
  });
});

describe('config/musterd.example.yaml', () => {
  const example = readFileSync(exampleFile, 'utf8');
  /** Settings without a default are commented out; words have one space after the `#`. */
  const complete = example.replaceAll(/^(\s*)#(?=\w+:| {2})/gm, '$1');
  const folder = ownFolder();

  it('loads as the default settings', () => {
    expect(loadConfig(exampleFile, {})).toEqual(defaults);
  });

  const loadText = (text: string) => {
    const file = join(folder, 'complete.yaml');
    writeFileSync(file, text);
    return loadConfiguration(file, {}).teams;
  };
  const severalTeams = /^teams:\n(?: +.*\n)+/m;

  it('contains every setting, as a comment if the setting lacks a default', () => {
    const inFile: unknown = parse(complete.replace(severalTeams, ''));
    const missing = settings.filter((path) => valueAt(inFile, path) === undefined);
    expect(missing).toEqual([...secretFiles.map((path) => `${path}File`), 'teams']);
  });

  it('loads each secret from a file if the commented "...File" line replaces the line of the secret', () => {
    const secretOf = (path: string) =>
      path === 'database.url' ? 'postgres://u:secret@db.example/x' : 'a secret of sixteen';
    const inFiles = secretFiles.reduce(
      (text, path) => {
        const name = path.split('.')[1] ?? '';
        const both = new RegExp(`^ *${name}: .*\n(?: *# .*\n)*( *)#+(${name}File: )(.*)$`, 'm');
        return text.replace(both, (_, indent: string, key: string, file: string) => {
          writeFileSync(join(folder, file), secretOf(path), { mode: 0o600 });
          return indent + key + file;
        });
      },
      complete.replace(severalTeams, ''),
    );
    const [loaded] = loadText(inFiles);
    for (const path of secretFiles) expect(valueAt(loaded, path)).toBe(secretOf(path));
    expect(settings.filter((path) => valueAt(loaded, path) === undefined)).toEqual(['teams']);
  });

  it('loads its commented example of several teams if the line "team:" is removed', () => {
    const loaded = loadText(complete.replace(/^team: .*\n/m, ''));
    expect(loaded).toMatchObject([
      { team: 'north', service: { secretId: 'the Secret ID of the north' }, push: { batchSize: 10 } },
    ]);
  });

  it('names the JSON schema in its first line, for editors', () => {
    expect(example).toMatch(/^# yaml-language-server: \$schema=\.\/musterd\.schema\.json\n/);
  });
});

describe('docs/settings.md', () => {
  const folder = ownFolder();
  const heading = '\n## All settings\n\n';
  const [before = ''] = readFileSync(settingsFile, 'utf8').split(heading);
  if (process.env['UPDATE_SCHEMA']) writeFileSync(settingsFile, before + heading + settingsTable);

  it('ends with the table of settings made from the code (UPDATE_SCHEMA=1 writes it)', () => {
    expect(readFileSync(settingsFile, 'utf8')).toBe(before + heading + settingsTable);
  });

  const rows = tableIn('docs/settings.md', 'All settings');

  it('lists exactly the settings of the schema, in the same order', () => {
    expect(rows.map(([setting]) => setting)).toEqual(settings);
  });

  it('contains an example of several teams that musterd can load', () => {
    const [, yaml = ''] =
      /## Several teams\n\n```yaml\n([^`]*)```/.exec(readFileSync(settingsFile, 'utf8')) ?? [];
    writeFileSync(join(folder, 'teams.yaml'), yaml);
    writeFileSync(join(folder, 'north-key'), 'the key of the north\n');
    const environment = {
      DATABASE_URL: 'postgres://musterd@db.example.net/musterd',
      SOUTH_ID: 'south',
      SOUTH_KEY: 'the key of the south',
    };
    expect(loadConfiguration(join(folder, 'teams.yaml'), environment).teams).toMatchObject([
      { team: 'north', service: { secretKey: 'the key of the north' }, rate: { share: 0.5 } },
      { team: 'south', service: { secretKey: 'the key of the south' }, rate: { share: 1 } },
    ]);
  });
});

describe('README.md', () => {
  it('gives each setting in its table the same variable and default as docs/settings.md', () => {
    const all = new Map(tableIn('docs/settings.md', 'All settings').map((row) => [row[0], row]));
    const rows = tableIn('README.md', 'Settings');
    expect(rows.length).toBeGreaterThan(0);
    for (const [setting, variable, shown] of rows)
      expect([setting, variable, shown]).toEqual([0, 1, 3].map((column) => all.get(setting)?.[column]));
  });

  it('lists every command in its table, and no other command', () => {
    const commands = everyCommand.map(({ name }) => name);
    // A row may have several, and a command that has others below it stands for all of these.
    const shown = tableIn('README.md', 'Commands')
      .flatMap(([names = '']) => names.split('`, `'))
      .map((command) => command.replace(/ [<[].*$/, ''))
      .flatMap((name) =>
        commands.includes(name) ? [name] : commands.filter((command) => command.startsWith(`${name} `)),
      );
    expect(shown.toSorted()).toEqual([...commands].toSorted());
  });
});

describe('docs/guide.md', () => {
  it('lists every exit code in its table, and no other exit code', () => {
    expect(tableIn('docs/guide.md', 'Exit codes').map(([code]) => Number(code))).toEqual(
      Object.values(exitCode),
    );
  });
});
