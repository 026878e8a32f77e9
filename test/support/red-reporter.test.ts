import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startVitest } from 'vitest/node';
import { createRedReporter } from './red-reporter.ts';

/** What is printed at the end of a run of these files. */
async function endOf(files: Readonly<Record<string, string>>): Promise<string> {
  // Inside of the checkout, where vitest is found.
  const reports = join(import.meta.dirname, '../../coverage');
  mkdirSync(reports, { recursive: true });
  const root = mkdtempSync(join(reports, 'red-'));
  const { exitCode } = process;
  let printed = '';
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text);
    const reporters = [createRedReporter((text) => (printed += text))];
    const run = await startVitest('test', [], { root, reporters, watch: false, config: false });
    await run.close();
  } finally {
    rmSync(root, { recursive: true });
    // A run in which something is red makes this process's code its own.
    process.exitCode = exitCode;
  }
  return printed;
}

const head = `import { afterAll, describe, expect, it } from 'vitest';\n`;

describe('createRedReporter', () => {
  it('prints one line for each failure: its file, its test, and the first line of its reason', async () => {
    const said = await endOf({
      'a.test.ts': `${head}
        describe('roles', () => {
          it('is green', () => {});
          it('is red', () => { throw new Error('two lines\\nof reason'); });
          it('is red twice', () => { expect.soft(1).toBe(2); expect.soft('${'x'.repeat(300)}').toBe(''); });
        });
        describe('a room', () => { it('opens', () => {}); afterAll(() => { throw new Error('does not close'); }); });`,
      'b.test.ts': `${head} throw new Error('cannot be read');`,
      'c.test.ts': `${head} it('throws later', async () => {
        Promise.reject(new Error('nobody waits for it'));
        await new Promise((resolve) => setImmediate(resolve));
      });`,
    });
    expect(said.split('\n')).toEqual([
      '',
      'Red (5):',
      '  a.test.ts › a room: does not close',
      '  a.test.ts › roles > is red: two lines',
      '  a.test.ts › roles > is red twice: expected 1 to be 2 // Object.is equality (and 1 more)',
      '  b.test.ts: cannot be read',
      '  outside of any test: nobody waits for it',
      '',
    ]);
  });

  it('prints nothing if all tests pass', async () => {
    expect(await endOf({ 'a.test.ts': `${head} it('is green', () => {});` })).toBe('');
  });
});
