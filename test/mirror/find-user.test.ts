import { expect, it, onTestFinished } from 'vitest';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { findUsers } from '../../src/mirror/users/find-user.ts';
import { createTestDatabase } from '../support/database.ts';

it('finds a user by each of what is asked, as the mirror or the base has it', async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.close());
  await runSqlText(
    database.db,
    `begin; set local musterd.writing = 'on';
     insert into mirror.users (team_id, id, name, first_name, last_name, email, phone, resolved)
       values (41, 1, 'Ada  Berg', 'Ada', 'Berg', ' Ada@Example.com', '+1 (555) 01', true);
     insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone)
       values (41, 1, 'Old Name', 'Old', 'Name', 'old@example.com', '1 555 02'); commit`,
  );
  const nobody = { id: null, email: null, phone: null, name: null };
  const found = async (query: Partial<Parameters<typeof findUsers>[2]>) =>
    (await findUsers(database.db.kysely, 41n, { ...nobody, ...query })).map(({ id }) => id);
  for (const query of [
    { id: 1n },
    { email: 'ada@example.com' },
    { email: 'old@example.com' },
    { phone: '155501' },
    { phone: '155502' },
    { name: 'ADA BERG' },
    { name: 'old NAME' },
  ])
    expect([query, await found(query)]).toEqual([query, [1n]]);
  expect(await found({ phone: '155503' })).toEqual([]);
});
