import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CompiledQuery, sql } from 'kysely';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDatabase } from '../../src/mirror/db/database.ts';
import { eventually } from '../support/eventually.ts';
import { runMusterd } from './run-musterd.ts';
import { createStages, type Stage } from './stage.ts';

const stages = createStages();
afterAll(() => stages.close());

describe('the file of a plan', () => {
  let stage: Stage;
  let folder: string;
  let file: string;
  let ids: readonly number[];
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'musterd-test-'));
    file = join(folder, 'plan.json');
    stage = await stages.open({ emulator: { users: 60, tags: 3, fields: 1 } });
    stage.emulator.clearRequests();
    ids = stage.emulator.team
      .users()
      .filter(({ first, last, email, phone }) => email !== null && phone !== null && !/\s/.test(first + last))
      .map(({ id }) => id);
  });
  afterEach(async () => {
    await stage.close();
    rmSync(folder, { recursive: true });
  });
  const musterd = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    runMusterd(args, {
      ...stage.emulator.environment,
      DATABASE_URL: stage.url,
      MUSTERD__rate__perMinute: '100000',
      MUSTERD__log__level: 'silent',
      ...env,
    });
  const apply = async (...args: readonly string[]) => {
    const { code, stdout } = await musterd(['apply', file, '--json', ...args]);
    const json = JSON.parse(stdout) as {
      readonly left: readonly { readonly user_id: number; readonly reason: string }[];
    };
    return { code, ...json };
  };
  const edit = (set: string, ...of: readonly number[]) =>
    stage.sql(`update mirror.users set ${set} where id in (${of.join(', ')})`);
  const sent = () => stage.updates().map(({ id }) => id);

  it('is sent as it is, beyond the limits and once; the rest is left alone and named', async () => {
    const many = ids.slice(0, 30);
    const [gone = 0, moved = 0, undone = 0, again = 0] = many;
    const [[old = ''] = []] = await stage.sql(`select email from mirror.users where id = ${undone}`);
    await edit(`email = 'new' || id || '@example.com'`, ...many);
    const planned = await musterd(['plan', '--out', file, '--json']);
    expect(planned.code).toBe(4);
    const { hash } = JSON.parse(planned.stdout) as { hash: string };
    expect(hash).toMatch(/^[0-9a-f]{12}$/);
    expect((await musterd(['plan'])).stdout).toContain(`plan ${hash}`);
    expect((await musterd(['plan', '--markdown'])).stdout).toContain(`Plan \`${hash}\``);
    // What is not in the file is none of its business, of whomever.
    await edit(`phone = '15550999'`, again);
    await edit(`phone = '15550998'`, ids[30] ?? 0);
    await edit(`email = 'again@example.com'`, again);
    await edit(`email = '${old}'`, undone);
    stage.emulator.team.editUser(moved, { email: 'web@example.com' });
    stage.emulator.team.editUser(gone, { email: 'elsewhere@example.com' });

    expect(await apply('--all-or-nothing')).toMatchObject({ code: 4, sent: 0, hash });
    expect(sent()).toEqual([]);
    expect(await stage.sql('select from sync.held_fields')).toEqual([]);

    const applied = await apply('--as', 'Anna', '--reason', 'new domain');
    expect(applied).toMatchObject({ code: 3, sent: 26, rows: 30, hash, outcome: 'complete' });
    expect(Object.fromEntries(applied.left.map(({ user_id: id, reason }) => [id, reason]))).toEqual({
      [gone]: expect.stringContaining('changed on the service since'),
      [moved]: expect.stringContaining('changed on the service since'),
      [undone]: expect.stringContaining('both sides have the same by now'),
      [again]: expect.stringContaining('edited since'),
    });
    const meant = new Set(many.filter((id) => ![gone, moved, undone, again].includes(id)));
    expect(new Set(sent())).toEqual(meant);
    for (const { id, email, phone } of stage.updates())
      expect([email, phone]).toEqual([`new${id}@example.com`, undefined]);
    expect(
      await stage.sql(`select decided_by, decided_role = session_user, decided_why, count(*) from sync.changes
        where kind = 'approve' group by 1, 2, 3`),
    ).toEqual([['Anna', 'true', 'new domain', '26']]);
    expect(await stage.sql(`select count(*) from sync.held_fields`)).toEqual([['0']]);
    // Nor do they count as pushes that nobody has agreed to.
    expect(await stage.sql(`select distinct approved from sync.changes where kind = 'push'`)).toEqual([
      ['true'],
    ]);

    // The very same edit on the very same base is another one: this file was applied.
    const [one = 0] = meant;
    const email = (
      await stage.sql(`select old ->> 'email' from sync.changes
      where kind = 'push' and user_id = ${one}`)
    )[0]?.[0];
    stage.emulator.team.editUser(one, { email: email ?? null });
    await stage.run();
    await edit(`email = 'new' || id || '@example.com'`, one);
    stage.emulator.clearRequests();
    expect(await apply()).toMatchObject({
      code: 4,
      sent: 0,
      why: expect.stringContaining('applied already'),
    });
    expect(stage.emulator.requests).toEqual([]);
  });

  it('is refused where it was altered, is of another team or service, or is none', async () => {
    await edit(`email = 'new@example.com'`, ids[0] ?? 0);
    expect((await musterd(['plan', '--out', file])).code).toBe(0);
    const text = readFileSync(file, 'utf8');
    const refused = async (content: string, why: string, env: Readonly<Record<string, string>> = {}) => {
      writeFileSync(file, content);
      const { code, stderr } = await musterd(['apply', file], env);
      expect([code, stderr]).toEqual([64, expect.stringContaining(why)]);
    };
    await refused(text.replace('new@example.com', 'evil@example.com'), 'was altered');
    await refused(text.replace(/"user_id": "\d+"/, `"user_id": "${ids[1]}"`), 'was altered');
    const { seal: _seal, ...later } = {
      ...(JSON.parse(text) as object),
      made_at: '2100-01-01T00:00:00.000Z',
      seal: '',
    };
    const checksum = createHash('sha256').update(JSON.stringify(later)).digest('hex');
    await refused(JSON.stringify({ ...later, seal: checksum }), 'was altered');
    await refused('{"hash": "abc"}', 'not written by "musterd plan --out"');
    await refused('nothing', 'not JSON');
    await refused(text, 'of the service at', {
      MUSTERD_BASE_URL: `${stage.emulator.environment['MUSTERD_BASE_URL']}/other`,
    });
    await stage.sql(`update sync.teams set team_id = 42`);
    await refused(text, 'of team 41, and this is team 42');
    await stage.sql(`update sync.teams set team_id = 41`);
    expect(sent()).toEqual([]);
    writeFileSync(file, text);
    await edit(`email = 'else@example.com'`, ids[0] ?? 0);
    expect(await apply('--all-or-nothing')).toMatchObject({ code: 4, sent: 0 });
    // The same value once more is another edit than the one in the file.
    await edit(`email = 'new@example.com'`, ids[0] ?? 0);
    expect(await apply('--all-or-nothing')).toMatchObject({
      code: 4,
      sent: 0,
      left: [{ user_id: ids[0], reason: expect.stringContaining('edited since the plan was made') }],
    });
    expect((await musterd(['plan', '--out', file])).code).toBe(0);
    const again = readFileSync(file, 'utf8');
    // Somebody else applies it while this run begins.
    const { hash } = JSON.parse(again) as { hash: string };
    await stage.sql(`create function public.apply_first() returns trigger language plpgsql as $$ begin
        insert into sync.changes (team_id, user_id, run_id, kind, batch, decided_by, closed_at)
        values (41, ${ids[0]}, new.run_id, 'approve', '${hash}', 'Kim', clock_timestamp());
        return null; end $$;
      create trigger apply_first after insert on sync.runs for each row execute function public.apply_first()`);
    const why = expect.stringMatching(/applied already, .* by Kim/) as string;
    expect(await apply()).toMatchObject({ code: 4, sent: 0, left: [], why });
    expect(sent()).toEqual([]);
    await stage.sql(
      `drop function public.apply_first cascade; delete from sync.changes where decided_by = 'Kim'`,
    );
    // Laid out in another way it says the same.
    writeFileSync(file, JSON.stringify(JSON.parse(again)));
    expect(await apply()).toMatchObject({ code: 0, sent: 1, left: [] });
    expect(sent()).toEqual([ids[0]]);
  });

  it('is not sent at all, where all of it was asked for and a row moved in the last moment', async () => {
    const [a = 0, b = 0] = ids;
    await edit(`email = 'new' || id || '@example.com'`, a, b);
    expect((await musterd(['plan', '--out', file])).code).toBe(0);
    // What is read before shows nothing of it; where the approval is written it does.
    const applyBeside = async (change: string, ...args: readonly string[]) => {
      const other = createDatabase({ url: stage.url, applicationName: 'another' });
      let applied: ReturnType<typeof apply> | undefined;
      await other.transaction(async (tx) => {
        const isLocked = new Promise<void>((resolve) => {
          stage.emulator.before({ path: '/v1/users/get', times: 1 }, async () => {
            await sql`lock table sync.held_fields in exclusive mode`.execute(tx);
            resolve();
          });
        });
        applied = apply(...args);
        await isLocked;
        await eventually('it is about to approve', async () => {
          const waiting = await stage.sql(
            `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
          );
          return waiting.length > 0;
        });
        await tx.executeQuery(CompiledQuery.raw(change));
      });
      await other.close();
      return (await applied) ?? { code: 0, left: [] };
    };
    const late = `update mirror.users set email = 'late@example.com' where id = ${b}`;
    const { code, left } = await applyBeside(late, '--all-or-nothing');
    expect([code, left]).toEqual([
      4,
      [expect.objectContaining({ user_id: b, reason: 'edited meanwhile, or not sent in time' })],
    ]);
    expect(sent()).toEqual([]);
    expect(
      await stage.sql(`select 'held' from sync.held_fields union all
      select kind from sync.changes where kind in ('approve', 'push')`),
    ).toEqual([]);

    // Nor is what could not be approved any more, because whoever applies it edited it.
    await stage.sql(`begin; set local musterd.actor = 'Kim';
      update mirror.users set email = 'kim@example.com' where id = ${b}; commit`);
    expect((await musterd(['plan', '--out', file])).code).toBe(0);
    const own = await applyBeside('update sync.teams set four_eyes = true', '--as', 'Kim');
    expect([own.code, own.left.map(({ user_id: id }) => id)]).toEqual([3, [b]]);
    expect(sent()).toEqual([a]);
  });

  it('is the approval of what waits to be seen, though of nothing that whoever applies it edited', async () => {
    const env = { MUSTERD__push__approve: 'always', MUSTERD__push__fourEyes: 'true' };
    const [a = 0, b = 0] = ids;
    await stage.sql(`begin; set local musterd.actor = 'Kim';
      update mirror.users set email = 'a@example.com', first_name = 'Ann' where id = ${a}; commit`);
    await edit(`role_id = case role_id when 2 then 3 else 2 end`, b);
    expect((await musterd(['reconcile'], env)).code).toBe(3);
    expect((await musterd(['plan', '--out', file], env)).code).toBe(3);
    const own = await musterd(['apply', file, '--as', 'kim'], env);
    expect([own.code, own.stderr]).toEqual([64, expect.stringContaining('edited what is to be approved')]);
    expect((await musterd(['apply', file], env)).code).toBe(64);
    expect(sent()).toEqual([]);
    const applied = await musterd(['apply', file, '--as', 'Anna'], env);
    expect([applied.code, applied.stdout]).toEqual([0, expect.stringContaining('3 of 3 fields sent')]);
    expect(new Set(sent())).toEqual(new Set([a, b]));
    expect(await stage.sql('select from report.held')).toEqual([]);
    expect((await musterd(['reconcile'], env)).code).toBe(0);
  });
});
