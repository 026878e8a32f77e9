import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readFilter } from '../../src/commands/look/changes.ts';
import { readTimeFromNow } from '../../src/runs/time-from-now.ts';
import { ledgerKinds } from '../../src/model/ledger-words.ts';
import { runMusterd } from './run-musterd.ts';
import { createStage, type Stage } from './stage.ts';

describe('options of musterd changes', () => {
  it.each([
    ['30s', { seconds: 30 }],
    ['5m', { seconds: 300 }],
    ['2h', { seconds: 7200 }],
    ['3d', { seconds: 259_200 }],
    ['1w', { seconds: 604_800 }],
    ['2026-03-01', { moment: '2026-03-01T00:00:00.000Z' }],
    ['2026-03-01T09:00', { moment: '2026-03-01T09:00:00.000Z' }],
    ['2026-03-01 09:00:30', { moment: '2026-03-01T09:00:30.000Z' }],
    ['2026-03-01T09:00Z', { moment: '2026-03-01T09:00:00.000Z' }],
    ['2026-03-01T09:00:00.5+02:00', { moment: '2026-03-01T07:00:00.500Z' }],
  ])('readTimeFromNow reads --since %s as %j', (text, expected) => {
    expect(readTimeFromNow('--since', text)).toEqual(expected);
  });

  it.each(['', 'yesterday', '3', '3 d', '3y', '-2h', '2026-13-01', '2026-03-01T25:00', '9999999d'])(
    'readTimeFromNow rejects --since %j with an error that names the option',
    (text) => {
      expect(() => readTimeFromNow('--since', text)).toThrow('--since');
    },
  );

  it.each([
    [{ run: '0' }],
    [{ run: 'last' }],
    [{ run: '9223372036854775808' }],
    [{ limit: '0' }],
    [{ limit: '1.5' }],
    [{ field: 'roleId' }],
    [{ field: 'messages' }],
    [{ kind: 'undone' }],
    [{ outcome: 'fine' }],
    [{ kind: "push' or true --" }],
  ])('readFilter rejects the options %j with an error that names the option', (options) => {
    expect(() => readFilter(options)).toThrow(`--${Object.keys(options)[0]}`);
  });

  it('readFilter selects the newest 100 changes if no option is given', () => {
    expect(readFilter({})).toEqual({
      runId: null,
      field: null,
      kind: null,
      outcome: null,
      since: null,
      limit: 100,
    });
  });
});

