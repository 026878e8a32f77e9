import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { spawnMusterd } from './run-musterd.ts';
import { createStage, type Stage } from './stage.ts';

/** O10: the machine of the program and the session of the database, each with a zone and a locale of its own. */
const places = [
  {
    environment: { TZ: 'UTC', LANG: 'C', LC_ALL: 'C' },
    session: { timezone: 'UTC', datestyle: 'ISO, MDY' },
  },
  {
    environment: { TZ: 'Asia/Kathmandu', LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8' },
    session: { timezone: 'Pacific/Apia', datestyle: 'ISO, DMY' },
  },
  {
    environment: { TZ: 'America/St_Johns', LANG: 'de_DE.UTF-8' },
    session: { timezone: 'Australia/Lord_Howe', datestyle: 'ISO, YMD' },
  },
];

describe('a mirror whose runs move to another host', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await createStage();
    await stage.run();
  });
  afterAll(() => stage.close());

  const runAt = async ({ environment, session }: (typeof places)[number]) => {
    for (const [name, value] of Object.entries(session)) {
      // For this database alone: the role is everybody's.
      await stage.sql(`do $$ begin
        execute format('alter role current_user in database %I set ${name} = %L', current_database(), '${value}');
      end $$`);
    }
    const { code, stdout } = await spawnMusterd(['reconcile', '--json'], {
      ...stage.emulator.environment,
      ...environment,
      DATABASE_URL: stage.url,
    });
    expect(code).toBe(0);
    return JSON.parse(stdout) as { readonly counts: Readonly<Record<string, number>> };
  };

  it('pulls one change with its exact time and pushes one edit in any time zone and language, and nothing else (O10)', async () => {
    const [edited, pushed] = stage.emulator.team.users().filter(({ email }) => email !== null);
    for (const [index, place] of places.entries()) {
      const { user, phone } = { user: edited?.id ?? 0, phone: `1555010${index}` };
      const { userUpdated } = stage.emulator.team.editUser(user, { phone });
      await stage.sql(
        `update mirror.users set email = 'Istanbul${index}I@example.com' where id = ${pushed?.id}`,
      );
      stage.emulator.clearRequests();
      const { counts } = await runAt(place);
      expect(counts).toMatchObject({ users_read: 30, pulled: 1, pushed: 1 });
      expect(counts).not.toHaveProperty('tags_changed');
      expect(stage.updates()).toEqual([{ id: pushed?.id, email: `Istanbul${index}I@example.com` }]);
      expect(
        await stage.sql(
          `select phone, floor(extract(epoch from user_updated_at) * 1000)::text as ms from mirror.users where id = ${user}`,
        ),
      ).toEqual([[phone, String(userUpdated.ms)]]);
    }
  });
});
