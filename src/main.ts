#!/usr/bin/env node
/** The entry point: passes arguments and streams to `commands/command-line.ts`, which does the work. */
import { nodeRefusal } from './commands/node-version.ts';

const refusal = nodeRefusal(process.versions.node);
if (refusal !== null) {
  process.stderr.write(`musterd: ${refusal}\n`);
  if (process.argv.includes('--json')) {
    const error = { code: 'configuration', message: refusal, hint: null };
    process.stdout.write(`${JSON.stringify({ error }, null, 2)}\n`);
  }
  process.exit(78);
}

/** A reader that closes stdout is not a failure. Another error, such as a full disk, makes the command exit with 1. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return;
  process.stderr.write(`musterd: the result could not be written: ${error.message}\n`);
  process.exitCode = 1;
  process.on('exit', () => {
    process.exitCode = 1;
  });
});
process.stderr.on('error', () => undefined);

// These modules are loaded only now, because an older Node could not even parse them.
const { keepCompiledCode } = await import('./commands/compile-cache.ts');
keepCompiledCode(process.env);
const { runCommandLine } = await import('./commands/command-line.ts');
process.exitCode = await runCommandLine({
  args: process.argv.slice(2),
  env: process.env,
  out: process.stdout,
  err: process.stderr,
  leave: (code) => process.exit(code),
});
