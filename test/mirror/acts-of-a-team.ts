/** All that is done and read of one team, one after the other, for tests of what another team has to do with it: nothing. */
import { sql } from 'kysely';
import { DatabaseError } from 'pg';
import { expect } from 'vitest';
import type { Database, Transaction } from '../../src/mirror/db/database.ts';
import { prune } from '../../src/mirror/runs/retention.ts';
import { findUsers } from '../../src/mirror/users/find-user.ts';
import { readFreshEdits } from '../../src/mirror/users/fresh-edits.ts';
import type { Ages } from '../../src/model/ages.ts';
import { readAllOf } from './reads-of-a-team.ts';
import { statementsOfAllTeams, statementsOfATeam } from './statements-of-a-team.ts';
import { writesOf } from './writes-of-a-team.ts';

export interface Act {
  readonly run: () => Promise<unknown>;
  /** Whether it is about all teams, so that it may write rows of the others. */
  readonly isOfAll: boolean;
}

type Acts = Readonly<Record<string, Act>>;

export const askIn = (tx: Transaction) => async (text: string) =>
  (await sql<Record<string, unknown>>`${sql.raw(text)}`.execute(tx)).rows;

/** Without what passes by itself, and the place, which is that of the whole database. */
export const still = (value: unknown): unknown => {
  if (value instanceof Map) return [...value].map(still);
  if (value instanceof Set) return [...value];
  if (Array.isArray(value)) return value.map(still);
  if (value === null || typeof value !== 'object' || value instanceof Date || Buffer.isBuffer(value))
    return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [
      name,
      /InMs|ForMs|ageMs|mark|nowMs|^plac/.test(name) ? null : still(part),
    ]),
  );
};

const ofOne = (runs: Readonly<Record<string, Act['run']>>): Acts =>
  Object.fromEntries(Object.entries(runs).map(([what, run]) => [what, { run, isOfAll: false }]));

/** What people and runs say in SQL: the rows of the last statement count. */
function sayings(
  tx: Transaction,
  said: Readonly<Record<string, readonly string[]>>,
): Readonly<Record<string, Act['run']>> {
  const ask = askIn(tx);
  const saying = (statements: readonly string[]) => async () => {
    let rows: unknown[] = [];
    for (const statement of statements) rows = await ask(statement);
    return rows;
  };
  return Object.fromEntries(Object.entries(said).map(([what, statements]) => [what, saying(statements)]));
}

/** What is removed as too old, of each kind alone: there is something of each. */
function removals(db: Database, tx: Transaction): Readonly<Record<string, Act['run']>> {
  const ask = askIn(tx);
  const within: Database = { ...db, kysely: tx, transaction: (work) => work(tx) };
  const keeping = { changes: null, edits: null, runs: null, counts: null };
  const kinds = ['changes', 'edits', 'runs', 'counts'] as const satisfies readonly (keyof Ages)[];
  const removal = (kind: (typeof kinds)[number]) => async () => {
    await ask(`set local musterd.writing = 'on'`);
    await ask(`insert into sync.runs (team, team_id, command, outcome, finished_at, started_at)
      select 'north', 41, 'daemon', 'complete', '2020-01-01', '2020-01-01' from generate_series(1, 210)`);
    await ask(
      kind === 'changes'
        ? `insert into sync.changes (team_id, user_id, kind, new, outcome) select 41, 5, 'push', '{"role_id": 3}', '{"role_id": "confirmed"}' from generate_series(1, 2)`
        : `update sync.edits set ended_at = now(), ended_how = 'agreed' where team_id = 41 and field = 'phone';
           update sync.due set mark = '1000000:1000000:' where team = 'north' and run_group = 'edits';
           insert into mirror.contact_counts (team_id, segment, count, counted_at)
             select 41, 'all', 1, timestamptz '2020-01-01T00:00Z' + n * interval '1 hour' from generate_series(1, 2) n`,
    );
    return await prune(within, 'north', { ...keeping, [kind]: -1 });
  };
  return Object.fromEntries(kinds.map((kind) => [`prunes ${kind}`, removal(kind)]));
}

/** Looks for somebody by what the one team has, and by what only the other one has. */
function searches(tx: Transaction): Readonly<Record<string, Act['run']>> {
  const nobody = {
    id: null,
    email: null,
    phone: null,
    name: null,
    words: ['nobody'],
    rough: [],
    isWhole: false,
  };
  return {
    'finds somebody of a number': () => findUsers(tx, 41n, { ...nobody, id: 6n }),
    ...Object.fromEntries(
      [77n, 78n, 79n].map((id) => [
        `finds nobody of number ${id}`,
        () => findUsers(tx, 41n, { ...nobody, id }),
      ]),
    ),
    ...Object.fromEntries(
      ['user77@example.com', 'base@example.com'].map((email) => [
        `finds nobody at ${email}`,
        () => findUsers(tx, 41n, { ...nobody, email }),
      ]),
    ),
  };
}

