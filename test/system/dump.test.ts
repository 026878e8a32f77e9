import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runReconcile } from '../../src/runs/reconcile-team.ts';
import { createLog } from '../../src/log.ts';
import type { Database } from '../../src/mirror/db/database.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { migrate } from '../../src/mirror/migrations.ts';
import { restoreDump } from '../../src/mirror/tools/restore-dump.ts';
import { writeDump } from '../../src/mirror/tools/write-dump.ts';
import { temporaryFolder } from '../support/checkout.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { dumpSchema } from '../support/schema-dump.ts';
import { runMusterd } from './run-musterd.ts';
import { createStage, type Stage } from './stage.ts';

let stage: Stage;
const folder = temporaryFolder();
const file = join(folder.path, 'musterd.sql.gz');
const databases: TestDatabase[] = [];
let text = '';

beforeAll(async () => {
  stage = await createStage({ emulator: { users: 12, tags: 6, fields: 3 } });
  await stage.run();
  // What is not the same everywhere: an edit that waits, odd characters, a held field, rows and numbers that are gone.
  await stage.sql(
    `update mirror.users set first_name = E'Tab\\there \\\\. \\\\N' where id = (select min(id) from mirror.users)`,
  );
  for (const phone of [`'15550177'`, 'b.phone'])
    await stage.sql(`update mirror.users u set phone = ${phone} from sync.user_base b
      where b.id = u.id and u.id = (select max(id) from mirror.users)`);
  await stage.sql(`delete from sync.edits where ended_at is not null`);
  await stage.run({ guard: { maxRows: 0, maxShare: 0 } });
  await stage.sql(
    `insert into mirror.user_lookups (team_id, email) select team_id, 'x@example.com' from mirror.teams`,
  );
  await stage.sql(
    `insert into sync.leases values ('other', gen_random_uuid(), 'h', 1, 'p', now(), now() + interval '1 hour')`,
  );
  chmodSync(folder.path, 0o755);
  writeFileSync(file, 'an old one', { mode: 0o644 });
  const { code, stdout } = await musterd(stage.url, 'dump', '-o', file, '--json');
  expect({ code, said: JSON.parse(stdout) as object }).toMatchObject({ code: 0, said: { file } });
  text = gunzipSync(readFileSync(file)).toString();
});
afterAll(async () => {
  for (const database of databases) await database.close();
  await stage.close();
  folder[Symbol.dispose]();
});

const musterd = (url: string, ...args: readonly string[]) => runMusterd(args, { DATABASE_URL: url });

async function createEmpty(): Promise<TestDatabase> {
  const database = await createTestDatabase({ empty: true });
  databases.push(database);
  return database;
}

/** Each table's rows and each sequence, as digests. */
async function contentOf(db: Database) {
  const { rows: names } = await runSqlText(
    db,
    `select c.oid::regclass::text from pg_class c where c.relnamespace in ('mirror'::regnamespace, 'sync'::regnamespace)
       and c.relkind = 'r' and c.relname <> 'leases' order by 1`,
  );
  const digests = names.map(
    ([name]) =>
      `select '${String(name)}', count(*), md5(coalesce(string_agg(r::text, E'\\n' order by r::text collate "C"), '')) from ${String(name)} r`,
  );
  const tables = await runSqlText(db, digests.join(' union all '));
  const sequences = await runSqlText(
    db,
    "select schemaname, sequencename, last_value from pg_sequences where schemaname in ('mirror', 'sync') order by 1, 2",
  );
  return { tables: tables.rows, sequences: sequences.rows };
}

const isEmpty = async ({ db }: TestDatabase) =>
  (await runSqlText(db, "select to_regclass('sync.migrations') is null")).rows[0]?.[0] === true;

describe('musterd dump', () => {
  it('writes a file for its owner alone, in the place of the old one', () => {
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder.path)).toEqual(['musterd.sql.gz']);
    expect(text).toMatch(/^-- musterd dump 1\n/);
    expect(text).toMatch(/\ncommit;\n-- end of the musterd dump: \d+ rows\n$/);
  });

  it('asks where to, and leaves what is there where it fails', async () => {
    expect((await musterd(stage.url, 'dump')).code).toBe(64);
    const before = readFileSync(file);
    expect((await musterd((await createEmpty()).url, 'dump', '-o', file)).code).toBe(1);
    expect(readFileSync(file)).toEqual(before);
  });
});

