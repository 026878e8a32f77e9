import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ShownUser } from '../../src/commands/rehearse/demo-data.ts';
import { reportNews } from '../../src/commands/rehearse/demo-serve.ts';
import { MusterdError } from '../../src/errors.ts';
import type { RunReport } from '../../src/runs/sync/run-record.ts';
import { ROOT } from '../support/checkout.ts';
import { eventually } from '../support/eventually.ts';
import { runWell } from '../support/run.ts';
import { type Running, runMusterd, startMusterd } from './run-musterd.ts';

const readme = join(ROOT, 'README.md');
const whole = join(ROOT, 'docs', 'demo.txt');
/** The first `text` block behind the command, and the text up to it. */
const block = /(\nnpm ci && npm run demo\n```\n[\s\S]*?\n```text\n)([\s\S]*?)\n```\n/;
/** What the README shows: from the edits to what they come to. */
const excerpt = /^2\. Both sides are edited\n[\s\S]*?(?=\n\n5\. )/m;
const withoutEmptyEnds = (text: string) => text.replaceAll(/\t+$/gm, '');

/** Neighbouring lines with tabs, as columns that are easy to read. */
const aligned = (text: string) =>
  text.replaceAll(/(?:^.*\t.*\n)+/gm, (lines) => {
    const rows = lines
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t'));
    const widths = (rows[0] ?? []).map((_, column) =>
      Math.max(...rows.map((row) => (row[column] ?? '').length)),
    );
    return rows
      .map(
        (row) =>
          `${row
            .map((cell, column) => cell.padEnd(widths[column] ?? 0))
            .join('  ')
            .trimEnd()}\n`,
      )
      .join('');
  });

/** What differs from run to run: how long each took, and the day. */
const settled = (text: string) =>
  text
    .replaceAll(/(?<=: run \d complete in )(?:\d+ ms|\d+\.\d s)(?=, )/g, '<duration>')
    .replaceAll(/(?<=^\d\tcomplete\t)\d\d:\d\d:\d\d(?:\.\d{1,6})?(?=\t)/gm, '<duration>')
    .replaceAll(/(?<=^all\t)\d{4}-\d\d-\d\d(?=\t)/gm, '<day>');

it('musterd demo prints docs/demo.txt, and the README shows an excerpt (UPDATE_README=1 writes both)', async () => {
  const { code, stdout } = await runMusterd(['demo']);
  expect(code).toBe(0);
  expect(stdout).toContain('  200 of 200 users are equal on both sides.\n');
  const transcript = withoutEmptyEnds(stdout.trim());
  const middle = aligned(excerpt.exec(transcript)?.[0] ?? '');
  if (process.env['UPDATE_README'] === '1') {
    const text = readFileSync(readme, 'utf8');
    writeFileSync(
      readme,
      text.replace(block, (_, before: string) => `${before}${middle}\n\`\`\`\n`),
    );
    writeFileSync(whole, `${transcript}\n`);
  }
  const [, , shown = ''] = block.exec(readFileSync(readme, 'utf8')) ?? [];
  expect(settled(shown)).toBe(settled(middle));
  expect(settled(readFileSync(whole, 'utf8'))).toBe(settled(`${transcript}\n`));
});

