import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runPlan, runReconcile } from '../../src/runs/sync/reconcile-team.ts';
import { createLog } from '../../src/log.ts';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { readFreshEdits } from '../../src/mirror/users/fresh-edits.ts';
import { readHeldFields } from '../../src/mirror/users/held.ts';
import { readStatus } from '../../src/mirror/runs/read-status.ts';
import { readUserState } from '../../src/mirror/users/users-read.ts';
import { readKnownAddresses, readSnapshot } from '../../src/mirror/users/verify-read.ts';
import { readBatches } from '../../src/mirror/users/held-batches.ts';
import { readOpenPush } from '../../src/mirror/users/explain-read.ts';
import { scheduledGroups } from '../../src/model/run-group.ts';
import { servers } from '../support/servers.ts';
import { type StatementWatch, watchStatements } from '../support/watched-statements.ts';
import { createStage, type Stage } from './stage.ts';
import { addYear, growing, rowsAtLeast } from './year.ts';

/** A day's worth is read, never a year's. */
const rowsAtMost = rowsAtLeast / 10;

const log = createLog({ level: 'silent' });

describe.each(servers())('a mirror with a year of history, on $name', (server) => {
  let stage: Stage;
  let watch: StatementWatch;
  let db: Database;
  beforeAll(async () => {
    const segments = ['all', 'active', 'blocked'].map((name) => ({ name, body: {} }));
    stage = await createStage({ server, emulator: { users: 20, tags: 5, fields: 3 }, config: { segments } });
    await stage.run();
    await addYear(stage);
    watch = await watchStatements(stage.url);
    db = createDatabase({ url: watch.url, address: stage.db.address, applicationName: 'musterd test' });
  });
  afterAll(async () => {
    await db.close();
    await watch.close();
    await stage.close();
  });

  /** Statements that read what grows from end to end, or much of it. */
  const greedy = () => {
    const seen = watch.take();
    expect(seen).not.toEqual([]);
    return seen.flatMap(({ text, steps }) =>
      steps
        .filter(
          ({ node, relation, rows }) =>
            growing.some((table) => table === relation) && (node === 'Seq Scan' || rows > rowsAtMost),
        )
        .map((step) => ({ ...step, text })),
    );
  };
  let edits = 0;
  /** A name alone and a phone without it, of users whom a person let pass before: both are looked up in the past. */
  const edit = async () => {
    edits += 1;
    const [one, two] = stage.emulator.team.users();
    await stage.sql(`
      update mirror.users set first_name = 'Robin ${edits}', last_name = 'Berg' where id = ${one?.id};
      update mirror.users set phone = '1555017${edits}' where id = ${two?.id};
      delete from sync.held_fields where batch = 'fresh';
      insert into sync.held_fields (team_id, user_id, field, edit_id, reason, base_value, mirror_value, service_value, shown_value, batch, decision)
      select e.team_id, e.user_id, e.field, e.edit_id, 'limit', to_jsonb(b.phone), e.new_value, to_jsonb(b.phone), to_jsonb(b.phone), 'fresh', 'approved'
      from sync.edits e join sync.user_base b on b.team_id = e.team_id and b.id = e.user_id
      where e.user_id = ${two?.id} and e.field = 'phone' and e.ended_at is null
      on conflict (team_id, user_id, field) do update set mirror_value = excluded.mirror_value, edit_id = excluded.edit_id`);
  };

  describe.each(['never analysed', 'analysed'])('table statistics: %s', (when) => {
    beforeAll(async () => {
      if (when === 'analysed') await sql`analyze`.execute(stage.db.kysely);
      watch.take();
    });

    it('scans no history table from end to end in a full run', async () => {
      await edit();
      const report = await runReconcile(db, stage.config, 'reconcile', { log, groups: scheduledGroups });
      expect(report).toMatchObject({ outcome: 'complete', counts: { pushed: 2, contact_counts: 3 } });
      expect(greedy()).toEqual([]);
    });

    it('scans no history table from end to end in a run of only the edited users', async () => {
      await edit();
      const report = await runReconcile(db, stage.config, 'daemon', { log, groups: ['edits'] });
      expect(report).toMatchObject({ outcome: 'complete', counts: { pushed: 2 } });
      expect(await readFreshEdits(db.kysely, [stage.config.team])).toMatchObject([{ isFresh: false }]);
      expect(greedy()).toEqual([]);
    });

    it('scans no history table from end to end in a plan', async () => {
      await edit();
      expect((await runPlan(db, stage.config, { log })).users.plans).toHaveLength(2);
      expect(greedy()).toEqual([]);
    });

    it('scans no history table from end to end for verify, status and why', async () => {
      const { kysely } = db;
      const { team } = stage.config;
      const teamId = BigInt(stage.emulator.team.id);
      const [user] = stage.emulator.team.users();
      const id = BigInt(user?.id ?? 0);
      await readKnownAddresses(kysely, teamId);
      expect((await readSnapshot(db, team, teamId)).users).toHaveLength(20);
      const { counts, lastSuccess } = await readStatus(db, team);
      expect(counts.map(({ segment }) => segment)).toEqual(['active', 'all', 'blocked']);
      expect(lastSuccess).not.toBeNull();
      await readHeldFields(kysely, teamId, {});
      await readUserState(kysely, teamId, id);
      await readOpenPush(kysely, teamId, id);
      await readBatches(kysely, teamId);
      expect(greedy()).toEqual([]);
    });
  });

  it('deletes 50 runs without a full scan of the tables that refer to runs', async () => {
    await stage.sql(`
      insert into sync.held_fields (team_id, user_id, field, reason, run_id)
      select team_id, 90000000 + n, 'email', 'returned', 1 from sync.teams, generate_series(1, ${rowsAtLeast}) n`);
    watch.take();
    const { rows } = await sql`delete from sync.runs where run_id between 1000 and 1049 returning 1`.execute(
      db.kysely,
    );
    expect(rows).toHaveLength(50);
    const read = watch.take().flatMap(({ steps }) => steps.filter(({ relation }) => relation !== undefined));
    expect(new Set(read.map(({ relation }) => relation))).toEqual(
      new Set(['runs', 'changes', 'held_fields']),
    );
    expect(read.filter(({ node }) => node === 'Seq Scan')).toEqual([]);
  });
});
