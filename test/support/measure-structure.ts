/**
 * The shape of the code in figures: `npm run measure`. A path of another checkout measures that one in the same way,
 * but for its walks: `node test/support/measure-structure.ts <folder>`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createProgram } from '../../src/commands/program.ts';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { measureWalk, recordWalks, type Walk } from './record-walks.ts';
import {
  closureOf,
  countFloors,
  findCircles,
  readArrows,
  readSourceFiles,
  repeated,
} from './source-files.ts';
import { allOf, isFunction, type Node, namedFunctions, parse } from './syntax.ts';

const here = fileURLToPath(new URL('../..', import.meta.url));

export interface Figure {
  readonly what: string;
  readonly value: number;
  /** At most; `null`: only told. */
  readonly limit: number | null;
}

const countLines = (texts: readonly string[]) =>
  texts.reduce((sum, text) => sum + text.trimEnd().split('\n').length, 0);

function textsIn(root: string, folder: string, ending: string): readonly string[] {
  const paths = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
  return paths
    .filter((path) => path.endsWith(ending))
    .map((path) => readFileSync(join(root, folder, path), 'utf8'));
}

/** Names of functions and views, once for each migration that states them whole. */
const statedIn = (migration: string) => [
  ...new Set(
    [...migration.matchAll(/^create (?:or replace )?(?:function|procedure|view) ([\w.]+)/gm)].map(
      ([, name]) => name ?? '',
    ),
  ),
];

const branching = /^(?:If|For\w*|While|DoWhile)Statement$|^(?:Conditional|Logical)Expression$|^CatchClause$/;
const isBranch = (node: Node) =>
  branching.test(node.type) || (node.type === 'SwitchCase' && node['test'] !== null);
/** Ways that a function forks, without those of the functions in it. */
const countBranches = ({ body }: { readonly body: Node }) =>
  allOf(body, (node) => !isFunction(node)).filter(isBranch).length;

const isOptional = ({ type, optional }: Node) =>
  optional === true && (type === 'TSPropertySignature' || type === 'TSMethodSignature');
const isEmptyObject = (node: unknown) =>
  (node as Node).type === 'ObjectExpression' && ((node as Node)['properties'] as unknown[]).length === 0;
function isSpreadOrNothing({ type, argument }: Node): boolean {
  const { type: of, consequent, alternate } = (argument ?? {}) as Node;
  return (
    type === 'SpreadElement' &&
    of === 'ConditionalExpression' &&
    (isEmptyObject(consequent) || isEmptyObject(alternate))
  );
}

interface Section {
  readonly properties?: Readonly<Record<string, Section>>;
}

const ports = [
  ['ServicePort', 5],
  ['MirrorPort', 13],
  ['MirrorWriter', 12],
] as const;
const methodsOf = (nodes: readonly Node[], port: string) =>
  nodes
    .filter((node) => node.type === 'TSInterfaceDeclaration' && (node['id'] as Node)['name'] === port)
    .flatMap((node) => (node['body'] as Node)['body'] as readonly Node[])
    .filter(({ type }) => type === 'TSMethodSignature').length;

/** Settings by section and name, such as `push.batchSize`. */
function settingsOf(root: string): number {
  const schema = JSON.parse(readFileSync(join(root, 'config/musterd.schema.json'), 'utf8')) as Section;
  const sections = Object.entries(schema.properties ?? {}).flatMap(([name, one]) =>
    name === '$schema' ? [] : [one],
  );
  return sections.reduce((sum, { properties }) => sum + Object.keys(properties ?? { itself: {} }).length, 0);
}

