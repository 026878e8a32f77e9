/** The settings by which the database judges what people do in SQL: who may allow more, and who less. */
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { readKnownTeam } from '../../src/mirror/team/known-team.ts';
import { pinTeam, readKept } from '../../src/mirror/team/pinned-teams.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { createReport } from '../../src/runs/check/check-report.ts';
import { checkWrites } from '../../src/runs/check/check-writes.ts';
import { actAs } from '../../src/runs/four-eyes.ts';
import { keepSettings } from '../../src/runs/keep-settings.ts';
import { type KeptSettings, stricterOf } from '../../src/model/kept-settings.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const nothing = { tags: false, schedule: false, conversations: false, timezone: 'UTC' };
const everything = {
  tags: true,
  schedule: 'unattended',
  conversations: true,
  timezone: 'Europe/Berlin',
} as const;
const configOf = (write: object, fourEyes = false) =>
  configSchema.parse({ team: 'north', write, push: { fourEyes } });

describe('in the database', () => {
  let database: TestDatabase;
  const kept = () => readKept(database.db.kysely, 'north');
  /** As a run does at its beginning, and as a command does that decides or edits. */
  const run = async (command: string, write: object, fourEyes = false) => {
    const { kept: known } = await readKnownTeam(database.db.kysely, 'north');
    await keepSettings(database.db, { config: configOf(write, fourEyes), command }, known);
  };
  const act = (write: object, fourEyes = false) =>
    database.db.transaction((tx) => actAs(tx, configOf(write, fourEyes), 'anna'));

  beforeAll(async () => {
    database = await createTestDatabase();
    await pinTeam(database.db, 'south', 42n);
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    await runSqlText(database.db, `delete from sync.teams where team = 'north'`);
    await pinTeam(database.db, 'north', 41n);
  });

  it.each(['reconcile', 'daemon'])(
    '%s allows more and less, and leaves other teams alone',
    async (command) => {
      await run(command, everything, true);
      expect(await kept()).toEqual({ fourEyes: true, writes: everything });
      await run(command, nothing);
      expect(await kept()).toEqual({ fourEyes: false, writes: nothing });
      expect(await readKept(database.db.kysely, 'south')).toEqual({ fourEyes: false, writes: nothing });
    },
  );

  it('is what SQL goes by, setting by setting', async () => {
    await run('reconcile', everything, true);
    const { rows } = await runSqlText(
      database.db,
      `select writes, four_eyes from sync.teams where team = 'north'`,
    );
    expect(rows).toEqual([[everything, true]]);
  });

  it.each(['resync', 'apply'])('a run of %s allows less alone', async (command) => {
    await run(command, everything);
    expect((await kept())?.writes).toEqual({ ...nothing, timezone: 'Europe/Berlin' });
    await run('reconcile', everything);
    await run(command, nothing, true);
    expect(await kept()).toEqual({ fourEyes: true, writes: nothing });
  });

  it('a command that decides or edits allows less alone, and goes by what counts then', async () => {
    expect(await act(everything)).toEqual({
      fourEyes: false,
      writes: { ...nothing, timezone: 'Europe/Berlin' },
    });
    await run('reconcile', everything, true);
    expect(await act({ ...everything, schedule: true, tags: false })).toEqual(await kept());
    expect(await kept()).toEqual({ fourEyes: true, writes: { ...everything, schedule: true, tags: false } });
  });

  it('of a team that no run has seen nothing is kept', async () => {
    await runSqlText(database.db, `delete from sync.teams where team = 'north'`);
    expect([await act(everything, true), await kept()]).toEqual([null, null]);
    expect((await readKnownTeam(database.db.kysely, 'north')).kept).toEqual({
      fourEyes: false,
      writes: nothing,
    });
  });

  it('a run writes nothing of the team where it has the settings already', async () => {
    const version = async () =>
      (await runSqlText(database.db, `select xmin::text from sync.teams where team = 'north'`)).rows;
    const before = await version();
    await run('reconcile', {});
    await act({});
    expect(await version()).toEqual(before);
    await run('reconcile', everything);
    expect(await version()).not.toEqual(before);
  });
});

it('the stricter of two settings allows what both allow', () => {
  const flag = fc.boolean();
  const schedules = [false, true, 'unattended'] as const;
  const settings: fc.Arbitrary<KeptSettings> = fc.record({
    fourEyes: flag,
    writes: fc.record({
      tags: flag,
      schedule: fc.constantFrom(...schedules),
      conversations: flag,
      timezone: fc.constantFrom('UTC', 'Europe/Berlin'),
    }),
  });
  const allows = ({ fourEyes, writes }: KeptSettings) => [
    !fourEyes,
    writes.tags,
    ...schedules.slice(1).map((level) => schedules.indexOf(writes.schedule) >= schedules.indexOf(level)),
    writes.conversations,
  ];
  fc.assert(
    fc.property(settings, settings, (kept, wanted) => {
      const both = allows(kept).map((yes, at) => yes && allows(wanted)[at]);
      expect(allows(stricterOf(kept, wanted))).toEqual(both);
      expect(stricterOf(kept, wanted).writes.timezone).toBe(wanted.writes.timezone);
    }),
  );
});

it.each([
  [{}, 'ok', 'nothing but users'],
  [{ tags: true }, 'ok', 'users, and by SQL also tags, which nobody can rename or delete afterwards'],
  [
    { schedule: true, conversations: true },
    'ok',
    'users, and by SQL also messages, each of which waits until a person who did not write it approves it; that conversations were read',
  ],
  [
    { schedule: 'unattended' },
    'note',
    "users, and by SQL also messages, which go out without anybody's approval (write.schedule: unattended)",
  ],
])('check says of %j what may be written', (write, verdict, detail) => {
  const report = createReport();
  checkWrites(configOf(write), report);
  expect(report.findings).toEqual([{ check: 'may be written', verdict, detail }]);
});
