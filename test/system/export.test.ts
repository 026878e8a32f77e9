import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseCsv } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { exportColumns, exportable, readPages } from '../../src/mirror/tools/export-read.ts';
import { readTeamId } from '../../src/mirror/team/pinned-teams.ts';
import { fromJson, toJson } from '../../src/model/json.ts';
import { ownFolder } from './own-folder.ts';
import { askToStop, runMusterd, spawnMusterd, startMusterd } from './run-musterd.ts';
import { createStage, type Stage } from './stage.ts';

const formula = '=HYPERLINK("http://example.com","x")';

describe('musterd export', () => {
  let stage: Stage;
  const folder = ownFolder();
  beforeAll(async () => {
    stage = await createStage({ emulator: { users: 12, tags: 4, fields: 3 } });
    const [first] = stage.emulator.team.users();
    stage.emulator.team.editUser(first?.id ?? 0, {
      first: formula,
      last: "O'Neil;\u2028\n",
      phone: '+15550100',
    });
    await stage.run({ segments: [{ name: 'all', body: {} }] });
  });
  afterAll(() => stage.close());

  const musterd = (...args: readonly string[]) => stage.musterd('export', ...args);
  const exported = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await musterd(...args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  };
  type Rows = readonly Readonly<Record<string, unknown>>[];

  it.each(exportable)('writes the same rows of %s in each format', async (what) => {
    const json = fromJson(await exported(what, '--format', 'json')) as Rows;
    expect(json.length).toBeGreaterThan(0);
    expect(Object.keys(json[0] ?? {})).toEqual(exportColumns(what));
    const ndjson = (await exported(what, '--format', 'ndjson')).split('\n');
    expect(ndjson.pop()).toBe('');
    expect(ndjson.map((line) => fromJson(line))).toEqual(json);
    expect(parseYaml(await exported(what, '--format', 'yaml'))).toEqual(json);
    const [head, ...rows] = parseCsv(await exported(what), { bom: true }) as string[][];
    expect(head).toEqual(exportColumns(what));
    const cells = json.map((row) =>
      Object.values(row).map((value) =>
        typeof value === 'string' ? value : value === null ? '' : toJson(value),
      ),
    );
    expect(rows.map((row) => row.map((cell) => cell.replace(/^'(?=[=+])/, '')))).toEqual(cells);
  });

  it('writes changes in the order of their ids, and within a change by field name', async () => {
    const rows = fromJson(await exported('changes', '--format', 'json')) as Rows;
    const keys = rows.map((row) => [Number(row['change_id']), String(row['field'])] as const);
    expect(keys.length).toBeGreaterThan(12);
    expect(keys).toEqual(keys.toSorted(([a, x], [b, y]) => a - b || (x < y ? -1 : 1)));
  });

  it('writes all users of the team, and leaves out users marked as gone', async () => {
    const id = stage.emulator.team.users()[0]?.id ?? 0;
    const all = fromJson(await exported('users', '--format', 'json')) as Rows;
    expect(all.map((row) => row['id'])).toEqual(
      stage.emulator.team
        .users()
        .map((user) => user.id)
        .toSorted((a, b) => a - b),
    );
    expect(all.find((row) => row['id'] === id)).toMatchObject({ first_name: formula, phone: '+15550100' });
    await stage.sql(`begin; select set_config('musterd.writing', 'on', true);
      update mirror.users set gone_at = now() where id = ${id}; commit`);
    const rest = fromJson(await exported('--format', 'json')) as Rows;
    expect(rest).toEqual(all.filter((row) => row['id'] !== id));
    await stage.sql(`begin; select set_config('musterd.writing', 'on', true);
      update mirror.users set gone_at = null where id = ${id}; commit`);
  });

  it('writes with --as-of the users and their values at the given time', async () => {
    const before = await exported('--format', 'json');
    const [[at = '', id = ''] = []] = await stage.sql(
      `select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), min(id) from mirror.users`,
    );
    await stage.sql(`update mirror.users set phone = '15550142' where id = ${id}`);
    expect(await exported('--as-of', at, '--format', 'json')).toBe(before);
    expect(await exported('users', '--as-of', `${at}Z`, '--format', 'json')).toBe(before);
    expect(await exported('--as-of', '2999-01-01', '--format', 'json')).toBe(
      await exported('--format', 'json'),
    );
    expect(await exported('contact-counts', '--as-of', '2020-01-01', '--format', 'json')).toBe('[]\n');
    // As in a database that is older than the record.
    await stage.sql('update sync.user_periods set side = null');
    const { stdout, stderr } = await musterd('--as-of', '2020-01-01T08:00+01:00');
    expect(stdout.split('\r\n').filter((line) => line !== '')).toHaveLength(1);
    expect(stderr).toContain('The roster was not recorded at that time');
  });

  it('writes no cell that a spreadsheet would run (S64)', async () => {
    const rows = parseCsv(await exported(), { bom: true }) as string[][];
    expect(rows.flat()).toContain(`'${formula}`);
    expect(rows.flat().filter((cell) => /^[=+\-@\t\r]/.test(cell))).toEqual([]);
  });

  it('chooses the format by the ending of the file name, and writes through a symbolic link', async () => {
    for (const [name, start] of [
      ['a.csv', '\ufeffid,'],
      ['a.json', '[\n  {"id"'],
      ['a.ndjson', '{"id"'],
      ['a.yml', '- id: '],
    ] as const) {
      const file = join(folder, name);
      const { code, stderr } = await musterd('-o', file);
      expect({ code, stderr }).toEqual({ code: 0, stderr: `12 rows written to ${file}\n` });
      expect(readFileSync(file, 'utf8').startsWith(start)).toBe(true);
    }
    symlinkSync(join(folder, 'a.csv'), join(folder, 'link'));
    await musterd('tags', '-o', join(folder, 'link'), '--format', 'csv');
    expect(readFileSync(join(folder, 'a.csv'), 'utf8')).toMatch(/^\ufeffid,tag,/);
    expect(readdirSync(folder).toSorted()).toEqual(['a.csv', 'a.json', 'a.ndjson', 'a.yml', 'link']);
  });

  it('keeps the existing file if the export fails', async () => {
    const place = join(folder, 'kept');
    mkdirSync(place);
    writeFileSync(join(place, 'roster.csv'), 'before');
    await stage.sql('alter table mirror.users rename column email to was_email');
    const { code } = await musterd('-o', join(place, 'roster.csv'));
    await stage.sql('alter table mirror.users rename column was_email to email');
    expect(code).toBe(1);
    expect(readFileSync(join(place, 'roster.csv'), 'utf8')).toBe('before');
    expect(readdirSync(place)).toEqual(['roster.csv']);
  });

  it.each([
    [['nothing'], 'export "nothing": use one of users, '],
    [['--format', 'xlsx'], 'use one of csv, json, ndjson, yaml'],
    [['-o', 'roster.xlsx'], 'No output format has the ending .xlsx'],
    [['-o', 'roster.csv.gz'], 'or choose the format with --format'],
    [['tags', '--as-of', '2026-01-01'], '--as-of cannot be used with tags'],
    [['--as-of', 'yesterday'], '"yesterday" is not a time'],
    [['-o', '/nowhere/at/all.csv'], '/nowhere/at/all.csv cannot be written (ENOENT)'],
  ])('exits 64 for the arguments %j and prints %j', async (args, words) => {
    const { code, stderr } = await musterd(...args);
    expect(code).toBe(64);
    expect(stderr).toContain(words);
  });

  it('prints no control characters to a terminal', async () => {
    const { runCommandLine } = await import('../../src/commands/command-line.ts');
    let shown = '';
    const write = (text: string) => (shown += text);
    const code = await runCommandLine({
      args: ['export', '--format', 'csv'],
      env: stage.env,
      out: { isTTY: true, write },
      err: { write },
      leave: () => undefined,
    });
    expect(code).toBe(0);
    expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  });
});

describe('musterd export of 100,000 users', () => {
  const count = 100_000;
  let stage: Stage;
  beforeAll(async () => {
    stage = await createStage({ emulator: { users: 3 } });
    await stage.run();
    await stage.sql(`begin; select set_config('musterd.writing', 'on', true);
      insert into mirror.users (team_id, id, name, first_name, last_name, email, resolved)
        select team_id, 90000000 + n, 'Anne Berg ' || n, 'Anne', 'Berg ' || n, repeat('x', 200) || n || '@example.com', true
        from sync.teams, generate_series(1, ${count} - 3) n;
      commit`);
  });
  afterAll(() => stage.close());

  it('reads pages of 1000 users in one snapshot, and needs at most 40 MB of heap', async () => {
    const teamId = (await readTeamId(stage.db.kysely, stage.config.team)) ?? 0n;
    const sizes: number[] = [];
    let last: unknown;
    await readPages(stage.db, teamId, 'users', async (page) => {
      if (sizes.length === 0)
        await stage.sql("update mirror.users set email = 'new@example.com' where last_name like 'Berg %97'");
      sizes.push(page.length);
      last = page.at(-1)?.['email'];
    });
    expect(Math.max(...sizes)).toBe(1000);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(count);
    expect(last).toBe(`${'x'.repeat(200)}99997@example.com`);
    const env = {
      ...stage.env,
      NODE_OPTIONS: '--max-old-space-size=40',
    };
    const { code, stdout } = await spawnMusterd(['export', '--format', 'ndjson'], env);
    expect([code, stdout.split('\n').length - 1]).toEqual([0, count]);
  });

  it('readPages fails if the receiver of a page throws, and delivers no page twice', async () => {
    const teamId = (await readTeamId(stage.db.kysely, stage.config.team)) ?? 0n;
    const broken = Object.assign(new Error('broken off'), { code: '40001' });
    const pages: number[] = [];
    const reading = readPages(stage.db, teamId, 'users', async (page) => {
      pages.push(page.length);
      if (pages.length === 2) throw broken;
    });
    await expect(reading).rejects.toMatchObject({
      code: 'mirror',
      message: 'The export ended early: broken off',
    });
    expect(pages).toEqual([1000, 1000]);
  });

  it('exits 1 if musterd is asked to stop during the export', async () => {
    const { code, stderr } = await runMusterd(['export'], stage.env, (text) => {
      if (text.includes('90000500,')) askToStop();
    });
    expect([code, stderr]).toEqual([1, expect.stringContaining('Stopped on request')]);
  });

  it('exits 0 without an error if the reader of stdout closes the pipe', async () => {
    const started = startMusterd(['export'], stage.env);
    started.process.stdout?.once('data', () => started.process.stdout?.destroy());
    expect(await started.ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  });
});
