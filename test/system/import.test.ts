import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { readRoles } from '../../src/mirror/users/import-read.ts';
import { eventually } from '../support/eventually.ts';
import { ownFolder } from './own-folder.ts';
import { runMusterd, spawnMusterd } from './run-musterd.ts';
import { useStages, loginAt, type Stage, type StageOptions } from './stage.ts';

const stages = useStages();

/** What `musterd import --json` says. */
interface Said {
  readonly rows: number;
  readonly matched: number;
  readonly problems: readonly { readonly line: number; readonly kind: string; readonly reason: string }[];
  readonly not_in_file: readonly { readonly user_id: number; readonly name: string }[];
  readonly changes: readonly {
    readonly user_id: number;
    readonly field: string;
    readonly from: unknown;
    readonly to: unknown;
  }[];
  readonly limit: readonly string[];
  readonly limited: readonly string[];
  readonly cost: { readonly users: number; readonly requests: number; readonly seconds: number };
  readonly applied: boolean;
  readonly why: string | null;
  readonly approved: number;
  readonly missed: readonly unknown[];
}

describe('musterd import', () => {
  let stage: Stage;
  const folder = ownFolder();

  const environment = () => ({ ...stage.env, MUSTERD__log__level: 'silent' });
  const open = async (options: StageOptions = {}) => {
    stage = await stages.open({ emulator: { users: 12 }, ...options });
  };
  const file = (text: string | Buffer, name = 'people.csv') => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const musterd = (...args: readonly string[]) => stage.musterd(...args);
  const imported = async (path: string, ...args: readonly string[]) => {
    const { code, stdout } = await musterd('import', path, '--json', ...args);
    return { code, ...(JSON.parse(stdout) as Said) };
  };
  const user = (at = 0) => stage.userAt(at);
  const mirrored = async (id: number) =>
    (
      await stage.sql(
        `select first_name, last_name, email, phone, role_id from mirror.users where id = ${id}`,
      )
    )[0];

  describe('a file with few rows', () => {
    beforeEach(() => open());

    it('shows the changes and writes nothing without --yes (S63)', async () => {
      const { id, phone, first, last } = user();
      const path = file(`id,Phone Number\n${id},+1 (555) 010-0166\n${user(1).id},\n`);
      const before = await stage.mirrored();
      const { code, stdout, stderr } = await musterd('import', path);
      expect([code, stderr]).toEqual([64, expect.stringContaining('add --yes to apply it')]);
      expect(stdout).toContain(`${id}\t${first} ${last}\tpush\tphone\t${phone}\t15550100166\tline 2`);
      expect(stdout).toMatch(/^2 rows: 2 matched, .*pushing costs \d requests, about \d s/s);
      expect(await stage.mirrored()).toEqual(before);
    });

    it('writes the edits with --yes, and the next run sends them', async () => {
      const { id, email } = user();
      const path = file(`E-Mail,First Name,Last Name\n${email?.toUpperCase()},  Anne   Marie ,Berg\n`);
      expect(await imported(path, '--yes')).toMatchObject({
        code: 0,
        applied: true,
        missed: [],
        approved: 0,
      });
      expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0, counts: { pushed: 1 } });
      expect(stage.emulator.team.user(id)).toMatchObject({ first: 'Anne Marie', last: 'Berg', email });
      expect(await imported(path, '--yes')).toMatchObject({ code: 0, applied: false, changes: [] });
    });

    it('applies no row if one row is wrong, and applies only the correct rows with --skip-errors', async () => {
      const [one, two] = [user(0), user(1)];
      const path = file(`id,phone,email\n${one.id},+15550101,\n${two.id},+15550102,no address\n`);
      const problems = [{ line: 3, kind: 'invalid', reason: '"no address" is not an email address' }];
      const before = await stage.mirrored();
      const said = await imported(path, '--yes');
      expect(said).toMatchObject({ code: 64, applied: false, rows: 2, matched: 1, problems });
      const { code, stdout, stderr } = await musterd('import', path, '--yes');
      expect([code, stdout]).toEqual([64, expect.stringContaining('3\tinvalid\t"no address" is not an')]);
      expect(stderr).toContain('1 row cannot be used, so nothing is applied');
      expect(await stage.mirrored()).toEqual(before);
      const skipped = await imported(path, '--yes', '--skip-errors');
      expect(skipped).toMatchObject({ code: 0, applied: true, problems, changes: [{ user_id: one.id }] });
      expect(await mirrored(one.id)).toContain('15550101');
      expect((await stage.mirrored()).get(two.id)).toEqual(before.get(two.id));
    });

    it('refuses a row whose id and email belong to two users, and accepts the row with --trust-ids', async () => {
      const [one, two, three] = [user(0), user(1), user(2)];
      const path = file(`id,email\n${one.id},${two.email}\n${three.id},new@example.com\n`);
      const unusable = join(folder, 'unusable.csv');
      const said = await imported(path, '--yes', '--unusable', unusable);
      const problems = [
        {
          line: 2,
          kind: 'contradictory',
          reason: `it is of user ${one.id}, but the email ${two.email} belongs to user ${two.id}: correct it, or give --trust-ids`,
        },
      ];
      expect(said).toMatchObject({ code: 64, applied: false, problems });
      expect(said.not_in_file.map(({ user_id }) => user_id)).not.toContain(one.id);
      expect(said.not_in_file).toContainEqual({ user_id: two.id, name: `${two.first} ${two.last}` });
      expect(readFileSync(unusable, 'utf8')).toMatch(
        new RegExp(
          `^\ufeffid,email,line,reason\r\n${one.id},${two.email},2,"it is of user ${one.id}, .*"\r\n$`,
        ),
      );
      const fine = file(`id\n${one.id}\n`, 'fine.csv');
      await musterd('import', fine, '--dry-run', '--unusable', unusable);
      expect(readFileSync(unusable, 'utf8')).toBe('\ufeffid,line,reason\r\n');
      const more = file(
        `id,email\n${one.id},${two.email}\n${two.id},${one.email}\n${three.id},new@example.com\n`,
        'more.csv',
      );
      const all = file(`id,email\n${one.id},${two.email}\n${two.id},${one.email}\n`, 'all.csv');
      expect((await musterd('import', all, '--yes', '--skip-errors')).code).toBe(64);
      const sorted = await musterd('import', more, '--yes', '--skip-errors');
      expect([sorted.code, sorted.stderr]).toEqual([
        64,
        expect.stringContaining(
          '2 of 3 rows name two users, so nothing is applied, not even with --skip-errors',
        ),
      ]);
      expect(await imported(path, '--dry-run', '--trust-ids')).toMatchObject({
        code: 0,
        problems: [],
        changes: [{ user_id: one.id }, { user_id: three.id }],
      });
      expect(await imported(path, '--yes', '--skip-errors')).toMatchObject({
        code: 0,
        changes: [{ user_id: three.id }],
      });
    });

    it('adds the calling code of --country or phones.country to national phone numbers', async () => {
      const path = file(`id,phone\n${user().id},0151-23450148\n`);
      for (const country of ['49', '+49'])
        expect(await imported(path, '--dry-run', '--country', country)).toMatchObject({
          code: 0,
          changes: [{ to: '4915123450148' }],
        });
      const set = { ...environment(), MUSTERD__phones__country: '43' };
      const { stdout } = await runMusterd(['import', path, '--json', '--dry-run'], set);
      expect(JSON.parse(stdout)).toMatchObject({ changes: [{ to: '4315123450148' }] });
    });

    it('holds a phone without a calling code, even under the policy mirror-wins, and sends the email of the same row', async () => {
      await open({ config: { policy: { phone: 'mirror-wins' } } });
      const { id } = user();
      stage.emulator.team.editUser(id, { phone: '49301234567' });
      await stage.run();
      await stage.sql(`create role musterd_clerk login password 'p' in role musterd_editor`);
      const clerk = { DATABASE_URL: loginAt(stage.url, 'musterd_clerk', 'p') };
      const path = file(`id,phone,email\n${id},0151-23450148,new@example.com\n`);
      const detail = '49 is the country code of 49301234567: "0151-23450148" has none';
      expect(await imported(path, '--dry-run')).toMatchObject({
        changes: [
          { field: 'email', state: 'waiting', reason: null },
          { field: 'phone', state: 'held', reason: 'limit', detail },
        ],
      });
      const args = ['import', path, '--yes'];
      const { code, stdout } = await runMusterd(args, { ...environment(), ...clerk });
      expect([code, stdout]).toEqual([
        0,
        expect.stringContaining(`will be held on its own: phone of ${id}: ${detail}`),
      ]);
      expect(stdout).toContain('2 fields of 1 user; the next run sends them, except 1 that is held until');
      const held = () => stage.sql('select field, state, reason, edited_by from report.held');
      expect(await held()).toEqual([['phone', 'held', 'limit', 'musterd_clerk']]);
      stage.emulator.team.editUser(id, { phone: '49307654321' });
      await stage.run();
      expect(await held()).toEqual([['phone', 'held', 'limit', 'musterd_clerk']]);
      expect(stage.emulator.team.user(id)).toMatchObject({ email: 'new@example.com', phone: '49307654321' });
      await musterd('approve', (await stage.sql('select batch from report.held'))[0]?.[0] ?? '');
      await stage.run();
      expect(stage.emulator.team.user(id).phone).toBe('4915123450148');
      await stage.sql('drop role musterd_clerk');
    });

    it('suggests "musterd undo <run>" after --wait, and "musterd withdraw" without --wait, to take the import back', async () => {
      const { id, email } = user();
      const path = file(`id,email\n${id},new@example.com\n`);
      const waiting = musterd('import', path, '--yes', '--wait', '60');
      await eventually('the import is written', async () =>
        (await mirrored(id))?.includes('new@example.com'),
      );
      const { runId } = await stage.run();
      const { code, stdout } = await waiting;
      expect([code, stdout.trim().split('\n').at(-1)]).toEqual([0, `take it back: musterd undo ${runId}`]);
      expect((await musterd('undo', String(runId))).stdout).toContain(`new@example.com\t${email}`);
      const { stdout: later } = await musterd('import', path, '--yes');
      expect(later).not.toContain('take it back');
      const again = await musterd('import', file(`id,email\n${id},newer@example.com\n`), '--yes');
      expect(again.stdout).toMatch(/^take it back: musterd withdraw, or .*\n$/m);
    });

    it('ignores empty cells, and clears a phone with --empty clear', async () => {
      const { id, first, last, email, roleId } = user();
      const path = file(`id,first_name,last_name,email,phone,role\n${id},,,,,\n`);
      expect(await imported(path, '--yes')).toMatchObject({ code: 0, changes: [] });
      expect(await imported(path, '--yes', '--empty', 'clear')).toMatchObject({
        code: 0,
        changes: [{ field: 'phone', to: null }],
      });
      expect(await mirrored(id)).toEqual([first, last, email, '', String(roleId)]);
    });

    it('skips a user with an uncommitted edit, lists that user as missed, and exits with 1', async () => {
      const [one, two] = [user(0), user(1)];
      const path = file(`id,email\n${one.id},new1@example.com\n${two.id},new2@example.com\n`);
      const other = await stage.db.transaction(async (tx) => {
        await tx.executeQuery({
          sql: `update mirror.users set phone = null where id = ${two.id}`,
          parameters: [],
          query: { kind: 'RawNode', sqlFragments: [], parameters: [] },
          queryId: { queryId: 'edit' },
        });
        return await imported(path, '--yes');
      });
      expect(other).toMatchObject({
        code: 1,
        applied: true,
        missed: [{ user_id: two.id, field: 'email' }],
      });
      expect(await mirrored(one.id)).toContain('new1@example.com');
      expect(await mirrored(two.id)).toContain(two.email);
    });

    it('applies rows from stdin without a question if --yes is given', async () => {
      const { id } = user();
      const { code, stdout } = await spawnMusterd(
        ['import', '-', '--json', '--yes'],
        environment(),
        `id,email\n${id},new@example.com\n`,
      );
      expect([code, JSON.parse(stdout)]).toMatchObject([0, { applied: true }]);
    });

    it.each([
      [['nowhere.csv'], 'nowhere.csv cannot be read (ENOENT)'],
      [['x.csv', '--map', 'phone'], '--map "phone" is not of the form'],
      [['x.csv', '--map', 'Nothing=phone'], 'there is no column "Nothing"'],
      [['x.csv', '--only', 'colour'], '--only "colour"'],
      [['x.csv', '--country', 'de'], '--country "de" is not a calling code'],
      [['x.csv', '--empty', 'all'], 'the only value is "clear"'],
    ])('exits with 64 and prints the mistake for the arguments %j', async (args, words) => {
      file('id,email\n1,a@example.com\n', 'x.csv');
      const [name = '', ...rest] = args;
      const { code, stderr } = await musterd('import', join(folder, name), ...rest, '--dry-run');
      expect([code, stderr]).toEqual([64, expect.stringContaining(words)]);
    });
  });

  it("readRoles returns the same role names before, during and after a pending edit of a user's role", async () => {
    await open();
    const teamId = BigInt(stage.emulator.team.id);
    const learn = async () =>
      new Map((await readRoles(stage.db.kysely, teamId)).map(({ id, name }) => [String(id), name]));
    const before = await learn();
    const { id, roleId } = user(1);
    const other = [...before.keys()].find((one) => one !== String(roleId)) ?? '';
    const expectSame = async () => {
      for (const [role, name] of await learn()) expect([role, name]).toEqual([role, before.get(role)]);
    };
    await stage.sql(`update mirror.users set role_id = ${other} where id = ${id}`);
    await expectSame();
    // Its name follows with the next run that reads all users.
    expect(await stage.run()).toMatchObject({ counts: { pushed: 1 } });
    await expectSame();
    await stage.run();
    expect(await stage.sql(`select role from mirror.users where id = ${id}`)).toEqual([[before.get(other)]]);
  });

  it('finds nothing to change in a file that export wrote, even with hostile names, in each format', async () => {
    await open({ emulator: { users: 12 } });
    const hostile = [
      '=1+1',
      "'=x",
      'Anne\u00a0Marie',
      'O\'Neil; "x"',
      '-',
      '+15',
      'null',
      '~',
      '\u202eevil',
      'a,b\tc',
      '#',
      '  ',
    ];
    const ids = stage.emulator.team.users().map(({ id }) => id);
    for (const [at, id] of ids.entries())
      stage.emulator.team.editUser(id, {
        first: hostile[at] ?? 'x',
        last: hostile[(at + 5) % 12] ?? 'y',
        phone: '+15550100',
      });
    await stage.run();
    await stage.sql(`update mirror.users set role_id = 1 where id = ${ids[3]};
      update mirror.users set email = 'Edited@Example.com', phone = null where id = ${ids[4]};
      update mirror.users set first_name = ' a ', last_name = E'b\\n c' where id = ${ids[5]}`);
    for (const format of ['csv', 'json', 'ndjson', 'yaml']) {
      const path = join(folder, `again.${format}`);
      expect((await musterd('export', '-o', path)).code).toBe(0);
      const { stdout, stderr } = await musterd('import', path, '--json', '--yes');
      expect([format, stderr, JSON.parse(stdout)]).toMatchObject([
        format,
        '',
        { matched: 12, problems: [], changes: [], why: 'nothing would change' },
      ]);
    }
  });
});
