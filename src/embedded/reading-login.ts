/**
 * A login of the embedded server for SQL that only reads. It can read everything but is not a superuser, so none of its
 * statements can start a program, read a file or end another session. A statement could reset a role that the session
 * had set before, but it cannot change the login.
 */
import { createHmac } from 'node:crypto';
import { createOwnClient } from './own-client.ts';

const NAME = 'musterd_reading';
// The login becomes a member of each of these roles that exists.
const MEMBER_OF = ['pg_read_all_data', 'pg_read_all_stats', 'musterd_reader'];

/** Lists the roles in which the login is not a member yet: all of them if the login itself is missing. */
const lacking = `
  select r.rolname from pg_roles r
  where r.rolname = any ($2) and not exists (
    select from pg_auth_members m join pg_roles n on n.oid = m.member
    where m.roleid = r.oid and n.rolname = $1 and n.rolcanlogin and n.rolbypassrls and not n.rolsuper)`;

/** @returns the owner's URL, but with this login, which is created if it does not exist */
export async function readingUrl(ownerUrl: string): Promise<string> {
  const url = new URL(ownerUrl);
  // The password is computed from the owner's password, so only a person who knows that one can compute it.
  const password = createHmac('sha256', url.password).update(NAME).digest('base64url');
  const client = createOwnClient({ connectionString: ownerUrl, application_name: 'musterd' });
  try {
    await client.connect();
    const { rows } = await client.query<{ rolname: string }>(lacking, [NAME, MEMBER_OF]);
    if (rows.length > 0) {
      // The lock lets only one process at a time create the login. Only a superuser can take this lock.
      await client.query('begin; lock table pg_authid in share row exclusive mode');
      await client.query(`select set_config('musterd.secret', $1, true)`, [password]);
      await client.query(`do $$ begin
        if to_regrole('${NAME}') is null then create role ${NAME}; end if;
        execute format('alter role ${NAME} login bypassrls nosuperuser nocreatedb nocreaterole noreplication password %L',
          current_setting('musterd.secret'));
        comment on role ${NAME} is '"musterd sql" reads with it.';
      end $$`);
      await client.query(`grant ${rows.map(({ rolname }) => rolname).join(', ')} to ${NAME}; commit`);
    }
  } finally {
    await client.end().catch(() => undefined);
  }
  [url.username, url.password] = [NAME, password];
  return url.href;
}
