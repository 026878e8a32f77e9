import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Running, runMusterd, startMusterd } from './run-musterd.ts';

describe('musterd emulator', () => {
  let emulator: Running;
  afterEach(async () => {
    emulator.process.kill('SIGTERM');
    expect((await emulator.ended).code).toBe(0);
  });

  /** What a shell has in its environment after the lines were pasted. */
  const start = async (last: RegExp, ...args: readonly string[]) => {
    emulator = startMusterd(['emulator', '--users', '3', ...args]);
    await eventually('the environment is printed', () => last.test(emulator.output().stdout));
    const lines = emulator.output().stdout;
    const shown = execFileSync('/bin/sh', ['-c', `${lines}\nenv -0`], { env: {}, encoding: 'utf8' });
    const pairs = shown.split('\0').map((line) => /^(\w+)=(.*)$/s.exec(line)?.slice(1) ?? []);
    return new Map(pairs as [string, string][]);
  };

  it('prints its settings as export lines that a shell can read, even if the secret has special characters', async () => {
    const key = `it's a "key" $HOME \`id\` \\ ; é`;
    const env = await start(/SECRET_KEY=.*\n/, '--http', '--secret', `me:${key}`);
    expect(env.get('MUSTERD_SECRET_ID')).toBe('me');
    expect(env.get('MUSTERD_SECRET_KEY')).toBe(key);
    expect(env.get('MUSTERD_BASE_URL')).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(emulator.output().stdout).toMatch(/^(?:export \w+=.*\n)+$/);
  });

  it('listens at --host with a certificate for --name', async () => {
    const given = ['--host', '0.0.0.0', '--name', 'service.example.net', '--team', '93'];
    const env = await start(/EXTRA_CA_CERTS=.*\n/, ...given);
    expect(env.get('MUSTERD_SECRET_ID')).toBe('emulated-93');
    const url = new URL(env.get('MUSTERD_BASE_URL') ?? '');
    expect(url.hostname).toBe('service.example.net');
    const ca = readFileSync(env.get('NODE_EXTRA_CA_CERTS') ?? '', 'utf8');
    const status = await new Promise((resolve, reject) => {
      const { port } = url;
      const options = { host: '127.0.0.1', port, path: '/v1/team', servername: url.hostname, ca };
      request(options, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      })
        .on('error', reject)
        .end();
    });
    expect(status).toBe(401);
  });
});

describe('arguments of musterd emulator', () => {
  it.each([
    [['--http', '--host', '0.0.0.0'], 'Plain HTTP is for loopback only, not for 0.0.0.0'],
    [['--name', 'no name'], '--name: "no name" is not the name of a host'],
    [['--team', 'no-number'], '--team: "no-number" is not a whole number'],
  ])('musterd emulator exits 64 for %j and prints "%s"', async (args, words) => {
    const { code, stdout, stderr } = await runMusterd(['emulator', ...args]);
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(stderr).toContain(words);
  });

  it('musterd emulator --list prints the keys that select requests for a fault, and the default of a variant', async () => {
    const { code, stdout } = await runMusterd(['emulator', '--list']);
    expect(code).toBe(0);
    for (const name of ['method', 'path', 'team', 'at', 'times', 'percent'])
      expect(stdout).toMatch(new RegExp(`^  ${name} +\\S`, 'm'));
    expect(stdout).toMatch(/^ {2}schedule-grid=none \| <number>\n.* The default is 15\.$/m);
  });
});
