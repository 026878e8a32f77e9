#!/usr/bin/env node
/** The process: its arguments, its streams and its end. What it does is in `command-line.ts`. */
import { runCommandLine } from './command-line.ts';
import { exitCode } from './commands/context.ts';

/** A reader that has gone away is no reason to fail, and neither are words that find no room. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return;
  process.stderr.write(`musterd: the result could not be written: ${error.message}\n`);
  process.exitCode = exitCode.partial;
  process.on('exit', () => {
    process.exitCode = exitCode.partial;
  });
});
process.stderr.on('error', () => undefined);

process.exitCode = await runCommandLine({
  args: process.argv.slice(2),
  env: process.env,
  out: process.stdout,
  err: process.stderr,
  leave: (code) => process.exit(code),
});
