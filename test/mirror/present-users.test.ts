import { afterAll, beforeAll, expect, it } from 'vitest';
import { readPresentUsers } from '../../src/mirror/present-users.ts';
import { runSqlText } from '../../src/mirror/sql-text.ts';
import { canonicalEmail, canonicalPhone } from '../../src/model/canonical.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

/** By id, beginning with 1: what mirror and base have. A base of `null`: there is none. */
const people: readonly (readonly [
  mirror: readonly [email: string | null, phone: string | null, role: number | null],
  base: readonly [email: string | null, phone: string | null, role: number | null] | null,
])[] = [
  [
    ['new@example.com', '15550109', 4],
    ['Anne@Example.com', '+1 (555) 0100', 1],
  ],
  [['anne@example.com', '15550100', 1], null],
  [
    ['anne@example.com', '15550100', 1],
    [null, null, null],
  ],
  [
    ['b@example.com', null, 2],
    ['b@example.com', null, 2],
  ],
  [
    ['c@example.com', '15550101', 2],
    ['\u00a0anne@example.com', '15550101', 2],
  ],
  [
    ['d@example.com', '15550102', 2],
    ['\u00c4nne@example.com', '15550102', 2],
  ],
  [
    ['e@example.com', '15550103', 3],
    ['e@example.com', '15550103', 3],
  ],
];
const gone = 8n;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  const quoted = (value: string | number | null) => (value === null ? 'null' : `'${value}'`);
  for (const [index, [mirror, base]] of [...people, people[1] ?? [[null, null, null], null]].entries()) {
    const id = index + 1;
    const isGone = BigInt(id) === gone;
    await runSqlText(
      database.db,
      `set local musterd.writing = 'on';
       insert into mirror.users (team_id, id, name, first_name, last_name, email, phone, role_id, resolved, gone_at)
         select team, ${id}, 'Anne', 'Anne', '', ${mirror.map(quoted).join(', ')}, true, ${isGone ? 'now()' : 'null'} from unnest(array[41, 42]) team;
       ${base === null ? '' : `insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone, role_id) values (41, ${id}, 'Anne', 'Anne', '', ${base.map(quoted).join(', ')})`}`,
    );
  }
});
afterAll(() => database.close());

const read = async (concern: { emails?: string[]; phones?: string[]; roleIds?: bigint[] }) => {
  const found = await readPresentUsers(database.db.kysely, 41n, {
    emails: [],
    phones: [],
    roleIds: [],
    ...concern,
  });
  return found.toSorted((a, b) => Number(a.id - b.id));
};

it('are read where they have an address or a role of those that are asked for, by what was last agreed on', async () => {
  const ids = async (concern: Parameters<typeof read>[0]) =>
    (await read(concern)).map(({ id }) => Number(id));
  // The last two may have it: their letters are for the canonical form to judge.
  expect(await ids({ emails: [canonicalEmail(' ANNE@example.com ')] })).toEqual([1, 2, 5, 6]);
  expect(await ids({ phones: [canonicalPhone('+1 555 0100')] })).toEqual([1, 2]);
  expect(await ids({ roleIds: [1n] })).toEqual([1, 2]);
  expect(await ids({ phones: ['15550103'], roleIds: [1n] })).toEqual([1, 2, 7]);
  expect(await ids({ emails: ['nobody@example.com'], phones: ['1'] })).toEqual([5, 6]);
  expect(await ids({})).toEqual([]);
});

it('are read with the values last agreed on, and where there are none with those of the mirror', async () => {
  expect(await read({ roleIds: [1n] })).toEqual([
    { id: 1n, email: 'Anne@Example.com', phone: '+1 (555) 0100', roleId: 1n },
    { id: 2n, email: 'anne@example.com', phone: '15550100', roleId: 1n },
  ]);
});
