/** Walks docs/contributing-tour.md in a copy of the checkout: its diffs are applied, its commands run, and what is to be seen is seen. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyCheckout, plainEnvironment, ROOT, temporaryFolder } from '../support/checkout.ts';
import { longHungAfterMs } from '../support/limits.ts';
import { run } from '../support/run.ts';

const tour = readFileSync(join(ROOT, 'docs', 'contributing-tour.md'), 'utf8');
const blocks = [...tour.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, kind = '', text = '']) => ({
  kind,
  text,
}));

/** What is done, one after the other, and what is to be seen after it. */
const steps = blocks.flatMap(({ kind, text }, at) => {
  if (kind !== 'sh' && kind !== 'diff') return [];
  const next = blocks[at + 1];
  return [{ kind, text, seen: next?.kind === 'text' ? next.text.trimEnd().split('\n') : [] }];
});

describe('docs/contributing-tour.md', () => {
  const folder = temporaryFolder();
  const env = plainEnvironment({
    PATH: `${join(ROOT, 'node_modules', '.bin')}:${plainEnvironment()['PATH']}`,
    // The walk meets a difference among the first states.
    SPECIFICATION_STATES: '10000',
  });
  const git = (...args: readonly string[]) =>
    execFileSync('git', args, { cwd: folder.path, encoding: 'utf8' });

  beforeAll(() => {
    copyCheckout(folder.path);
    // What is run here needs no server, no browser and no built program.
    const config = join(folder.path, 'vitest.config.ts');
    const ofAll = readFileSync(config, 'utf8');
    const alone = ofAll.replace(/^ *globalSetup: .*\n/m, '');
    expect(alone).not.toBe(ofAll);
    writeFileSync(config, alone);
    git('init', '--quiet');
    git('add', '--all');
    git(
      '-c',
      'user.name=A',
      '-c',
      'user.email=a@example.com',
      'commit',
      '--quiet',
      '--message',
      'chore: begin',
    );
  });
  afterAll(() => folder[Symbol.dispose]());

  it('consists of a diff, a command, a diff and three commands, in this order', () => {
    expect(steps.map(({ kind }) => kind)).toEqual(['diff', 'sh', 'diff', 'sh', 'sh', 'sh']);
    expect(new Set(blocks.map(({ kind }) => kind))).toEqual(new Set(['console', 'diff', 'sh', 'text']));
  });

  it.each(steps.map((step, at) => ({ ...step, name: `${at + 1}: ${step.text.split('\n')[0]}` })))(
    'the diff applies, or the command prints the documented output, at step $name',
    async ({ kind, text, seen }) => {
      if (kind === 'diff') {
        const file = join(mkdtempSync(join(folder.path, '.git', 'diff-')), 'step.diff');
        writeFileSync(file, text);
        git('apply', file);
        return;
      }
      const { status, stdout, stderr } = await run('/bin/sh', ['-ec', text], { cwd: folder.path, env });
      const shown = stripVTControlCharacters(`${stdout}${stderr}`).replaceAll(/[ \t]+/g, ' ');
      expect(seen.filter((line) => !shown.includes(line.replaceAll(/[ \t]+/g, ' ')))).toEqual([]);
      if (seen.length === 0) expect(shown).toBe('');
      expect(status).toBe(seen[0] === 'FAIL' ? 1 : 0);
    },
    longHungAfterMs,
  );
});

describe('the diffs in docs/changes', () => {
  const changes = readdirSync(join(ROOT, 'docs', 'changes'));

  it.each(changes)('%s applies to the current code, and the tour links to it', (name) => {
    // It says what is in the way.
    execFileSync('git', ['apply', '--check', join('docs', 'changes', name)], { cwd: ROOT, encoding: 'utf8' });
    expect(tour).toContain(`](changes/${name})`);
  });

  it.each(changes)('%s changes at least one test file', (name) => {
    expect(readFileSync(join(ROOT, 'docs', 'changes', name), 'utf8')).toMatch(
      /^\+\+\+ b\/test\/.*\.test\.ts$/m,
    );
  });
});
