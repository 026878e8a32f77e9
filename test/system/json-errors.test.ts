import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { carryOut, exitCodes } from '../../src/commands/command-line.ts';
import { errorInJson } from '../../src/commands/output.ts';
import { MusterdError } from '../../src/errors.ts';
import { takeLease } from '../../src/mirror/team/lease.ts';
import { ROOT } from '../support/checkout.ts';
import { retryAtOnce } from '../support/retry-at-once.ts';
import { everyCommand, wellUsed } from './every-command.ts';
import { runMusterd } from './run-musterd.ts';
import { createStage, type Stage } from './stage.ts';

const silent = { write: () => undefined };
/** What is on stdout has to be this and nothing else. */
function errorIn(stdout: string): { readonly code: string; readonly message: string } {
  const { error, ...rest } = JSON.parse(stdout) as {
    error: { code: string; message: string; hint: string | null };
  };
  expect(rest).toEqual({});
  expect(Object.keys(error)).toEqual(['code', 'message', 'hint']);
  expect(error.message).not.toBe('');
  expect([null, expect.any(String)]).toContainEqual(error.hint);
  return error;
}

const commands = everyCommand.filter(({ hasJson }) => hasJson).map(({ name }) => name);
const takesMany = (name: string) => everyCommand.some((one) => one.name === name && one.takesMany);
const call = (name: string) => [...wellUsed(name), '--json'];

