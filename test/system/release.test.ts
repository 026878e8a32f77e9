/** What is made of a release, and that it is refused, is shown by `package.test.ts`, which installs what is made. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readNotes } from '../../release.ts';
import { ROOT } from '../support/checkout.ts';

const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
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