describe('what is dumped', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
    databases.push(database);
    await runSqlText(
      database.db,
      `begin; set local musterd.writing = 'on';
       insert into mirror.contact_fields (team_id, id, title) values (41, 1, 'step 0');
       insert into mirror.tags (team_id, id, tag) values (41, 1, 'step 0');
       insert into sync.listing_changes (team_id, resource, id, kind, old, new, changed_at)
       select 41, 'tags', n, 'changed', jsonb_build_object('tag', repeat('x', 200)), '{}', now() from generate_series(1, 3000) n;
       commit`,
    );
  });

  const dump = async (onChunk: () => Promise<unknown>) => {
    const parts: Buffer[] = [];
    for await (const chunk of writeDump({ url: database.url, version: '0', onRows: () => {} })) {
      parts.push(chunk);
      await onChunk();
    }
    return Buffer.concat(parts).toString();
  };

  it('is as of one moment, whatever is written meanwhile', async () => {
    let step = 0;
    const write = async () => {
      step += 1;
      await runSqlText(
        database.db,
        `begin; set local musterd.writing = 'on'; update mirror.contact_fields set title = 'step ${step}';
         update mirror.tags set tag = 'step ${step}'; commit`,
      );
    };
    const dumped = await dump(write);
    expect(step).toBeGreaterThan(20);
    // Of the two tables: the history of both is in it as well.
    const both = /^41\t1\tstep \d+/gm;
    expect(dumped.match(both)).toEqual(['41\t1\tstep 0', '41\t1\tstep 0']);
    const later = `41\t1\tstep ${step}`;
    expect((await dump(async () => {})).match(both)).toEqual([later, later]);
  });

  it('is told as it comes, and only a piece of it is in memory', async () => {
    const told: number[] = [];
    let largest = 0;
    for await (const chunk of writeDump({
      url: database.url,
      version: '0',
      onRows: (rows) => told.push(rows),
    }))
      largest = Math.max(largest, chunk.length);
    expect(told.length).toBeGreaterThan(10);
    expect(told.toSorted((a, b) => a - b)).toEqual(told);
    expect(told.at(-1)).toBeGreaterThan(3_000);
    // The schema is one piece; the rows are more than that.
    expect(largest).toBeLessThan(600_000);
  });
});

