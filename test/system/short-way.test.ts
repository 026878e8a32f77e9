import { describe, expect, it } from 'vitest';
import { runReconcile } from '../../src/runs/sync/reconcile-team.ts';
import { createLog } from '../../src/log.ts';
import { useStages, type Stage } from './stage.ts';

const stages = useStages();
let stage: Stage;

async function open() {
  stage = await stages.open({ emulator: { users: 30, tags: 1, fields: 1 } });
  return stage.people();
}

/** A run of the edited users alone. */
const pushEdits = () =>
  runReconcile(stage.db, stage.config, 'daemon', { log: createLog({ level: 'silent' }), groups: ['edits'] });
const held = () => stage.sql('select user_id, field, reason, detail from report.held');
const having = (field: 'email' | 'phone', value: string) =>
  stage.emulator.team.users().flatMap((user) => (user[field] === value ? [user.id] : []));
const edit = (id: number | undefined, set: string) =>
  stage.sql(`update mirror.users set ${set} where id = ${id}`);
const mirrored = async (id: number | undefined, column: string) =>
  (await stage.sql(`select ${column} from mirror.users where id = ${id}`))[0]?.[0];

describe('a run of only the edited users', () => {
  it.each([
    ['phone', '15550177'],
    ['email', 'taken@example.com'],
  ] as const)(
    'holds a new %s until musterd resolve if the service has the same value for another user (O2)',
    async (field, value) => {
      const [one, two] = await open();
      const before = await mirrored(two?.id, field);
      stage.emulator.team.editUser(two?.id ?? 0, { [field]: value });
      await edit(one?.id, `${field} = '${value}'`);
      expect(await pushEdits()).toMatchObject({ outcome: 'complete', waiting: 1, counts: { users_read: 2 } });
      expect(having(field, value)).toEqual([two?.id]);
      expect(await held()).toEqual([
        [String(one?.id), field, 'limit', `user ${two?.id} has or will get the same ${field}`],
      ]);
      // Whoever was looked up for the brake's sake alone is left to the run that reads everybody.
      expect(await mirrored(two?.id, field)).toBe(before);
      const take = ['resolve', String(one?.id), field, '--take', 'mirror', '--if', value];
      expect(await stage.musterd(...take)).toMatchObject({ code: 0, stderr: '' });
      expect(await pushEdits()).toMatchObject({ outcome: 'complete', waiting: 0, counts: { pushed: 1 } });
      expect(having(field, value)).toEqual([one?.id, two?.id]);
    },
  );

  it('ends as partial if one row of the service cannot be read, and still sends the edit', async () => {
    const [one] = await open();
    stage.emulator.rewrite({ path: '/v1/users/get', times: 'always' }, (body) =>
      body.replace('"memberships":[', '"memberships":[{"name":"Nobody"},'),
    );
    await edit(one?.id, `email = 'free@example.com'`);
    const reasons = ['users: 1 rows could not be taken'];
    expect(await pushEdits()).toMatchObject({ outcome: 'partial', reasons, counts: { pushed: 1 } });
  });
});
