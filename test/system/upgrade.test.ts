import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { migrate } from '../../src/mirror/migrations.ts';
import { runSqlText } from '../../src/mirror/sql-text.ts';
import { runMusterd } from './run-musterd.ts';
import { createStage, type Stage } from './stage.ts';

let stage: Stage;
let folder: string;
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await stage.close();
});

const musterd = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await runMusterd(args, {
    ...stage.emulator.environment,
    DATABASE_URL: stage.url,
    MUSTERD__rate__perMinute: '100000',
  });
  return { code, stdout, stderr };
};

/** A database of the schema as it was released, with the team's users in it, and everything open that can be. */
async function openReleased() {
  stage = await createStage({ emulator: { users: 60, tags: 1, fields: 1 } });
  await stage.run();
  const people = stage.emulator.team
    .users()
    .filter(({ first, last, email, phone }) => email !== null && phone !== null && !/\s/.test(first + last));
  const users = await stage.sql(
    'select id, name, first_name, last_name, email, phone, role_id, role, resolved, created_at, updated_at, user_created_at, user_updated_at from mirror.users',
  );
  folder = mkdtempSync(join(tmpdir(), 'musterd-migrations-'));
  for (const name of readdirSync('migrations').filter((one) => one < '0020'))
    copyFileSync(join('migrations', name), join(folder, name));
  await stage.sql('drop schema mirror, sync, report cascade');
  await migrate(stage.db, { folder });
  const text = (value: string | undefined) =>
    value === '' || value === undefined ? 'null' : `'${value.replaceAll("'", "''")}'`;
  const rows = users.map((row) => `(41, ${row.map((value) => text(value)).join(', ')})`).join(', ');
  await stage.sql(`set local musterd.writing = 'on';
    insert into sync.teams (team, team_id) values ('default', ${stage.emulator.team.id});
    insert into sync.runs (team, team_id, command, outcome, finished_at) values ('default', 41, 'reconcile', 'complete', now());
    create temporary table old (team_id bigint, id bigint, name text, first_name text, last_name text, email text, phone text,
      role_id bigint, role text, resolved boolean, created_at timestamptz, updated_at timestamptz, user_created_at timestamptz,
      user_updated_at timestamptz);
    insert into old select v.t, v.id::bigint, v.name, v.f, coalesce(v.l, ''), v.e, v.p, v.r::bigint, v.role, v.res::boolean,
      v.c::timestamptz, v.u::timestamptz, v.uc::timestamptz, v.uu::timestamptz
      from (values ${rows}) v (t, id, name, f, l, e, p, r, role, res, c, u, uc, uu);
    insert into mirror.users (team_id, id, name, first_name, last_name, name_split, email, phone, role_id, role, resolved,
      created_at, updated_at, user_created_at, user_updated_at)
      select team_id, id, name, first_name, last_name, 'guessed', email, phone, role_id, role, resolved, created_at,
        updated_at, user_created_at, user_updated_at from old;
    insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone, role_id)
      select team_id, id, name, first_name, last_name, email, phone, role_id from old`);
  return people;
}

