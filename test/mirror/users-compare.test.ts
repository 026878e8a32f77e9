import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database, Transaction } from '../../src/mirror/db/database.ts';
import { agreesWithBase, compareSides } from '../../src/mirror/users/users-compare.ts';
import { readDifferingUsers } from '../support/differing-users.ts';
import { readUserState } from '../../src/mirror/users/users-read.ts';
import { toJson } from '../../src/model/json.ts';
import type { ServiceUser } from '../../src/model/user.ts';
import type { UserState } from '../../src/model/user-state.ts';
import { servers } from '../support/servers.ts';
import { anyText } from '../model/odd-texts.ts';
import { aside, connectAs, useDatabase, watchSession } from '../support/use-database.ts';

const teamId = 41n;
/** More than go into a statement as JSON, and all at rest. */
const firstOfMany = 1_000_000;
const many = 2001;
const atRest: readonly ServiceUser[] = Array.from({ length: many }, (_, index) => ({
  id: BigInt(firstOfMany + index),
  name: `Given${index} Family`,
  email: `user${index}@example.com`,
  phone: null,
  roleId: 2n,
  raw: {},
}));

const text = fc.oneof(
  anyText.map((any) => any.replaceAll('\0', '').toWellFormed()),
  fc.constantFrom('\\N', '\\.', '\t', '\n', 'a\\tb', '"', ''),
);
const optional = fc.option(text, { nil: null });
const values = fc.record({
  name: text,
  email: optional,
  phone: optional,
  role_id: fc.constantFrom(null, 2n, 2n ** 62n),
});
const time = fc.constantFrom(
  null,
  '2026-03-01T09:00:00Z',
  '2026-03-02T09:00:00.123Z',
  '2026-02-30T09:00:00Z',
  'soon',
);
/** What the databases's two tables have of a user, often the same as the service shows. */
const user = fc.record({
  shown: fc.option(values),
  base: fc.option(fc.option(values)),
  mirror: fc.option(fc.option(values)),
  flags: fc.record({
    gone: fc.boolean(),
    resolved: fc.constantFrom(true, true, false),
    stale: fc.constantFrom(false, false, true),
    missing: fc.constantFrom(false, false, true),
    open: fc.constantFrom(false, false, true),
    held: fc.constantFrom([], [], ['email'], ['email', 'name']),
    listed: fc.boolean(),
    unreadable: fc.constantFrom(false, false, true),
  }),
  times: fc.tuple(time, time, time, time),
});