describe('an error under --json', () => {
  it('more than 14 commands have --json', () => {
    expect(commands.length).toBeGreaterThan(14);
  });

  it('commands whose help does not list --json refuse this option with an error in JSON', async () => {
    for (const { name, hasJson } of everyCommand) {
      const { stdout } = await runMusterd([...name.split(' '), '--help']);
      expect([name, /^ {2}--json /m.test(stdout)]).toEqual([name, hasJson]);
    }
    for (const { name } of everyCommand.filter(({ hasJson }) => !hasJson)) {
      const { code, stdout, stderr } = await runMusterd(call(name));
      expect([code, errorIn(stdout).message]).toEqual([64, `${name} has no --json`]);
      expect(stderr).toMatch(/\n {2}(?:Leave it out|Write --format json)/);
    }
  });

  it.each(commands)('musterd %s prints a usage error as JSON, wherever --json is placed', async (name) => {
    for (const args of [
      [...call(name), '--nonsense'],
      [...name.split(' '), '--json', ...wellUsed(name).slice(name.split(' ').length), '--nonsense'],
      takesMany(name) ? [...name.split(' '), '--json'] : [...call(name), 'and', 'words', 'too', 'many'],
    ]) {
      const { code, stdout, stderr } = await runMusterd(args);
      expect(code).toBe(64);
      const { code: word, message } = errorIn(stdout);
      expect(word).toBe('usage');
      expect(message).not.toMatch(/^error:|\n/);
      expect(stderr).toContain(message.split(' (')[0]);
    }
  });

  it.each(commands)('musterd %s prints a JSON error without password if the database fails', async (name) => {
    retryAtOnce();
    const { code, stdout } = await runMusterd(call(name), {
      DATABASE_URL: 'postgres://u:pass-word-canary@127.0.0.1:9/x',
      MUSTERD_BASE_URL: 'http://127.0.0.1:9',
      MUSTERD_SECRET_ID: 'me',
      MUSTERD_SECRET_KEY: 'my-own-secret-key',
    });
    expect(code).toBe(1);
    expect(stdout).not.toContain('pass-word-canary');
    // The doctor reports what it found; that is its answer, and the error stands beside it.
    const error = name === 'check' ? (JSON.parse(stdout) as { error: object }).error : errorIn(stdout);
    expect(error).toMatchObject({ code: 'mirror' });
  });

  it.each([
    [['nonsense', '--json']],
    [['--json']],
    [['tag', '--json']],
    [['tag', 'create', '--json']],
    [['approve', 'abcdef', '--json', '--only', '']],
    [['reconcile', '--json', '--wait', 'long']],
    [['plan', '--json', '--markdown']],
    [['hold', '1', '--json', '--until', 'never', '--reason', 'why']],
  ])('musterd prints a usage error as JSON on stdout for the arguments %j', async (args) => {
    const { code, stdout } = await runMusterd(args);
    expect(code).toBe(64);
    expect(errorIn(stdout).code).toBe('usage');
  });

  it.each([[['nonsense']], [['reconcile', '--nonsense']], [['api', 'GET', '/v1/team', '--nonsense']], [[]]])(
    'musterd leaves stdout empty for the wrong arguments %j without --json',
    async (args) => {
      expect(await runMusterd(args)).toMatchObject({ code: 64, stdout: '' });
    },
  );

  it('musterd prints the help and exits 0 if both --json and --help are given', async () => {
    const { code, stdout } = await runMusterd(['reconcile', '--json', '--help']);
    expect(code).toBe(0);
    expect(stdout).toContain('Usage: musterd reconcile');
  });

  it.each([
    [new MusterdError('mirror', 'away', { hint: 'Start it.' }), { code: 'mirror', hint: 'Start it.' }],
    [new MusterdError('stopped', 'away'), { code: 'stopped', hint: null }],
    [new TypeError('away'), { code: 'unexpected', hint: null }],
    ['away', { code: 'unexpected', hint: null }],
  ])('errorInJson(%s) returns the message of the error and %j', (error, expected) => {
    expect(errorInJson(error)).toEqual({ ...expected, message: 'away' });
  });

  it.each([
    [true, '{ "error": { "code": "mirror", "message": "lost", "hint": null } }'],
    [false, 'as far as it got'],
  ])('carryOut prints only the error with --json, else only the output (%s): %s', async (json, left) => {
    let stdout = '';
    const world = {
      args: [],
      env: {},
      out: { write: (text: string) => (stdout += text) },
      err: silent,
      leave: () => {},
    };
    const code = await carryOut(world, json, async ({ out }) => {
      out.write('as far as it got');
      throw new MusterdError('mirror', 'lost');
    });
    expect(code).toBe(1);
    expect(stdout.replaceAll(/\s+/g, ' ').trim()).toBe(left);
  });

  it('docs/operations.md lists every error code with its exit code', () => {
    const manual = readFileSync(join(ROOT, 'docs', 'operations.md'), 'utf8');
    const [, section = ''] = manual.split('\n### Errors for scripts\n');
    const rows = [...(section.split('\n## ')[0] ?? '').matchAll(/^\| `([a-z-]+)` \| (\d+) \|/gm)];
    expect(rows.map(([, code, exit]) => [code, Number(exit)])).toEqual([
      ...Object.entries(exitCodes),
      ['unexpected', 1],
    ]);
  });
});

describe('an error under --json during a command', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await createStage();
    await stage.run();
  });
  afterAll(() => stage.close());

  it.each(['reconcile', 'plan', 'verify', 'resync', 'check'])(
    'musterd %s prints one JSON document if the service refuses its credentials',
    async (name) => {
      const env = { ...stage.env, MUSTERD_SECRET_KEY: 'another-key-of-nobody' };
      const { code, stdout } = await runMusterd(call(name), env);
      expect(code).toBe(77);
      const error = name === 'check' ? (JSON.parse(stdout) as { error: object }).error : errorIn(stdout);
      expect(error).toMatchObject({ code: 'credentials' });
    },
  );

  it('musterd prints one JSON document with the code "lease-held" if another run has the lease', async () => {
    const [user] = stage.emulator.team.users();
    const lease = await takeLease(stage.db, 'default', { ttlMs: 60_000 });
    onTestFinished(() => lease.release());
    for (const args of [
      ['reconcile', '--json'],
      ['hold', String(user?.id), '--json', '--until', '2h', '--reason', 'a visit', '--wait', '0'],
      ['check', '--json', '--write-probe', String(user?.id)],
    ]) {
      const { code, stdout } = await runMusterd(args, stage.env);
      expect({ args, code }).toEqual({ args, code: 75 });
      expect(errorIn(stdout).code).toBe('lease-held');
    }
  });
});
