import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { ownVariables } from '../../src/config/environment.ts';
import { settingPaths } from '../../src/config/config.ts';
import { exportNameOf } from '../../src/model/listed-resource.ts';
import { listedResources } from '../../src/model/listed-resources.ts';
import { createProgram } from '../../src/commands/program.ts';
import { ROOT } from '../support/checkout.ts';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const filesUnder = (folder: string) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`);

const paths = ['src', 'test', 'migrations', 'config', 'docs'].flatMap(filesUnder);
const textOf = (which: RegExp) =>
  paths
    .filter((path) => which.test(path))
    .map(read)
    .join('\n');
const sources = textOf(/^src\/.*\.ts$/);
/** Where roles, metrics and variables of the tests stand. */
const around = textOf(/^(config\/.*\.yaml|migrations\/.*\.sql|test\/support\/.*\.ts)$/);
/** The schema without its comments. */
const schema = read('test/mirror/schema.txt').replaceAll(/^ *-- .*\n/gm, '');
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

/** All commands by their name, such as `tag create`. */
const program = createProgram({
  version: '',
  out: process.stdout,
  err: process.stderr,
  wire: () => undefined,
});
const namesOf = (command: Command, path = ''): readonly (readonly [string, Command])[] =>
  command.commands.flatMap((inner) => {
    const name = `${path}${inner.name()}`;
    return [[name, inner] as const, ...namesOf(inner, `${name} `)];
  });
const commands = new Map(namesOf(program));
const flagsOf = (command: Command) => command.options.flatMap(({ long, short }) => [long, short]);
const flagsInUse = (words: readonly string[]) => words.filter((word) => /^--?[a-z]/.test(word));

function isCommandLine(line: string): boolean {
  const words = line.replace(/^musterd\s?/, '').split(/[\s[\]]+/);
  if (/^(<.*>|--.*)?$/.test(words[0] ?? '')) return true;
  const command = commands.get(`${words[0]} ${words[1]}`) ?? commands.get(words[0] ?? '');
  const known = command === undefined ? [] : [...flagsOf(command), ...flagsOf(program), '--help'];
  return command !== undefined && flagsInUse(words).every((flag) => known.includes(flag));
}

const flags = new Set([program, ...commands.values()].flatMap(flagsOf));

/** A table, view or function of the three schemas, and its columns. */
function isInSchema(name: string): boolean {
  const [, schemaName = '', relation = '', column, columns] =
    /^(\w+)\.(\w+)(?:\.(\w+))?(?: \((.*)\)|\(\))?$/.exec(name) ?? [];
  const [, block] =
    new RegExp(
      `^(?:table|view|CREATE OR REPLACE FUNCTION) ${schemaName}\\.${relation}\\b(.*(?:\\n .*)*)`,
      'm',
    ).exec(schema) ?? [];
  const wanted = [column, ...(columns?.split(/, ?/) ?? [])].filter((each) => each !== undefined);
  return block !== undefined && wanted.every((each) => new RegExp(`^  ${each} `, 'm').test(block));
}

const isFile = (path: string) =>
  existsSync(join(ROOT, path)) || paths.some((found) => found.endsWith(`/${path.replace(/\/$/, '')}`));

/** Declared, or a member of what is declared. */
const isDefined = (name: string) =>
  name !== '*' &&
  (new RegExp(`\\b(?:function|const|let|type|interface|class) ${name}\\b`).test(sources) ||
    new RegExp(`[{,;\\n]\\s*(?:readonly |async |export )*${name}\\??[:(<,]`).test(sources));

/** `npm run` of a script of ours, or anything else with files that are there. */
function isShellLine(line: string): boolean {
  const [, script] = /^npm run (?:-s )?([\w:]+)/.exec(line) ?? [];
  const files = line.split(' ').filter((word) => word.includes('/'));
  return (script === undefined || Object.hasOwn(scripts, script)) && files.every(isFile);
}

/** A setting, or a section of them. */
const isSetting = (path: string) =>
  settingPaths.some((known) => known === path || known.startsWith(`${path.replace(/\.\*$/, '')}.`));

const isVariable = (name: string) =>
  Object.hasOwn(ownVariables, name.replace(/_FILE$/, '')) ||
  sources.includes(`'${name}'`) ||
  isSetting(name.replace(/^MUSTERD__(teams__\w+?__)?/, '').replaceAll('__', '.'));

/** A column, a word of the code in quotes, a folder, a command, a section of the settings. */
const isWord = (word: string) =>
  new RegExp(`\\b${word}\\b`).test(schema) ||
  sources.includes(`'${word}'`) ||
  isDefined(word) ||
  isFile(word) ||
  commands.has(word) ||
  listedResources.some((resource) => exportNameOf(resource) === word) ||
  isSetting(word);

/** How a piece of code looks, and whether there is what it names. */
const kinds: readonly (readonly [RegExp, (code: string) => boolean])[] = [
  [/^musterd( |$)/, isCommandLine],
  [/^musterd[._]\w+$/, (code) => around.includes(code)],
  [/^TEST_\w+$/, (code) => around.includes(code)],
  [/^--/, (code) => flags.has(code.split(' ')[0])],
  [/(^| )np[mx] |^\.ci\//, isShellLine],
  [/^[\w./-]+(\.(ts|sql|md|json|ya?ml|txt|svg|service)|\/)$|^\.?\w+\/[\w./-]+$/, isFile],
  [
    /^(select|update) /,
    (code) => [...code.matchAll(/\b(?:mirror|sync|report)\.\w+/g)].every(([name]) => isInSchema(name)),
  ],
  [/^(mirror|sync|report)\.[a-z_]+(\W|$)/, isInSchema],
  [/^(MUSTERD_|DATABASE_URL)/, isVariable],
  [
    /^\w+\.(\w+|\*)$/,
    (code) => (isSetting(code.split('.')[0] ?? '') ? isSetting(code) : isDefined(code.replace(/^.*\./, ''))),
  ],
  [/^[a-z]+ [<[-]/, isCommandLine],
  [/^\w*[A-Z]\w*(\(\))?$/, (code) => isDefined(code.replace('()', ''))],
  [/./, (code) => (code.match(/[a-z_]{2,}(?:-[a-z]+)*/g) ?? ['']).every(isWord)],
];

/** What belongs to others, or to nobody. */
const foreign = new Set([
  'tsc',
  'utils',
  'helpers',
  'manager',
  'create index concurrently',
  'migrations/NNNN_name.sql',
  'fix: hold a field that the service refused',
  'NULL',
  'NO_COLOR',
  'X-Request-Id',
]);

const documents = ['CONTRIBUTING.md', 'docs/architecture.md', 'docs/guide.md'];
const codeIn = (document: string) =>
  [
    ...read(document)
      .replaceAll(/^ *```[\s\S]*?^ *```/gm, '')
      .matchAll(/`([^`]+)`/g),
  ].map(([, code = '']) => code.replaceAll(/\s+/g, ' '));

const linked = paths.filter((path) => /^docs\/.*\.md$/.test(path)).concat('README.md', 'CONTRIBUTING.md');
/** The headings, as links name them. */
const anchorsOf = (document: string) =>
  [...read(document).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

const isUnknown = (code: string) => {
  const [, isThere] = kinds.find(([pattern]) => pattern.test(code)) ?? [];
  return !foreign.has(code) && isThere?.(code) !== true;
};

describe('the documents', () => {
  it.each(documents)('%s names only files, commands, settings and tables that exist', (document) => {
    expect([...new Set(codeIn(document).filter(isUnknown))]).toEqual([]);
  });

  it('docs/operations.md names only commands, settings and variables that exist', () => {
    const ours = codeIn('docs/operations.md').flatMap((code) => {
      const [section = ''] = code.split('.');
      const isOurs = /^(?:musterd |MUSTERD_|DATABASE_URL)/.test(code) || isSetting(section);
      return isOurs ? [code.replace(/^([A-Z]\w+)=.*$/, '$1').replace(/^(\w+\.\w+): .*$/, '$1')] : [];
    });
    expect(ours.length).toBeGreaterThan(100);
    expect([...new Set(ours.filter(isUnknown))]).toEqual([]);
  });

  it.each(linked)('%s links only to files and headings that exist', (document) => {
    const links = [...read(document).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)];
    const dead = links.filter(([, path = '', anchor]) => {
      const target = path === '' ? document : join(dirname(document), path);
      return !existsSync(join(ROOT, target)) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
    });
    expect(dead.map(([link]) => link)).toEqual([]);
  });

  it('contain every unknown name that this test allows', () => {
    const named = new Set(documents.flatMap(codeIn));
    expect([...foreign].filter((code) => !named.has(code))).toEqual([]);
  });
});
