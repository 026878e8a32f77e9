import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { copyCheckout, plainEnvironment, temporaryFolder } from '../support/checkout.ts';
import { eventually } from '../support/eventually.ts';
import { longHungAfterMs } from '../support/limits.ts';

test(
  'npm run dev serves a saved change of the page, and stops all its processes on SIGTERM',
  async () => {
    using folder = temporaryFolder();
    copyCheckout(folder.path);
    // No window opens in a test.
    const { DISPLAY: _, WAYLAND_DISPLAY: __, ...env } = plainEnvironment();
    const dev = spawn(process.execPath, ['test/support/dev.ts'], {
      cwd: folder.path,
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const ended = new Promise<number | null>((resolve) => dev.once('close', resolve));
    let said = '';
    dev.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const urlAfter = (word: string) =>
      new RegExp(`^${word}: .*?(\\w+://[^\\s']+)`, 'm').exec(said)?.[1] ?? '';
    const page = async () => {
      try {
        return await (await fetch(urlAfter('page'))).text();
      } catch {
        return '';
      }
    };
    try {
      await eventually('the page is there', async () => (await page()).includes('musterd</title>'));
      const titled = join(folder.path, 'src/page/render/document.ts');
      writeFileSync(
        titled,
        readFileSync(titled, 'utf8').replaceAll('musterd</title>', 'as it was saved</title>'),
      );
      await eventually('it is another', async () => (await page()).includes('as it was saved</title>'));
    } finally {
      dev.kill('SIGTERM');
    }
    expect(await ended).toBe(0);
    await expect(fetch(urlAfter('page'))).rejects.toThrow('fetch failed');
  },
  longHungAfterMs,
);