describe('reportNews, which prints the runs of the demo', () => {
  const quiet: RunReport = {
    team: { id: 41n, name: null },
    runId: 3n,
    groups: ['users'],
    outcome: 'complete',
    reasons: [],
    warnings: [],
    refusal: null,
    batches: [],
    counts: { users_read: 200 },
    held: 0,
    waiting: 0,
    requests: 2,
    durationMs: 9,
    sendBlock: null,
  };
  const batch = {
    what: 'pushes',
    users: 58,
    isNews: false,
    isReview: false,
  } as const;
  const refusal = { ...batch, reasons: ['too many'], stopped: false };
  const reports = () => {
    let text = '';
    const write = (more: string) => {
      text += more;
    };
    const { onRun, onFailure } = reportNews({ out: { write }, err: { write }, env: {} });
    const newly = (what: () => void) => {
      text = '';
      what();
      return text;
    };
    return {
      run: (report: Partial<RunReport>) => newly(() => onRun(null, { ...quiet, ...report })),
      failure: (error: Error) => newly(() => onFailure(null, [], error)),
    };
  };
  const head = 'Team 41: run 3 complete in 9 ms, 2 requests\n';

  it.each([
    { what: 'no change', report: {}, first: '', again: false },
    { what: 'a pull', report: { counts: { users_read: 200, pulled: 1 } }, first: '1 pulled\n', again: true },
    { what: 'a push', report: { counts: { users_read: 1, pushed: 2 } }, first: '2 pushed\n', again: true },
    { what: 'a hold', report: { counts: { users_read: 1, held: 1 } }, first: '1 newly held\n', again: true },
    { what: 'a warning', report: { warnings: ['they vary'] }, first: '  note: they vary\n', again: false },
    { what: 'no tags', report: { reasons: ['no tags'] }, first: 'not complete: no tags\n', again: false },
    {
      what: 'a batch',
      report: { refusal, batches: ['e006'] },
      first: '"musterd reject e006"\n',
      again: false,
    },
  ])('prints an equal second run only if it has changes ($what: $again)', ({ report, first, again }) => {
    const { run } = reports();
    const said = run(report);
    expect(said).toContain(first);
    expect(said.startsWith(head)).toBe(first !== '');
    expect(run(report)).toBe(again ? said : '');
  });

  it('prints the counts of a group only if the run has read the group', () => {
    const { run } = reports();
    const users = '  users          200 read, 1 newly held\n';
    const rest = '  1 field needs a decision: see "musterd held"\n';
    const read = { users_read: 200, contact_fields_read: 3, inboxes_read: 2, surveys_read: 4, tags_read: 7 };
    const counts = { ...read, held: 1, contact_counts: 1 };
    const held = { counts, held: 1 };
    expect(run(held)).toBe(`${head}${users}${rest}`);
    const listings =
      '  contact fields 3 read\n  inboxes        2 read\n  surveys        4 read\n  tags           7 read\n';
    expect(run({ ...held, groups: ['users', 'listings'] })).toBe(`${head}${users}${listings}${rest}`);
    expect(run({ ...held, groups: ['users', 'counts'] })).toBe(
      `${head}${users}  contact counts 1 taken\n${rest}`,
    );
  });

  it('prints a waiting batch only once, even if the wording of its reason changes', () => {
    const { run } = reports();
    const waiting = (reason: string) =>
      run({ refusal: { ...refusal, reasons: [reason] }, batches: ['e006'], reasons: [reason] });
    expect(waiting('58 would be pushed')).toContain('held (limit): 58 would be pushed\n');
    expect(waiting('58 wait')).toBe('');
  });

  it('prints "Limits on single fields hold them" instead of "No push" if the run continued', () => {
    const said = reports().run({ refusal, reasons: refusal.reasons, counts: { users_read: 1, held: 1 } });
    expect(said).toContain('Limits on single fields hold them; the run continued with other changes\n');
    expect(said).not.toContain('No push');
  });

  it('prints the error of a failed run, unless the run before failed with the same error', () => {
    const { failure } = reports();
    expect(failure(new MusterdError('service', 'No answer'))).toBe('No answer\n');
    expect(failure(new MusterdError('service', 'No answer'))).toBe('');
    expect(failure(new MusterdError('service', 'Another answer'))).toBe('Another answer\n');
  });
});

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** All that run, without those that have ended and nobody has asked for. */
const processes = (): readonly Process[] =>
  execFileSync('ps', ['-A', '-ww', '-o', 'pid=,ppid=,stat=,command='], { encoding: 'utf8' })
    .split('\n')
    .flatMap((line) => {
      const [, pid, parent, state, command = ''] = /^ *(\d+) +(\d+) +(\S+) +(.*)$/.exec(line) ?? [];
      return state?.startsWith('Z') === false ? [{ pid: Number(pid), parent: Number(parent), command }] : [];
    });

/** A process and all that it started. */
function treeOf(root: number | undefined): readonly Process[] {
  const all = processes();
  const below = (of: Process): readonly Process[] => [
    of,
    ...all.filter(({ parent }) => parent === of.pid).flatMap(below),
  ];
  return all.filter(({ pid }) => pid === root).flatMap(below);
}