describe.each(servers())('compareSides on $name', (server) => {
  const database = useDatabase({ server });
  let plain: Database;
  const role = `test_compare_${randomBytes(4).toString('hex')}`;
  const run = async (on: Database['kysely'], statement: string) =>
    (await sql.raw<Record<string, unknown>>(statement).execute(on)).rows;
  const write = (json: unknown, ...statements: readonly string[]) =>
    database.db.transaction(async (tx) => {
      await sql`select set_config('musterd.writing', 'on', true), set_config('test.rows', ${toJson(json)}, true)`.execute(
        tx,
      );
      for (const statement of statements) await run(tx, statement);
    });
  const given = `from jsonb_to_recordset(current_setting('test.rows')::jsonb) as s (id bigint, first text, last text, name text,
    email text, phone text, role_id bigint, gone boolean, resolved boolean, held text[], t timestamptz)`;
  const fillUsers = `insert into mirror.users (team_id, id, name, first_name, last_name, email, phone, role_id, resolved, gone_at, updated_at, user_updated_at)
    select 41, id, name, first, last, email, phone, role_id, resolved, case when gone then now() end, t, t ${given}`;
  const fillBase = `insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone, role_id)
    select 41, id, name, first, last, email, phone, role_id ${given}`;

  beforeAll(async () => {
    const [own] = await run(database.db.kysely, 'select current_user::text as me');
    await run(
      database.db.asTyped,
      `create role ${role} login password 'secret'; grant ${own?.['me'] as string} to ${role};
       revoke temp on database ${new URL(database.url).pathname.slice(1)} from public, ${own?.['me'] as string}`,
    );
    plain = connectAs(database.url, role);
    await run(database.db.kysely, `insert into sync.teams (team, team_id) values ('north', 41)`);
    const rows = atRest.map(({ id, name, email, phone, roleId }) => ({
      id,
      first: name,
      last: '',
      name,
      email,
      phone,
      role_id: roleId,
      resolved: true,
    }));
    await write(rows, fillUsers, fillBase);
  });
  afterAll(async () => {
    await plain.close();
    await run(database.db.asTyped, `drop role ${role}`);
  });

  const within = (tx: Transaction): Database => ({
    ...database.db,
    kysely: tx,
    transaction: (work) => work(tx),
  });
  /** Without what the clock makes different each time. */
  const timeless = (states: readonly UserState[]) =>
    states
      .filter(({ id }) => id < firstOfMany)
      .map(({ missingForMs, held, ...state }) => ({
        ...state,
        missing: missingForMs !== undefined,
        held: held
          .map(({ endsInMs, ...hold }) => ({ ...hold, ends: endsInMs !== undefined }))
          .toSorted((a, b) => (a.field < b.field ? -1 : 1)),
      }))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1));

  it('returns the same users by staging with COPY, by staging as JSON, and by a read of each user by key', async () => {
    const clear = ['mirror.users', 'sync.user_base', 'sync.absences'].map(
      (table) => `delete from ${table} where id < ${firstOfMany}`,
    );
    await fc.assert(
      fc.asyncProperty(fc.array(user, { minLength: 1, maxLength: 12 }), async (some) => {
        const users = some.map((one, index) => {
          const shown = one.shown;
          const base = one.base === null ? null : (one.base ?? shown);
          const mirror = one.mirror === null ? null : (one.mirror ?? base);
          return { ...one, ...one.flags, id: BigInt(index + 1), shown, base, mirror };
        });
        const rowsOf = (side: 'base' | 'mirror') =>
          users.flatMap(({ id, [side]: of, gone, resolved, times: [t] }) =>
            of === null
              ? []
              : [
                  {
                    id,
                    ...of,
                    first: of.name,
                    last: '',
                    gone,
                    resolved,
                    t: t?.startsWith('2026-03') ? t : null,
                  },
                ],
          );
        const ids = (which: (one: (typeof users)[number]) => boolean) =>
          users.filter(which).map(({ id }) => id);
        const list = (which: (one: (typeof users)[number]) => boolean) =>
          `unnest('{${ids(which).join(',')}}'::bigint[]) m`;
        await write(
          rowsOf('mirror'),
          ...clear,
          'delete from sync.held_fields',
          'delete from sync.changes',
          fillUsers,
        );
        await write(
          rowsOf('base'),
          fillBase,
          `update sync.user_base set older_since = now(), older_passes = 1 where id in (select m from ${list(({ stale }) => stale)})`,
          `insert into sync.absences (team_id, resource, id, missing_since) select 41, 'users', m, now() from ${list(({ missing }) => missing)}`,
          // The same of other resources and teams, of which nothing may come in.
          `insert into sync.absences (team_id, resource, id, missing_since) select 41, 'tags', m, now() from ${list(() => true)}`,
          `insert into sync.changes (team_id, user_id, kind, base, old, new, state) select 41, m, 'push', '{}', '{}', '{}', 'open' from ${list(({ open }) => open)}`,
          ...['email', 'name'].map(
            (field) => `insert into sync.held_fields (team_id, user_id, field, reason, until)
            select 41, m, '${field}', 'conflict', now() + interval '1 day' from ${list(({ held }) => (held as readonly string[]).includes(field))}`,
          ),
          `insert into sync.held_fields (team_id, user_id, field, reason) select 42, m, 'email', 'conflict' from ${list(() => true)}`,
          `insert into sync.changes (team_id, user_id, kind, base, old, new, state) select 42, m, 'push', '{}', '{}', '{}', 'open' from ${list(() => true)}`,
        );
        const shown = users.flatMap(({ id, shown: of, unreadable, times }): readonly ServiceUser[] => {
          if (of === null) return [];
          const [createdAt, updatedAt, userCreatedAt, userUpdatedAt] = times;
          const { role_id: roleId, ...rest } = of;
          const email = unreadable ? { unreadable: '{}' } : of.email;
          return [
            { id, ...rest, email, roleId, createdAt, updatedAt, userCreatedAt, userUpdatedAt, raw: {} },
          ];
        });
        const roles = new Map(ids(({ resolved }) => !resolved).map((id) => [id, 'Agent']));
        const listed = ids((one) => one.listed);
        const [seen, { db }] = [shown.map(({ id }) => id), database];
        const unseenIds = ids(({ shown: of, base, mirror, gone, listed: isListed }) => {
          const isGone = mirror !== null && gone && !isListed;
          return of === null && (base !== null || mirror !== null) && !isGone;
        });
        const byKey = {
          differing: timeless(await readDifferingUsers(db, teamId, shown, roles)),
          unseen: timeless(await Promise.all(unseenIds.map((id) => readUserState(db.kysely, teamId, id)))),
        };
        const isFlagged = (one: (typeof users)[number]) =>
          one.mirror === null ||
          one.base === null ||
          one.gone ||
          !one.resolved ||
          one.unreadable ||
          one.stale ||
          one.missing ||
          one.open ||
          one.held.length > 0;
        const isUnknown = ({ base, mirror, missing, open, held, unreadable }: (typeof users)[number]) =>
          base === null && mirror === null && !(missing || open || unreadable) && held.length === 0;
        const flagged = ids((one) => one.shown !== null && isFlagged(one));
        expect(byKey.differing.map(({ id }) => id)).toEqual(expect.arrayContaining(flagged));
        const compared = async (on: Database, all: readonly ServiceUser[]) => {
          const { differing, unknown, unseen } = await compareSides(on, teamId, {
            users: new Map(all.map((one) => [one.id, one])),
            roles,
            leftOut: listed.filter((id) => !seen.includes(id)),
          });
          expect(differing.filter(({ id }) => id >= firstOfMany)).toEqual([]);
          // Beside the others they are left out only where nothing is known of them, and all of them can be read.
          expect(unknown).toEqual(ids((one) => one.shown !== null && isUnknown(one)));
          return { differing: timeless(differing), unseen: timeless(unseen) };
        };
        const known = byKey.differing.filter(({ id }) => !ids(isUnknown).includes(id));
        expect(await compared(db, shown)).toEqual({ ...byKey, differing: known });
        expect(await compared(db, [...atRest, ...shown])).toEqual({ ...byKey, differing: known });
        expect(await compared(plain, [...shown, ...atRest])).toEqual({ ...byKey, differing: known });
        expect(timeless(await readDifferingUsers(db, teamId, [...atRest, ...shown], roles))).toEqual(
          byKey.differing,
        );
      }),
      { numRuns: 5 },
    );
  });

  it('returns a differing user as unknown if the database has no record of the user, else as differing', async () => {
    const shown: readonly ServiceUser[] = [1n, 2n, 3n].map((id) => ({ id, name: 'Robin Reed', raw: {} }));
    const odd = { ...(shown[2] as ServiceUser), email: { unreadable: '{}' } };
    const users = new Map([...shown.slice(0, 2), odd].map((one) => [one.id, one]));
    const facts = [
      'select 1',
      `select set_config('musterd.writing', 'on', true); insert into mirror.users (team_id, id, resolved) values (43, 1, true)`,
      `insert into sync.user_base (team_id, id, name, first_name, last_name) values (43, 1, '', '', '')`,
      `insert into sync.absences (team_id, resource, id, missing_since) values (43, 'users', 1, now())`,
      `insert into sync.changes (team_id, user_id, kind, base, old, new, state) values (43, 1, 'push', '{}', '{}', '{}', 'open')`,
      `insert into sync.held_fields (team_id, user_id, field, reason) values (43, 1, 'email', 'conflict')`,
    ];
    const roles = new Map([[3n, 'Agent']]);
    for (const fact of facts)
      await aside(database.db, async (tx) => {
        for (const statement of fact.split('; ')) await run(tx, statement);
        const { differing, unknown } = await compareSides(within(tx), 43n, { users, roles, leftOut: [] });
        expect(unknown, fact).toEqual(fact === 'select 1' ? [1n, 2n] : [2n]);
        expect(new Set(differing.map(({ id }) => id)), fact).toEqual(
          new Set(fact === 'select 1' ? [3n] : [1n, 3n]),
        );
      });
  });

  it('returns a user as differing exactly if a value differs between two sides, or an absence, push or hold exists', async () => {
    const at = (month: number) => `2026-0${month}-01T09:00:00.123456Z`;
    const equal: ServiceUser = {
      id: 7n,
      name: 'Ann Lee',
      email: 'ann@example.org',
      phone: '491',
      roleId: 2n,
      createdAt: at(1),
      updatedAt: at(2),
      userCreatedAt: at(3),
      userUpdatedAt: at(4),
      raw: {},
    };
    const { raw: _raw, id: _id, ...shown } = equal;
    const onService = Object.keys(shown).map((name) => ({
      ...equal,
      [name]: name.endsWith('At') ? at(5) : name === 'roleId' ? 3n : 'odd',
    }));
    const hereInSql = [
      ...['name', 'first_name', 'last_name', 'email', 'phone', 'role'].map(
        (name) => `mirror.users set ${name} = 'odd'`,
      ),
      ...['created_at', 'updated_at', 'user_created_at', 'user_updated_at'].map(
        (name) => `mirror.users set ${name} = now()`,
      ),
      ...['role_id = 3', 'resolved = false', 'gone_at = now()'].map((set) => `mirror.users set ${set}`),
      ...['name', 'first_name', 'last_name', 'email', 'phone'].map(
        (name) => `sync.user_base set ${name} = 'odd'`,
      ),
      'sync.user_base set role_id = 3',
      'sync.user_base set older_since = now(), older_passes = 1',
    ];
    const facts = [
      "into sync.absences (team_id, resource, id, missing_since) values (44, 'users', 7, now())",
      "into sync.changes (team_id, user_id, kind, base, old, new, state) values (44, 7, 'push', '{}', '{}', '{}', 'open')",
      "into sync.held_fields (team_id, user_id, field, reason) values (44, 7, 'email', 'conflict')",
    ];
    const looks = (statement: string, user: ServiceUser, role = 'Agent') =>
      aside(database.db, async (tx) => {
        await run(tx, `select set_config('musterd.writing', 'on', true)`);
        await run(
          tx,
          `insert into mirror.users (team_id, id, name, first_name, last_name, email, phone, role_id, role, resolved, created_at, updated_at, user_created_at, user_updated_at)
          values (44, 7, 'Ann Lee', 'Ann', 'Lee', 'ann@example.org', '491', 2, 'Agent', true, '${at(1)}', '${at(2)}', '${at(3)}', '${at(4)}')`,
        );
        await run(
          tx,
          `insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone, role_id) values (44, 7, 'Ann Lee', 'Ann', 'Lee', 'ann@example.org', '491', 2)`,
        );
        if (statement !== '') await run(tx, statement);
        const { differing, unknown, unseen } = await compareSides(within(tx), 44n, {
          users: new Map([[7n, user]]),
          roles: new Map(role === '' ? [] : [[7n, role]]),
          leftOut: [],
        });
        expect([unknown, unseen]).toEqual([[], []]);
        return differing.map(({ id }) => id);
      });
    expect(await looks('', equal)).toEqual([]);
    expect(await looks('', equal, '')).toEqual([]);
    expect(await looks('', equal, 'Admin')).toEqual([7n]);
    // What is staged of a value that cannot be read is nothing, as both sides may have it.
    for (const [field, set] of [
      ['name', `name = '', first_name = '', last_name = ''`],
      ['email', 'email = null'],
      ['phone', 'phone = null'],
      ['roleId', 'role_id = null'],
    ] as const) {
      const without = `with b as (update sync.user_base set ${set} where team_id = 44) update mirror.users set ${set} where team_id = 44`;
      const none = field === 'name' ? '' : null;
      expect(await looks(without, { ...equal, [field]: none }), field).toEqual([]);
      expect(await looks(without, { ...equal, [field]: { unreadable: '{}' } }), field).toEqual([7n]);
    }
    for (const user of onService) expect(await looks('', user), toJson(user)).toEqual([7n]);
    for (const set of hereInSql)
      expect(await looks(`update ${set} where team_id = 44`, equal), set).toEqual([7n]);
    for (const fact of facts) expect(await looks(`insert ${fact}`, equal), fact).toEqual([7n]);
  });

  it('readUserState returns the transaction of an edit, but null for an edit of another cluster or an unknown author', async () => {
    const transactions = await aside(database.db, async (tx) => {
      await run(tx, `select set_config('musterd.writing', 'on', true)`);
      await run(
        tx,
        `insert into mirror.users (team_id, id, first_name, last_name, email, phone, role_id, resolved) values (46, 7, 'A', 'B', 'e', '1', 2, true)`,
      );
      await run(
        tx,
        `insert into sync.edits (team_id, user_id, field, new_value, edited_by, authors, edited_at, xid) values
        (46, 7, 'email', '"e"', 'bob', '{bob}', now(), '12'), (46, 7, 'phone', '"1"', 'bob', '{bob}', now(), '0'), (46, 7, 'role_id', '2', null, '{""}', now(), '12')`,
      );
      const { edits } = await readUserState(tx, 46n, 7n);
      return [edits.email?.transaction, edits.phone?.transaction, edits.roleId?.transaction];
    });
    expect(transactions).toEqual(['12', null, null]);
  });

  it('agreesWithBase returns null if the sides differ, or a user is held, edited, in a push, missing or rejected', async () => {
    const agreement = (statement: string) =>
      aside(database.db, async (tx) => {
        const insert = (table: string, columns: string, values: string) =>
          run(tx, `insert into ${table} (team_id, id, ${columns}) values (45, 7, ${values})`);
        await run(tx, `select set_config('musterd.writing', 'on', true)`);
        await run(tx, `insert into sync.teams (team, team_id) values ('west', 45)`);
        const named = [
          `first_name, last_name, email, phone, role_id`,
          `'Ann', 'Lee', 'ann@example.org', '491', 2`,
        ];
        await insert('mirror.users', `${named[0]}, resolved`, `${named[1]}, true`);
        await insert('sync.user_base', `${named[0]}, name`, `${named[1]}, 'Ann Lee'`);
        await run(tx, statement);
        return await agreesWithBase(tx, 45n);
      });
    const columns = ['first_name', 'last_name', 'email', 'phone'].map((name) => `${name} = 'odd'`);
    const others = [
      ...['mirror.users', 'sync.user_base'].flatMap((table) => [
        `delete from ${table} where team_id = 45`,
        ...[...columns, 'email = null', 'role_id = 3'].map(
          (set) => `update ${table} set ${set} where team_id = 45`,
        ),
      ]),
      'update mirror.users set resolved = false where team_id = 45',
      'update sync.user_base set older_since = now(), older_passes = 1 where team_id = 45',
      `insert into sync.held_fields (team_id, user_id, field, reason) values (45, 7, 'phone', 'conflict')`,
      `insert into sync.edits (team_id, user_id, field, old_value, new_value, edited_by, authors, edited_at, xid) values (45, 7, 'phone', '"491"', '"492"', 'bob', '{bob}', now(), pg_current_xact_id())`,
      `insert into sync.changes (team_id, user_id, kind, base, old, new, state) values (45, 7, 'push', '{}', '{}', '{}', 'open')`,
      `insert into sync.absences (team_id, resource, id, missing_since) values (45, 'users', 7, now())`,
      `insert into sync.learned (team, topic, value) values ('west', 'rejected users', '[]')`,
    ];
    for (const same of [
      'select 1',
      `insert into sync.absences (team_id, resource, id, missing_since) values (45, 'tags', 7, now())`,
    ])
      expect(await agreement(same), same).toMatch(/^\d{4}-/);
    for (const other of others) expect(await agreement(other), other).toBeNull();
  });

  it('returns a gone user as unseen if the team lists the user, and otherwise not at all', async () => {
    await write(
      [],
      `insert into mirror.users (team_id, id, resolved, gone_at) values (46, 1, true, now()), (46, 2, true, now())`,
    );
    const nobody = { users: new Map(), roles: new Map(), leftOut: [2n] };
    expect((await compareSides(database.db, 46n, nobody)).unseen.map(({ id }) => id)).toEqual([2n]);
  });

  it('compares all users in one statement if no user differs', async () => {
    const watched = await watchSession(database.url);
    const users = new Map(atRest.map((one) => [one.id, one]));
    const compared = await compareSides(watched.db, teamId, { users, roles: new Map(), leftOut: [] });
    expect(compared.differing).toEqual([]);
    expect(
      watched.take().filter(({ steps }) => steps.some(({ relation }) => relation === 'user_base')),
    ).toHaveLength(1);
  });

  it('each step of a plan reads at most 11 rows for each user, whatever the table statistics', async () => {
    const number = 3 * many;
    // Analysed when there was another team alone: then this one is believed to be empty.
    await write(
      [],
      'delete from mirror.users',
      'delete from sync.user_base',
      'delete from sync.absences',
      'delete from sync.held_fields',
      `insert into mirror.users (team_id, id, resolved) select 42, n, true from generate_series(1, 3000) n`,
      `insert into sync.user_base (team_id, id, name, first_name, last_name) select 42, n, '', '', '' from generate_series(1, 3000) n`,
    );
    for (const table of [
      'mirror.users',
      'sync.user_base',
      'sync.absences',
      'sync.held_fields',
      'sync.changes',
    ])
      await run(database.db.asTyped, `alter table ${table} set (autovacuum_enabled = off); analyze ${table}`);
    await write(
      [],
      `insert into mirror.users (team_id, id, resolved) select 41, n, true from generate_series(1, ${number}) n`,
      `insert into sync.user_base (team_id, id, name, first_name, last_name) select 41, n, '', '', '' from generate_series(1, ${number}) n`,
      `insert into sync.absences (team_id, resource, id, missing_since) select 41, 'users', n, now() from generate_series(1, ${number}) n`,
      `insert into sync.held_fields (team_id, user_id, field, reason) select 41, n, 'email', 'conflict' from generate_series(1, ${number}) n`,
    );
    const watched = await watchSession(database.url);
    const shown = (count: number) =>
      new Map(
        Array.from({ length: count }, (_, index) => [
          BigInt(index + 1),
          { id: BigInt(index + 1), name: '', raw: {} },
        ]),
      );
    for (const count of [number, many, 1000]) {
      const { differing, unseen } = await compareSides(watched.db, teamId, {
        users: shown(count),
        roles: new Map(),
        leftOut: [...shown(number).keys()].slice(count),
      });
      expect([differing.length, unseen.length]).toEqual([count, number - count]);
    }
    const looked = watched.take().flatMap(({ steps }) => steps.map((step) => step.rows));
    expect(Math.max(...looked)).toBeGreaterThanOrEqual(number);
    // A table of ten rows is read for each of them.
    expect(Math.max(...looked)).toBeLessThan(number * 11);
  });
});
