import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../support/checkout.ts';
import { runMusterd } from './run-musterd.ts';

const readme = join(ROOT, 'README.md');
/** The first `text` block behind the command, and the text up to it. */
const block = /(\nnpm ci && npm run demo\n```\n[\s\S]*?\n```text\n)([\s\S]*?)\n```\n/;
const withoutEmptyEnds = (text: string) => text.replaceAll(/\t+$/gm, '');

/** What differs from run to run: how long each took, and the day. */
const settled = (text: string) =>
  text
    .replaceAll(/(?<=: run \d complete in )(?:\d+ ms|\d+\.\d s)(?=, )/g, '<duration>')
    .replaceAll(/(?<=^\d\tcomplete\t)\d\d:\d\d:\d\d(?:\.\d{1,6})?(?=\t)/gm, '<duration>')
    .replaceAll(/(?<=^all\t)\d{4}-\d\d-\d\d(?=\t)/gm, '<day>');

it('prints what the README shows of it (UPDATE_README=1 writes it there)', async () => {
  const { code, stdout } = await runMusterd(['demo']);
  expect(code).toBe(0);
  expect(stdout).toContain('  200 of 200 users are equal on both sides.\n');
  const transcript = withoutEmptyEnds(stdout.trim());
  if (process.env['UPDATE_README'] === '1') {
    const text = readFileSync(readme, 'utf8');
    writeFileSync(
      readme,
      text.replace(block, (_, before: string) => `${before}${transcript}\n\`\`\`\n`),
    );
  }
  const [, , shown = ''] = block.exec(readFileSync(readme, 'utf8')) ?? [];
  expect(settled(shown)).toBe(settled(transcript));
});
