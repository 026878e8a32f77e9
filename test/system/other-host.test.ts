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
  const dump = () =>
    stage.sql(`set timezone to utc; set datestyle to iso;
      select 'u', u.xmin::text, u::text from mirror.users u union all
      select 'b', b.xmin::text, b::text from sync.user_base b union all
      select 't', t.xmin::text, t::text from mirror.tags t union all
      select 'f', f.xmin::text, f::text from mirror.contact_fields f order by 1, 3`);

  it('writes to neither side if only time zone, date style or language of the host differ (O10)', async () => {
    const [first, ...others] = places;
    if (first === undefined) throw new Error('no place');
    await runAt(first);
    const before = await dump();
    expect(before.length).toBeGreaterThan(90);
    stage.emulator.clearRequests();
    for (const place of others) {
      const { counts } = await runAt(place);
      expect(counts).not.toHaveProperty('pulled');
      expect(counts).not.toHaveProperty('tags_changed');
      expect(await dump()).toEqual(before);
    }
    expect(stage.updates()).toEqual([]);
  });

  it('pulls a change with its exact time, and pushes an edit, in every time zone and language (O10)', async () => {
    const [edited, pushed] = stage.emulator.team.users().filter(({ email }) => email !== null);
    for (const [index, place] of places.slice(1).entries()) {
      const { user, phone } = { user: edited?.id ?? 0, phone: `1555010${index}` };
      const { userUpdated } = stage.emulator.team.editUser(user, { phone });
      await stage.sql(
        `update mirror.users set email = 'Istanbul${index}I@example.com' where id = ${pushed?.id}`,
      );
      stage.emulator.clearRequests();
      await runAt(place);
      expect(stage.updates()).toEqual([{ id: pushed?.id, email: `Istanbul${index}I@example.com` }]);
      expect(
        await stage.sql(
          `select phone, floor(extract(epoch from user_updated_at) * 1000)::text as ms from mirror.users where id = ${user}`,
        ),
      ).toEqual([[phone, String(userUpdated.ms)]]);
    }
  });
});
