import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/checkout.ts';
import { createTeams, editsOfEachKind, type Team } from './people.ts';

const teams = createTeams();
afterAll(() => teams.close());

/** `reject`, `resolve` and `undo` take back what was decided. */
describe('a decision that is taken back', () => {
  let team: Team;
  afterEach(() => team.close());

  const musterd = async (...args: readonly string[]) => await team.musterd(...args, '--as', 'carol');
  const done = async (...args: readonly string[]) =>
    expect(await musterd(...args)).toMatchObject({ code: 0 });
  const sent = async () => {
    await team.run();
    const all = team.updates();
    team.emulator.clearRequests();
    return all;
  };
  /** What became of each decision about it, the first one first. */
  const became = (id: number) =>
    team.sql(`select decision, state from report.decisions where user_id = ${id} order by change_id`);
  const rejected = (id: number, field: string) =>
    team.sql(`select state from report.held where user_id = ${id} and field = '${field}'`);
  /** The edits of bob that wait in one batch. */
  const openBatch = async (count: number, ...given: Parameters<typeof teams.open>) => {
    team = await teams.open(...given);
    const ids = team.ids.slice(0, count);
    await team.bob.sql(
      `update mirror.users set email = 'ada' || id || '@example.com' where id = any ('{${ids.join(',')}}')`,
    );
    await team.run();
    return { ids, batch: await team.batchOf(ids[0] ?? 0) };
  };

  it.each(editsOfEachKind)(
    'sends no $field that was approved and then rejected, until somebody else resolves it',
    async ({ field, values, words, sent: as }) => {
      team = await teams.open();
      const [id = 0] = team.ids;
      await team.bob.edit(id, values);
      await team.run();
      const batch = await team.batchOf(id, field);
      await done('approve', batch);
      await done('reject', batch);
      expect([await sent(), await sent(), await rejected(id, field)]).toEqual([[], [], [['rejected']]]);
      const take = ['resolve', String(id), field, '--take', 'mirror', '--if', words] as const;
      expect((await team.musterd(...take, '--as', team.bob.role)).code).toBe(64);
      await done(...take);
      expect(await sent()).toEqual([{ id, ...as }]);
      expect(await became(id)).toEqual([
        ['approve', 'confirmed'],
        ['reject', 'confirmed'],
        ['resolve', 'confirmed'],
      ]);
    },
  );

  it('resolves a whole rejected batch', async () => {
    const { ids, batch } = await openBatch(2);
    await done('reject', batch);
    expect(await sent()).toEqual([]);
    expect((await team.musterd('resolve', '--batch', batch, '--take', 'mirror', '--as', 'x')).code).toBe(0);
    expect((await sent()).map(({ id }) => id)).toEqual(ids);
  });

  it.each([
    ['not answered and is not there', async () => {}],
    ['not sent', () => team.sql(`update sync.changes set sent_at = null where state = 'open'`)],
  ])('sends nothing again that was rejected on its way and was %s', async (_, become) => {
    const { ids, batch } = await openBatch(1);
    await done('approve', batch);
    team.emulator.addFault({ kind: 'reset-before', path: '/v1/users/update' });
    await team.run();
    await become();
    expect((await musterd('reject', batch)).code).toBe(3);
    team.emulator.clearRequests();
    expect([await sent(), await sent()]).toEqual([[], []]);
    expect(await rejected(ids[0] ?? 0, 'email')).toEqual([['rejected']]);
  });
  const lastRun = async (command: string) =>
    String((await team.sql(`select max(run_id) from sync.runs where command = '${command}'`))[0]?.[0]);

  it('rejects an import with a reason before it is sent', async () => {
    using folder = temporaryFolder();
    team = await teams.open({ push: { fourEyes: false } });
    const [id = 0] = team.ids;
    const file = join(folder.path, 'people.csv');
    writeFileSync(file, `id,phone\n${id},+15550177\n`);
    await done('import', file, '--yes', '--reason', 'the file of May');
    const [[batch = ''] = []] = await team.sql(`select batch from report.decisions where user_id = ${id}`);
    await done('reject', batch);
    expect([await sent(), await rejected(id, 'phone')]).toEqual([[], [['rejected']]]);
  });

  it.each([
    ['waits for somebody else to agree', true, 0],
    ['is sent where no other eyes are asked for', false, 1],
  ])('sets back what has arrived by the run that sent it, which %s', async (_, fourEyes, requests) => {
    const { ids, batch } = await openBatch(1, { push: { fourEyes } });
    const [id = 0] = ids;
    const before = team.emulator.team.user(id).email;
    await done('approve', batch);
    expect(await sent()).toHaveLength(1);
    await done('undo', await lastRun('reconcile'), '--apply', '--reason', 'wrong list');
    expect(await team.sql(`select email from mirror.users where id = ${id}`)).toEqual([[before]]);
    expect([(await sent()).length, (await team.held()).length]).toEqual([requests, 1 - requests]);
  });
});
