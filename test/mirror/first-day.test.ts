import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseFaults } from '../../src/emulator/faults/faults.ts';
import { ROOT } from '../support/checkout.ts';
import { retryAtOnce } from '../support/retry-at-once.ts';
import { createStage, type Stage } from '../system/stage.ts';

const cookbook = readFileSync(join(ROOT, 'docs', 'sql-cookbook.md'), 'utf8');
const [, whoJoined = ''] = /### 1\. Who joined[\s\S]*?```sql\n([^`]*)```/.exec(cookbook) ?? [];

describe('new users on the first day of a mirror', () => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await createStage({ emulator: { users: 60, tags: 0, fields: 0 } });
  });
  afterEach(() => stage.close());
  const came = () => stage.sql(`select user_id from report.roster_changes where field = 'present'`);
  const joined = async () => (await stage.sql(whoJoined)).map(([, id]) => id);

  it('the cookbook’s query lists recently created users and users found after the first run, and no other users', async () => {
    await stage.run();
    expect(await came()).toEqual([]);
    expect(await joined()).toEqual([]);
    const created = (at: string, who: string) =>
      stage.sql(
        `begin; set local musterd.writing = 'on'; update mirror.users set created_at = ${at} where ${who}; commit`,
      );
    const [[recent = ''] = []] = await stage.sql('select min(id) from mirror.users');
    await created(`now() - interval '3 days'`, `id = ${recent}`);
    expect(await joined()).toEqual([recent]);
    const { id } = stage.emulator.team.addUser({
      first: 'New',
      last: 'User',
      email: 'new@example.com',
      roleId: 2,
    });
    await stage.run();
    expect(await came()).toEqual([[String(id)]]);
    // Of whom the service does not say when they joined, the run that saw them does; of those of the first run nothing does.
    await created('null', 'true');
    expect(await joined()).toEqual([String(id)]);
  });

  it('report.roster_changes does not list users as new if only a failed first run missed the users', async () => {
    retryAtOnce();
    for (const fault of parseFaults(['reset-after,path=/v1/users/get,times=always']))
      stage.emulator.addFault(fault);
    const first = await stage.run().catch(() => undefined);
    expect(first?.outcome).not.toBe('complete');
    stage.emulator.clearFaults();
    expect((await stage.run()).outcome).toBe('complete');
    expect(await came()).toEqual([]);
  });
});