describe('musterd changes', () => {
  let stage: Stage;
  let pulled = { id: 0, email: '' };
  let pushed = { id: 0, first: '', last: '' };
  let gone = 0;
  const musterd = (args: readonly string[]) =>
    runMusterd(args, {
      ...stage.env,
      MUSTERD__log__level: 'error',
    });
  const changes = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await musterd(['changes', '--json', ...args]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout) as {
      readonly changes: readonly Readonly<Record<string, unknown>>[];
      readonly more: boolean;
    };
  };
  const kindsOf = async (...args: readonly string[]) =>
    (await changes(...args)).changes.map(({ kind, field }) => `${String(kind)} ${String(field)}`);

  beforeAll(async () => {
    stage = await createStage({ config: { absence: { confirmAfterMs: 0 } } });
    await stage.run();
    const users = stage.emulator.team.users().filter(({ email, phone }) => email !== null && phone !== null);
    const [one, two, three] = users;
    if (one === undefined || two === undefined || three === undefined) throw new Error('too few users');
    pulled = { id: one.id, email: 'pulled@example.com' };
    pushed = { id: two.id, first: 'Robin', last: 'Reed-Solomon' };
    gone = three.id;
    stage.emulator.team.editUser(one.id, { email: pulled.email });
    await stage.sql(
      `begin; select set_config('musterd.actor', 'Kim of HR', true);
       update mirror.users set first_name = 'Robin', last_name = 'Reed-Solomon', phone = '15550122' where id = ${two.id}; commit`,
    );
    await stage.run();
    stage.emulator.team.removeUser(gone);
    stage.emulator.team.editUser(two.id, { email: 'service@example.com' });
    await stage.sql(`update mirror.users set email = 'mirror@example.com' where id = ${two.id}`);
    await stage.run();
    await stage.run();
  });
  afterAll(() => stage.close());

  it('prints the newest change last, and with --limit 2 only the two newest changes', async () => {
    const all = await changes('--limit', '1000');
    expect(all.more).toBe(false);
    const ids = all.changes.map(({ change_id }) => Number(change_id));
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    const [[count] = []] = await stage.sql('select count(*) from report.changes');
    expect(all.changes.length).toBe(Number(count));
    const newest = await changes('--limit', '2');
    expect(newest).toEqual({ changes: all.changes.slice(-2), more: true });
    expect((await changes()).changes).toEqual(all.changes.slice(-100));
  });

  it('finds the user of --user by id, email, phone or name, and exits 64 if no user matches', async () => {
    for (const name of [String(pushed.id), 'MIRROR@example.com', '+1 555 0122', 'robin reed-solomon']) {
      expect(await kindsOf('--user', name, '--kind', 'push')).toEqual(['push name', 'push phone']);
    }
    const nobody = await musterd(['changes', '--user', 'nobody@example.com']);
    expect(nobody.code).toBe(64);
  });

  it('prints only changes that match all of the given --run, --field, --kind, --outcome and --user', async () => {
    expect(await kindsOf('--run', '2')).toEqual(['pull email', 'push name', 'push phone']);
    expect(await kindsOf('--run', '2', '--field', 'phone')).toEqual(['push phone']);
    expect(await kindsOf('--kind', 'pull')).toEqual(['pull email']);
    expect(await kindsOf('--kind', 'hold')).toEqual(['hold email']);
    const { stdout } = await musterd(['changes', '--kind', 'hold']);
    expect(stdout).toMatch(/\temail\t(?!mirror@|service@)\S+\tmirror@example.com\tconflict\t/);
    expect(await kindsOf('--outcome', 'confirmed')).toEqual(['push name', 'push phone']);
    expect(await kindsOf('--outcome', 'refused')).toEqual([]);
    expect(await kindsOf('--user', pulled.email, '--field', 'email', '--kind', 'pull')).toEqual([
      'pull email',
    ]);
  });

  it('prints the author of each pushed edit, as musterd why does too', async () => {
    const { changes: rows } = await changes('--run', '2');
    expect(rows.map(({ kind, edited_by }) => [kind, edited_by])).toEqual([
      ['pull', null],
      ['push', 'Kim of HR'],
      ['push', 'Kim of HR'],
    ]);
    const { stdout } = await musterd(['why', String(pushed.id)]);
    expect(stdout).toMatch(/edited by.*\n(.*\n)*.*push.*15550122.*confirmed.*Kim of HR/);
  });

  it('prints one change of the kind tombstone, without a field, for a user marked as gone', async () => {
    const { changes: rows } = await changes('--kind', 'tombstone');
    expect(rows).toMatchObject([{ user_id: gone, field: null, run_id: 4 }]);
    expect(await stage.sql(`select user_id, field from report.changes where kind = 'tombstone'`)).toEqual([
      [String(gone), ''],
    ]);
  });

  it('prints an approval with approver and reason, and ledgerKinds has each kind that sync.changes allows', async () => {
    const [[check = ''] = []] = await stage.sql(
      `select pg_get_constraintdef(oid) from pg_constraint where conname = 'changes_kind_check'`,
    );
    expect([...check.matchAll(/'(\w+)'/g)].map(([, kind]) => kind)).toEqual(
      ledgerKinds.filter((kind) => kind !== 'discard'),
    );
    await stage.sql(`insert into sync.changes (team_id, user_id, kind, closed_at, decided_by, decided_why)
      select team_id, id, 'approve', now(), 'anne', 'they left' from mirror.users where id = ${gone}`);
    expect((await changes('--kind', 'approve')).changes).toMatchObject([
      { user_id: gone, field: null, run_id: null, decided_by: 'anne', decided_why: 'they left' },
    ]);
    const shown = await musterd(['changes', '--kind', 'approve']);
    expect(shown.stdout.split('\n')[1]).toMatch(/\tapprove\t.*\tanne$/);
    const why = await musterd(['why', String(gone)]);
    expect(why.stdout).toMatch(/\tapprove\t.*\tanne$/m);
    await stage.sql(`delete from sync.changes where kind = 'approve'`);
  });

  it('prints only changes after the time --since, given as a date or as a duration before now such as 2d', async () => {
    expect((await changes('--since', '1h', '--limit', '1000')).changes).toEqual(
      (await changes('--limit', '1000')).changes,
    );
    expect((await changes('--since', '2999-01-01')).changes).toEqual([]);
    await stage.sql(
      `update sync.changes set opened_at = opened_at - interval '3 days', closed_at = closed_at - interval '3 days' where run_id <= 2`,
    );
    expect(await kindsOf('--since', '2d')).toEqual(['hold email', 'tombstone null']);
    const moment = new Date(Date.now() - 2 * 86_400_000).toISOString();
    expect(await kindsOf('--since', moment)).toEqual(['hold email', 'tombstone null']);
  });

  it('prints tab-separated lines, mentions --limit if more changes match, and prints none if no change matches', async () => {
    const some = await musterd(['changes', '--limit', '1', '--kind', 'push']);
    expect(some.stdout.split('\n')[0]).toBe(
      'when\trun\tuser\tname\tkind\tfield\tfrom\tto\toutcome\tX-Request-Id\tedited by\tdecided by',
    );
    expect(some.stdout).toContain('\tpush\tphone\t');
    expect(some.stdout).toContain('\t15550122\tconfirmed\t');
    expect(some.stderr).toContain('--limit');
    const none = await musterd(['changes', '--outcome', 'missing']);
    expect(none).toMatchObject({ code: 0, stdout: '' });
  });
});
