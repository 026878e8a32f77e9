import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

it('Young objects are given no more room until all who ask for that have ended', async () => {
  const program = fileURLToPath(new URL('nursery-process.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env: {} });
  const { within, stillWithin, after } = JSON.parse(stdout) as Readonly<Record<string, number>>;
  expect(stillWithin).toBeLessThanOrEqual(within ?? 0);
  expect(after).toBeGreaterThan((within ?? 0) * 1.5);
});