/** What is counted in the files alone. */
export function measureStructure(root = here): readonly Figure[] {
  const files = readSourceFiles(root);
  const [src, tests, migrations] = [
    files.map(({ text }) => text),
    textsIn(root, 'test', '.ts'),
    textsIn(root, 'migrations', '.sql'),
  ];
  const nodes = src.flatMap((text) => allOf(parse(text)));
  const merge = closureOf(files, 'reconcile/merge/plan-user.ts');
  const arrows = readArrows(files);
  const tables =
    readFileSync(join(root, 'test/mirror/schema.txt'), 'utf8').match(/^table sync\.(?!migrations$)\w+/gm) ??
    [];
  const most = Math.max(...namedFunctions(nodes).map(countBranches));
  const onOneLevel = files.filter(({ path }) => /^mirror\/[^/]+$/.test(path));
  const figure = (what: string, value: number, limit: number | null): Figure => ({ what, value, limit });
  return [
    figure('src: files', files.length, 511),
    figure('src: lines', countLines(src), 49_200),
    figure('tests: lines', countLines(tests), null),
    figure('of them support', countLines(textsIn(root, 'test/support', '.ts')), null),
    figure('migrations: files', migrations.length, 13),
    figure('migrations: lines', countLines(migrations), 3_537),
    figure(
      'functions and views stated again by a later migration',
      repeated(migrations.flatMap(statedIn)).length,
      0,
    ),
    figure('closure of plan-user.ts: files', merge.length, 16),
    figure('closure of plan-user.ts: lines', countLines(merge.map(({ text }) => text)), 1_400),
    ...ports.map(([port, limit]) => figure(`methods of ${port}`, methodsOf(nodes, port), limit)),
    figure('optional members of types', nodes.filter(isOptional).length, 431),
    figure('spreads of an object or nothing', nodes.filter(isSpreadOrNothing).length, 37),
    figure('branches of one function, most', most, 15),
    figure('files on one level of mirror/', onOneLevel.length, 2),
    figure('settings', settingsOf(root), 50),
    ...(root === here ? measureCommands() : []),
    figure('rooms', arrows.size, 20),
    figure('floors', countFloors(arrows), 7),
    figure(
      'arrows',
      [...arrows.values()].reduce((sum, { size }) => sum + size, 0),
      64,
    ),
    figure('circles', findCircles(files).length, 0),
    figure('exported names defined twice', repeated(files.flatMap(({ names }) => names)).length, 0),
    figure('file names used twice', repeated(files.map(({ path }) => basename(path))).length, 5),
    figure('tables in sync, besides sync.migrations', tables.length, 12),
    figure('lines of README.md', countLines([readFileSync(join(root, 'README.md'), 'utf8')]), 180),
  ];
}

/** What somebody can type. */
function measureCommands(): readonly Figure[] {
  const commands: { readonly options: readonly unknown[] }[] = [];
  const silent = { write: () => undefined };
  const program = createProgram({
    version: '0',
    out: silent,
    err: silent,
    wire: (command) => void commands.push(command),
  });
  const options = [program, ...commands].reduce((sum, { options: own }) => sum + own.length, 0);
  return [
    { what: 'commands', value: commands.length, limit: 30 },
    { what: 'options', value: options, limit: 124 },
  ];
}

/** What is counted in walks that were recorded. */
export function measureWalks(walks: readonly Walk[]): readonly Figure[] {
  return walks.flatMap((walk) => {
    const { functions, files, returns } = measureWalk(walk);
    const title = walk.title.replace('A user', 'a user');
    const [mostFunctions, mostFiles] = walk.title.includes('pulled') ? [682, 151] : [781, 163];
    return [
      { what: `${title}: named functions that run`, value: functions, limit: mostFunctions },
      { what: `${title}: files`, value: files, limit: mostFiles },
      { what: `${title}: returns to a file left before`, value: returns, limit: null },
    ];
  });
}

async function playWalks(): Promise<readonly Walk[]> {
  const server = await openEmbedded({ ephemeral: true });
  try {
    return await recordWalks(server.url);
  } finally {
    await server.close();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , checkout] = process.argv;
  const walked = checkout === undefined ? measureWalks(await playWalks()) : [];
  for (const { what, value, limit } of [...measureStructure(checkout), ...walked]) {
    const bound = limit === null ? '' : `at most ${limit}`;
    process.stdout.write(`${what.padEnd(56)}${String(value).padStart(7)}   ${bound}\n`);
  }
}
