import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { variantNames } from '../../src/emulator/faults/variants.ts';
import { checks } from '../emulator/conformance.ts';
import { inMirror, isOfData, strayNames } from '../support/interface-mirror.ts';
import { noPath, type Proof, type Row, type Source } from '../support/interface-row.ts';
import { rows, sections } from '../support/interface-rows.ts';
import { everyCommand } from './every-command.ts';

const root = new URL('../../', import.meta.url);
const document = new URL('docs/interface-coverage.md', root);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const named = rows.map((row) => [`${row.section}: ${row.name}`, row] as const);

/** The text of a declaration at the top of a file, up to the next one; undefined where there is none. */
function declarationIn(source: string, name: string): string | undefined {
  const words = '(?:export )?(?:default )?(?:async )?(?:const|let|function|interface|type|class)';
  const start = source.search(new RegExp(`^${words} ${escaped(name)}\\b`, 'm'));
  if (start === -1) return undefined;
  const rest = source.slice(start);
  const end = rest.slice(1).search(new RegExp(`^(?:/\\*\\*|${words} )`, 'm'));
  return end === -1 ? rest : rest.slice(0, end + 1);
}

/** What is missing of a source, in words; undefined when all is there. */
function missingOf([file, symbol]: Source): string | undefined {
  const [, name = '', word] = /^(\w+)(?:[. ](.+))?$/.exec(symbol) ?? [];
  const declaration = declarationIn(read(`src/${file}`), name);
  if (declaration === undefined) return `src/${file} declares no ${name}`;
  if (word === undefined) return undefined;
  const found = new RegExp(`(?<![\\w/-])${escaped(word)}(?![\\w/-])`).test(declaration);
  return found ? undefined : `${name} in src/${file} has no ${word}`;
}

/** Where in the source a test or a suite has this title; -1 for nowhere. */
function findTitle(source: string, title: string, call: string): number {
  const written = escaped(title).replaceAll("'", "\\\\?'");
  return source.search(new RegExp(`(?:\\b(?:${call})|\\))\\(\\s*(['"\`])${written}\\1,`));
}

/** What is missing of a proof, in words; the checks of the conformance suite are its tests. */
function unproved([file, title]: Proof): string | undefined {
  if (file === 'emulator/conformance.ts') {
    return checks.some((check) => check.name === title) ? undefined : `no check "${title}"`;
  }
  const source = read(`test/${file}`);
  const [suite, inner] = title.includes(' › ') ? title.split(' › ') : [undefined, title];
  const from = suite === undefined ? 0 : findTitle(source, suite, 'describe');
  if (from === -1) return `test/${file} has no suite "${suite}"`;
  return findTitle(source.slice(from), inner ?? '', 'it|test') === -1
    ? `test/${file} has no test "${inner}"`
    : undefined;
}

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: string;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
}

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}
type Content = Readonly<Record<string, { readonly schema: Schema }>>;

const openApi = JSON.parse(read('docs/openapi.json')) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly securitySchemes: Readonly<Record<string, unknown>>;
  };
};

const operations = Object.entries(openApi.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    operation,
  })),
);

/** The schema itself: references followed, and what may also be null taken for what it is otherwise. */
function resolve(schema: Schema | undefined): Schema {
  if (schema?.$ref !== undefined) {
    return resolve(openApi.components.schemas[schema.$ref.replace('#/components/schemas/', '')]);
  }
  const choices = schema?.anyOf?.filter((choice) => choice.type !== 'null') ?? [];
  return choices.length === 1 ? resolve(choices[0]) : (schema ?? {});
}

/** In the words of the shapes: `integer`, `string[]`, `object[]`. */
function typeOf(schema: Schema): string {
  const { type, items } = resolve(schema);
  const own = typeof type === 'string' ? type : (type ?? []).filter((one) => one !== 'null').join(' ');
  return own === 'array' ? `${typeOf(items ?? {})}[]` : own;
}

/** Every property below a place, with its type; of a string or a number, the place itself. */
function propertiesOf(place: string, schema: Schema): readonly (readonly [place: string, type: string])[] {
  const { properties, items } = resolve(schema);
  if (items !== undefined) return propertiesOf(`${place} []`, items);
  if (properties === undefined) return [[place, typeOf(schema)]];
  return Object.entries(properties).flatMap(([name, inner]) => below(`${place} ${name}`, inner));
}

