import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLog } from '../../src/log.ts';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { readStatus } from '../../src/mirror/runs/read-status.ts';
import { exportable, readPages } from '../../src/mirror/tools/export-read.ts';
import { readBatches } from '../../src/mirror/users/held-batches.ts';
import { readHeldFields } from '../../src/mirror/users/held.ts';
import { readKnownUsers } from '../../src/mirror/users/addresses.ts';
import { readKnownAddresses, readSnapshot } from '../../src/mirror/users/verify-read.ts';
import { readPageFrame } from '../../src/page/read/page-reader.ts';
import type { ListRead } from '../../src/page/list/list.ts';
import { compareSides } from '../../src/mirror/users/users-compare.ts';
import { people } from '../../src/page/list/people.ts';
import { pageViews } from '../../src/page/serve/page-views.ts';
import { runPlan, runReconcile } from '../../src/runs/sync/reconcile-team.ts';
import { servers } from '../support/servers.ts';
import { type StatementWatch, watchStatements } from '../support/watched-statements.ts';
import { createStage, type Stage } from './stage.ts';

/** EVERY_SIZE=1 loads twenty times as many as well, in twenty times as long. */
const sizes = process.env['EVERY_SIZE'] === undefined ? [2_500] : [2_500, 50_000];
const log = createLog({ level: 'silent' });

/**
 * After a first load and after a restore, Postgres knows nothing of what the tables hold. What compares each row with each
 * looks at 6 million.
 */
