import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, temporaryFolder } from '../support/checkout.ts';

const text = readFileSync(join(ROOT, 'config', 'musterd.service'), 'utf8');
const settings = new Map(
  text
    .split('\n')
    .filter((line) => /^\w+=/.test(line))
    .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
);

test('systemd is told which ends are final, and how long an orderly end takes', () => {
  expect(settings.get('ExecStart')).toMatch(/dist\/main\.js daemon$/);
  expect(settings.get('RestartPreventExitStatus')).toBe('64 77 78');
  expect(settings.get('KillSignal')).toBe('SIGTERM');
  // An embedded Postgres must not get the signal: musterd stops it, last.
  expect(settings.get('KillMode')).toBe('mixed');
});

test.skipIf(spawnSync('systemd-analyze', ['--version']).status !== 0)(
  'systemd understands it, and finds it tight',
  () => {
    using folder = temporaryFolder();
    const file = join(folder.path, 'musterd.service');
    // The program has to exist on the machine that checks.
    writeFileSync(file, text.replace('/usr/bin/node', process.execPath));
    const verified = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' });
    expect(verified.stderr.split('\n').filter((line) => line.includes('musterd'))).toEqual([]);
    const rated = spawnSync('systemd-analyze', ['security', '--offline=yes', '--threshold=20', file], {
      encoding: 'utf8',
    });
    expect(rated.status, rated.stdout).toBe(0);
  },
);