function below(place: string, schema: Schema): readonly (readonly [place: string, type: string])[] {
  const { properties, items } = resolve(schema);
  const own = [place, typeOf(schema)] as const;
  const listed = resolve(items).properties;
  const [inside, prefix] = properties === undefined ? [listed, `${place}[].`] : [properties, `${place}.`];
  const deeper = Object.entries(inside ?? {}).flatMap(([name, inner]) => below(`${prefix}${name}`, inner));
  return [own, ...deeper];
}

const schemaOf = (content: Content | undefined): Schema | undefined => content?.['application/json']?.schema;

/** All that docs/openapi.json says of fields: place and type. */
const properties = operations.flatMap(({ name, operation }) => {
  const request = schemaOf(operation.requestBody?.content);
  const response = schemaOf(operation.responses['200']?.content);
  return [
    ...(operation.parameters ?? []).map(
      (parameter) => [`${name} path ${parameter.name}`, typeOf(parameter.schema)] as const,
    ),
    ...(request === undefined ? [] : propertiesOf(`${name} request`, request)),
    ...(response === undefined ? [] : propertiesOf(`${name} response`, response)),
  ];
});

describe('client, emulator and tests', () => {
  it.each(named)('all cover "%s", or none of them does', (_name, { client, emulator, tests }) => {
    const cells = new Set([client, emulator, tests].map((cell) => cell === noPath));
    expect(cells.size, 'a path is shown to all three or to none').toBe(1);
    const sources = [client, emulator].flatMap((cell) => (cell === noPath ? [] : [cell]));
    const proofs = tests === noPath ? [] : tests;
    expect([...sources.map(missingOf), ...proofs.map(unproved)].filter((one) => one !== undefined)).toEqual(
      [],
    );
    expect(tests.length).toBeGreaterThan(0);
  });
});

describe('docs/openapi.json and the table of the interface', () => {
  it('describe the same fields, in the same places, with the same types', () => {
    const documented = rows.flatMap(({ field }) =>
      (field?.at ?? []).map((at) => [`${at} ${field?.path}`.trim(), field?.type]),
    );
    expect(Object.fromEntries(properties)).toEqual(Object.fromEntries(documented));
    expect(documented).toHaveLength(properties.length);
  });

  it('list the same endpoints', () => {
    const endpoints = rows.flatMap(({ name }) => (/^[A-Z]+ \/v1\/\S+$/.test(name) ? [name] : []));
    expect(endpoints.toSorted()).toEqual(operations.map(({ name }) => name).toSorted());
  });

  it('list the same status codes', () => {
    const statuses = operations.flatMap(({ operation }) => Object.keys(operation.responses));
    const documented = rows.flatMap(({ status }) => status ?? []);
    expect(new Set(statuses)).toEqual(new Set(['200', ...documented]));
  });

  it('name the same two ways to authenticate', () => {
    const text = rows.map(({ name }) => name).join('\n');
    expect(Object.keys(openApi.components.securitySchemes)).toHaveLength(2);
    for (const scheme of Object.keys(openApi.components.securitySchemes)) expect(text).toContain(scheme);
  });
});

describe('the table of the interface', () => {
  it('names every variant of the emulator, and no unknown variant', () => {
    const played = new Set(rows.flatMap(({ variants = [] }) => variants));
    expect([...played].toSorted()).toEqual([...variantNames].toSorted());
  });

  it('says what the client does in each row marked "(undocumented)"', () => {
    const silent = rows.filter(
      ({ name, client }) => name.endsWith('(undocumented)') && client !== noPath && client[2] === undefined,
    );
    expect(silent.map(({ name }) => name)).toEqual([]);
  });

  it('covers every heading of the interface, in the same order, and no other heading', () => {
    expect([...new Set(rows.map(({ section }) => section))]).toEqual(sections);
  });

  it('repeats no name under the same heading', () => {
    const names = named.map(([name]) => name);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });
});

const code = (text: string): string => (text.includes('`') ? text : `\`${text}\``);

function sourceCell(source: Source | typeof noPath): string {
  if (source === noPath) return noPath;
  const [file, symbol, says] = source;
  return `${file} ${code(symbol)}${says === undefined ? '' : `: ${says}`}`;
}

function proofCell(tests: Row['tests']): string {
  if (tests === noPath) return noPath;
  return tests.map(([file, title]) => `${file}: “${title}”`).join('<br>');
}

