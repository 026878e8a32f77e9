import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it, vi } from 'vitest';
import { knownValues } from '../../src/commands/complete.ts';
import { examples } from '../../src/commands/help.ts';
import { createProgram } from '../../src/commands/program.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { MUSTERD } from '../support/built.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { run } from '../support/run.ts';
import { ownFolder } from './own-folder.ts';
import { runMusterd, spawnMusterd } from './run-musterd.ts';

const folder = ownFolder();

const silent = { write: () => undefined };
const silentProgram = (wire: (command: Command) => void) =>
  createProgram({ version: '0', out: silent, err: silent, wire });

describe('the help of musterd', () => {
  it('lists all commands in six groups within 24 lines of 80 columns', async () => {
    const { code, stdout } = await runMusterd(['--help']);
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(lines.filter((line) => line.length > 80 && !line.startsWith('Guide: '))).toEqual([]);
    const families = lines.flatMap((line) => /^ {2}([A-Z][a-z]+(?: [a-z]+)?) {2,}/.exec(line)?.[1] ?? []);
    expect(families).toEqual(['Run', 'Look', 'Decide', 'Send', 'Go back', 'Rehearse']);
    expect(stdout).toMatch(/^ {2}Decide .*\bapprove\b/m);
    expect(stdout).toMatch(/^ {2}Go back .*\bundo\b/m);
  });

  it('ends for each command with a link to an existing section of the guide', async () => {
    const partsOf = (page: URL) =>
      [...readFileSync(page, 'utf8').matchAll(/^## (.*)$/gm)].map(([, title = '']) =>
        title
          .toLowerCase()
          .replaceAll(/[^a-z -]/g, '')
          .replaceAll(' ', '-'),
      );
    for (const name of [...Object.keys(examples), 'tag', 'schedule', 'conversations']) {
      const { stdout } = await runMusterd([...name.split(' '), '--help']);
      const [, page = '', part] = /\nGuide: (file:\S+\.md)#(\S+)\n$/.exec(stdout) ?? [];
      expect([name, partsOf(new URL(page))]).toEqual([name, expect.arrayContaining([part]) as string[]]);
    }
    expect((await runMusterd(['undo', '--help'])).stdout).toContain('Examples:\n  musterd undo 12\n');
  });

  it.each([
    [['undo'], 'Usage: musterd undo [options] <run>'],
    [['tag', 'create'], 'Usage: musterd tag create [options] <name>'],
    [['nonsense'], '(musterd --help lists the commands)'],
  ])('exits 64 and prints the usage line for the incomplete or unknown command %j', async (args, usage) => {
    const { code, stderr } = await runMusterd(args);
    expect(code).toBe(64);
    expect(stderr).toContain(`\n${usage}\n`);
  });

  it.each(Object.entries(examples))('shows examples of "%s" that musterd can parse', async (name, lines) => {
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) {
      const called: string[] = [];
      const program = silentProgram((command) => {
        command.action(() => void called.push(command.name()));
      });
      const [, words = ''] =
        /^(?:[A-Z_]+=\S+ )*(?:source <\()?musterd (.*?)\)?(?: [<>|] .*)?$/.exec(line) ?? [];
      const args = [...words.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '');
      await program.parseAsync(args, { from: 'user' });
      expect(called).toEqual([name.split(' ').at(-1)]);
    }
  });
});

