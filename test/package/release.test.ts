/** What is made of a release, and that it is refused, is shown by `package.test.ts`, which installs what is made. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { readNotes } from '../../scripts/release.ts';
import { ROOT } from '../support/checkout.ts';

const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

interface Job {
  readonly permissions: Readonly<Record<string, string>>;
  readonly environment?: string;
  readonly steps: readonly { readonly uses?: string; readonly run?: string }[];
}

const pinned = /@[0-9a-f]{40}$/;

describe('readNotes', () => {
  const changelog =
    '# Changelog\n\nWords.\n\n## 1.2.0 (2026-12-01)\n\n* New.\n\n## 1.1.0 (2026-11-30)\n\n* Old.\n';

  it('returns the newest section of the changelog', () => {
    expect(readNotes(changelog, '1.2.0')).toEqual({ notes: '* New.\n' });
  });

  it.each([
    ['another version', '1.1.0', changelog],
    ['an unreleased version', '1.2.0', changelog.replace('1.2.0 (2026-12-01)', 'Unreleased')],
    ['a version without a date', '1.2.0', changelog.replace(' (2026-12-01)', '')],
    ['an empty section', '1.2.0', changelog.replace('* New.\n', '')],
  ])('reports a flaw if the changelog begins with %s', (_, version, text) => {
    expect(readNotes(text, version)).toEqual({ flaw: expect.stringMatching(/^CHANGELOG\.md /) as string });
  });
});

describe('.github/workflows/release.yml', () => {
  const text = readFileSync(join(ROOT, '.github', 'workflows', 'release.yml'), 'utf8');
  const { jobs, permissions } = parse(text) as {
    readonly jobs: Record<string, Job>;
    readonly permissions: object;
  };
  const steps = Object.values(jobs).flatMap((job) => job.steps);
  const commands = steps.flatMap((step) => step.run ?? []);

  it('gives each job its minimal rights, and lets only the job "publish" sign in to npm', () => {
    expect(permissions).toEqual({});
    expect(Object.entries(jobs).map(([name, job]) => [name, job.permissions, job.environment])).toEqual([
      ['package', { contents: 'read' }, undefined],
      ['publish', { contents: 'write', 'id-token': 'write' }, 'release'],
      ['image', { contents: 'read', packages: 'write' }, 'release'],
    ]);
  });

  it('tests the package in one job, and publishes the package in a job that does not run scripts of the project', () => {
    const runs = (name: string) => jobs[name]?.steps.flatMap((step) => step.run ?? []) ?? [];
    expect(runs('package').slice(0, 1)).toEqual(['.ci/run']);
    expect(
      runs('publish')
        .join('\n')
        .match(/\b(npm|npx|node|gh|sha256sum) \S+( --ignore-scripts)?/g),
    ).toEqual(['sha256sum --check', 'npm view', 'npm publish --ignore-scripts', 'gh release', 'gh release']);
  });

  it.each([
    ['v1.2.0', '', ['npm publish latest', 'gh release create']],
    ['v1.2.0-rc.1', '', ['npm publish next', 'gh release create --prerelease']],
    ['v1.2.0', 'same', ['gh release create']],
    ['v1.2.0', 'same, with a release', []],
    ['v1.2.0', 'other', undefined],
  ])('publishes missing parts of %s, or fails if npm has another file: npm has "%s"', (tag, there, done) => {
    const folder = mkdtempSync(join(tmpdir(), 'musterd-test-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, 'release'));
    writeFileSync(join(folder, 'release', 'musterd.tgz'), 'made');
    const same = `sha512-${createHash('sha512').update('made').digest('base64')}`;
    const integrity = there === 'other' ? 'sha512-other' : there === '' ? '' : same;
    const program = (name: string, lines: string) =>
      writeFileSync(join(folder, name), `#!/bin/bash\n${lines}\n`, { mode: 0o755 });
    program(
      'npm',
      `[[ $1 = view ]] && echo "${integrity}" && exit\n[[ "$*" =~ --tag\\ ([a-z]+) ]] && echo "npm publish \${BASH_REMATCH[1]}" >> done`,
    );
    program(
      'gh',
      `[[ $2 = view ]] && exit ${there.endsWith('release') ? 0 : 1}\n[[ "$*" =~ --prerelease ]]; echo "gh release create \${BASH_REMATCH[0]}" >> done`,
    );
    writeFileSync(join(folder, 'done'), '');
    const script = jobs['publish']?.steps
      .flatMap((step) => (/npm|gh /.test(step.run ?? '') ? [step.run] : []))
      .join('\n');
    const { status } = spawnSync('bash', ['-e', '-o', 'pipefail', '-c', script ?? ''], {
      cwd: folder,
      env: { PATH: `${folder}:${process.env['PATH']}`, GITHUB_REF_NAME: tag },
    });
    const lines = readFileSync(join(folder, 'done'), 'utf8')
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean);
    expect([status === 0, lines]).toEqual([done !== undefined, done ?? []]);
  });

  it('runs only pinned actions and existing scripts, and inserts no expression into a command', () => {
    for (const { uses } of steps.filter((step) => step.uses !== undefined)) expect(uses).toMatch(pinned);
    const named = commands.flatMap((command) => [...command.matchAll(/npm run (?:-s )?(\S+)/g)]);
    expect(
      named.map(([, script = '']) => script).filter((script) => !Object.hasOwn(scripts, script)),
    ).toEqual([]);
    expect(named).toHaveLength(1);
    // What stands in braces is put into the script before a shell reads it.
    expect(commands.filter((command) => command.includes('$'.concat('{{')))).toEqual([]);
    expect(text).not.toMatch(/NODE_AUTH_TOKEN|NPM_TOKEN/);
  });
});

describe('.ci/proof', () => {
  const played = [...readFileSync(join(ROOT, '.ci', 'proof'), 'utf8').matchAll(/\bplay (\w+)(.*)$/gm)];

  it.each(played.map(([, script = '', rest = '']) => [script, rest]))(
    'runs the script "%s" with options that the script accepts:%s',
    (script, rest) => {
      const command = scripts[script] ?? '';
      const program = /\S+\.ts$/.exec(command)?.[0];
      const text = program === undefined ? '' : readFileSync(join(ROOT, program), 'utf8');
      const options = [...rest.matchAll(/--(\w+)/g)].map(([, option]) => `${option}: { type: 'string'`);
      expect(command).not.toBe('');
      expect(options.filter((option) => !text.includes(option))).toEqual([]);
    },
  );

  it('runs seven kinds of checks, and a workflow starts .ci/proof each Saturday', () => {
    expect(played.map(([, script]) => script)).toEqual([
      'simulate',
      'step',
      'hostile',
      'test',
      'crash',
      'mutate',
      'soak',
    ]);
    const { on, permissions, jobs } = parse(
      readFileSync(join(ROOT, '.github', 'workflows', 'proof.yml'), 'utf8'),
    ) as {
      readonly on: { readonly schedule: readonly { readonly cron: string }[] };
      readonly permissions: object;
      readonly jobs: { readonly proof: Job };
    };
    expect(on.schedule).toEqual([{ cron: expect.stringMatching(/^\d+ \d+ \* \* 6$/) as string }]);
    expect(permissions).toEqual({ contents: 'read' });
    expect(jobs.proof.steps.flatMap((step) => step.run ?? [])).toEqual(['.ci/proof "$GITHUB_RUN_NUMBER"']);
    for (const { uses } of jobs.proof.steps.filter((step) => step.uses !== undefined))
      expect(uses).toMatch(pinned);
  });
});