describe('musterd restore', () => {
  it('leaves nothing behind where it is stopped in the middle', async () => {
    const database = await createEmpty();
    const half = Buffer.from(text.slice(0, text.lastIndexOf('\ncopy ')));
    const open = async function* () {
      yield half;
      await Promise.resolve();
      throw new Error('stopped');
    };
    await expect(restoreDump(database.db, { open, onRows: () => {} })).rejects.toThrow('stopped');
    expect(await isEmpty(database)).toBe(true);
  });

  it('gives every row and every number back, and the next run finds nothing to do', async () => {
    const database = await createEmpty();
    const { code, stderr } = await musterd(database.url, 'restore', file);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(await contentOf(database.db)).toEqual(await contentOf(stage.db));
    expect(await dumpSchema(database.db)).toEqual(await dumpSchema(stage.db));
    const report = await runReconcile(database.db, stage.config, 'reconcile', {
      log: createLog({ level: 'silent' }),
    });
    const moved = await runSqlText(
      database.db,
      `select kind from sync.changes where run_id = ${String(report.runId)}`,
    );
    expect(moved.rows).toEqual([]);
    expect((await runSqlText(database.db, 'select * from sync.leases')).rows).toEqual([]);
  });

  it.skipIf(spawnSync('psql', ['--version']).status !== 0)('is what psql does, too', async () => {
    const database = await createEmpty();
    const { status, stderr } = spawnSync('psql', ['--no-psqlrc', '--quiet', '--dbname', database.url], {
      input: text,
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(await contentOf(database.db)).toEqual(await contentOf(stage.db));
    expect(await dumpSchema(database.db)).toEqual(await dumpSchema(stage.db));
  });

  it('refuses a database that is not empty, and says what to do', async () => {
    for (const url of [stage.url, (await createOther()).url]) {
      const { code, stderr } = await musterd(url, 'restore', file);
      expect(code).toBe(1);
      expect(stderr).toContain('The database is not empty');
      expect(stderr).toContain('MUSTERD_DATA_DIR');
    }
  });

  async function createOther(): Promise<TestDatabase> {
    const database = await createEmpty();
    await database.db.transaction(async (tx) => {
      await tx.schema.createTable('public.thesis').execute();
    });
    return database;
  }

  it('refuses what is no whole dump, and leaves nothing behind', async () => {
    const database = await createEmpty();
    const lines = text.split('\n');
    const copyAt = lines.findIndex((line) => line.startsWith('copy mirror.users '));
    const bytes = readFileSync(file);
    const broken: Readonly<Record<string, Buffer>> = {
      'no gzip': Buffer.from('select 1;'),
      'another text': gzipSync('select 1;'),
      'a newer form': gzipSync(text.replace('musterd dump 1', 'musterd dump 2')),
      'bytes cut off': bytes.subarray(0, bytes.length - 9),
      'bytes changed': Buffer.concat([bytes.subarray(0, 20_000), Buffer.from('x'), bytes.subarray(20_001)]),
      'the last line cut off': gzipSync(text.split('-- end of')[0] ?? ''),
      'cut in the middle of rows': gzipSync(lines.slice(0, copyAt + 3).join('\n')),
      'a row missing': gzipSync([...lines.slice(0, copyAt + 1), ...lines.slice(copyAt + 2)].join('\n')),
      'more behind it': gzipSync(`${text}select 1;\n`),
      'a statement in it': gzipSync(text.replace('\ncommit;', '\ndrop schema public;\ncommit;')),
      'a table twice': gzipSync(text.replace('\ncommit;', `\n${lines[copyAt]}\n\\.\ncommit;`)),
      'a table elsewhere': gzipSync(text.replace('copy mirror.users ', 'copy pg_catalog.pg_authid ')),
      'a number out of range': gzipSync(text.replace(/(setval\('[^']+', )\d+/, '$19999999999999999999')),
      'a number below the first': gzipSync(text.replace(/(setval\('[^']+', )\d+/, '$10')),
      'a row of no values': gzipSync(
        [...lines.slice(0, copyAt + 1), 'x', ...lines.slice(copyAt + 2)].join('\n'),
      ),
      'a row that is there twice': gzipSync(
        [...lines.slice(0, copyAt + 2), ...lines.slice(copyAt + 1)].join('\n'),
      ),
      'a migration that is unknown': gzipSync(
        text.replace(/-- migration 0001_baseline/, '-- migration 9001_baseline'),
      ),
      'a migration that was another': gzipSync(
        text.replace(/(-- migration 0001_baseline )./, '$1z').replace(' z', ' 0'),
      ),
    };
    const part = join(folder.path, 'broken.gz');
    for (const [what, content] of Object.entries(broken)) {
      writeFileSync(part, content);
      const { code, stderr } = await musterd(database.url, 'restore', part);
      const isTrace = /should not happen|^ {4}at /m.test(stderr);
      expect({ what, code: code === 64 || code === 1, isTrace }).toEqual({
        what,
        code: true,
        isTrace: false,
      });
      expect([what, await isEmpty(database)]).toEqual([what, true]);
    }
    expect((await musterd(database.url, 'restore', '/nowhere/x.gz')).code).toBe(64);
    expect((await musterd(database.url, 'restore', file)).code).toBe(0);
  });

  it('brings a dump of a mirror that was made before the baseline up to date', async () => {
    const before = await createEmpty();
    using baseline = temporaryFolder();
    cpSync('migrations', baseline.path, { recursive: true });
    for (const name of readdirSync(baseline.path))
      if (/^(?!0001)\d/.test(name)) rmSync(join(baseline.path, name));
    rmSync(join(baseline.path, 'repeatable'), { recursive: true });
    await migrate(before.db, { folder: baseline.path });
    const chunks: Buffer[] = [];
    for await (const chunk of writeDump({ url: before.url, version: '0', onRows: () => {} }))
      chunks.push(chunk);
    const database = await createEmpty();
    const checksum = '0'.repeat(64);
    const [first, last] = ['0001_mirror', '0070_known_rows'];
    const numbered = Buffer.concat(chunks)
      .toString()
      .replace(/(-- migration )0001_baseline .*/, `$1${first} ${checksum}\n$1${last} ${checksum}`)
      .replace(/^0001_baseline\t(.*)\t.*$/m, `${first}\t$1\t${checksum}\n${last}\t$1\t${checksum}`)
      .replace(
        /(end of the musterd dump: )(\d+)/,
        (_, words: string, rows: string) => words + String(Number(rows) + 1),
      );
    const part = join(folder.path, 'old.gz');
    writeFileSync(part, gzipSync(numbered));
    const { code, stderr } = await musterd(database.url, 'restore', part);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(await dumpSchema(database.db)).toEqual(await dumpSchema(stage.db));
    const { rows } = await runSqlText(
      database.db,
      "select name from sync.migrations where name !~ '^repeatable' order by name",
    );
    expect(rows).toEqual([
      ['0001_baseline'],
      ['0002_listings'],
      ['0003_requests'],
      ['0004_direct_commands'],
      ['0005_one_engine'],
      ['0006_one_look'],
    ]);
    writeFileSync(part, gzipSync(numbered.replaceAll(last, '0069_receipts')));
    const older = await musterd((await createEmpty()).url, 'restore', part);
    expect([older.code, older.stderr]).toEqual([1, expect.stringContaining('of an earlier musterd')]);
  });
});