describe.each(servers().flatMap((server) => sizes.map((size) => ({ server, name: server.name, size }))))(
  'a mirror of $size users and tags without table statistics, on $name',
  ({ server, size: rowsOfEach }) => {
    /** A few looks at each row: the joins of one statement, the four fields of a user. A sort looks at each once. */
    const rowsAtMost = rowsOfEach * 10;
    let stage: Stage;
    let watch: StatementWatch;
    let db: Database;
    beforeAll(async () => {
      stage = await createStage({
        server,
        emulator: { users: rowsOfEach, tags: rowsOfEach, fields: 10 },
        config: { guard: { maxShare: 1, maxRows: rowsOfEach } },
      });
      const { rows } = await sql<{ place: string }>`
      select format('%I.%I', schemaname, relname) as place from pg_stat_user_tables`.execute(stage.db.kysely);
      for (const { place } of rows) await stage.sql(`alter table ${place} set (autovacuum_enabled = false)`);
      watch = await watchStatements(stage.url);
      db = createDatabase({ url: watch.url, address: stage.db.address, applicationName: 'musterd test' });
    });
    afterAll(async () => {
      await db.close();
      await watch.close();
      await stage.close();
    });

    /** Statements that look at the same rows again and again. */
    const slow = () => {
      const seen = watch.take();
      expect(seen).not.toEqual([]);
      return seen.flatMap(({ text, steps }) =>
        steps
          .filter(({ rows }) => rows > rowsAtMost)
          .map(({ node, rows }) => `${node}, ${rows} rows: ${text.replaceAll(/\s+/g, ' ')}`),
      );
    };
    const run = (...groups: ('users' | 'listings' | 'counts' | 'edits')[]) =>
      runReconcile(db, stage.config, 'reconcile', { log, groups });

    it('reads each row at most ten times per query step in the first run', async () => {
      expect(await run('users', 'listings')).toMatchObject({
        outcome: 'complete',
        counts: { adopted: rowsOfEach, tags_added: rowsOfEach },
      });
      expect(slow()).toEqual([]);
    });

    it('reads each row at most ten times per query step in the second run', async () => {
      expect(await run('users', 'listings')).toMatchObject({
        outcome: 'complete',
        counts: { users_read: rowsOfEach },
      });
      expect(slow()).toEqual([]);
    });

    it('reads each row at most ten times per query step if half of the users changed and a tenth are gone', async () => {
      const { team } = stage.emulator;
      for (const { id } of team.users().slice(0, rowsOfEach / 2)) team.editUser(id, { first: 'Robin' });
      for (const { id } of team.users().slice(-rowsOfEach / 10)) team.removeUser(id);
      for (const { id } of team.tags().slice(-rowsOfEach / 10)) team.removeTag(id);
      expect(await run('users', 'listings')).toMatchObject({ counts: { pulled: rowsOfEach / 2 } });
      expect(slow()).toEqual([]);
    });

    it('reads each row at most ten times per query step in plan, a push, verify and status', async () => {
      await stage.sql(`
      update mirror.users set phone = '1555' || id where id in (select id from mirror.users order by id limit 60)`);
      expect((await runPlan(db, stage.config, { log })).users.plans).not.toEqual([]);
      // On a busy machine a batch is late, and waits for the next run.
      let pushed = 0;
      for (let runs = 0; pushed < 60 && runs < 10; runs += 1)
        pushed += (await run('edits')).counts.pushed ?? 0;
      expect(pushed).toBe(60);
      const teamId = BigInt(stage.emulator.team.id);
      await readKnownAddresses(db.kysely, teamId);
      const ids = stage.emulator.team.users().map(({ id }) => BigInt(id));
      expect(await readKnownUsers(db.kysely, teamId, ids)).toHaveLength(ids.length);
      const nobody = { users: new Map(), roles: new Map(), leftOut: ids };
      expect((await compareSides(db, teamId, nobody)).unseen).toHaveLength(rowsOfEach);
      await readSnapshot(db, stage.config.team, teamId);
      await readStatus(db, stage.config.team);
      expect(slow()).toEqual([]);
    });

    it('reads at most a third of the base rows to show the status and the users with pending edits', async () => {
      await stage.sql(`
      update mirror.users set phone = '1777' || id where id in (select id from mirror.users order by id limit 60)`);
      const teamId = BigInt(stage.emulator.team.id);
      watch.take();
      expect(await readStatus(db, stage.config.team, 100)).toMatchObject({ pending: { waiting: 60 } });
      const reader = { db: db.kysely, teams: [], teamIds: [teamId], now: new Date(), decider: null };
      const asked = { params: {}, query: new URLSearchParams('state=moving'), details: true, isCsv: false };
      expect(((await people.read(reader, asked)) as ListRead<unknown>).found).toBe(60);
      const steps = watch.take().flatMap((statement) => statement.steps);
      const ofBase = steps.filter(({ relation }) => relation === 'user_base');
      expect(ofBase).not.toEqual([]);
      expect(ofBase.reduce((sum, { rows }) => sum + rows, 0)).toBeLessThanOrEqual(rowsOfEach / 3);
      await run('edits');
    });

    it.each(pageViews)('reads each row at most ten times for the page at $path', async ({ path, read }) => {
      await stage.sql(
        `update mirror.users set phone = '1888' || id where id in (select max(id) from mirror.users)`,
      );
      const [id = ''] = (await stage.sql('select max(id) from mirror.users'))[0] ?? [];
      const params = { team: stage.config.team, id, batch: 'none' };
      const searches = path === '/people' ? ['', 'q=robin', 'state=waits', 'sort=name'] : [''];
      watch.take();
      for (const isCsv of [false, true])
        for (const search of searches)
          await readPageFrame(db, null, async ({ reader }) =>
            read(reader, { params, query: new URLSearchParams(search), details: true, isCsv }),
          );
      expect(slow()).toEqual([]);
    });

    it.each(exportable)('reads each row at most ten times per query step to export %s', async (what) => {
      // Those of another team are none of its rows.
      if (what === 'changes')
        await stage.sql(`
        insert into sync.changes (team_id, user_id, kind, base, old, new, outcome, closed_at)
        select 77, n, 'adopt', '{}', '{}', '{"phone": "1555"}', '{}', now() from generate_series(1, ${rowsAtMost + 1}) n`);
      watch.take();
      let rows = 0;
      await readPages(db, BigInt(stage.emulator.team.id), what, async (page) => {
        rows += page.length;
        await Promise.resolve();
      });
      expect(slow()).toEqual([]);
      expect(rows).toBeGreaterThanOrEqual(
        { 'contact-counts': 0, 'contact-fields': 10, inboxes: 3, surveys: 3 }[what] ?? rowsOfEach * 0.9,
      );
    });

    it('reads each row at most ten times per query step if the guard holds an edit of each user', async () => {
      const guarded = { ...stage.config, guard: { ...stage.config.guard, maxRows: 25, maxShare: 0.2 } };
      const teamId = BigInt(stage.emulator.team.id);
      const ask = (text: string) => sql.raw(text).execute(db.kysely);
      const hold = async () => {
        await stage.sql(`update mirror.users set phone = '1999' || id where gone_at is null`);
        const { outcome } = await runReconcile(db, guarded, 'reconcile', { log, groups: ['users'] });
        expect(outcome).toBe('refused');
        return (await readBatches(db.kysely, teamId))[0]?.hash ?? '';
      };
      watch.take();
      const batch = await hold();
      expect(await readHeldFields(db.kysely, teamId, { batch })).toHaveLength(rowsOfEach * 0.9);
      // Not report.pending, which compares each edit with each until Postgres has analysed its tables.
      for (const view of ['held', 'decisions']) await ask(`select * from report.${view}`);
      await ask('select * from sync.edit_states((select max(xid) from sync.edits where ended_at is null))');
      await ask(`select * from sync.reject('${batch}', 'a slip', true)`);
      await ask(`select * from sync.approve('${await hold()}')`);
      await ask('select * from sync.withdraw()');
      expect(slow()).toEqual([]);
      expect(await readHeldFields(db.kysely, teamId, {})).toEqual([]);
    });

    // Of 2,500 users it is as good to read them all.
    if (rowsOfEach === 50_000)
      it('reads only the edited users to record and close their pushes', async () => {
        await stage.sql(`
      update mirror.users set phone = '1666' || id where id in (select id from mirror.users order by id limit 300)`);
        watch.take();
        // On a busy machine a batch may be late, and waits for the next run.
        let pushed = 0;
        for (let turn = 0; turn < 3 && pushed < 300; turn += 1)
          pushed += (await run('users')).counts.pushed ?? 0;
        expect(pushed).toBe(300);
        const seen = watch.take().filter(({ text }) => /(?:insert into|update) sync.changes/.test(text));
        expect(seen.length).toBeGreaterThanOrEqual(300 / 100 + 300 / 25);
        const tables = ['users', 'user_base', 'changes', undefined];
        const steps = seen.flatMap((statement) =>
          statement.steps.filter(({ relation }) => tables.includes(relation)),
        );
        // The four fields of each; and, from no table, those of each of their few edits.
        const beyond = steps.filter(
          ({ rows, relation }) => rows > 100 * 4 * (relation === undefined ? 4 : 1),
        );
        expect(beyond).toEqual([]);
      });
  },
);
