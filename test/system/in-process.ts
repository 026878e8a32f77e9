import { runCommandLine } from '../../src/commands/command-line.ts';

/** The command line within this process: what it ends with, and what it wrote. Its log goes to stderr. */
export async function inProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  let stdout = '';
  let stderr = '';
  const code = await runCommandLine({
    args,
    env: { MUSTERD__log__level: 'silent', ...env },
    out: { write: (text) => (stdout += text) },
    err: { write: (text) => (stderr += text) },
    leave: (given) => {
      throw new Error(`left with ${given}`);
    },
  });
  return { code, stdout, stderr };
}