it('of a database of the release goes on with everything that was open', async () => {
  const people = await openReleased();
  const [waiting1, waiting2, approved, used, rejected, kept, resolved, conflict, asked] = people;
  const of = (user: (typeof people)[number] | undefined) => ({ id: user?.id ?? 0, email: user?.email ?? '' });
  const edited = [waiting1, waiting2, approved, rejected, kept, resolved, conflict, asked].map(of);
  await stage.sql(
    `update mirror.users set email = 'new' || id || '@example.com' where id in (${edited.map(({ id }) => id).join(', ')})`,
  );
  const row = (user: (typeof people)[number] | undefined) => ({
    user_id: of(user).id,
    name: '',
    base: { email: of(user).email },
    patch: { email: `new${of(user).id}@example.com` },
  });
  const plan = (state: string, hash: string, users: readonly (typeof people)[number][], more = '') =>
    stage.sql(`insert into sync.plans (team_id, run_id, hash, state, reasons, changes, expires_at, decided_at, decided_by, decided_why, passes_brakes)
      select 41, max(run_id), '${hash}', '${state}', '{too many}', '${JSON.stringify(users.map(row))}', now() + interval '20 hours',
        ${more === '' ? 'null, null, null, false' : `now() - interval '1 hour', 'anne', 'as agreed', ${more}`} from sync.runs`);
  const some = (...users: readonly ((typeof people)[number] | undefined)[]) =>
    users.filter((user) => user !== undefined);
  await plan('refused', 'aaaaaaaaaaaa', some(waiting1, waiting2, asked));
  await plan('kept', '', some(kept));
  await plan('approved', 'bbbbbbbbbbbb', some(approved, used), 'false');
  await plan('approved', 'cccccccccccc', some(resolved), 'true');
  const hold = (user: (typeof people)[number] | undefined, reason: string, service: string, until = 'null') =>
    stage.sql(`insert into sync.held_fields (team_id, user_id, field, reason, base_value, mirror_value, service_value, shown_value, detail, until)
      values (41, ${of(user).id}, 'email', '${reason}', '"${of(user).email}"', '"new${of(user).id}@example.com"', '"${service}"', '"${service}"', 'as it was', ${until})`);
  await hold(rejected, 'rejected', of(rejected).email);
  await hold(asked, 'asked', of(asked).email, `now() + interval '1 day'`);
  for (const user of [conflict, kept]) {
    stage.emulator.team.editUser(of(user).id, { email: `web${of(user).id}@example.com` });
    await hold(user, 'conflict', `web${of(user).id}@example.com`);
  }
  stage.emulator.clearRequests();

  // Migrating is part of the first run. What a person let pass is sent, and nothing else.
  const first = await musterd('reconcile', '--json');
  expect({ code: first.code, stderr: first.stderr }).toMatchObject({ code: 3 });
  expect(JSON.parse(first.stdout)).toMatchObject({ refused_plan: 'aaaaaaaaaaaa', held: 2, waiting: 5 });
  const sent = () => stage.updates().map(({ id }) => id);
  const inOrder = (ids: readonly unknown[]) => ids.map(Number).toSorted((a, b) => a - b);
  expect(inOrder(sent())).toEqual(inOrder([of(approved).id, of(resolved).id]));
  expect(await stage.sql('select user_id, reason, batch from report.held order by reason, user_id')).toEqual([
    [String(of(asked).id), 'asked', 'aaaaaaaaaaaa'],
    ...[of(conflict), of(kept)]
      .toSorted((a, b) => a.id - b.id)
      .map(({ id }) => [String(id), 'conflict', id === of(kept).id ? 'aaaaaaaaaaaa' : '']),
    ...[of(waiting1), of(waiting2)]
      .toSorted((a, b) => a.id - b.id)
      .map(({ id }) => [String(id), 'limit', 'aaaaaaaaaaaa']),
    [String(of(rejected).id), 'rejected', ''],
  ]);
  expect(
    await stage.sql(
      `select user_id, decided_by, decided_why from sync.changes where kind = 'approve' order by 1`,
    ),
  ).toEqual(
    [of(approved), of(used), of(resolved)]
      .toSorted((a, b) => a.id - b.id)
      .map(({ id }) => [String(id), 'anne', 'as agreed']),
  );

  // What waited waits, in the batch of the plan, until somebody decides; what was kept in mind waits again.
  stage.emulator.team.editUser(of(kept).id, { email: of(kept).email });
  stage.emulator.clearRequests();
  expect(
    (await musterd('approve', 'aaaaaaaaaaaa', '--only', String(of(waiting1).id), '--reason', 'this one'))
      .code,
  ).toBe(0);
  expect((await musterd('reconcile')).code).toBe(3);
  expect(sent()).toEqual([of(waiting1).id]);
  const [[batch = ''] = []] = await stage.sql(
    `select batch from report.held where user_id = ${of(kept).id} and reason = 'limit'`,
  );
  expect((await musterd('approve', batch, '--reason', 'and this one')).code).toBe(0);
  // One of it is held on request, and waits on.
  expect((await musterd('reject', 'aaaaaaaaaaaa', '--revert')).code).toBe(3);
  expect(
    (
      await musterd(
        'resolve',
        String(of(rejected).id),
        'email',
        '--take',
        'mirror',
        '--if',
        `new${of(rejected).id}@example.com`,
      )
    ).code,
  ).toBe(0);
  stage.emulator.clearRequests();
  await musterd('reconcile');
  expect(inOrder(sent())).toEqual(inOrder([of(kept).id, of(rejected).id]));
  expect(
    (await runSqlText(stage.db, `select email from mirror.users where id = ${of(waiting2).id}`)).rows,
  ).toEqual([[of(waiting2).email]]);
});
