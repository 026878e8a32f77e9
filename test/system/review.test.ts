import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { byText } from '../support/by-text.ts';
import { ownFolder } from './own-folder.ts';
import { runMusterd } from './run-musterd.ts';
import { useStages, type Stage } from './stage.ts';

const stages = useStages();

/** push.approve: always. */
describe('musterd with push.approve: always', () => {
  let stage: Stage;
  let ids: readonly number[];
  const file = join(ownFolder(), 'people.csv');
  const open = async (push: Readonly<Record<string, unknown>> = {}) => {
    stage = await stages.open({
      emulator: { users: 30, tags: 3, fields: 1 },
      config: { push: { quietPeriodMs: 0, approve: 'always', ...push } } as never,
    });
    stage.emulator.clearRequests();
    ids = stage.people().map(({ id }) => id);
  };
  const environment = (): Record<string, string> => ({
    ...stage.env,
    MUSTERD__push__approve: 'always',
    MUSTERD__push__fourEyes: String(stage.config.push.fourEyes),
    MUSTERD__log__level: 'silent',
  });
  const musterd = (...args: readonly string[]) => runMusterd(args, environment());
  const held = () =>
    stage.sql(`select user_id, field, reason, batch from report.held order by user_id, field`);
  const batchOf = async (id: number) =>
    (await stage.sql(`select batch from report.held where user_id = ${id}`))[0]?.[0] ?? '';
  const edit = (id: number, email: string) =>
    stage.sql(`update mirror.users set email = '${email}' where id = ${id}`);
  const sent = () => stage.updates().map(({ id, email, phone }) => [id, email ?? phone]);

  it('holds the edits of each transaction in a separate batch', async () => {
    await open();
    const [a = 0, b = 0, c = 0, other = 0] = ids;
    await stage.sql(`begin; set local musterd.actor = 'Anna';
      update mirror.users set email = 'a@example.com' where id = ${a};
      update mirror.users set email = 'b@example.com' where id = ${b}; commit`);
    await stage.sql(`update mirror.users set phone = '15550999' where id = ${c}`);
    stage.emulator.team.editUser(other, { phone: '15550777' });
    stage.emulator.team.addTag('meanwhile');
    const report = await stage.run();
    expect(report).toMatchObject({ outcome: 'complete', waiting: 3, counts: { pulled: 1, tags_added: 1 } });
    expect(report.refusal).toMatchObject({ stopped: false, isNews: false, isReview: true, users: 3 });
    expect(sent()).toEqual([]);
    const [first, second] = [await batchOf(a), await batchOf(c)];
    expect(first).not.toBe(second);
    expect(await held()).toEqual(
      [
        [String(a), 'email', 'review', first],
        [String(b), 'email', 'review', first],
        [String(c), 'phone', 'review', second],
      ].toSorted(byText),
    );
    expect((await musterd('reconcile')).code).toBe(3);
    const planned = await musterd('plan', '--json');
    expect(planned.code).toBe(3);
    expect(JSON.parse(planned.stdout)).toMatchObject({
      limit: [],
      review: ['3 users wait for a person to review it'],
      batches: [first, second],
      changes: expect.arrayContaining([
        expect.objectContaining({
          user_id: a,
          change: 'hold',
          state: 'held',
          reason: 'review',
          mirror: 'a@example.com',
          service: stage.emulator.team.user(a).email,
          batch: first,
          edited_by: 'Anna',
          edited_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        }),
      ]),
    });
    for (const args of [['plan'], ['plan', '--markdown']]) {
      const { stdout } = await musterd(...args);
      expect(stdout).toContain(`batch ${first}, edited by Anna at `);
      expect(stdout).toContain('3 users wait for a person to review it');
    }
  });

  it('holds an approved edit as a conflict if the service changed the value after the approval', async () => {
    await open();
    const [a = 0] = ids;
    await edit(a, 'new@example.com');
    await stage.run();
    expect((await musterd('approve', await batchOf(a), '--as', 'Kim')).code).toBe(0);
    stage.emulator.team.editUser(a, { email: 'web@example.com' });
    await stage.run();
    const voided = [
      'conflict',
      expect.stringContaining('the service has changed it since'),
      'Kim, said by musterd',
    ];
    expect(await stage.sql('select reason, detail, decided_by from report.held')).toEqual([voided]);
    const { stdout } = await musterd('why', String(a));
    expect(stdout).toContain('conflict: ');
    expect(stdout).not.toContain('waits for an approval');
    expect((await musterd('verify')).stdout).toContain('held: conflict');
    const seen = ['--if', 'new@example.com', '--if-service', 'web@example.com'];
    const resolve = ['resolve', String(a), 'email', '--take', 'mirror', ...seen];
    expect((await musterd('held')).stderr).toContain(
      `To decide the first field: musterd ${resolve.join(' ')}`,
    );
    expect((await musterd(...resolve, '--as', 'Kim')).code).toBe(0);
    await stage.run();
    expect(sent()).toEqual([[a, 'new@example.com']]);
  });

  it('sends imports, undos with a reason and resolved conflicts without approval, but holds an edit after a resync', async () => {
    await open();
    const [a = 0, b = 0, c = 0] = ids;
    writeFileSync(file, `id,email,name\n${a},a@example.com,\n${b},,Ann Mary Lee Berg\n`);
    expect((await musterd('import', file, '--yes', '--map', 'name=name', '--as', 'Anna')).code).toBe(0);
    await stage.run();
    // A guess at the halves of a name is nobody's agreement.
    expect(sent()).toEqual([[a, 'a@example.com']]);
    expect((await stage.sql(`select user_id, field from report.held`))[0]).toEqual([String(b), 'name']);
    const [[run = ''] = []] = await stage.sql(`select max(run_id) from sync.changes where kind = 'push'`);
    expect((await musterd('undo', run, '--apply')).code).toBe(0);
    await stage.run();
    expect(sent().length).toBe(1);
    expect((await musterd('reject', await batchOf(a), '--revert')).code).toBe(0);
    const undo = ['undo', run, '--apply', '--reason', 'wrong file'];
    expect((await musterd(...undo, '--as', '')).code).toBe(64);
    expect((await musterd(...undo)).code).toBe(0);
    expect(await stage.sql(`select reason, decision from sync.held_fields where user_id = ${a}`)).toEqual([
      ['review', 'approved'],
    ]);
    await stage.run();
    expect(sent().map(([id]) => id)).toEqual([a, a]);

    await edit(c, 'mine@example.com');
    stage.emulator.team.editUser(c, { email: 'web@example.com' });
    await stage.run();
    expect(await stage.sql(`select reason from report.held where user_id = ${c}`)).toEqual([['conflict']]);
    const take = ['resolve', String(c), 'email', '--take', 'mirror', '--if', 'mine@example.com'];
    expect((await musterd(...take)).code).toBe(0);
    await stage.run();
    expect(sent().at(-1)).toEqual([c, 'mine@example.com']);

    await edit(a, 'last@example.com');
    await stage.run();
    const count = sent().length;
    await musterd('resync', '--adopt-service', '--apply');
    await stage.run();
    expect(sent().length).toBe(count);
    expect(await stage.sql(`select mirror_value from report.held where user_id = ${a}`)).toEqual([
      ['last@example.com'],
    ]);
  });

  it('rejects an approval by the person who edited the value if push.fourEyes is set', async () => {
    await open({ fourEyes: true });
    const [a = 0, b = 0, c = 0, d = 0] = ids;
    await stage.sql(`begin; set local musterd.actor = 'Anna';
      update mirror.users set email = 'a@example.com' where id = ${a}; set local musterd.actor = 'Kim';
      update mirror.users set email = 'b@example.com' where id = ${b}; commit`);
    await stage.run();
    const [batch, ofKim] = [await batchOf(a), await batchOf(b)];
    expect(ofKim).not.toBe(batch);
    const unnamed = await musterd('approve', batch, '--as', '');
    expect([unnamed.code, unnamed.stderr]).toEqual([64, expect.stringContaining('--as')]);
    const own = await musterd('approve', batch, '--as', ' anna');
    expect(own.code).toBe(64);
    expect(own.stderr).toContain(`edited, or may have edited, 1 of these users: ${a}`);
    // Users are named as everywhere else.
    const only = (...args: readonly string[]) => args.flatMap((who) => ['--only', who]);
    for (const wrong of ['b@example.com,', 'nobody@example.com'])
      expect((await musterd('approve', ofKim, '--as', 'Anna', ...only(wrong))).code).toBe(64);
    expect((await musterd('approve', ofKim, '--as', 'Anna', ...only('B@example.com'))).code).toBe(0);
    const same = only(`${a}, a@example.com`, 'a@example.com');
    expect((await musterd('approve', batch, '--as', 'Kim', ...same)).code).toBe(0);
    await stage.run();
    expect(new Set(sent().map(([id]) => id))).toEqual(new Set([a, b]));
    expect(
      await stage.sql(`select user_id, decided_by, decided_role = session_user, batch from sync.changes
        where kind = 'approve' order by decided_by`),
    ).toEqual([
      [String(b), 'Anna, said by musterd', 'true', ofKim],
      [String(a), 'Kim, said by musterd', 'true', batch],
    ]);

    writeFileSync(file, `id,email\n${c},c@example.com\n`);
    expect((await musterd('import', file, '--yes')).code).toBe(64);
    const imported = await musterd('import', file, '--yes', '--reason', 'HR', '--as', 'Anna');
    expect([imported.code, imported.stderr]).toEqual([0, expect.stringContaining('another person must')]);
    await stage.run();
    expect(sent().length).toBe(2);
    expect((await musterd('approve', await batchOf(c), '--as', 'Anna')).code).toBe(64);

    await stage.sql(`begin; set local musterd.actor = 'Anna';
      update mirror.users set email = 'd@example.com' where id = ${d}; commit`);
    stage.emulator.team.editUser(d, { email: 'web@example.com' });
    await stage.run();
    const resolve = (...args: readonly string[]) => musterd('resolve', String(d), 'email', '--take', ...args);
    expect((await resolve('mirror', '--if', 'd@example.com', '--as', 'Anna')).code).toBe(64);
    expect((await resolve('d@example.com', '--as', 'Anna')).code).toBe(64);
    // No command asks for fewer than the last run did.
    const other = { ...environment(), MUSTERD__push__fourEyes: 'false' };
    const args = ['resolve', String(d), 'email', '--take', 'mirror', '--if', 'd@example.com'];
    expect((await runMusterd([...args, '--as', ''], other)).code).toBe(64);
    expect((await runMusterd([...args, '--as', 'Anna'], other)).code).toBe(64);
    // Another value is an edit of whoever names it: somebody else has to agree, in whatever it waited.
    const another = await resolve('kims@example.com', '--as', 'Kim');
    expect([another.code, another.stdout]).toEqual([
      3,
      expect.stringContaining('until another person approves it'),
    ]);
    await stage.run();
    expect((await resolve('else@example.com', '--as', 'Kim')).code).toBe(3);
    await stage.run();
    expect(sent().length).toBe(2);
    expect((await musterd('approve', await batchOf(d), '--as', 'Kim')).code).toBe(64);
    // Anna edited it too, before Kim did.
    expect((await musterd('approve', await batchOf(d), '--as', 'Anna')).code).toBe(64);
    expect((await musterd('approve', await batchOf(d), '--as', 'Eva')).code).toBe(0);
    await stage.run();
    expect(sent().at(-1)).toEqual([d, 'else@example.com']);
  });
});
