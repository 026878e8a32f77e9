import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLog } from '../../src/log.ts';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { prune } from '../../src/mirror/runs/retention.ts';
import { scheduledGroups } from '../../src/model/run-group.ts';
import { serve } from '../../src/daemon/serve.ts';
import { runReconcile } from '../../src/runs/sync/reconcile-team.ts';
import { eventually } from '../support/eventually.ts';
import { countStatements, type SentStatements } from '../support/sent-statements.ts';
import { runMusterd } from './run-musterd.ts';
import { createStage, type Stage } from './stage.ts';

const log = createLog({ level: 'silent' });

/** What is sent to Postgres, by kind. A transaction is begun and given its time limits in one round trip. */
function tally(sent: readonly string[]) {
  const of = (pattern: RegExp) => sent.filter((text) => pattern.test(text)).length;
  // Places in the pace are taken in blocks, a transaction each: how many depends on how long things take.
  const blocks = of(/'pace'/);
  return {
    statements: sent.length - 3 * blocks,
    transactions: of(/^begin/) - blocks,
    leaseWrites:
      of(/(?:insert into|update|delete from) "?sync"?\."?leases/) - of(/with mine as materialized/),
  };
}

/** A lease that is renewed because much time has passed is none of it. */
function unrenewed(sent: readonly string[]): readonly string[] {
  const isRenewal = (text: string | undefined) => text?.startsWith('with mine as ( select team') === true;
  return sent.filter(
    (text, at) =>
      !isRenewal(text) &&
      !(text.startsWith('begin') && isRenewal(sent[at + 1])) &&
      !(text === 'commit' && isRenewal(sent[at - 1])),
  );
}

describe('a run', () => {
  let stage: Stage;
  let sent: SentStatements;
  let db: Database;
  beforeAll(async () => {
    // A lease that is extended on a busy machine takes statements of its own.
    const config = { lease: { ttlMs: 3_600_000 } };
    stage = await createStage({ config, emulator: { users: 500, tags: 25, fields: 12 } });
    await stage.run();
    await stage.run();
    sent = await countStatements(stage.url);
    db = createDatabase({ url: sent.url, address: stage.db.address, applicationName: 'musterd test' });
  });
  afterAll(async () => {
    await db.close();
    await sent.close();
    await stage.close();
  });

  it('sends a fixed number of SQL statements if nothing has changed', async () => {
    stage.emulator.clearRequests();
    sent.take();
    const report = await runReconcile(db, stage.config, 'reconcile', { log, groups: scheduledGroups });
    expect(report).toMatchObject({ outcome: 'complete', counts: { users_read: 500 } });
    const all = sent.take();
    expect({ requests: stage.emulator.requests.length, ...tally(all) }).toEqual({
      requests: 13,
      statements: 18,
      transactions: 5,
      leaseWrites: 2,
    });
  });

  it('sends a fixed number of SQL statements if the run is the first run of a team', async () => {
    const first = await createStage({ emulator: { users: 500, tags: 25, fields: 12 } });
    const seen = await countStatements(first.url);
    const fresh = createDatabase({
      url: seen.url,
      address: first.db.address,
      applicationName: 'musterd test',
    });
    try {
      const report = await runReconcile(fresh, first.config, 'reconcile', { log, groups: scheduledGroups });
      expect(report).toMatchObject({ outcome: 'complete', counts: { adopted: 500 } });
      const { statements, transactions } = tally(unrenewed(seen.take()));
      expect({ statements, transactions }).toEqual({ statements: 71, transactions: 19 });
    } finally {
      await fresh.close();
      await seen.close();
      await first.close();
    }
  });

  it('sends a fixed number of SQL statements if a daemon pushes one edited user', async () => {
    const stop = new AbortController();
    const never = '0 0 1 1 *';
    const schedule = { ...stage.config.schedule, users: never, listings: never, counts: never };
    const { ended } = await serve({
      mirror: { db, url: sent.url },
      configs: [{ ...stage.config, schedule }],
      log,
      signal: stop.signal,
    });
    await eventually(
      'the first run is over',
      async () => (await stage.runs(`command = 'daemon' and outcome = 'complete'`)) === 1,
    );
    const [user] = stage.emulator.team.users();
    const edit = async (turn: number) => {
      await eventually('all before it is over', async () => {
        const [[seen] = []] = await stage.sql(
          `select bool_and(pg_visible_in_snapshot(e.xid, d.mark)) from sync.edits e, sync.due d where d.run_group = 'edits'`,
        );
        return seen !== 'false';
      });
      stage.emulator.clearRequests();
      sent.take();
      const before = connected;
      // A push may leave at once.
      await stage.sql(
        `update sync.due set started_at = started_at - interval '1 hour' where run_group = 'edits';
         update mirror.users set phone = '1555018${turn}' where id = ${user?.id}`,
      );
      await eventually(
        'the run is over',
        async () => (await stage.runs(`groups = '{edits}' and outcome = 'complete'`)) === turn,
      );
      await eventually('what it saw is noted', async () => {
        const [[seen] = []] = await stage.sql(
          `select bool_and(pg_visible_in_snapshot(e.xid, d.mark)) from sync.edits e, sync.due d where d.run_group = 'edits'`,
        );
        return seen === 'true';
      });
      const connections = connected - before;
      // Whether it asks before its turn if a push may leave depends on how long ago the last one left.
      const all = sent.take();
      const turnAt = all.findIndex((text) => text.includes('run_group as "group"')) - 1;
      return { connections, requests: stage.emulator.requests.length, ...tally(all.slice(turnAt)) };
    };
    let connected = 0;
    const onConnected = () => {
      connected += 1;
    };
    subscribe('undici:client:connected', onConnected);
    try {
      // The first one reads the team, which the run before has not parsed.
      expect(await edit(1)).toMatchObject({ requests: 4 });
      // A daemon looks at what is due by its schedules from time to time, whoever is edited.
      const edits = [await edit(2), await edit(3), await edit(4)];
      const [least] = edits.toSorted((one, other) => one.statements - other.statements);
      expect(least).toMatchObject({ requests: 3, statements: 55, transactions: 15, leaseWrites: 2 });
      // A run goes on with the connections of the one before.
      expect(Math.min(...edits.map(({ connections }) => connections))).toBe(0);
    } finally {
      unsubscribe('undici:client:connected', onConnected);
      stop.abort();
      await ended;
    }
  });

  it('sends a fixed number of additional SQL statements for each further batch of edited users', async () => {
    const emailOf = (turn: number) => `'turn${turn}.' || id || '@example.com'`;
    const guard = { ...stage.config.guard, maxRows: 500, maxShare: 1 };
    const run = () => runReconcile(db, { ...stage.config, guard }, 'reconcile', { log, groups: ['users'] });
    const push = async (turn: number, users: number) => {
      // Until nobody is to be looked at but those who are edited.
      for (let before = 0; before < 3; before += 1) await run();
      await stage.sql(
        `update mirror.users set email = ${emailOf(turn)} where id in
           (select id from mirror.users where email is not null and resolved order by id limit ${users})`,
      );
      stage.emulator.clearRequests();
      sent.take();
      expect(await run()).toMatchObject({ outcome: 'complete', counts: { pushed: users } });
      const { statements, transactions } = tally(unrenewed(sent.take()));
      return { requests: stage.emulator.requests.length, statements, transactions };
    };
    const one = await push(1, 125);
    const three = await push(2, 325);
    const ofEight = (what: keyof typeof one) => three[what] - one[what];
    expect([ofEight('requests'), ofEight('statements'), ofEight('transactions')]).toEqual([
      8 * 2,
      8 * 20,
      8 * 5,
    ]);
  });

  it('does not change the team row of the mirror if the run reuses the team answer of an earlier run', async () => {
    const nameOf = () => stage.sql('select name, raw::text from mirror.teams');
    const before = await nameOf();
    const team = {
      id: BigInt(stage.emulator.team.id),
      name: 'An earlier name',
      listSize: null,
      members: [],
      rejected: [],
      raw: {},
    };
    const teamMemory = { recall: () => team, keep: () => undefined };
    await runReconcile(db, stage.config, 'daemon', { log, groups: ['edits'], teamMemory });
    expect(await nameOf()).toEqual(before);
  });
});

/** What the program sends to Postgres where people work with a team of which nothing is as in another. */
async function textsOf(team: { readonly teamId: number; readonly seed: number; readonly digit: number }) {
  const { teamId, seed, digit } = team;
  const stage = await createStage({
    emulator: { users: 20, tags: 5, fields: 3, teamId, seed, name: `Team ${seed}`, contacts: seed },
  });
  const sent = await countStatements(stage.url);
  const db = createDatabase({ url: sent.url, applicationName: 'musterd test' });
  const environment = { ...stage.emulator.environment, DATABASE_URL: sent.url, MUSTERD__team: `t${seed}` };
  const [one = 0, two = 0] = stage.emulator.team.users().map(({ id }) => id);
  const musterd = async (...args: readonly string[]) => {
    const { code, stderr } = await runMusterd(args, environment);
    if (![0, 3].includes(code)) throw new Error(`musterd ${args.join(' ')} ended with ${code}: ${stderr}`);
  };
  try {
    await musterd('reconcile');
    stage.emulator.team.editUser(one, { phone: `1555010${digit}`, first: `Ada${seed}` });
    await musterd('reconcile');
    await stage.sql(`update mirror.users set phone = '1555020${digit}' where id in (${one}, ${two})`);
    stage.emulator.team.editUser(two, { phone: `1555030${digit}` });
    await stage.sql(
      `insert into mirror.user_lookups (team_id, email) values (${teamId}, 'of${seed}@example.com')`,
    );
    for (const args of [
      ['plan'],
      ['reconcile'],
      ['held'],
      ['why', String(two)],
      [
        'resolve',
        String(two),
        'phone',
        '--take',
        'mirror',
        '--if',
        `1555020${digit}`,
        '--reason',
        `says ${seed}`,
      ],
      ['reconcile'],
      ['changes', '--since', `${digit}d`],
      ['hold', String(one), 'email', '--until', `${digit}h`, '--reason', `as ${seed}`],
      ['reconcile'],
      ['status'],
      ['verify'],
      ['export', 'users', '--format', 'csv'],
    ])
      await musterd(...args);
    await prune(db, `t${seed}`, { changes: digit, edits: digit, runs: digit, counts: digit });
    return new Set(sent.take());
  } finally {
    await db.close();
    await sent.close();
    await stage.close();
  }
}

it('musterd sends values as parameters, never in the text of a statement', async () => {
  const [one, other] = [
    await textsOf({ teamId: 501, seed: 7, digit: 1 }),
    await textsOf({ teamId: 90_210, seed: 8_642, digit: 9 }),
  ];
  expect([...one].filter((text) => !other.has(text))).toEqual([]);
  expect([...other].filter((text) => !one.has(text))).toEqual([]);
  expect(one.size).toBeGreaterThan(50);
});
