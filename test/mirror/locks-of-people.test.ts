import { beforeAll, describe, expect, it } from 'vitest';
import { rolesForPeople } from '../../src/mirror/db/roles-for-people.ts';
import { servers } from '../support/servers.ts';
import { useDatabase } from '../support/use-database.ts';

const aboveRowShare = [
  'row exclusive',
  'share update exclusive',
  'share',
  'share row exclusive',
  'exclusive',
  'access exclusive',
];
const rowLocks = ['key share', 'no key update', 'share', 'update'];
/** Editors of users can lock users. Runs skip a locked user: `test/system/locked-rows.test.ts`. */
const lockable: Readonly<Record<string, readonly string[]>> = {
  musterd_editor: ['mirror.users'],
  musterd_role_editor: ['mirror.users'],
};

describe.each(servers())('table and row locks by people on $name', (server) => {
  const database = useDatabase({ server });
  const run = async (text: string) => (await database.rows(text)) as [string, string][];
  beforeAll(() =>
    run(`
      create function public.answers(role text, statements text[]) returns table (statement text, answer text) language plpgsql as $$
      begin
        foreach statement in array statements loop
          begin
            perform set_config('role', role, true);
            execute statement;
            raise exception 'allowed';
          exception when others then
            answer := sqlerrm;
            return next;
          end;
        end loop;
      end $$`),
  );

  /** The statements that Postgres does not deny to the role: the text for each table and view, in each way. */
  const allowed = async (role: string, text: string, ways: readonly string[]) =>
    (
      await run(`
        select a.statement, a.answer from public.answers('${role}', array(
          select format('${text}', c.oid::regclass, way)
          from pg_class c, unnest(array['${ways.join(`', '`)}']) way
          where c.relnamespace::regnamespace::text in ('mirror', 'report', 'sync') and c.relkind in ('r', 'p', 'v', 'm', 'f')
          order by c.oid::regclass::text, way collate "C")) a`)
    ).filter(([, answer]) => !/^permission denied for (?:table|view|schema) /.test(answer));

  it.each(rolesForPeople)('the role %s cannot lock a table or view above row share (S48)', async (role) => {
    expect(await allowed(role, 'lock table %s in %s mode', aboveRowShare)).toEqual([]);
  });

  it.each(rolesForPeople)('the role %s cannot lock rows, except rows of users it may edit', async (role) => {
    const expected = (lockable[role] ?? []).flatMap((place) =>
      rowLocks.map((way) => [`select from ${place} for ${way}`, 'allowed']),
    );
    expect(await allowed(role, 'select from %s for %s', rowLocks)).toEqual(expected);
  });
});
