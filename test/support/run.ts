import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. */
export async function run(
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<Ran> {
  const child = spawn(program, [...args], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  const [stdout, stderr, status] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { status, stdout, stderr };
}

/** The same for what has to succeed. */
export async function runWell(...[program, args, options]: Parameters<typeof run>): Promise<string> {
  const { status, stdout, stderr } = await run(program, args, options);
  if (status === 0) return stdout;
  throw new Error(`${program} ${args.join(' ')} ended with ${status}\n${stdout}\n${stderr}`);
}
