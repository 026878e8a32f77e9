/**
 * A login of the embedded server for SQL that only reads. It sees everything, and is no superuser: no statement of it
 * starts a program, reads a file or ends another session. A role that a session takes on would be laid down again by
 * the next statement; a login is for good.
 */
import { createHmac } from 'node:crypto';
import type pg from 'pg';
import { createOwnClient } from './own-client.ts';

const NAME = 'musterd_reading';

/** What it is a member of, where there is such a role. */
const MEMBER_OF = ['pg_read_all_data', 'pg_read_all_stats', 'musterd_reader'];

/** What it lacks: to be there, or to be a member of a role. */
const lacking = `
  select r.rolname from pg_roles r
  where r.rolname = any ($2) and not exists (
    select from pg_auth_members m join pg_roles n on n.oid = m.member
    where m.roleid = r.oid and n.rolname = $1 and n.rolcanlogin and n.rolbypassrls and not n.rolsuper)`;

/** @returns the same URL for this login, which is made if it is not there */
export async function readingUrl(ownerUrl: string): Promise<string> {
  const url = new URL(ownerUrl);
  // Known to whoever knows the owner's, and to nobody else.
  const password = createHmac('sha256', url.password).update(NAME).digest('base64url');
  const client = createOwnClient({ connectionString: ownerUrl, application_name: 'musterd' });
  try {
    await client.connect();
    const roles = (await client.query<{ rolname: string }>(lacking, [NAME, MEMBER_OF])).rows;
    const names = roles.map(({ rolname }) => rolname);
    if (names.length > 0) await make(client, password, names);
  } finally {
    await client.end().catch(() => undefined);
  }
  [url.username, url.password] = [NAME, password];
  return url.href;
}

/** One of several processes at a time: only a superuser can lock this table. */
async function make(client: pg.Client, password: string, roles: readonly string[]): Promise<void> {
  await client.query('begin; lock table pg_authid in share row exclusive mode');
  await client.query(`select set_config('musterd.secret', $1, true)`, [password]);
  await client.query(`do $$ begin
    if to_regrole('${NAME}') is null then
      create role ${NAME};
    end if;
    execute format('alter role ${NAME} login bypassrls nosuperuser nocreatedb nocreaterole noreplication password %L',
      current_setting('musterd.secret'));
    comment on role ${NAME} is '"musterd sql" reads with it.';
  end $$`);
  await client.query(`grant ${roles.join(', ')} to ${NAME}; commit`);
}
