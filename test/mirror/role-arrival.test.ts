import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ExportRow, readPages } from '../../src/mirror/tools/export-read.ts';
import { readTeamUsers } from '../../src/mirror/users/import-read.ts';
import type { RosterRow } from '../../src/page/read/page-people.ts';
import type { ListRead } from '../../src/page/list/list.ts';
import { people } from '../../src/page/list/people.ts';
import { readPerson } from '../../src/page/read/page-person.ts';
import { oldestServer } from '../support/servers.ts';
import { createStage, type Stage } from '../system/stage.ts';

describe.each([oldestServer()])('the role of a user in reports on $name', (server) => {
  let stage: Stage;
  let [member, admin] = ['', ''];
  let id = '';
  beforeAll(async () => {
    stage = await createStage({ server, emulator: { users: 20, tags: 0, fields: 0 } });
    await stage.run();
    [[id = '', member = ''] = []] = await stage.sql(
      `select user_id, role_id from report.roster where role = 'member' order by user_id limit 1`,
    );
    [[admin = ''] = []] = await stage.sql(`select role_id from report.roles where role = 'admin'`);
  });
  afterAll(() => stage.close());

  const edit = (role: string) => stage.sql(`update mirror.users set role_id = ${role} where id = ${id}`);
  const now = () => stage.sql(`select role_id, role, role_arrived from report.roster where user_id = ${id}`);
  const asOfNow = () =>
    stage.sql(`select role_id, role, role_arrived from report.roster_as_of(now()) where user_id = ${id}`);
  const history = () =>
    stage.sql(
      `select role_id, role, role_arrived from report.roster_history where user_id = ${id} order by valid_from`,
    );
  const promotions = () =>
    stage.sql(
      `select old_role, new_role, side, role_arrived from report.role_changes where user_id = ${id} order by changed_at`,
    );
  const exported = async (asOf?: string) => {
    const rows: ExportRow[] = [];
    await readPages(
      stage.db,
      41n,
      'users',
      (page) => {
        rows.push(...page);
        return Promise.resolve();
      },
      asOf,
    );
    return rows.filter((row) => String(row['id']) === id);
  };

  it('reports, page and export show an edited role, with role_arrived false before a run has sent the role', async () => {
    expect(await now()).toEqual([[member, 'member', 'true']]);
    await edit(admin);
    for (const read of [now, asOfNow]) expect(await read()).toEqual([[admin, 'admin', 'false']]);
    expect(await history()).toEqual([
      [member, 'member', 'true'],
      [admin, 'admin', 'false'],
    ]);
    expect(await promotions()).toEqual([['member', 'admin', 'mirror', 'false']]);
    // An edit of something else says nothing of the role.
    await stage.sql(`update mirror.users set phone = '15550100177' where id = ${id}`);
    for (const read of [now, asOfNow]) expect(await read()).toEqual([[admin, 'admin', 'false']]);
    const reader = { db: stage.db.kysely, teams: [], teamIds: [41n], now: new Date(), decider: null };
    const onPage = async (q: string) => {
      const asked = { params: {}, query: new URLSearchParams({ q }), details: true, isCsv: false };
      const read = (await people.read(reader, asked)) as ListRead<RosterRow>;
      return read.rows.find((row) => String(row.id) === id)?.role;
    };
    expect([await onPage(''), await onPage(id), (await readPerson(reader, id))?.row.role]).toEqual([
      'admin',
      'admin',
      'admin',
    ]);
    const file = [{ role: 'admin', role_id: BigInt(admin), role_arrived: false }];
    expect([await exported(), await exported('2999-01-01Z')]).toMatchObject([file, file]);
    // What is imported unchanged is compared with what was exported.
    const users = await readTeamUsers(stage.db.kysely, 41n);
    expect(users.find((user) => String(user.id) === id)?.mirror.role).toBe('admin');
  });

  it('role_changes shows role_arrived false for an edit that was taken back or replaced before a run', async () => {
    await edit(member);
    expect(await now()).toEqual([[member, 'member', 'true']]);
    await edit(admin);
    await edit('77');
    expect(await now()).toEqual([['77', '', 'false']]);
    expect(await promotions()).toEqual([
      ['member', 'admin', 'mirror', 'false'],
      ['admin', 'member', 'mirror', 'true'],
      ['member', 'admin', 'mirror', 'false'],
      ['admin', '', 'mirror', 'false'],
    ]);
    await edit(admin);
  });

  it('reports show role_arrived true once a run has sent the role, and false for the time before', async () => {
    const [[before = ''] = []] = await stage.sql('select clock_timestamp()::text');
    await stage.run();
    expect(stage.emulator.team.user(Number(id)).roleId).toBe(Number(admin));
    for (const read of [now, asOfNow]) expect(await read()).toEqual([[admin, 'admin', 'true']]);
    expect((await promotions()).map((row) => row[3])).toEqual(['false', 'true', 'false', 'false', 'true']);
    const then = `select role, role_arrived from report.roster_as_of('${before}') where user_id = ${id}`;
    expect(await stage.sql(then)).toEqual([['admin', 'false']]);
    await stage.run();
    expect((await now()).concat(await history()).at(-1)).toEqual([admin, 'admin', 'true']);
  });

  it('role_changes shows role_arrived false for an edited role that the service has overruled', async () => {
    const policy = { policy: { roleId: 'service-wins' } } as const;
    await edit(member);
    stage.emulator.team.editUser(Number(id), { roleId: 3 });
    await stage.run(policy);
    expect((await now())[0]?.filter((_, place) => place !== 1)).toEqual(['3', 'true']);
    expect((await promotions()).slice(-2).map(([, , side, arrived]) => [side, arrived])).toEqual([
      ['mirror', 'false'],
      ['service', 'true'],
    ]);
  });

  it('roster_as_of shows a role under the name that the role had at that time', async () => {
    const [[before = ''] = []] = await stage.sql('select clock_timestamp()::text');
    stage.emulator.rewrite({ path: '/v1/team', times: 'always' }, (text) =>
      text.replaceAll('"member"', '"colleague"'),
    );
    stage.emulator.team.rename('Another');
    await stage.run();
    const roles = (of: string) => stage.sql(`select distinct role from ${of} where role_id = ${member}`);
    expect(await roles('report.roster')).toEqual([['colleague']]);
    expect(await roles(`report.roster_as_of('${before}')`)).toEqual([['member']]);
    const open = `(select * from report.roster_history where valid_to = 'infinity') open`;
    expect(await roles(open)).toEqual([['colleague']]);
    const ended = `(select * from report.roster_history where valid_to < '${before}') ended`;
    expect(await roles(ended)).toEqual([['member']]);
    expect((await promotions())[0]).toEqual(['member', 'admin', 'mirror', 'false']);
  });
});
