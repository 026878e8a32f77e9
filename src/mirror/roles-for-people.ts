/** The roles that migrations create for people, if the migrating role may, and their rights. */
import { CompiledQuery, sql } from 'kysely';
import type { Database, Queryable, Transaction } from './database.ts';

export const rolesForPeople = [
  'musterd_reader',
  'musterd_editor',
  'musterd_role_editor',
  'musterd_approver',
] as const;

const reading = [
  'usage on schema mirror, report, sync',
  'execute on function sync.settled(interval, boolean, xid8)',
  'select on mirror.teams, mirror.users, mirror.tags, mirror.contact_fields, mirror.contact_counts, mirror.roles',
  'select on report.changes, report.contact_counts_daily, report.contact_fields, report.held, report.pending',
  'select on report.role_changes, report.roster, report.roster_changes, report.roster_history, report.runs, report.tags',
  'select on report.roles, report.listing_history, report.tag_history, report.tag_growth',
  'select on report.contact_counts, report.decisions, report.freshness, report.sync_health, report.usage, report.missing',
  'select on sync.role_names',
  'select (team_id, email, phone, added_at) on mirror.user_lookups',
];
/** The rights that migrations grant to existing roles. */
const rights: Readonly<Record<(typeof rolesForPeople)[number], readonly string[]>> = {
  musterd_reader: reading,
  musterd_editor: [
    ...reading,
    'update (first_name, last_name, name_split, email, phone) on mirror.users',
    'insert (team_id, email, phone) on mirror.user_lookups',
    'execute on function mirror.forget_lookups(bigint, text[])',
  ],
  musterd_role_editor: [...reading, 'update (role_id) on mirror.users'],
  musterd_approver: [
    ...reading,
    'execute on function sync.approve(text, bigint[], text, bigint, bigint[])',
    'execute on function sync.reject(text, bigint[], text, boolean, bigint, bigint[])',
    'execute on function sync.undecide(bigint, text, boolean)',
  ],
};

/**
 * Grants their rights to roles that were created after the migrations, which is seen by the missing usage of
 * the schema. Rights that an administrator revoked are not restored. Only the owner of the schema may grant.
 */
export async function grantMissingRights(tx: Transaction): Promise<void> {
  const names = await rolesWithoutRights(tx);
  const statements = names.flatMap((name) => rights[name].map((right) => `grant ${right} to ${name}`));
  if (statements.length === 0) return;
  await tx.executeQuery(CompiledQuery.raw(statements.join(';\n')));
  await grantWhatViewsRead(tx, names);
}

/** The roles for people that are there and have no rights yet, if the connected role may grant them. */
export async function rolesWithoutRights(db: Queryable): Promise<readonly (keyof typeof rights)[]> {
  const { rows } = await sql<{ name: keyof typeof rights }>`
    select r.rolname::text as name
    from pg_roles r join pg_namespace n on n.nspname = 'mirror' and pg_has_role(n.nspowner, 'usage')
    where r.rolname = any (${rolesForPeople}::text[])
      and to_regclass('mirror.roles') is not null and not exists (
      select from aclexplode(n.nspacl) a where a.grantee = r.oid
    )`.execute(db);
  return rows.map(({ name }) => name);
}

/** The views of report run with the rights of the caller, so readers are granted the columns behind them. */
async function grantWhatViewsRead(tx: Transaction, names: readonly string[]): Promise<void> {
  const { rows } = await sql<{ columns: string; place: string; name: string }>`
    select string_agg(distinct quote_ident(t.attname), ', ') as columns, t.attrelid::regclass::text as place, n.name
    from unnest(${names}::text[]) n (name)
    join pg_class v on v.relnamespace = 'report'::regnamespace and v.relkind = 'v' and has_table_privilege(n.name, v.oid, 'select')
    join pg_rewrite r on r.ev_class = v.oid
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
    join pg_attribute t on t.attrelid = d.refobjid and t.attnum = d.refobjsubid
    where d.refobjid <> v.oid and not has_table_privilege(n.name, d.refobjid, 'select')
    group by t.attrelid, n.name order by 3, 2`.execute(tx);
  const statements = rows.map(
    ({ columns, place, name }) => `grant select (${columns}) on ${place} to ${name}`,
  );
  await tx.executeQuery(CompiledQuery.raw(statements.join(';\n')));
}

export interface RolesForPeople {
  /** The connected role. */
  readonly user: string;
  /** In the order of the list. */
  readonly missing: readonly string[];
  /** Whether the connected role may create roles. */
  readonly mayCreate: boolean;
}

export async function readRolesForPeople(
  { kysely }: Database,
  names: readonly string[] = rolesForPeople,
): Promise<RolesForPeople> {
  const { rows } = await sql<{ user: string; there: readonly string[]; may: boolean }>`
    select current_user as "user",
      array(select rolname::text from pg_catalog.pg_roles where rolname = any (${names}::text[])) as there,
      (select rolsuper or rolcreaterole from pg_catalog.pg_roles where rolname = current_user) as may`.execute(
    kysely,
  );
  const [{ user, there, may } = { user: '', there: [], may: false }] = rows;
  return { user, missing: names.filter((name) => !there.includes(name)), mayCreate: may };
}
