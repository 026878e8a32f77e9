/** COPY by psql, the fastest way into a table that there is. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpuMsOfEndedChildren } from './postgres.ts';

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

/** Runs a script: the ms that psql says its statements took, without its own start, and the CPU time of psql. */
export async function psql(
  url: string,
  script: string,
): Promise<{ readonly ms: number; readonly cpuMs: number }> {
  const before = cpuMsOfEndedChildren();
  const child = spawn('psql', ['--no-psqlrc', '--quiet', '--set=ON_ERROR_STOP=1', url], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' },
  });
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].on('data', (chunk: Buffer) => {
      texts[name] += chunk.toString();
    });
  child.stdin.end(`\\timing on\n${script}\n`);
  await once(child, 'close');
  if (child.exitCode !== 0) throw new Error(`psql: ${texts.stderr}`);
  const ms = [...texts.stdout.matchAll(/^Time: ([\d.]+) ms/gm)].reduce(
    (sum, [, each]) => sum + Number(each),
    0,
  );
  return { ms, cpuMs: cpuMsOfEndedChildren() - before };
}
