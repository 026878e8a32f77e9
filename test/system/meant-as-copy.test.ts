import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLog } from '../../src/log.ts';
import { createDatabase } from '../../src/mirror/db/database.ts';
import type { WritingContext } from '../../src/reconcile/apply-users.ts';
import { withRun } from '../../src/runs/sync/with-run.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { ownFolder } from './own-folder.ts';
import { copyDatabase, createService, type MirrorAt, mirrorAt } from './mirror-at.ts';
import { configFor } from './stage.ts';

let service: Awaited<ReturnType<typeof createService>>;
let home: MirrorAt;
let copy: MirrorAt;
const folder = ownFolder();
const databases: TestDatabase[] = [];
/** One whose field is held, one who waits in a batch, one who is edited in the copy. */
let [held, waiting, edited]: readonly number[] = [];
let batch = '';
let undoable = '';
const roster = join(folder, 'roster.csv');

const writes = () =>
  service.emulator.requests
    .filter(({ method, path }) => path === '/v1/users/update' || (method === 'POST' && path === '/v1/tag'))
    .map(({ path }) => path);

beforeAll(async () => {
  service = await createService();
  const at = (database: TestDatabase) => {
    databases.push(database);
    return mirrorAt(
      service.emulator,
      { DATABASE_URL: database.url },
      { MUSTERD__guard__maxRoleChanges: '0' },
    );
  };
  const original = await createTestDatabase();
  home = at(original);
  expect((await home.musterd('reconcile')).code).toBe(0);
  [held, waiting, edited] = [...service.users];
  const [other] = service.emulator.team.users().filter(({ id }) => id === edited);
  await home.edit(edited ?? 0, 'before@example.com');
  expect((await home.musterd('reconcile')).code).toBe(0);
  undoable = String((await home.sql('select max(run_id) from sync.runs'))[0]?.[0]);
  // Both sides change one; the other waits for a review.
  await home.edit(held ?? 0, 'mine@example.com');
  service.emulator.team.editUser(held ?? 0, { email: 'theirs@example.com' });
  await home.edit(waiting ?? 0, 'review@example.com');
  const reviewing = mirrorAt(
    service.emulator,
    { DATABASE_URL: home.environment['DATABASE_URL'] ?? '' },
    { MUSTERD__push__approve: 'always' },
  );
  expect((await reviewing.musterd('reconcile')).code).toBe(3);
  batch = String((await home.sql('select batch from report.held where batch is not null'))[0]?.[0]);
  expect(batch).toMatch(/^[0-9a-f]{12}$/);
  copy = at(await copyDatabase(original.url));
  writeFileSync(roster, `id,phone\n${other?.id ?? 0},+15550177\n`);
});
afterAll(async () => {
  for (const database of databases) await database.close();
  await service.emulator.close();
});

/** All by which a person decides, or has something sent. */
const decisions = (): Readonly<Record<string, readonly string[]>> => ({
  approve: ['approve', batch, '--reason', 'x'],
  reject: ['reject', batch, '--reason', 'x'],
  resolve: ['resolve', String(held), 'email', '--take', 'mirror', '--if', 'mine@example.com'],
  hold: ['hold', String(edited), 'email', '--until', '2h', '--reason', 'x'],
  'hold --end': ['hold', String(edited), '--end'],
  import: ['import', roster, '--yes'],
  undo: ['undo', undoable, '--apply', '--reason', 'x'],
  resync: ['resync', '--adopt-service', '--apply'],
  api: ['api', 'POST', '/v1/tag', '--field', 'tag=from a copy'],
  'check --write-probe': ['check', '--write-probe', String(edited)],
});

/** Everything of it that a decision changes. */
const decided = () =>
  copy.sql(
    `select (select jsonb_agg(h order by user_id, field) from sync.held_fields h) as held,
       (select jsonb_agg(jsonb_build_array(id, email, phone, first_name) order by id) from mirror.users) as users,
       (select count(*) from sync.runs) as runs,
       (select count(*) from sync.changes where kind in ('approve', 'reject', 'resolve', 'push')) as decisions`,
  );

async function expectRefused(words: string): Promise<void> {
  const before = await decided();
  const updates = writes().length;
  for (const [name, args] of Object.entries(decisions())) {
    const { code, stderr } = await copy.musterd(...args);
    expect({ name, code, stderr }).toEqual({
      name,
      code: 3,
      stderr: expect.stringContaining(words) as string,
    });
    expect(stderr).toContain('musterd adopt --reason …');
  }
  for (const call of [`sync.approve('${batch}')`, `sync.reject('${batch}')`])
    await expect(copy.sql(`select * from ${call}`)).rejects.toMatchObject({ code: '55000' });
  expect(await decided()).toEqual(before);
  expect(writes()).toHaveLength(updates);
}

