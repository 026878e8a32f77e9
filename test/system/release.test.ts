import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readNotes } from '../../release.ts';
import { copyCheckout, plainEnvironment, ROOT, temporaryFolder } from '../support/checkout.ts';
import { longHungAfterMs } from '../support/limits.ts';
import { type Ran, run } from '../support/run.ts';

const { version, scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly scripts: object;
};

describe('the notes of a release', () => {
  const changelog =
    '# Changelog\n\nWords.\n\n## 1.2.0 (2026-12-01)\n\n* New.\n\n## 1.1.0 (2026-11-30)\n\n* Old.\n';

  it('are what the changelog begins with', () => {
    expect(readNotes(changelog, '1.2.0')).toEqual({ notes: '* New.\n' });
  });

  it.each([
    ['another version', '1.1.0', changelog],
    ['no version yet', '1.2.0', changelog.replace('1.2.0 (2026-12-01)', 'Unreleased')],
    ['no day', '1.2.0', changelog.replace(' (2026-12-01)', '')],
    ['nothing', '1.2.0', changelog.replace('* New.\n', '')],
  ])('are missing where it begins with %s', (_, version, text) => {
    expect(readNotes(text, version)).toEqual({ flaw: expect.stringMatching(/^CHANGELOG\.md /) as string });
  });
});

describe('npm run release -- --dry-run', () => {
  const folder = temporaryFolder();
  const checkout = join(folder.path, 'checkout');
  const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: checkout });
  const release = (...args: readonly string[]): Promise<Ran> =>
    run(process.execPath, ['release.ts', '--no-image', ...args], { cwd: checkout, env: plainEnvironment() });
  let made: Ran;

  beforeAll(async () => {
    copyCheckout(checkout);
    const path = join(checkout, 'CHANGELOG.md');
    writeFileSync(path, readFileSync(path, 'utf8').replace(/^## .*$/m, `## ${version} (2026-11-26)`));
    await release('--record-migrations');
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
    made = await release('--dry-run', '--to', '../release');
  }, longHungAfterMs);
  afterAll(() => folder[Symbol.dispose]());

  const inRelease = (name: string) => readFileSync(join(folder.path, 'release', name), 'utf8');

  it('makes the package, its bill of materials, the notes and the checksums, and publishes nothing', () => {
    expect(made.stderr).toBe('');
    expect(made.status).toBe(0);
    expect(made.stdout).toContain(`not to be published: no tag v${version} is here\n`);
    expect(made.stdout.match(/^not to be published: /gm)).toHaveLength(1);
    expect(made.stdout).toMatch(/^Nothing was published\./m);
    expect(readdirSync(join(folder.path, 'release')).toSorted()).toEqual([
      'SHA256SUMS',
      `musterd-${version}.cdx.json`,
      `musterd-${version}.tgz`,
      'notes.md',
    ]);
    expect(JSON.parse(inRelease(`musterd-${version}.cdx.json`))).toMatchObject({ bomFormat: 'CycloneDX' });
    expect(inRelease('notes.md')).not.toBe('');
    const check = execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: join(folder.path, 'release') });
    expect(String(check).match(/: OK$/gm)).toHaveLength(3);
  });

  it('is refused without the dry run: there is no tag, and a released migration has changed', async () => {
    const path = join(checkout, 'migrations', '0001_baseline.sql');
    writeFileSync(path, `${readFileSync(path, 'utf8')}-- Another end.\n`);
    const { status, stdout } = await release();
    expect(status).toBe(1);
    expect(stdout.trim().split('\n')).toEqual([
      'not to be published: migrations/0001_baseline.sql was released, and has changed since',
      'not to be published: there are changes that are not committed',
      `not to be published: no tag v${version} is here`,
    ]);
    const recorded = await release('--record-migrations');
    expect(recorded.status).toBe(1);
    expect(recorded.stderr).toContain('Make another migration in its place.');
  });
});

describe('.github/workflows/release.yml', () => {
  interface Job {
    readonly permissions: Readonly<Record<string, string>>;
    readonly environment: string;
    readonly steps: readonly { readonly uses?: string; readonly run?: string }[];
  }
  const text = readFileSync(join(ROOT, '.github', 'workflows', 'release.yml'), 'utf8');
  const { jobs, permissions } = parse(text) as {
    readonly jobs: Record<string, Job>;
    readonly permissions: object;
  };
  const steps = Object.values(jobs).flatMap((job) => job.steps);
  const commands = steps.flatMap((step) => step.run ?? []);

  it('gives each job what it needs, and lets one alone speak to npm', () => {
    expect(permissions).toEqual({});
    expect(Object.entries(jobs).map(([name, job]) => [name, job.permissions, job.environment])).toEqual([
      ['package', { contents: 'write', 'id-token': 'write' }, 'release'],
      ['image', { contents: 'read', packages: 'write' }, 'release'],
    ]);
  });

  it('runs actions of one commit, scripts that are there, and nothing that somebody else wrote', () => {
    for (const { uses } of steps.filter((step) => step.uses !== undefined))
      expect(uses).toMatch(/@[0-9a-f]{40}$/);
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
