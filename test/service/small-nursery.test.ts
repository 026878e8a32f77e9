import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

it('Young objects are given no more room until all who ask for that have ended', async () => {
  const program = fileURLToPath(new URL('nursery-process.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env: {} });
  const { within, stillWithin, after } = JSON.parse(stdout) as Readonly<Record<string, number>>;
  // V8 gives and takes a little of it at any collection: 1 to 6 MB within, 32 to 64 MB afterwards.
  expect(after).toBeGreaterThan((within ?? Infinity) * 2);
  expect(after).toBeGreaterThan((stillWithin ?? Infinity) * 2);
});
