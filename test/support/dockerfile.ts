/**
 * The steps of the Dockerfile, carried out in folders instead of images: there is no engine everywhere.
 * Understands what ours uses and refuses the rest. What an image of somebody else's brings along is this
 * machine's, and Node stands where distroless has it.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { plainEnvironment, ROOT } from './checkout.ts';
import { runWell } from './run.ts';

export interface Stage {
  readonly from: string;
  readonly root: string;
  workdir: string;
  user: string | undefined;
  entrypoint: readonly string[];
  command: readonly string[];
  healthcheck: readonly string[];
  readonly environment: Record<string, string>;
  readonly labels: Record<string, string>;
}

/** A process of the image, and what it writes. */
export type Inside = ChildProcessByStdio<null, Readable, Readable>;

interface Build {
  readonly folder: string;
  /** What the engine is sent. */
  readonly context: string;
  readonly stages: Map<string, Stage>;
  readonly args: Record<string, string>;
}

/** What .dockerignore lets through: everything is ignored but the lines with an exclamation mark. */
export function sentPaths(): readonly string[] {
  const [first, ...lines] = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n').filter(Boolean);
  const strange = lines.filter((line) => !line.startsWith('!'));
  if (first !== '*' || strange.length > 0) throw new Error(`.dockerignore: ${first} ${strange.join(' ')}`);
  return lines.map((line) => line.slice(1));
}

/** Builds it from the checkout, with the arguments of `--build-arg`. @returns the last stage */
export async function buildImage(folder: string, args: Readonly<Record<string, string>>): Promise<Stage> {
  const context = join(folder, 'context');
  for (const path of sentPaths()) {
    mkdirSync(dirname(join(context, path)), { recursive: true });
    cpSync(join(ROOT, path), join(context, path), { recursive: true });
  }
  const build: Build = { folder, context, stages: new Map(), args: { ...args } };
  let stage: Stage | undefined;
  const lines = readFileSync(join(ROOT, 'Dockerfile'), 'utf8').split('\n');
  for (const line of lines.filter((text) => text !== '' && !text.startsWith('#'))) {
    const [word = '', ...rest] = line.split(' ');
    if (word === 'ARG') readArgument(rest.join(' '), build.args, args);
    else if (word === 'FROM') {
      const [from = '', , name = 'last'] = rest.filter((each) => !each.startsWith('--platform='));
      stage = createStage(build, fill(from, build.args));
      build.stages.set(name, stage);
    } else if (stage === undefined) throw new Error(`before any FROM: ${line}`);
    else await carryOut(word, rest, stage, build);
  }
  if (stage === undefined) throw new Error('no FROM');
  return stage;
}

/** What was given stands over the default. */
function readArgument(text: string, into: Record<string, string>, given: Readonly<Record<string, string>>) {
  const [name = '', value = ''] = text.split('=');
  into[name] = given[name] ?? value;
}

function fill(text: string, args: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => args[name] ?? '');
}

/** Whether an image has Node and nothing to run a step with. */
const isRuntime = (from: string) => from.startsWith('gcr.io/distroless/');

function createStage({ folder, stages }: Build, from: string): Stage {
  const root = join(folder, `stage${stages.size}`);
  mkdirSync(join(root, 'nodejs', 'bin'), { recursive: true });
  if (isRuntime(from)) copyFileSync(process.execPath, join(root, 'nodejs', 'bin', 'node'));
  return {
    from,
    root,
    workdir: '/',
    environment: {},
    labels: {},
    user: undefined,
    entrypoint: [],
    command: [],
    healthcheck: [],
  };
}

async function carryOut(word: string, rest: string[], stage: Stage, build: Build): Promise<void> {
  const words = rest.join(' ');
  const here = join(stage.root, stage.workdir);
  const list = (text: string) => JSON.parse(text) as string[];
  if (word === 'WORKDIR') {
    stage.workdir = words;
    mkdirSync(join(stage.root, words), { recursive: true });
  } else if (word === 'ENV' || word === 'LABEL') {
    const [, name = '', value = ''] = /^([^=]+)="?([^"]*)"?$/.exec(fill(words, build.args)) ?? [];
    (word === 'ENV' ? stage.environment : stage.labels)[name] = value;
  } else if (words === 'npm ci') linkPackages(here);
  else if (word === 'RUN') {
    if (isRuntime(stage.from)) throw new Error(`nothing here to run it with: ${words}`);
    await runWell('/bin/sh', ['-ec', words], { cwd: here, env: plainEnvironment(stage.environment) });
  } else if (word === 'COPY') copy(rest, here, build);
  else if (word === 'USER') stage.user = words;
  else if (word === 'ENTRYPOINT') stage.entrypoint = list(words);
  else if (word === 'CMD') stage.command = list(words);
  else if (word === 'HEALTHCHECK') stage.healthcheck = list(words.replace(/^(--\S+ )*CMD /, ''));
  else if (word !== 'STOPSIGNAL' && word !== 'EXPOSE') throw new Error(`not understood: ${word}`);
}

/** What `npm ci` would install is what this checkout has; what it reads, and packages of our own, have to be there. */
function linkPackages(here: string): void {
  const lock = JSON.parse(readFileSync(join(here, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, unknown>>;
  };
  const own = Object.keys(lock.packages).filter((path) => !path.startsWith('node_modules/'));
  for (const path of own) statSync(join(here, path, 'package.json'));
  statSync(join(here, '.npmrc'));
  symlinkSync(join(ROOT, 'node_modules'), join(here, 'node_modules'));
}

/** A folder's content is copied, not the folder itself; to a name that ends in / several may go. */
function copy(words: readonly string[], here: string, { context, stages }: Build): void {
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

/** Whether a program can be started as the image's user, who owns none of its files. */
export const canBecome = process.getuid?.() === 0;

/** Starts a program of the image in its folder, as its user where this machine lets us. */
export function startInside(
  image: Stage,
  [program = '', ...args]: readonly string[],
  environment: Readonly<Record<string, string>>,
): Inside {
  const [uid, gid = uid] = (image.user ?? '').split(':').map(Number);
  return spawn(join(image.root, image.environment['PATH'] ?? '', program), args, {
    cwd: join(image.root, image.workdir),
    env: { ...image.environment, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(canBecome ? { uid, gid } : {}),
  });
}