function line(row: Row): string {
  const played = (row.variants ?? []).map((variant) => `\`${variant}\``).join(', ');
  const emulator = sourceCell(row.emulator) + (played === '' ? '' : `; variants: ${played}`);
  const type = row.field === undefined || row.field.path === '' ? '' : `: ${row.field.type}`;
  const name = row.field?.path === row.name ? `${code(row.name)}${type}` : row.name;
  const cells = [name, inMirror(row) ?? '–', sourceCell(row.client), emulator, proofCell(row.tests)];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

/** Rows to which there is no path stand in one line for each place in the mirror. */
function tableOf(section: string): string {
  const mine = rows.filter((row) => row.section === section);
  const without = Map.groupBy(
    mine.filter((row) => row.client === noPath),
    (row) => inMirror(row) ?? '',
  );
  const lines = [
    ...mine.filter((row) => row.client !== noPath).map(line),
    ...[...without].map(
      ([where, all]) =>
        `| ${all.map(({ name }) => name).join('; ')} | ${where} | ${noPath} | ${noPath} | ${noPath} |`,
    ),
  ];
  const head = '| The interface | In the mirror | Client | Emulator | Proved by |\n|---|---|---|---|---|';
  return `## ${section}\n\n${head}\n${lines.join('\n')}\n`;
}

function markdown(): string {
  const fields = rows.filter((row) => row.field !== undefined).length;
  const without = rows.filter((row) => row.client === noPath).length;
  return `# The interface, and where it is

\`UPDATE_COVERAGE=1 npx vitest run test/system/interface-coverage.test.ts\` writes this page from
\`test/support/interface-rows.ts\`. The same test compares each row with the sources, the tests and
[openapi.json](openapi.json). Source files are below \`src/\`, test files below \`test/\`; a test with \`%s\` in its title has
many cases. The headings and numbers of the tables are those of the interface; the text of the cells is our own.

The second column names the table, column, command or setting in which musterd has a field or an endpoint. "nowhere" means
that musterd has no place for the field or endpoint; the reason follows. The same test compares this column, which comes
from \`test/support/interface-mirror.ts\`, with the schema and the commands.

The tables have ${rows.length} rows, and ${fields} of the rows describe fields. For ${without} rows the interface documents no endpoint.
"Undocumented" marks a question that the interface does not answer. For such a question, the client's column says what
musterd does, and the emulator's column names the variants of the service that the emulator can imitate.

${sections.map(tableOf).join('\n')}`;
}

describe('interface-mirror.ts', () => {
  const schema = read('test/mirror/schema.txt').split('\n\n');
  const columnsOf = (table: string) =>
    schema.find((part) => new RegExp(`^(?:table|view) ${escaped(table)}\\b`).test(part));
  const isThere = (place: string): boolean => {
    const [, table = '', column] = /^(mirror\.\w+)(?:\.(\w+))?$/.exec(place) ?? [];
    const columns = columnsOf(table);
    return columns !== undefined && (column === undefined || new RegExp(`^  ${column} `, 'm').test(columns));
  };
  const data = rows
    .filter(isOfData)
    .map((row) => [`${row.section}: ${row.name}`, inMirror(row) ?? ''] as const);

  it.each(data)('names an existing column or command for %s, or says why the mirror has none', (_, where) => {
    const named = [...where.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
    expect(named.filter((name) => name.startsWith('mirror.') && !isThere(name))).toEqual([]);
    const commands = named.flatMap((name) => (name.startsWith('musterd ') ? [name.slice(8)] : []));
    expect(commands.filter((name) => everyCommand.every((one) => one.name !== name))).toEqual([]);
    if (named.length === 0) expect(where).toMatch(/^nowhere: \S/);
  });

  it('names only existing rows of the table of the interface', () => {
    expect(strayNames(rows)).toEqual([]);
    expect(isThere('mirror.tags.colour')).toBe(false);
    expect(isThere('mirror.contacts')).toBe(false);
  });
});

describe('docs/interface-coverage.md', () => {
  it('equals the text made from the table of the interface (UPDATE_COVERAGE=1 writes it)', () => {
    if (process.env['UPDATE_COVERAGE'] === '1') writeFileSync(document, markdown());
    expect(readFileSync(document, 'utf8')).toBe(markdown());
  });

  it('leaves no cell of its tables empty', () => {
    const lines = markdown()
      .split('\n')
      .filter((text) => text.startsWith('|'));
    expect(lines.filter((text) => /\|\s*\|/.test(text))).toEqual([]);
    expect(lines.length).toBeGreaterThan(200);
  });
});
