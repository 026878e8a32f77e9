/** COPY, the fastest way into a table that there is: by psql, or where that is not installed by pg-copy-streams. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { CompiledQuery } from 'kysely';
import { type BenchDatabase, cpuMsOfEndedChildren } from './postgres.ts';

/** A value as COPY reads it. */
export function copyText(value: unknown): string {
  if (value === null || value === undefined) return '\\N';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value as string | number);
  return text
    .replaceAll('\\', '\\\\')
    .replaceAll('\t', '\\t')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r');
}

/** One session: statements, rows of a file, statements. */
export interface Copy {
  readonly before?: readonly string[];
  /** `table (columns)` */
  readonly into: string;
  readonly file: string;
  readonly after?: readonly string[];
}

export interface Copied {
  readonly ms: number;
  /** Of the client. */
  readonly cpuMs: number;
}

const hasPsql = spawnSync('psql', ['--version'], { stdio: 'ignore' }).status === 0;

export async function copy(database: BenchDatabase, work: Copy): Promise<Copied> {
  return await (hasPsql ? copyByPsql(database, work) : copyByStream(database, work));
}

/** The ms that psql says its statements took, without its own start. */
async function copyByPsql(
  { url }: BenchDatabase,
  { before = [], into, file, after = [] }: Copy,
): Promise<Copied> {
  const cpuBefore = cpuMsOfEndedChildren();
  const child = spawn('psql', ['--no-psqlrc', '--quiet', '--set=ON_ERROR_STOP=1', url], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' },
  });
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].on('data', (chunk: Buffer) => {
      texts[name] += chunk.toString();
    });
  const lines = ['\\timing on', ...before.map((text) => `${text};`), `\\copy ${into} from '${file}'`];
  child.stdin.end([...lines, ...after.map((text) => `${text};`), ''].join('\n'));
  await once(child, 'close');
  if (child.exitCode !== 0) throw new Error(`psql: ${texts.stderr}`);
  const times = [...texts.stdout.matchAll(/^Time: ([\d.]+) ms/gm)].map(([, ms]) => Number(ms));
  return { ms: times.reduce((sum, ms) => sum + ms, 0), cpuMs: cpuMsOfEndedChildren() - cpuBefore };
}

async function copyByStream(
  { db }: BenchDatabase,
  { before = [], into, file, after = [] }: Copy,
): Promise<Copied> {
  const cpuBefore = process.cpuUsage();
  const began = performance.now();
  await db.transaction(async (tx) => {
    await tx.executeQuery(CompiledQuery.raw('set local search_path = public'));
    for (const text of before) await tx.executeQuery(CompiledQuery.raw(text));
    await tx.executeQuery(CompiledQuery.raw(`copy ${into} from stdin`, [createReadStream(file)]));
    for (const text of after) await tx.executeQuery(CompiledQuery.raw(text));
  });
  const { user, system } = process.cpuUsage(cpuBefore);
  return { ms: performance.now() - began, cpuMs: (user + system) / 1000 };
}
