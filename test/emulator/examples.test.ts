import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { Emulator } from '../../src/emulator/create-emulator.ts';
import { longHungAfterMs } from '../support/limits.ts';
import { run } from '../support/run.ts';
import { withEmulator } from './with-emulator.ts';

const folder = fileURLToPath(new URL('../../examples', import.meta.url));

/** What runs each of them, and what that needs beside it. */
const clients: Readonly<Record<string, readonly [readonly string[], readonly string[]]>> = {
  'client.sh': [['sh'], ['curl', 'openssl']],
  'client.py': [['python3'], []],
  'client.pl': [['perl'], []],
  'client.mjs': [[process.execPath], []],
  'client.go': [['go', 'run'], []],
};

const folders = (process.env['PATH'] ?? '').split(delimiter);
const isAtHand = (program: string) =>
  isAbsolute(program) || folders.some((path) => existsSync(join(path, program)));
const available = Object.entries(clients).flatMap(([file, [[command = ''], needs]]) =>
  [command, ...needs].every(isAtHand) ? [file] : [],
);

const play = (file: string, emulator: Emulator, email: string, more: Record<string, string> = {}) => {
  const [[command = '', ...args] = []] = clients[file] ?? [];
  const { PATH = '', HOME = '' } = process.env;
  return run(command, [...args, file, email], {
    cwd: folder,
    env: { PATH, HOME, ...emulator.environment, ...more },
  });
};

describe('the clients in examples/', () => {
  it('docs/emulator.md links to each example client, and these tests run at least client.mjs', () => {
    const page = readFileSync(fileURLToPath(new URL('../../docs/emulator.md', import.meta.url)), 'utf8');
    expect(readdirSync(folder).toSorted()).toEqual(Object.keys(clients).toSorted());
    for (const file of Object.keys(clients)) expect(page).toContain(`../examples/${file}`);
    expect(available).toContain('client.mjs');
  });

  it.each(available)(
    '%s reads a team, all pages of tags, and one user, over HTTPS (client.pl over HTTP)',
    (file) =>
      // Perl needs a module of its own for HTTPS, which few machines have.
      withEmulator({ http: file === 'client.pl', tags: 230, ratePerMinute: 0 }, async (emulator) => {
        const { team } = emulator;
        const user = team.users().find(({ email }) => email !== null);
        const { status, stdout, stderr } = await play(file, emulator, user?.email ?? '');
        expect({ status, stderr, stdout }).toEqual({
          status: 0,
          stderr: '',
          stdout: `team 41 ${team.name()}, 20 members\n230 tags\nuser ${user?.id} ${`${user?.first} ${user?.last}`.trim()}\n`,
        });
        expect(emulator.requests.map(({ status }) => status)).toEqual(Array(6).fill(200));
      }),
    longHungAfterMs,
  );

  it.each(available)(
    '%s prints the reason if the service answers 401, and exits with an error',
    (file) =>
      withEmulator({}, async (emulator) => {
        const wrong = { MUSTERD_SECRET_KEY: 'wrong' };
        const { status, stdout, stderr } = await play(file, emulator, 'nobody@example.com', wrong);
        expect([status === 0, stdout]).toEqual([false, '']);
        expect(stderr).toContain('401 "Unauthorized"');
        expect(stderr.toLowerCase()).toContain('x-emulator-reason: the signature does not fit');
        expect(stderr).toContain(emulator.requests[0]?.requestId);
      }),
    longHungAfterMs,
  );

  it.each(available)(
    '%s exits with an error if a page of tags fails, and prints no count of tags',
    (file) =>
      withEmulator({ tags: 230, ratePerMinute: 0 }, async (emulator) => {
        emulator.addFault({ kind: 'status', path: '/v1/tags', at: 3 });
        const { status, stdout, stderr } = await play(file, emulator, 'nobody@example.com');
        expect(status).not.toBe(0);
        expect(stdout).toMatch(/^team 41 .*\n$/);
        expect(stderr).toContain('503 "error"');
      }),
    longHungAfterMs,
  );
});
