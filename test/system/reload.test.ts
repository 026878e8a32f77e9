import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type DaemonHere, startDaemon } from './daemon-here.ts';
import { ownFolder } from './own-folder.ts';
import { createStage, type Stage } from './stage.ts';

/** One after the other, to one daemon. */
describe('a daemon that gets SIGHUP', () => {
  let stage: Stage;
  let daemon: DaemonHere;
  const file = join(ownFolder(), 'musterd.yaml');
  const names = ['north', 'south', 'west'];

  beforeAll(async () => {
    stage = await createStage({
      emulator: { users: 8, tags: 1, fields: 1, teams: [{ seed: 2 }, { seed: 3 }] },
    });
    write(settings(['north', 'south']));
    daemon = startDaemon({ DATABASE_URL: stage.url }, file);
    await eventually('both teams have had their first run', async () => (await done('users')).length === 2);
  });
  afterAll(async () => {
    await daemon.stop();
    await stage.close();
  });

  const write = (text: string) => writeFileSync(file, text, { mode: 0o600 });
  const settings = (teams: readonly string[], more: object = {}) =>
    JSON.stringify({
      service: { baseUrl: stage.emulator.url },
      rate: { perMinute: 100_000 },
      teams: Object.fromEntries(
        teams.map((name) => {
          const environment = stage.emulator.teams[names.indexOf(name)]?.environment ?? {};
          const { MUSTERD_SECRET_ID: secretId, MUSTERD_SECRET_KEY: secretKey } = environment;
          return [name, { service: { secretId, secretKey } }];
        }),
      ),
      ...more,
    });
  const done = async (group: string) =>
    (
      await stage.sql(
        `select distinct team from sync.runs where '${group}' = any (groups) and outcome = 'complete' order by 1`,
      )
    ).flat();
  const hangUp = async (says: string) => {
    const before = daemon.log().length;
    process.kill(process.pid, 'SIGHUP');
    await eventually(`it says "${says}"`, () => daemon.log().slice(before).includes(says));
    return daemon.log().slice(before);
  };
  const edit = (teamId: number, email: string) =>
    stage.sql(
      `update mirror.users set email = '${email}' where (team_id, id) =
         (select team_id, min(id) from mirror.users where team_id = ${teamId} and email is not null group by 1)`,
    );
  const has = (at: number, email: string) =>
    stage.emulator.teams[at]?.users().some((user) => user.email === email) === true;
  const idOf = async (name: string) =>
    Number((await stage.sql(`select team_id from sync.teams where team = '${name}'`))[0]?.[0]);

  it('starts an added team, stops a removed team, and logs which setting needs a restart', async () => {
    write(settings(['north', 'west'], { daemon: { concurrency: 2 } }));
    const said = await hangUp('settings read again');
    expect(said).toContain('"added":["west"]');
    expect(said).toContain('"removed":["south"]');
    await eventually('the new team has had its first run', async () =>
      (await done('users')).includes('west'),
    );
    await eventually('the restart is told of', () =>
      daemon.log().includes('"settings":["daemon.concurrency"]'),
    );
    // The first edit that it hears of: a team whose key is unknown is looked up every five seconds at most.
    await edit(await idOf('west'), 'new-team@example.com');
    await eventually('the new team’s edit is on the service', () => has(2, 'new-team@example.com'));
    // Edits of the team that was left out stay where they are; the others' are on their way at once.
    await edit(await idOf('south'), 'left-out@example.com');
    await edit(await idOf('west'), 'again@example.com');
    await eventually('its next edit is there too', () => has(2, 'again@example.com'));
    expect(has(1, 'left-out@example.com')).toBe(false);
  });

  it('keeps the old settings and logs the invalid setting if the file has a wrong value (R10)', async () => {
    write('{"teams":{"north":{"push":{"batchSize":0}}}}');
    const said = await hangUp('the new settings were not applied: the old ones stay in effect');
    expect(said).toContain('teams.north.push.batchSize');
    await edit(await idOf('north'), 'still-here@example.com');
    await eventually('the old team goes on', () => has(0, 'still-here@example.com'));
  });

  it('keeps all old settings if the database fails, and applies the new settings at the next SIGHUP', async () => {
    write(settings(['north', 'south']));
    await stage.sql('alter table sync.due rename to due_away');
    await hangUp('the new settings were not applied: the old ones stay in effect');
    await stage.sql('alter table sync.due_away rename to due');
    await edit(await idOf('west'), 'west@example.com');
    await eventually('the old team goes on', () => has(2, 'west@example.com'));
    expect(has(1, 'left-out@example.com')).toBe(false);
    await hangUp('settings read again');
    await eventually('the other team is there again', () => has(1, 'left-out@example.com'));
  });
});
