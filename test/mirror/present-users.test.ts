import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readPresentUsers } from '../../src/mirror/users/present-users.ts';
import { canonicalEmail, canonicalPhone } from '../../src/model/canonical.ts';
import type { PresentUser } from '../../src/model/plan.ts';
import { useDatabase } from '../support/use-database.ts';

const database = useDatabase();

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

it('readPresentUsers returns the same users as a full scan, in random states of mirror and base', async () => {
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
      await database.rows(`set local musterd.writing = 'on';
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
         where k.base <> 'null'`);
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
