/** push.fourEyes, as the database keeps it for decisions in SQL: which commands may allow more, and which only less. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { readKnownTeam } from '../../src/mirror/team/known-team.ts';
import { pinTeam, readFourEyes } from '../../src/mirror/team/pinned-teams.ts';
import { actAs } from '../../src/runs/four-eyes.ts';
import { keepSettings } from '../../src/runs/keep-settings.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const configOf = (fourEyes: boolean) => configSchema.parse({ team: 'north', push: { fourEyes } });

describe('sync.teams.four_eyes', () => {
  let database: TestDatabase;
  const kept = (team = 'north') => readFourEyes(database.db.kysely, team);
  /** As a run does at its beginning, and as a command does that decides or edits. */
  const run = async (command: string, fourEyes: boolean) => {
    const known = await readKnownTeam(database.db.kysely, 'north');
    await keepSettings(database.db, { config: configOf(fourEyes), command }, known.fourEyes);
  };
  const act = (fourEyes: boolean) =>
    database.db.transaction((tx) => actAs(tx, configOf(fourEyes), 'anna')).then((acting) => acting.fourEyes);

  beforeAll(async () => {
    database = await createTestDatabase();
    await pinTeam(database.db, 'south', 42n);
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    await runSqlText(database.db, `delete from sync.teams where team = 'north'`);
    await pinTeam(database.db, 'north', 41n);
  });

  it.each([
    ['reconcile', [false, true, false]],
    ['daemon', [false, true, false]],
    ['resync', [false, true, true]],
  ] as const)('follows a run of %s: off, on and off again leave %j', async (command, left) => {
    const seen: (boolean | null)[] = [];
    for (const wanted of [false, true, false]) {
      await run(command, wanted);
      seen.push(await kept());
    }
    expect([seen, await kept('south')]).toEqual([left, false]);
  });

  it('is set by a command that decides or edits, never reset, and returned to it', async () => {
    expect([await act(false), await act(true), await act(false), await kept()]).toEqual([
      false,
      true,
      true,
      true,
    ]);
  });

  it('is not kept for a team that no run has seen: the settings alone say it', async () => {
    await runSqlText(database.db, `delete from sync.teams where team = 'north'`);
    expect([await act(true), await kept()]).toEqual([true, null]);
    expect((await readKnownTeam(database.db.kysely, 'north')).fourEyes).toBe(false);
  });

  it('is not written again if it is the same', async () => {
    const version = async () =>
      (await runSqlText(database.db, `select xmin::text from sync.teams where team = 'north'`)).rows;
    const before = await version();
    await run('reconcile', false);
    await act(false);
    expect(await version()).toEqual(before);
    await run('reconcile', true);
    expect(await version()).not.toEqual(before);
  });
});
