import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { SOURCES } from '../support/built.ts';
import { ROOT } from '../support/checkout.ts';
import { spawnMusterd } from './run-musterd.ts';

const readme = join(ROOT, 'README.md');
const whole = join(ROOT, 'docs', 'demo.txt');
/** The first `text` block behind the command, and the text up to it. */
const block = /(\nnpm ci && npm run demo\n```\n[\s\S]*?\n```text\n)([\s\S]*?)\n```\n/;
/** What the README shows: from the edits to what they come to. */
const excerpt = /^2\. Both sides are edited\n[\s\S]*?(?=\n\n5\. )/m;
const withoutEmptyEnds = (text: string) => text.replaceAll(/\t+$/gm, '');

/** Neighbouring lines with tabs, as columns that are easy to read. */
const aligned = (text: string) =>
  text.replaceAll(/(?:^.*\t.*\n)+/gm, (lines) => {
    const rows = lines
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t'));
    const widths = (rows[0] ?? []).map((_, column) =>
      Math.max(...rows.map((row) => (row[column] ?? '').length)),
    );
    return rows
      .map(
        (row) =>
          `${row
            .map((cell, column) => cell.padEnd(widths[column] ?? 0))
            .join('  ')
            .trimEnd()}\n`,
      )
      .join('');
  });

/** What differs from run to run: how long each took, and the day. */
const settled = (text: string) =>
  text
    .replaceAll(/(?<=: run \d complete in )(?:\d+ ms|\d+\.\d s)(?=, )/g, '<duration>')
    .replaceAll(/(?<=^\d\tcomplete\t)\d\d:\d\d:\d\d(?:\.\d{1,6})?(?=\t)/gm, '<duration>')
    .replaceAll(/(?<=^all\t)\d{4}-\d\d-\d\d(?=\t)/gm, '<day>');

it('prints docs/demo.txt, and the README shows its middle (UPDATE_README=1 writes both)', async () => {
  const { code, stdout } = await spawnMusterd(['demo'], {}, '', SOURCES);
  expect(code).toBe(0);
  expect(stdout).toContain('  200 of 200 users are equal on both sides.\n');
  const transcript = withoutEmptyEnds(stdout.trim());
  const middle = aligned(excerpt.exec(transcript)?.[0] ?? '');
  if (process.env['UPDATE_README'] === '1') {
    const text = readFileSync(readme, 'utf8');
    writeFileSync(
      readme,
      text.replace(block, (_, before: string) => `${before}${middle}\n\`\`\`\n`),
    );
    writeFileSync(whole, `${transcript}\n`);
  }
  const [, , shown = ''] = block.exec(readFileSync(readme, 'utf8')) ?? [];
  expect(settled(shown)).toBe(settled(middle));
  expect(settled(readFileSync(whole, 'utf8'))).toBe(settled(`${transcript}\n`));
});
