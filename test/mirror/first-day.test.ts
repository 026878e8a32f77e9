import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseFaults } from '../../src/emulator/faults/faults.ts';
import { ROOT } from '../support/checkout.ts';
import { createStage, type Stage } from '../system/stage.ts';

const cookbook = readFileSync(join(ROOT, 'docs', 'sql-cookbook.md'), 'utf8');
const [, whoJoined = ''] = /### 1\. Who joined[\s\S]*?```sql\n([^`]*)```/.exec(cookbook) ?? [];
/** Of all days: midnight may pass between two runs. */
const grown = 'select max(tags), sum(added) from report.tag_growth';

describe('on the first day of a mirror', () => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await createStage({ emulator: { users: 60, tags: 12, fields: 3 } });
  });
  afterEach(() => stage.close());
  const came = () => stage.sql(`select user_id from report.roster_changes where field = 'present'`);
  const joined = async () => (await stage.sql(whoJoined)).map(([, id]) => id);

  it('a user of the first run did not join, and a later user joined', async () => {
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

  it('nobody joined whom a failed first run missed', async () => {
    for (const fault of parseFaults(['reset-after,path=/v1/users/get,times=always']))
      stage.emulator.addFault(fault);
    const first = await stage.run().catch(() => undefined);
    expect(first?.outcome).not.toBe('complete');
    stage.emulator.clearFaults();
    expect((await stage.run()).outcome).toBe('complete');
    expect(await came()).toEqual([]);
  });

  it('a tag, field or role of the first run was not added, and a later tag was', async () => {
    await stage.run();
    const added = () =>
      stage.sql(`select resource, name from report.listing_history where kind = 'added' order by 1, 2`);
    const growth = () => stage.sql(grown);
    expect([await added(), await growth()]).toEqual([[], [['12', '0']]]);
    stage.emulator.team.addTag('Brand new');
    await stage.run();
    expect([await added(), await growth()]).toEqual([[['tags', 'Brand new']], [['13', '1']]]);
  });

  it('the first tag of a team without tags was added', async () => {
    const empty = await createStage({ emulator: { users: 5, tags: 0, fields: 0 } });
    await empty.run();
    empty.emulator.team.addTag('First');
    await empty.run();
    const added = `select resource, name from report.listing_history where kind = 'added' and resource = 'tags'`;
    expect([await empty.sql(added), await empty.sql(grown)]).toEqual([[['tags', 'First']], [['1', '1']]]);
    await empty.close();
  });
});
