import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseFaults } from '../../src/emulator/faults/faults.ts';
import { applyUndo } from '../../src/runs/decide/undo-run.ts';
import { createStage, type Stage } from './stage.ts';

/** One step, of the user with this number (some have left by then); `n` makes the values of each step others. */
const steps = [
  'run',
  'run',
  'run that meets an edit',
  'run that fails',
  'run that loses the answer',
  'edit',
  'edit twice',
  'edit of many',
  'edit of the role',
  'edit past the triggers',
  'stamp',
  'change on the service',
  'leave',
  'come back',
  'new user',
  'lose the row',
  'lose the row and leave',
  'rename a role',
  'undo',
] as const;
type Step = (typeof steps)[number];

describe('what the roster was', () => {
  let stage: Stage;
  /** At a time, the roster as it was looked at then. */
  let looks: { readonly at: string; readonly rows: readonly (readonly string[])[] }[] = [];
  /** The place of `role` among the columns of report.roster. */
  const roleAt = 9;
  let roles = 0;
  let n = 0;
  /** What the triggers did not hear of is known to the next run, and of a row that is no more to the next whole one. */
  let unheard: 'edit' | 'row' | undefined;
  let looked = 0;
  beforeAll(async () => {
    stage = await createStage({
      emulator: { users: 8, tags: 0, fields: 0 },
      config: { absence: { confirmAfterMs: 0 }, policy: { phone: 'service-wins' } },
    });
    stage.emulator.rewrite({ path: '/v1/team', times: 'always' }, (text) =>
      text.replaceAll('"admin"', `"admin ${roles}"`),
    );
  });
  afterAll(() => stage.close());

  const roster = () => stage.sql('select * from report.roster order by user_id');
  const asOf = (at: string) => stage.sql(`select * from report.roster_as_of('${at}') order by user_id`);
  /** A role that nobody had yet had no name yet. Who was given it is shown with the first one that it got. */
  const asNamedThen = (rows: (typeof looks)[number]['rows'], then: typeof rows) =>
    rows.map((row, i) => (then[i]?.[roleAt] === '' ? row.with(roleAt, '') : row));
  const look = async () => {
    if (unheard !== undefined) return;
    looked += 1;
    const [[at = ''] = []] = await stage.sql('select clock_timestamp()::text');
    const rows = await roster();
    expect(await asOf(at)).toEqual(rows);
    looks.push({ at, rows });
  };
  const run = async () => {
    const report = await stage.run().catch(() => undefined);
    stage.emulator.clearFaults();
    if (unheard === 'edit' || report?.outcome === 'complete') unheard = undefined;
    await look();
  };
  const past = (what: 'edit' | 'row', text: string) => {
    if (unheard !== 'row') unheard = what;
    return stage.sql(`begin; set local session_replication_role = replica; ${text}; commit`);
  };
  const play = (fault: string) => {
    for (const one of parseFaults([fault])) stage.emulator.addFault(one);
  };

  const take: Readonly<Record<Step, (id: number) => Promise<unknown>>> = {
    run,
    'run that meets an edit': (id) => {
      stage.emulator.before({ path: '/v1/users/get' }, async () => {
        await take.edit(id);
      });
      return run();
    },
    'run that fails': async (id) => {
      stage.emulator.team.editUser(id, { phone: `1555${1_000_000 + n}` });
      await stage.sql(
        `alter table sync.user_base add constraint broken check (phone <> '1555${1_000_000 + n}')`,
      );
      await run();
      await stage.sql('alter table sync.user_base drop constraint broken');
    },
    'run that loses the answer': async (id) => {
      await take.edit(id);
      play('reset-after,path=/v1/users/update,times=1');
      await run();
    },
    edit: (id) =>
      stage.sql(
        `update mirror.users set first_name = 'Kim', last_name = 'Reed${n}', phone = '1666${n}' where id = ${id}`,
      ),
    'edit twice': async (id) => {
      await stage.sql(`begin; update mirror.users set email = 'a${n}@example.com' where id = ${id};
        update mirror.users set email = 'b${n}@example.com' where id = ${id}; commit`);
      await look();
      await stage.sql(`update mirror.users set email = 'c${n}@example.com' where id = ${id}`);
    },
    'edit of many': () =>
      stage.sql(`update mirror.users set phone = 1777${n}000 + id % 1000 where gone_at is null`),
    'edit of the role': (id) =>
      stage.sql(`update mirror.users set role_id = ${1 + (n % 4)} where id = ${id}`),
    'edit past the triggers': (id) =>
      past('edit', `update mirror.users set email = 'unheard${n}@example.com' where id = ${id}`),
    stamp: (id) =>
      stage.sql(`begin; set local musterd.writing = 'on';
        update mirror.users set edited_at = clock_timestamp(), edited_by = 'somebody' where id = ${id}; commit`),
    'change on the service': (id) => {
      stage.emulator.team.editUser(id, { email: `web${n}@example.com`, last: `Web${n}` });
      return Promise.resolve();
    },
    leave: async (id) => {
      stage.emulator.team.showUser(id, { listed: false, answered: false });
      await run();
      await run();
    },
    'come back': (id) => {
      stage.emulator.team.showUser(id, { listed: true, answered: true });
      return Promise.resolve();
    },
    'new user': () => {
      stage.emulator.team.addUser({
        first: 'New',
        last: `User${n}`,
        email: `new${n}@example.com`,
        roleId: 2,
      });
      return Promise.resolve();
    },
    'lose the row': (id) => past('row', `delete from mirror.users where id = ${id}`),
    'lose the row and leave': async (id) => {
      stage.emulator.team.showUser(id, { listed: false, answered: false });
      await past('row', `delete from mirror.users where id = ${id}`);
    },
    'rename a role': () => {
      roles += 1;
      stage.emulator.team.rename(stage.emulator.team.name());
      return Promise.resolve();
    },
    undo: async () => {
      const [[last = ''] = []] = await stage.sql(`select max(run_id) from sync.changes where kind = 'pull'`);
      const { team, push } = stage.config;
      const of = { team, push, lease: { ttlMs: 60_000 } };
      if (last !== '') await applyUndo(stage.db, of, BigInt(last), { actor: 'Kim of HR', why: undefined });
    },
  };

  it('is shown as it was at the end of each run, whatever was done in whatever order', {}, async () => {
    const sequence = fc.array(fc.tuple(fc.constantFrom(...steps), fc.nat(30)), {
      minLength: 6,
      maxLength: 14,
    });
    await fc.assert(
      fc.asyncProperty(sequence, async (sequence) => {
        looks = [];
        for (const [step, number] of sequence) {
          n += 1;
          const users = stage.emulator.team.users();
          await take[step](users[number % users.length]?.id ?? 0);
          await look();
        }
        await run();
        for (const { at, rows } of looks) expect(asNamedThen(await asOf(at), rows)).toEqual(rows);
        expect(await flaws()).toEqual([]);
      }),
      { numRuns: 2, endOnFailure: true },
    );
    expect(looked).toBeGreaterThan(10);
    // Each is of a run, but what is stamped here; and a run that finds nothing to do begins none.
    for (const _ of [1, 2]) await stage.run();
    const [[before = ''] = []] = await stage.sql('select count(*) from sync.user_periods');
    await stage.run();
    expect(
      await stage.sql(`select count(*) as n, count(*) filter (where run_id is null and present and edited_by is distinct from 'somebody' and side = 'service')
        from sync.user_periods`),
    ).toEqual([[before, '0']]);
  });

  /** Periods of one user that overlap or leave a hole, that are not the mirror's, and who has more than one of now. */
  const flaws = () =>
    stage.sql(`
      select 'gap or overlap', p.user_id, p.valid_to from sync.user_periods p
      where p.valid_to < 'infinity' and not exists (select from sync.user_periods n
        where n.team_id = p.team_id and n.user_id = p.user_id and n.valid_from = p.valid_to)
      union all
      select 'two begin with the end of one, or in it', p.user_id, n.valid_from
      from sync.user_periods p join sync.user_periods n on n.team_id = p.team_id and n.user_id = p.user_id
        and n.valid_from > p.valid_from and n.valid_from < p.valid_to
      union all
      select 'same twice', p.user_id, p.valid_from
      from sync.user_periods p join sync.user_periods n on n.team_id = p.team_id and n.user_id = p.user_id and n.valid_from = p.valid_to
      where to_jsonb(p) - '{valid_from,valid_to,run_id,changed_by,actor,side,role_moved}'::text[]
        = to_jsonb(n) - '{valid_from,valid_to,run_id,changed_by,actor,side,role_moved}'::text[]`);
});
