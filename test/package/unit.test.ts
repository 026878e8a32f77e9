import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../support/load-config.ts';
import { ROOT, temporaryFolder } from '../support/checkout.ts';

const text = readFileSync(join(ROOT, 'config', 'musterd.service'), 'utf8');
const settings = new Map(
  text
    .split('\n')
    .filter((line) => /^\w+=/.test(line))
    .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
);

test('the systemd unit does not restart musterd after the exit codes 9, 64, 77 and 78, and stops musterd by SIGTERM (R11)', () => {
  expect(settings.get('ExecStart')).toMatch(/dist\/main\.js daemon$/);
  // 9 is Node's own: it does not know an option, so it is too old to say 78.
  expect(settings.get('RestartPreventExitStatus')).toBe('9 64 77 78');
  expect(settings.get('KillSignal')).toBe('SIGTERM');
  // An embedded Postgres must not get the signal: musterd stops it, last.
  expect(settings.get('KillMode')).toBe('mixed');
});

test.each(['config/musterd.service', 'README.md', 'docs/operations.md', 'docs/guide.md'])(
  '%s does not install musterd by its name from a registry',
  (file) => {
    const document = readFileSync(join(ROOT, file), 'utf8');
    const installed = [...document.matchAll(/\bnpm (?:install|i|add|exec)\b[^\n(`]*/g)].map(([line]) =>
      line.trim(),
    );
    expect(installed.filter((line) => / musterd(?:@\S*)?$/.test(line))).toEqual([]);
    if (file.endsWith('.service')) expect(installed).toEqual([expect.stringContaining('.tgz')]);
  },
);

test('the systemd unit disables the debugger and core dumps (S18)', () => {
  expect(settings.get('ExecStart')).toMatch(/node --disable-sigusr1 \S+\/main\.js daemon$/);
  expect(settings.get('LimitCORE')).toBe('0');
});

test('the systemd unit accepts notices of musterd, and restarts musterd after three minutes without a watchdog notice', () => {
  expect(settings.get('Type')).toBe('notify');
  // systemd-notify speaks, which is a child of musterd.
  expect(settings.get('NotifyAccess')).toBe('all');
  expect(settings.get('WatchdogSec')).toBe('3min');
  expect(settings.get('WatchdogSignal')).toBe('SIGTERM');
  expect(settings.get('Restart')).toBe('on-failure');
  expect(settings.get('ExecReload')).toBe('/bin/kill -HUP $MAINPID');
});

const examples = text.replaceAll(/^#(LoadCredential|Environment)=/gm, '$1=');

test('the credential examples of the systemd unit load each file that a setting names, and musterd reads these settings', () => {
  const loaded = [...examples.matchAll(/^LoadCredential=([\w-]+):/gm)].map(([, name]) => name);
  const used = [...examples.matchAll(/^Environment=(\w+)_FILE=%d\/([\w-]+)$/gm)];
  expect(used.length).toBeGreaterThan(0);
  expect(loaded).toEqual(expect.arrayContaining(used.map(([, , name]) => name)));
  using folder = temporaryFolder();
  for (const [, name = '', file = ''] of used) {
    const path = join(folder.path, file);
    writeFileSync(path, `${name === 'DATABASE_URL' ? 'postgres://' : ''}word-of-${file}`);
    expect(JSON.stringify(loadConfig(undefined, { [`${name}_FILE`]: path }))).toContain(`word-of-${file}`);
  }
});

test.skipIf(spawnSync('systemd-analyze', ['--version']).status !== 0).each([
  ['as shipped', text],
  ['with its examples enabled', examples],
])('systemd-analyze accepts the unit %s, and rates it as secure (S68)', (_, unit) => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'musterd.service');
  // The programs have to exist on the machine that checks.
  const programs = unit.replace('/usr/bin/node', process.execPath).replace('/bin/kill', process.execPath);
  writeFileSync(file, programs);
  const verified = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' });
  expect(verified.stderr.split('\n').filter((line) => line.includes('musterd'))).toEqual([]);
  const rated = spawnSync('systemd-analyze', ['security', '--offline=yes', '--threshold=20', file], {
    encoding: 'utf8',
  });
  expect(rated.status, rated.stdout).toBe(0);
});
