/** push.fourEyes and phones.country, as the database keeps them for SQL: which commands may allow more, and which only less. */
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { readKnownTeam } from '../../src/mirror/team/known-team.ts';
import { pinTeam, readFourEyes } from '../../src/mirror/team/pinned-teams.ts';
import { actAs } from '../../src/runs/four-eyes.ts';
import { keepSettings } from '../../src/runs/keep-settings.ts';
import { createTestDatabase } from '../support/database.ts';
import { useDatabase } from '../support/use-database.ts';

const configOf = (fourEyes: boolean) => configSchema.parse({ team: 'north', push: { fourEyes } });

describe('push.fourEyes as stored in sync.teams', () => {
  const database = useDatabase();
  const kept = (team = 'north') => readFourEyes(database.db.kysely, team);
  /** As a run does at its beginning, and as a command does that decides or edits. */
  const run = async (command: string, fourEyes: boolean) => {
    const known = await readKnownTeam(database.db.kysely, 'north');
    await keepSettings(database.db, { config: configOf(fourEyes), command }, known);
    return known;
  };
  const act = (fourEyes: boolean) =>
    database.db.transaction((tx) => actAs(tx, configOf(fourEyes), 'anna')).then((acting) => acting.fourEyes);

  beforeAll(() => pinTeam(database.db, 'south', 42n));
  beforeEach(async () => {
    await runSqlText(database.db, `delete from sync.teams where team = 'north'`);
    await pinTeam(database.db, 'north', 41n);
  });

  it.each([
    ['reconcile', [false, true, false]],
    ['daemon', [false, true, false]],
    ['resync', [false, true, true]],
  ] as const)(
    'a run stores the setting, and only a resync never turns it off: %s with off, on, off stores %j',
    async (command, left) => {
      const seen: (boolean | null)[] = [];
      for (const wanted of [false, true, false]) {
        await run(command, wanted);
        seen.push(await kept());
      }
      expect([seen, await kept('south')]).toEqual([left, false]);
    },
  );

  it('a command that decides or edits can turn the stored setting on, but not off', async () => {
    const stored = [await act(false), await act(true), await act(false), await kept()];
    expect(stored).toEqual([false, true, true, true]);
  });

  it('a command obeys push.fourEyes, but stores the setting only for a team that has had a run', async () => {
    await runSqlText(database.db, `delete from sync.teams where team = 'north'`);
    expect([await act(true), await kept()]).toEqual([true, null]);
    expect((await readKnownTeam(database.db.kysely, 'north')).fourEyes).toBe(false);
  });

  it('a run writes only a setting that differs from what it has read', async () => {
    const version = async () =>
      (await runSqlText(database.db, `select xmin::text from sync.teams where team = 'north'`)).rows;
    const before = await version();
    await run('reconcile', false);
    await act(false);
    expect(await version()).toEqual(before);
    const known = await run('reconcile', true);
    expect(await version()).not.toEqual(before);
    const config = configSchema.parse({ team: 'north', phones: { country: '49' } });
    await keepSettings(database.db, { config, command: 'daemon' }, known);
    expect(await kept()).toBe(true);
  });
});

describe('phones.country as stored in sync.teams', () => {
  it('makes SQL refuse a phone that begins with neither "+" nor the country code, until a reconcile or daemon run drops the setting', async () => {
    const database = await createTestDatabase();
    onTestFinished(() => database.close());
    await pinTeam(database.db, 'north', 41n);
    await runSqlText(
      database.db,
      `begin; set local musterd.writing = 'on'; insert into mirror.users (team_id, id, name, first_name, last_name, phone, resolved)
         values (41, 1, 'Ada Berg', 'Ada', 'Berg', '4315123450148', true); commit`,
    );
    const set = (phone: string, writing = '') =>
      runSqlText(
        database.db,
        `select set_config('musterd.writing', '${writing}', true); update mirror.users set phone = '${phone}'`,
      ).then(
        () => 'taken',
        (error: unknown) => JSON.stringify([String(error), error]),
      );
    const run = async (command: string, country?: number) => {
      const known = await readKnownTeam(database.db.kysely, 'north');
      const config = configSchema.parse({ team: 'north', phones: country === undefined ? {} : { country } });
      await keepSettings(database.db, { config, command }, known);
    };
    expect(await set('15123450148')).toBe('taken');
    await run('reconcile', 49);
    const refused = expect.stringMatching(
      /E\.164 form.* begin with 49 here \(phones\.country of the settings\)/s,
    ) as string;
    expect(await set('1512345014')).toEqual(refused);
    expect(await set('+1512345014')).toBe('taken');
    expect(await set('491512345014')).toBe('taken');
    expect(await set('431512345014', 'off')).toBe('taken');
    await run('resync');
    expect(await set('1512345014')).toEqual(refused);
    await run('daemon');
    expect(await set('1512345014')).toBe('taken');
  });
});
