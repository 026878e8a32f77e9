import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { runReconcile } from '../../src/runs/sync/reconcile-team.ts';
import { configSchema } from '../../src/config/config.ts';
import { createLog } from '../../src/log.ts';
import { writeCredentials } from '../../src/mirror/team/credentials.ts';
import { createDatabase } from '../../src/mirror/db/database.ts';
import { registerGroups, setNextTime, readDue } from '../../src/mirror/team/due.ts';
import { noteEdits } from '../../src/mirror/users/fresh-edits.ts';
import { underLease } from '../../src/mirror/team/lease.ts';
import { writeProbes } from '../../src/mirror/team/probes.ts';
import { createSharedPlaces } from '../../src/mirror/team/rate-limits.ts';
import { writeLearned } from '../../src/mirror/team/learned.ts';
import { runResync } from '../../src/runs/sync/resync-team.ts';
import { hungAfterMs } from '../support/limits.ts';
import { createStage, type Stage } from './stage.ts';

/** Every writing statement of musterd's waits for others; under a stricter level it would fail instead. */
describe('a database whose default is a stricter isolation level', () => {
  let stage: Stage;
  afterEach(() => stage.close());

  /** From now on it is the default, and a write that did not say its level fails. */
  const setDefault = async (level: string) => {
    const { kysely } = stage.db;
    const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(kysely);
    await sql`alter database ${sql.id(rows[0]?.name ?? '')} set default_transaction_isolation = ${sql.lit(level)}`.execute(
      kysely,
    );
    await sql`
      create function public.refuse_default() returns trigger language plpgsql as $$
      begin
        if current_setting('transaction_isolation') <> 'read committed' then
          raise '% on %.% did not say its level', tg_op, tg_table_schema, tg_table_name;
        end if;
        return null;
      end $$`.execute(kysely);
    const tables = await sql<{ schema: string; name: string }>`
      select schemaname as schema, tablename as name from pg_tables where schemaname in ('mirror', 'sync')`.execute(
      kysely,
    );
    for (const { schema, name } of tables.rows) {
      await sql`create trigger refuse_default before insert or update or delete on ${sql.id(schema, name)}
        for each statement execute function public.refuse_default()`.execute(kysely);
    }
    expect(tables.rows.length).toBeGreaterThan(20);
    return createDatabase({ url: stage.url, applicationName: 'musterd test' });
  };

  it('musterd writes with read committed, although the default is serializable', async () => {
    const level = 'serializable';
    stage = await createStage({ emulator: { users: 12, tags: 5, fields: 2 } });
    const db = await setDefault(level);
    const log = createLog({ level: 'silent' });
    const config = configSchema.parse({ ...stage.config, lease: { ttlMs: hungAfterMs } });
    const strict = () => runReconcile(db, config, 'reconcile', { log });
    try {
      expect(await sql`show transaction_isolation`.execute(db.asTyped)).toMatchObject({
        rows: [{ transaction_isolation: level }],
      });
      expect(await strict()).toMatchObject({ outcome: 'complete' });
      const [pushed, pulled] = stage.emulator.team.users().filter(({ email }) => email !== null);
      stage.emulator.team.editUser(pulled?.id ?? 0, { email: 'pulled@example.com' });
      await db.transaction((tx) =>
        sql`update mirror.users set email = 'pushed@example.com' where id = ${pushed?.id}`.execute(tx),
      );
      expect(await strict()).toMatchObject({ outcome: 'complete', counts: { pushed: 1, pulled: 1 } });
      await runResync(db, config, { log });

      await writeCredentials(db, 'default', [{ fingerprint: 'f', acceptedAtMs: 0 }]);
      await writeProbes(db, 'default', [{ probe: 'p', answer: true }]);
      await db.transaction((tx) => writeLearned(tx, 'default', [{ topic: 'x', value: 1 }]));
      await createSharedPlaces(db, 'default').pause(1, { burst: 12, periodMs: 10 });
      await registerGroups(
        db,
        [{ team: 'default', group: 'users', schedule: 's', delayMs: 1_000, staleAfterMs: 1_000 }],
        true,
      );
      const due = (await readDue(db.kysely, ['default'])).get('default') ?? [];
      await setNextTime(
        db,
        'default',
        due.map((one) => ({ ...one, delayMs: 1_000 })),
      );
      await noteEdits(db, 'default', '1:1:');
      await underLease(db, { team: 'default', lease: { ttlMs: hungAfterMs } }, (tx) =>
        writeLearned(tx, 'default', [{ topic: 'x', value: 2 }]),
      );
    } finally {
      await db.close();
    }
  });
});
