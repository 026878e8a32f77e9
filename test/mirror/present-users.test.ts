import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readPresentUsers } from '../../src/mirror/users/present-users.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { canonicalEmail, canonicalPhone } from '../../src/model/canonical.ts';
import type { PresentUser } from '../../src/model/plan.ts';
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
/** Of users beyond those, in base and mirror: what is asked for by its canonical form is found whatever is around it. */
const oddEmails = [
  ' Odd_one%@Example.com\t',
  '\u2003ODD\\two@example.com\ufeff',
  '\u00c9mile@Example.com',
  'x',
];
const oddPhones = ['+1 (555) 0190', '1-5-5-5-0-1-9-1', 'ext. 15550192', '0'];

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

it('readPresentUsers finds users with a given address or role by the agreed values', async () => {
  const ids = async (concern: Parameters<typeof read>[0]) =>
    (await read(concern)).map(({ id }) => Number(id));
  const anne = canonicalEmail(' ANNE@example.com ');
  expect(await ids({ emails: [anne] })).toEqual([1, 2, 5]);
  // Among many, the last two may have it: their letters are for the canonical form to judge.
  expect(await ids({ emails: [anne, 'f@example.com', 'g@example.com', 'h@example.com'] })).toEqual([
    1, 2, 5, 6,
  ]);
  expect(await ids({ phones: [canonicalPhone('+1 555 0100')] })).toEqual([1, 2]);
  expect(await ids({ roleIds: [1n] })).toEqual([1, 2]);
  expect(await ids({ phones: ['15550103'], roleIds: [1n] })).toEqual([1, 2, 7]);
  expect(await ids({ emails: ['nobody@example.com'], phones: ['1'] })).toEqual([]);
  expect(await ids({})).toEqual([]);
});

it('readPresentUsers compares canonical forms, for few or many addresses', async () => {
  const write = (table: string, columns: string) =>
    runSqlText(
      database.db,
      `set local musterd.writing = 'on';
       insert into ${table} (team_id, id, name, first_name, last_name, email, phone${columns === '' ? '' : ', resolved'})
       select 41, 100 + n, 'Odd', 'Odd', '', e.email, e.phone${columns}
       from json_to_recordset('${JSON.stringify(oddEmails.map((email, n) => ({ n, email, phone: oddPhones[n] })))}') e (n int, email text, phone text)`,
    );
  await write('mirror.users', ', true');
  await write('sync.user_base', '');
  const nobody = (count: number) => Array.from({ length: count }, (_, at) => `${at}5559`);
  for (const [at, email] of oddEmails.entries())
    for (const others of [0, 2, 5]) {
      const asked = { emails: [canonicalEmail(email), ...nobody(others)] };
      expect((await read(asked)).map(({ id }) => id)).toContain(BigInt(100 + at));
      const phone = canonicalPhone(oddPhones[at] ?? '');
      const found = await read({ phones: [phone, ...nobody(others)] });
      expect(found.map(({ id }) => id)).toEqual([BigInt(100 + at)]);
    }
});

it('readPresentUsers returns agreed values, and mirror values if nothing was agreed', async () => {
  expect(await read({ roleIds: [1n] })).toEqual([
    { id: 1n, email: 'Anne@Example.com', phone: '+1 (555) 0100', roleId: 1n },
    { id: 2n, email: 'anne@example.com', phone: '15550100', roleId: 1n },
  ]);
});

const address = fc.constantFrom(
  'anne@example.com',
  'ben_%@example.com',
  '9\\a@example.com',
  '\u00e4nne@example.com',
  'n',
);
const around = fc.constantFrom('', '', ' ', '\t', '\u00a0', '\u2003', '\ufeff', 'n');
const email = fc
  .tuple(around, address, around, fc.boolean())
  .map(([before, text, after, isLoud]) => before + (isLoud ? text.toUpperCase() : text) + after);
const phone = fc.constantFrom('15550100', '+1 (555) 0100', '1-5550100-9', '115550100', 'none');
const values = { email: fc.option(email), phone: fc.option(phone), role_id: fc.constantFrom(null, 1, 2, 3) };
const isTrue = fc.boolean();
const everybody = fc.array(
  fc.record({
    mirror: fc.option(fc.record({ ...values, is_gone: isTrue, is_edited: isTrue, resolved: isTrue })),
    base: fc.option(fc.record(values)),
  }),
  { maxLength: 8 },
);

it('readPresentUsers returns the same as a full scan, in any state of mirror and base', async () => {
  const asked = fc.record({
    emails: fc.uniqueArray(address.map(canonicalEmail), { maxLength: 5 }),
    phones: fc.uniqueArray(fc.constantFrom<string[]>('15550100', '155501009', '115550100', '1', '2'), {
      maxLength: 5,
    }),
    roleIds: fc.uniqueArray(fc.constantFrom(1n, 2n)),
  });
  await fc.assert(
    fc.asyncProperty(everybody, asked, async (state, concern) => {
      const known = state.map((person, index) => ({ id: index + 1, ...person }));
      await runSqlText(
        database.db,
        `set local musterd.writing = 'on';
         delete from mirror.users where team_id = 43; delete from sync.user_base where team_id = 43;
         insert into mirror.users (team_id, id, email, phone, role_id, resolved, gone_at, edited_at)
         select 43, k.id, m.email, m.phone, m.role_id, m.resolved, case when m.is_gone then now() end, case when m.is_edited then now() end
         from jsonb_to_recordset($json$${JSON.stringify(known)}$json$) k (id int, mirror jsonb)
         cross join jsonb_to_record(k.mirror) m (email text, phone text, role_id bigint, resolved boolean, is_gone boolean, is_edited boolean)
         where k.mirror <> 'null';
         insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone, role_id)
         select 43, k.id, '', '', '', b.email, b.phone, b.role_id
         from jsonb_to_recordset($json$${JSON.stringify(known)}$json$) k (id int, base jsonb)
         cross join jsonb_to_record(k.base) b (email text, phone text, role_id bigint)
         where k.base <> 'null'`,
      );
      const isAsked = (of: PresentUser) =>
        concern.emails.includes(canonicalEmail(of.email)) ||
        concern.phones.includes(canonicalPhone(of.phone)) ||
        concern.roleIds.some((role) => role === of.roleId);
      const present = known.flatMap(({ id, mirror, base }) => {
        if (mirror === null || mirror.is_gone) return [];
        const { email: itsEmail, phone: itsPhone, role_id: role } = base ?? mirror;
        return [
          { id: BigInt(id), email: itsEmail, phone: itsPhone, roleId: role === null ? null : BigInt(role) },
        ];
      });
      const found = (await readPresentUsers(database.db.kysely, 43n, concern)).toSorted((a, b) =>
        Number(a.id - b.id),
      );
      expect(found.filter(isAsked)).toEqual(present.filter(isAsked));
      // Whoever is found besides has nothing but what they have.
      for (const user of found) expect(present).toContainEqual(user);
    }),
    { numRuns: 150 },
  );
});