/** The team is the one that `fill` of the test has filled. */
export function actsOf(db: Database, tx: Transaction, own: Parameters<typeof readAllOf>[2]): Acts {
  const ask = askIn(tx);
  const asARun = (work: () => Promise<unknown>) => async () => {
    await ask(`set local musterd.writing = 'on'; set local musterd.run = '1'`);
    await work();
  };
  const saidOfAll = Object.entries(sayings(tx, statementsOfAllTeams));
  return {
    ...ofOne(sayings(tx, statementsOfATeam)),
    ...Object.fromEntries(saidOfAll.map(([what, run]) => [what, { run, isOfAll: true }])),
    ...ofOne(removals(db, tx)),
    ...ofOne(searches(tx)),
    ...ofOne({
      'reads what is fresh where nobody has edited': async () => {
        await ask(
          `update sync.due set failures = 2, started_at = '2020-01-01' where team = 'north'; delete from sync.edits where team_id = 41`,
        );
        return await readFreshEdits(tx, ['north']);
      },
      'reads what is fresh where nobody has edited since': async () => {
        await ask('delete from sync.edits where team_id = 41');
        return await readFreshEdits(tx, ['north']);
      },
      // Which rows were written since is another matter where all of them were written again.
      'reads all': async () =>
        Object.entries(await readAllOf(db, tx, own)).filter(([name]) => name !== 'rest'),
    }),
    ...ofOne(
      Object.fromEntries(Object.entries(writesOf(tx, own)).map(([what, work]) => [what, asARun(work)])),
    ),
  };
}

/** Numbers that are given from here on, and times, are others each time. */
const firstNew = 1000;
const isNew = (id: unknown) => Number(id) >= firstNew && Number(id) < 500_000;
const plain = (rows: readonly unknown[]) =>
  rows
    .map((row) =>
      JSON.stringify(row, (name, part: unknown) => {
        if (name.endsWith('_id') && isNew(part)) return 'new';
        if (name === 'edits' && part !== null && typeof part === 'object')
          return Object.entries(part).map(([field, id]) => [field, isNew(id) ? 'new' : Number(id)]);
        if (typeof part === 'bigint' || typeof part === 'number') return Math.round(Number(part));
        return typeof part === 'string' && /^\d{4}-\d\d-\d\d[T ]/.test(part) ? 'time' : part;
      }),
    )
    .toSorted();

/**
 * For one act after the other: what it answers, and the rows of its team that are there and that are gone because of it, or
 * the error. It is taken back. Fails if a row of another team is changed.
 */
export async function outcomesIn(tx: Transaction): Promise<(act: Act) => Promise<unknown>> {
  const ask = askIn(tx);
  const tables =
    await ask(`select c.oid::regclass::text as name, case when min(a.attname) = 'team' then $$t.team = 'north'$$ else 't.team_id = 41' end as of_own
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname in ('team_id', 'team') and not a.attisdropped
    where c.relnamespace::regnamespace::text in ('mirror', 'sync') and c.relkind = 'r' and c.relname <> 'team_roles' group by c.oid order by 1`);
  const rowsOfOne = (isOwn: boolean) =>
    ask(
      tables
        .map(
          ({ name, of_own }) =>
            `select '${String(name)}' as name, to_jsonb(t) as row from ${String(name)} t where ${isOwn ? '' : 'not '}(${String(of_own)})`,
        )
        .join(' union all '),
    );
  await ask(
    `select setval(oid::regclass, ${firstNew}) from pg_class where relkind = 'S' and relnamespace = 'sync'::regnamespace`,
  );
  return async ({ run, isOfAll }) => {
    const [before, others] = [plain(await rowsOfOne(true)), await rowsOfOne(false)];
    await ask('savepoint before');
    try {
      const result = still(await run());
      if (!isOfAll) expect(await rowsOfOne(false)).toEqual(others);
      const rows = plain(await rowsOfOne(true));
      return [
        plain(Array.isArray(result) ? result : [result]),
        rows.filter((row) => !before.includes(row)),
        before.filter((row) => !rows.includes(row)),
      ];
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      return error.message;
    } finally {
      await ask('rollback to savepoint before');
    }
  };
}