/** What only reads goes on as at home, with the codes that it ends with there. */
async function expectReadable(): Promise<void> {
  const reading: readonly (readonly [code: number, ...args: readonly string[]])[] = [
    [3, 'plan'],
    [0, 'held'],
    [0, 'why', String(edited)],
    [0, 'undo', undoable],
    [0, 'resync', '--adopt-service'],
    [0, 'import', roster, '--dry-run'],
    [0, 'api', 'GET', '/v1/team'],
    [0, 'api', 'POST', '/v1/tags', '--paginate'],
    [0, 'export'],
    [0, 'status'],
  ];
  for (const [expected, ...args] of reading) {
    const [code, codeAtHome] = [(await copy.musterd(...args)).code, (await home.musterd(...args)).code];
    expect({ args, code, codeAtHome }).toEqual({ args, code: expected, codeAtHome: expected });
  }
}

describe('a copied mirror before "musterd adopt"', () => {
  beforeAll(async () => {
    await copy.edit(edited ?? 0, 'edited@example.com');
  });

  it('refuses every command that decides or sends with exit code 3, and sends nothing', async () => {
    await expectRefused('is at localhost:');
  });

  it('runs every reading command with the same exit code as the original mirror', async () => {
    expect((await copy.musterd('why', String(edited))).stderr).toContain('nothing is sent from here');
    await expectReadable();
    expect((await copy.musterd('reconcile')).code).toBe(3);
  });
});

describe('a copied mirror after "musterd adopt --as-copy"', () => {
  beforeAll(async () => {
    const said = await copy.musterd('adopt', '--as-copy', '--reason', 'staging', '--as', 'kim', '--yes');
    expect(said).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^This is a copy, said by kim at .*: staging; it reads, and sends nothing\.\n$/,
      ) as string,
    });
  });

  it('rejects an update that a run tries to send, and sends nothing', async () => {
    const updates = writes().length;
    const url = copy.environment['DATABASE_URL'] ?? '';
    const db = createDatabase({ url, applicationName: 'musterd test' });
    const kind = {
      config: configFor(service.emulator.environment),
      command: 'reconcile',
      groups: [],
    } as const;
    const send = ({ service: client }: WritingContext) =>
      client.updateUsers(new Map([[BigInt(edited ?? 0), { phone: '15550199' }]]));
    await expect(withRun(db, kind, { log: createLog({ level: 'silent' }) }, send)).rejects.toThrow(/read/);
    await db.close();
    expect(writes()).toHaveLength(updates);
  });

  it('musterd reconcile pulls changes, sends nothing, and exits with 0 (D19)', async () => {
    const updates = writes().length;
    const changed = service.emulator.team.users().at(-1)?.id ?? 0;
    service.emulator.team.editUser(changed, { phone: '15550123' });
    const { code, said } = await copy.json('reconcile');
    expect({ code, said }).toMatchObject({
      code: 0,
      said: { outcome: 'complete', place: 'copy', batch: expect.anything() as string },
    });
    expect(said['warnings']).toEqual([expect.stringContaining('this is a copy, said by kim')]);
    expect(await copy.sql(`select phone from mirror.users where id = ${changed}`)).toEqual([['15550123']]);
    expect(writes()).toHaveLength(updates);
    expect((await copy.musterd('status')).stdout).toMatch(/^place +this is a copy, said by kim/m);
    const check = await copy.musterd('check');
    expect({ code: check.code, stdout: check.stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^note\tplace\tthis is a copy, said by kim/m) as string,
    });
  });

  it('musterd reconcile exits with 0 and sends nothing if the guard holds a batch', async () => {
    await copy.sql(`update mirror.users set phone = '1555' || (1000000 + id % 1000000) where id <> ${held}`);
    const updates = writes().length;
    for (const turn of [1, 2]) {
      const { code, said } = await copy.json('reconcile');
      expect({ turn, code, said }).toMatchObject({
        turn,
        code: 0,
        said: { outcome: 'complete', place: 'copy' },
      });
    }
    expect(writes()).toHaveLength(updates);
    expect(await copy.sql(`select count(*) > 20 from report.held where reason = 'limit'`)).toEqual([[true]]);
  });

  it('refuses every decision, by command and in SQL, and says that the mirror is a copy', async () => {
    await expectRefused('Nothing can be decided or sent in a copy');
    await expect(copy.sql(`select * from sync.approve('${batch}')`)).rejects.toThrow(
      'Nothing can be decided in a copy: edits approved here would not be sent',
    );
  });

  it('sends approved edits once "musterd adopt" has made the copy the original', async () => {
    expect((await copy.musterd('adopt', '--reason', 'it takes over', '--yes')).code).toBe(0);
    // The conflict of the batch is not decided by that.
    expect((await copy.musterd('approve', batch, '--reason', 'x')).code).toBe(3);
    const run = await copy.musterd('reconcile');
    expect(run.code).toBe(3);
    expect(service.emailOf(waiting ?? 0)).toBe('review@example.com');
  });
});
