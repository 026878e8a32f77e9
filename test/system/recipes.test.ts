import { chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase } from '../../src/mirror/db/database.ts';
import { migrate } from '../../src/mirror/migrations.ts';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { MUSTERD } from '../support/built.ts';
import { COMPILED, plainEnvironment, ROOT } from '../support/checkout.ts';
import { eventually } from '../support/eventually.ts';
import { run } from '../support/run.ts';
import { ownFolder } from './own-folder.ts';
import { type LiveSystem, startLiveSystem } from './live-system.ts';

interface Block {
  readonly heading: string;
  readonly language: string;
  readonly text: string;
}

/** All fenced blocks of SQL and shell, with the heading above them. */
function blocksOf(file: string): readonly Block[] {
  const parts = readFileSync(join(ROOT, 'docs', file), 'utf8').split(/^#+ /m);
  return parts.flatMap((part) =>
    [...part.matchAll(/^( *)```(sql|sh)\n([\s\S]*?)^\1```$/gm)].map(
      ([, indent = '', language = '', text = '']) => ({
        heading: part.split('\n')[0] ?? '',
        language,
        text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      }),
    ),
  );
}

/** As psql parts them: at each semicolon that ends a line. What begins with a backslash is a line of its own. */
const statementsOf = (text: string) =>
  text
    .replaceAll(/^--.*$/gm, '')
    .split(/(?<=;)[ \t]*\n|(?<=^\\.*)\n/m)
    .map((statement) => statement.trim())
    .filter(Boolean);

/** The server has these already, or they are of others than the one who tries it. */
const isThere = /^create role musterd(?:_reader|_editor|_role_editor|_approver)? |^create database /;

/** Of other machines than this one: a stand-in notes that it is called. */
const elsewhere = [
  'docker',
  'kubectl',
  'systemctl',
  'journalctl',
  'npm',
  'git',
  'curl',
  'openssl',
  'psql',
  'pg_dump',
  'pg_restore',
  'jq',
];

describe('a person who follows the documents while a daemon runs', () => {
  const folder = ownFolder();
  let live: LiveSystem;
  let url: string;
  beforeAll(async () => {
    const server = await openEmbedded({ dataDir: join(folder, 'mirror') });
    const db = createDatabase({ url: server.url, applicationName: 'musterd test' });
    await migrate(db);
    url = server.url;
    const close = async () => {
      await db.close();
      await server.close();
    };
    live = await startLiveSystem({ MUSTERD__absence__confirmAfterMs: '1' }, { url, db, close });
    people = (await live.people()).filter(
      ({ id, first, last, email, phone }) =>
        id > 41_000_050 && email !== null && phone !== null && /^\S+$/.test(first) && /^\S+$/.test(last),
    );
    mkdirSync(join(folder, 'bin'));
    mkdirSync(join(folder, 'etc/systemd/system'), { recursive: true });
    mkdirSync(join(folder, 'opt/musterd/node_modules/.bin'), { recursive: true });
    for (const path of ['opt/musterd/node_modules/musterd/config', 'config'])
      cpSync(join(ROOT, 'config'), join(folder, path), { recursive: true });
    for (const name of elsewhere) program(name, `echo ${name} >> ${folder}/called`);
    const main = `${process.execPath} ${MUSTERD}`;
    // A daemon of a recipe is stopped where the text says so; a plan may say that something waits.
    program(
      'musterd',
      `echo "musterd $1" >> ${folder}/called
      if [ "$1" != daemon ]; then
        ${main} "$@" || { code=$?; [ "$1 $code" = "plan 4" ] || exit $code; }
        exit 0
      fi
      MUSTERD__log__level=info ${main} daemon 2> ${folder}/daemon.log & of=$!
      until grep -q 'daemon started' ${folder}/daemon.log; do kill -0 $of || exit 1; sleep 0.1; done
      kill $of; wait $of`,
    );
    cpSync(join(folder, 'bin/curl'), join(folder, 'opt/musterd/node_modules/.bin/musterd'));
  });
  afterAll(async () => {
    await live.close();
  });

  const program = (name: string, text: string) => {
    const path = join(folder, 'bin', name);
    writeFileSync(path, `#!/usr/bin/env bash\n${text}\n`);
    chmodSync(path, 0o755);
  };
  const called = () => new Set(readFileSync(join(folder, 'called'), 'utf8').trim().split('\n'));
  const one = async (text: string) => (await live.sql(text))[0]?.[0] ?? '';

  /** In a session of its own, as psql would. @returns the rows of each statement */
  async function runSql(text: string): Promise<void> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      for (const statement of statementsOf(text)) {
        const [, table, path = ''] = /^\\copy (\w+) from '(.+?)'/.exec(statement) ?? [];
        const lines = statement.split('\n').filter((line) => !isThere.test(line));
        if (table === undefined) await client.query(lines.join('\n').replaceAll('…', 'x'));
        else
          await pipeline(
            Readable.from([readFileSync(join(folder, path))]),
            client.query(copyFrom(`copy ${table} from stdin with (format csv, header true)`)),
          );
      }
    } finally {
      await client.end();
    }
  }

  /** What a person would look up first: which batch waits, which run has sent something last, what an import comes to. */
  async function fillIn(text: string): Promise<string> {
    const batch = await one(
      `select batch from report.held where reason in ('limit', 'review') and batch is not null order by since desc limit 1`,
    );
    const sent = await one(
      `select max(run_id) from report.changes where kind = 'push' and outcome = 'confirmed'`,
    );
    const withdrawn = await one(`select max(decision_id) from report.decisions where decision = 'reject'`);
    const { stdout } = text.includes('--expect')
      ? await live.musterd(['import', join(folder, 'roster.yaml'), '--dry-run', '--json'])
      : { stdout: '{}' };
    const { hash = '' } = JSON.parse(stdout) as { readonly hash?: string };
    return text
      .replaceAll('9c1f0a2b3d4e', batch)
      .replaceAll(/--expect \w+/g, `--expect ${hash}`)
      .replaceAll(/(?<=run_id = |undo )\d+/g, sent)
      .replaceAll(/(?<=decision_id = )\d+/g, withdrawn)
      .replaceAll(/(?<![\w.])\/(etc|opt|usr\/local\/sbin)\//g, `${folder}/$1/`)
      .replaceAll('postgres://musterd:…@db.example.net/musterd', url);
  }

  async function runShell(text: string): Promise<void> {
    const path = join(folder, 'step.sh');
    writeFileSync(path, text);
    const { status, stderr } = await run('bash', ['-e', '-o', 'pipefail', path], {
      cwd: folder,
      env: plainEnvironment({
        ...live.environment,
        PATH: `${join(folder, 'bin')}:${plainEnvironment()['PATH']}`,
        NODE_COMPILE_CACHE: COMPILED,
        MUSTERD__log__level: 'silent',
        ADMIN_URL: url,
      }),
    });
    if (status !== 0) throw new Error(`${status}: ${stderr}`);
  }

  type Person = Awaited<ReturnType<LiveSystem['people']>>[number];
  /** People whom every recipe can be tried on, each a few times. */
  let people: readonly Person[] = [];
  const personAt = (at: number): Person => {
    const found = people[at];
    if (found === undefined) throw new Error('there are not so many');
    return found;
  };
  const now = async ({ id }: Person) => (await live.people()).find((person) => person.id === id);
  const onService = (person: Person, wanted: Partial<Person>) =>
    eventually(`${JSON.stringify(wanted)} is on the service`, async () => {
      const found = { ...(await now(person)) } as Readonly<Record<string, unknown>>;
      return Object.entries(wanted).every(([key, value]) => found[key] === value);
    });
  const count = async (text: string) => Number(await one(`select count(*) from ${text}`));
  const becomes = (wanted: number, text: string) =>
    eventually(`${wanted} ${text}`, async () => (await count(text)) === wanted);

  /** More than the guard lets pass: it waits in a batch. */
  const editMany = async (tag: string, more = '') => {
    const ids = people.slice(20, 100).map(({ id }) => id);
    await live.sql(
      `update mirror.users set email = '${tag}' || id || '@example.com'${more} where id in (${ids.join(', ')})`,
    );
    await becomes(
      80,
      `report.held where batch is not null and reason = 'limit' and mirror_value #>> '{}' like '${tag}%'`,
    );
  };
  /** Both sides change it while neither can know of the other. */
  const makeConflict = async (person: Person, set: string, edit: Partial<Person>) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(`begin; update mirror.users set ${set} where id = ${person.id}`);
    await live.editPerson(person.id, edit);
    // A run that read the user before would find the edit alone, and push it.
    await becomes(
      0,
      `sync.runs where outcome = 'running' and run_id <= ${await one('select max(run_id) from sync.runs')}`,
    );
    await client.query('commit');
    await client.end();
    await becomes(
      1,
      `report.held where batch is not null and reason = 'conflict' and user_id = ${person.id}`,
    );
  };
  const edited = { first: 'Robin', last: 'of Locksley', email: 'robin@example.com', phone: '15550199' };
  const editOne = async (person: Person) => {
    await live.sql(`update mirror.users set first_name = 'Robin', last_name = 'of Locksley',
      email = 'robin@example.com', phone = '15550199' where id = ${person.id}`);
    await onService(person, edited);
    await live.settled();
  };
  const isBack = (person: Person) =>
    onService(person, { first: person.first, last: person.last, email: person.email, phone: person.phone });
  let sent = 0;
  let turn = 0;
  const noteSent = async () => {
    sent = (await live.updates()).length;
  };
  const nothingIsSent = async () => {
    await live.settled();
    expect((await live.updates()).length).toBe(sent);
  };
  const roster = () =>
    writeFileSync(join(folder, 'roster.yaml'), `- id: ${personAt(9).id}\n  email: roster@example.com\n`);

  /** What comes before the blocks below a heading and after them, or before and after each. */
  type Story = readonly [() => unknown, () => Promise<unknown>, 'each block'?];

  /** What is so before the recipes below a heading are tried, and what has to be so afterwards. */
  const stories: Readonly<Record<string, Readonly<Record<string, Story>>>> = {
    'sql-cookbook.md': {
      'See before you commit': [noteSent, nothingIsSent],
      'Approve a batch': [
        () => editMany(`approved${++turn}x`),
        () => onService(personAt(30), { email: `approved${turn}x${personAt(30).id}@example.com` }),
        'each block',
      ],
      'Take back what has not been sent': [
        async () => {
          await editMany(`unsent${++turn}x`);
          // A field that is held for another reason does not concern this recipe.
          await makeConflict(personAt(20), `phone = '1555013${turn}'`, { phone: `1555014${turn}` });
          await noteSent();
        },
        async () => {
          await becomes(0, `report.held where reason = 'limit'`);
          await nothingIsSent();
          expect(await count(`report.held where reason = 'conflict' and field = 'phone'`)).toBe(1);
          await live.musterd([
            'resolve',
            String(personAt(20).id),
            'phone',
            '--take',
            'service',
            '--if',
            `1555013${turn}`,
          ]);
          expect(await count(`mirror.users where email like 'unsent%'`)).toBe(0);
        },
        'each block',
      ],
      'Take back what a run has sent': [() => editOne(personAt(0)), () => isBack(personAt(0)), 'each block'],
      'Set again what a decision took out': [
        async () => {
          await editMany('again', `, first_name = 'Marian', last_name = 'of Sherwood'`);
          const [[batch = ''] = []] = await live.sql(
            `select batch from report.held where mirror_value #>> '{}' like 'again%' limit 1`,
          );
          await live.sql(`select from sync.reject('${batch}', revert => true)`);
          expect(await count(`mirror.users where email like 'again%' or last_name = 'of Sherwood'`)).toBe(0);
          // This one is somebody's by now.
          await live.sql(`update mirror.users set email = 'later@example.com' where id = ${personAt(21).id}`);
        },
        async () => {
          expect(await count(`mirror.users where email like 'again%' and last_name = 'of Sherwood'`)).toBe(
            79,
          );
          expect(
            await count(`mirror.users where email = 'later@example.com' and last_name = 'of Sherwood'`),
          ).toBe(1);
          await becomes(
            79,
            `report.held where batch is not null and reason = 'limit' and mirror_value #>> '{}' like 'again%'`,
          );
          for (const [batch = ''] of await live.sql(
            `select distinct batch from report.held where reason = 'limit'`,
          ))
            await live.sql(`select from sync.reject('${batch}', revert => true)`);
        },
      ],
      'Choose a side': [
        async () => {
          await makeConflict(personAt(1), `email = 'mine@example.com'`, { email: 'web@example.com' });
          await makeConflict(personAt(2), `phone = '15550122'`, { phone: '15550123' });
          await makeConflict(personAt(3), `first_name = 'My', last_name = 'Own'`, {
            first: 'Web',
            last: 'Name',
          });
        },
        async () => {
          await becomes(0, `report.held where reason = 'conflict'`);
          await becomes(1, `mirror.users where id = ${personAt(1).id} and email = 'web@example.com'`);
          await becomes(1, `mirror.users where id = ${personAt(2).id} and phone = '15550123'`);
          await becomes(1, `mirror.users where id = ${personAt(3).id} and first_name = 'Web'`);
        },
      ],
    },
    'operations.md': {
      'Back up and restore': [
        async () => {
          await live.settled();
          // A resync ends with 3 as long as something waits.
          for (const [batch = ''] of await live.sql(
            `select distinct batch from report.held where state = 'held'`,
          ))
            await live.sql(`select from sync.reject('${batch}', revert => true)`);
          await becomes(0, `report.held where state = 'held' and reason <> 'asked'`);
        },
        () => live.settled(),
      ],
      'Personal data, and what grows': [
        async () => {
          await live.sql(`update mirror.users set phone = '15550124' where id = 41000020`);
          await live.settled();
          await live.editPerson(41_000_020, null);
          await becomes(1, 'mirror.users where id = 41000020 and gone_at is not null');
        },
        async () => {
          for (const place of [
            'mirror.users',
            'sync.user_base',
            'sync.changes',
            'sync.edits',
            'sync.user_periods',
          ])
            expect([place, await count(`${place} x where x::text ~ '41000020'`)]).toEqual([place, 0]);
        },
      ],
      'A roster in git': [roster, () => onService(personAt(9), { email: 'roster@example.com' })],
    },
  };

  const tryAll = async (file: string) => {
    const named = stories[file] ?? {};
    const headings = Map.groupBy(blocksOf(file), ({ heading }) => heading);
    expect([...headings.keys()]).toEqual(expect.arrayContaining(Object.keys(named)));
    for (const [heading, blocks] of headings) {
      const [before, after, each] = named[heading] ?? [];
      for (const [index, { language, text }] of blocks.entries()) {
        if (each !== undefined || index === 0) await before?.();
        const filled = await fillIn(text);
        await (language === 'sql' ? runSql(filled) : runShell(filled)).catch((cause: unknown) => {
          throw new Error(`${heading}: ${String(cause)}, of\n${filled}`, { cause });
        });
        if (each !== undefined || index === blocks.length - 1) await after?.();
      }
      await live.settled();
    }
    expect(live.daemon.process.exitCode).toBeNull();
    expect(live.daemon.output().stderr).not.toMatch(/"level":"(error|fatal)"/);
  };

  it('can run each SQL and shell block of sql-cookbook.md, and gets the promised result', async () => {
    const [one, two] = [personAt(10), personAt(11)];
    writeFileSync(
      join(folder, 'people.csv'),
      `email,first_name,last_name,phone\n${one.email},Robin,Berg,+1 (555) 010-0166\n${two.email},Kim,Lind,\nx@example.com,X,Y,\n`,
    );
    await tryAll('sql-cookbook.md');
    await onService(one, { first: 'Robin', last: 'Berg', phone: '15550100166' });
  });

  it('can run each SQL and shell block of operations.md, and gets the promised result', async () => {
    await tryAll('operations.md');
    expect([...called()].filter((name) => name === 'musterd daemon')).toHaveLength(1);
    const [[one, two] = []] = await live.sql(
      `select has_table_privilege('musterd_daemon', 'sync.changes', 'delete') as one, has_table_privilege('musterd_daemon', 'report.held', 'select') as two`,
    );
    expect([one, two]).toEqual(['true', 'true']);
  });
});