/** One after the other, as a person follows what the demo prints. */
describe('musterd demo --serve', () => {
  let demo: Running;
  /** What is to be opened, pasted and tried, in the order printed. */
  let [page, line, ...ideas]: readonly string[] = [];
  let variables: Readonly<Record<string, string>>;
  let client: pg.Client;

  /** In another terminal, which has the line that was printed and nothing else of ours. */
  const paste = async (command: string) => {
    const env = { PATH: '/usr/bin:/bin', HOME: tmpdir() };
    return await runWell('/bin/sh', ['-c', `${line}\n${command}`], { env, cwd: '/' });
  };
  const says = async (text: RegExp) =>
    await eventually(`it says ${text}`, () => text.exec(demo.output().stdout));
  const ideaOf = (text: RegExp) => ideas.map((idea) => text.exec(idea)).find((found) => found !== null) ?? [];
  const first = async (text: string) =>
    (await client.query<unknown[]>({ text, rowMode: 'array' })).rows[0]?.[0];
  const users = async () => {
    const answer = await fetch(`${variables['MUSTERD_BASE_URL']}/_emulator/teams/41/users`);
    return (await answer.json()) as readonly ShownUser[];
  };
  const phoneOf = async (id: number) => (await users()).find((user) => user.id === id)?.phone;
  const movedAway = async () => (await users()).filter(({ email }) => email?.includes('@mail.')).length;

  beforeAll(async () => {
    demo = startMusterd(['demo', '--serve']);
    const invitation = await says(/\nWhat to try next\n(?:.*\n)* {4}musterd verify\n/);
    [page, line, ...ideas] = [...invitation[0].matchAll(/^ {4}(\S.*)$/gm)].map(([, words = '']) => words);
    const set = (await paste('env')).split('\n').map((text) => text.split(/=(.*)/s));
    variables = Object.fromEntries(set) as typeof variables;
    // As psql finds the server: by its variables alone.
    const {
      PGHOST: host,
      PGPORT: port,
      PGUSER: user,
      PGPASSWORD: password,
      PGDATABASE: database,
    } = variables;
    client = new pg.Client({ host, port: Number(port), user, password, database });
    client.on('error', () => {});
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    demo.process.kill();
    await demo.ended;
  });

  it('serves the status page at the printed address', async () => {
    const answer = await fetch(String(page));
    expect(answer.status).toBe(200);
    expect(await answer.text()).toMatch(/Harbour Street Clinic.*Clémence Berg/s);
  });

  it('prints a database login that is not a superuser', async () => {
    expect(await first('select rolsuper from pg_roles where rolname = current_user')).toBe(false);
  });

  it('prints an edit to try, sends this edit to the service, and prints "1 pushed"', async () => {
    const [edit = '', phone = '', id] = ideaOf(/^.* phone = '(\d+)' where id = (\d+)".*$/);
    expect(await phoneOf(Number(id))).not.toBe(phone);
    expect(await paste(edit)).toContain('confirmed');
    expect(await phoneOf(Number(id))).toBe(phone);
    await says(/ 1 pushed\n/);
  });

  it('prints a change of the service to try, and pulls this change into the mirror', async () => {
    const [change = '', id, phone = ''] = ideaOf(/^.*"id":(\d+),"phone":"(\d+)".*$/);
    const pulled = `select phone from mirror.users where id = ${id}`;
    expect(await first(pulled)).not.toBe(phone);
    await paste(change);
    await eventually('the mirror has it', async () => (await first(pulled)) === phone);
  });

  it('holds the suggested mass edit, reports the hold once, and sends the edit after the printed approve command', async () => {
    const [mass = ''] = ideaOf(/^.*@mail\..*$/);
    await paste(mass);
    const [, look = '', approve = ''] = await says(/with "(musterd plan)", then "(musterd approve [^"]+)"/);
    const runs = 'select count(*)::int from report.runs';
    const before = Number(await first(runs));
    await eventually('two more runs', async () => Number(await first(runs)) >= before + 2);
    expect(demo.output().stdout.match(/need a decision;/g)).toHaveLength(1);
    expect(await movedAway()).toBe(0);
    const [, planned] = /(\d+) changes/.exec(await paste(`${look}; true`)) ?? [];
    const approved = Number(/^(\d+) users approved/.exec(await paste(approve))?.[1]);
    expect(approved).toBeGreaterThan(40);
    expect(Number(planned)).toBe(approved);
    await eventually('it is sent', async () => (await movedAway()) === approved);
  });

  it('prints a musterd why command that shows a push, and a musterd verify command that prints "equal"', async () => {
    const others = ideas.filter((idea) => /^musterd (?!sql)/.test(idea));
    expect(others.map((idea) => idea.split(' ')[1])).toEqual(['why', 'verify']);
    expect(await paste(String(others[0]))).toContain('push');
    expect(await paste(String(others[1]))).toMatch(/^equal: /m);
  });

  it('reports the first loss of the listening connection as text, not JSON, and omits the second loss', async () => {
    const listener = `from pg_stat_activity where application_name = 'musterd listen'`;
    for (let loss = 1; loss <= 2; loss += 1) {
      const pid = await eventually('it listens', () => first(`select pid ${listener}`));
      await first(`select pg_terminate_backend(pid) ${listener}`);
      await eventually('it listens again', async () =>
        first(`select pid ${listener} and pid <> ${Number(pid)}`),
      );
    }
    const { stdout, stderr } = demo.output();
    expect(stderr.match(/^no notifications of edits until the connection is back \(.+\)$/gm)).toHaveLength(1);
    expect(`${stdout}${stderr}`).not.toMatch(/^\s*\{/m);
  });

  it('ends all its processes, deletes its folder and prints "nothing is left behind" at Ctrl-C', async () => {
    const tree = treeOf(demo.process.pid);
    const [, folder = ''] =
      tree.map(({ command }) => / -D (\S+)\/cluster\/data /.exec(command)).find(Boolean) ?? [];
    expect(existsSync(folder)).toBe(true);
    demo.process.kill('SIGINT');
    expect(await demo.ended).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/nothing is left behind\.\n$/),
    });
    const left = new Set(tree.map(({ pid }) => pid));
    await eventually('all have ended', () => processes().every(({ pid }) => !left.has(pid)));
    expect(existsSync(folder)).toBe(false);
  });
});