describe('musterd completion', () => {
  const env = {
    MUSTERD_BASE_URL: 'https://service.example.net',
    MUSTERD_SECRET_ID: 'me',
    MUSTERD_SECRET_KEY: 'my-own-secret-key',
  };
  const offered = async (words: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    const lines: string[] = [];
    // The package prints by itself.
    const log = vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
    const { code, stderr } = await runMusterd(['complete', '--', ...words], { ...env, ...more });
    log.mockRestore();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(lines.pop()).toBe(':4');
    return lines.map((line) => line.split('\t')[0]);
  };

  it('offers commands, subcommands, and options of the command and of musterd', async () => {
    expect(await offered(['re'])).toEqual(['reconcile', 'reject', 'resolve', 'resync']);
    expect(await offered(['tag', ''])).toEqual(['create']);
    expect(await offered(['plan', '--'])).toEqual(
      expect.arrayContaining(['--config', '--team', '--json', '--exit-code', '--help']),
    );
  });

  it('offers configured teams, waiting batches, runs with changes, and fixed option values', async () => {
    const config = join(folder, 'teams.yaml');
    const team = (name: string) =>
      `  "${name}": {service: {secretId: of-${name.length}, secretKey: my-own-secret-key}}\n`;
    writeFileSync(config, `teams:\n${['north', 'south-2', 'far:west'].map(team).join('')}`);
    const database = await createTestDatabase();
    const sql = async (text: string) => (await runSqlText(database.db, text)).rows;
    await sql(`
      insert into sync.teams (team, team_id) values ('default', 41);
      begin; set local musterd.writing = 'on';
      insert into sync.held_fields (team_id, user_id, field, reason, batch) values (41, 1, 'email', 'limit', '4f1c2a');
      insert into sync.runs (team, team_id, command) values ('default', 41, 'reconcile'), ('default', 41, 'reconcile');
      insert into sync.changes (team_id, user_id, run_id, kind, base, old, new, outcome)
      select 41, 1, min(run_id), 'pull', '{}', '{}', '{}', '{}' from sync.runs;
      commit`);
    const [[moved]] = (await sql('select min(run_id)::text from sync.runs')) as [[string]];
    const own = { DATABASE_URL: database.url };
    const away = { DATABASE_URL: 'postgres://nobody@127.0.0.1:9/x' };
    const none = { MUSTERD_SECRET_ID: '', MUSTERD_SECRET_KEY: '' };
    for (const [words, more, answer] of [
      [['--config', config, 'plan', '--team', ''], none, ['north', 'south-2']],
      [['plan', `--config=${join(folder, 'nothing.yaml')}`, '--team', ''], {}, []],
      [['approve', ''], own, ['4f1c2a']],
      [['approve', ''], away, []],
      [['undo', ''], own, [moved]],
      [['changes', '--run', ''], own, [moved]],
      [['export', '--format', ''], {}, ['csv', 'json', 'ndjson', 'yaml']],
      [['export', 'contact-c'], {}, ['contact-counts']],
      [['api', 'GET', '/v1/tags', '--field', ''], {}, []],
    ] as const)
      expect([words, await offered(words, more)]).toEqual([words, answer]);
    await database.close();
  });

  it('offers as values of an option only words that the help of this option names', () => {
    const described = new Map<string, string>();
    const visit = (command: Command) => {
      for (const { long, description } of command.options) {
        if (command.name() !== 'api') described.set(long ?? '', description);
      }
      for (const inner of command.commands) visit(inner);
    };
    visit(silentProgram(() => {}));
    for (const option of ['--format', '--field', '--kind', '--outcome', '--take', '--empty']) {
      const words = (described.get(option) ?? '').split(/[^\w-]+/);
      expect({ option, missing: knownValues[option]?.filter((value) => !words.includes(value)) }).toEqual({
        option,
        missing: [],
      });
    }
  });

  it.each(['bash', 'zsh', 'fish'])('prints a script for %s, and completes words in bash', async (shell) => {
    const script = await runMusterd(['completion', shell]);
    expect(script).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('complete --') });
    if (shell !== 'bash') return;
    const program = join(folder, 'musterd');
    writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${MUSTERD}' "$@"\n`, {
      mode: 0o755,
    });
    // Debian keeps this one function in a package of its own.
    const typed = `
      _get_comp_words_by_ref() { cur=\${COMP_WORDS[COMP_CWORD]}; words=("\${COMP_WORDS[@]}"); cword=$COMP_CWORD; }
      before=$(compgen -v; compgen -A function)
      for again in 1 2; do source /dev/stdin <<< "$(musterd completion bash)"; done
      COMP_WORDS=(musterd export --format n); COMP_CWORD=3
      compopt() { :; }
      __musterd_complete
      echo "\${COMPREPLY[@]}"
      comm -13 <(sort <<< "$before") <({ compgen -v; compgen -A function; } | sort)`;
    const { stdout, stderr } = await run('bash', ['-c', typed], {
      cwd: folder,
      env: { ...env, PATH: `${folder}:${process.env['PATH']}` },
    });
    const [offered, ...names] = stdout.trimEnd().split('\n');
    expect([offered, stderr]).toEqual(['ndjson', '']);
    // Those of bash itself are in capitals; "before", "again" and compopt are the test's.
    const strange = names.filter((name) => !/^(__musterd_\w+|[A-Z_]+|before|again|compopt)$/.test(name));
    expect(strange).toEqual([]);
  });

  it('exits 64 for the unsupported shell powershell', async () => {
    expect((await runMusterd(['completion', 'powershell'])).code).toBe(64);
  });
});

describe('a command that takes longer than a second', () => {
  it('shows the elapsed seconds on a terminal, but not with --json or in a pipe', async () => {
    const connections = new Set<Socket>();
    const server = createServer((socket) => {
      connections.add(socket);
      socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const { port } = server.address() as AddressInfo;
    const env = { DATABASE_URL: `postgres://me:secret@127.0.0.1:${port}/x` };
    const onTerminal = (...args: readonly string[]) => {
      const words = [process.execPath, MUSTERD, ...args];
      const play = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))';
      const child = spawn('python3', ['-c', play, ...words], { env: { ...process.env, ...env } });
      let shown = '';
      child.stdout.on('data', (chunk: Buffer) => {
        shown += chunk.toString();
      });
      child.stdin.end();
      const ended = new Promise<number | null>((resolve) => {
        child.once('close', resolve);
      });
      return { ended, shown: () => shown };
    };
    const words = onTerminal('status');
    const json = onTerminal('status', '--json');
    const piped = spawnMusterd(['status'], env);
    await eventually('the sign', () => /musterd status … \d+ s/.test(words.shown()));
    await eventually('all are connected', () => connections.size >= 3);
    for (const socket of connections) socket.destroy();
    server.close();
    expect([await words.ended, await json.ended]).toEqual([1, 1]);
    // It is taken away before anything else is written.
    expect(words.shown()).toContain('\x1b[2Kmusterd: Could not connect');
    const { stdout, stderr } = await piped;
    for (const text of [json.shown(), stdout, stderr]) expect(text).not.toContain('…');
    expect(stderr).toMatch(/^musterd: Could not connect/);
  });
});
