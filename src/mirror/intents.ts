/** Intents: pushes that are written down before they are sent; `apply-results.ts` closes them. */
import { sql } from 'kysely';
import { stored } from '../model/canonical.ts';
import type { Id } from '../model/id.ts';
import type { Intent } from '../model/intent.ts';
import { toJson } from '../model/json.ts';
import { canonicalName, joinName, type NamePair, splitName } from '../model/name.ts';
import type { BaseUser, UserPatch } from '../model/user.ts';
import { decisionsOf, pushOf, type UserPlan } from '../model/user-plan.ts';
import { anyOf, byKey } from './by-key.ts';
import { databaseTime, type Queryable, type Row, type Transaction } from './database.ts';
import { isHeldBack } from './holds.ts';
import { editorsOf, patchInSql } from './patch-in-sql.ts';
import { fieldOfSql, sqlField, valueFromJson } from './users-read.ts';
import type { RunOf } from './users-write.ts';

interface IntentRow
  extends Row<'sync.changes', 'change_id'>,
    Row<'sync.user_base', 'first_name' | 'last_name' | 'email' | 'phone' | 'role_id'> {
  readonly user_id: Id;
  readonly sent: Readonly<Record<string, unknown>>;
  readonly outcome: Readonly<Record<string, string>>;
  readonly old: Readonly<Record<string, unknown>>;
  readonly base_name: string;
  readonly has_left: boolean;
  readonly age_ms: number;
}

const intentColumns = sql`
  c.change_id, c.user_id, c.new as sent, c.old, c.outcome, coalesce(b.name, '') as base_name,
  coalesce(b.first_name, '') as first_name, coalesce(b.last_name, '') as last_name, b.email, b.phone,
  b.role_id, c.sent_at is not null as has_left, (extract(epoch from clock_timestamp() - coalesce(c.sent_at, c.opened_at)) * 1000)::float8 as age_ms`;

function toIntent(row: IntentRow): Intent {
  const base: BaseUser = {
    name: { first: row.first_name, last: row.last_name },
    joined: row.base_name,
    email: row.email,
    phone: row.phone,
    roleId: row.role_id,
  };
  const open = Object.entries(row.sent).filter(([field]) => (row.outcome[field] ?? 'unknown') === 'unknown');
  const values = (columns: readonly (readonly [string, unknown])[]): UserPatch =>
    Object.fromEntries(
      columns.map(([column, value]) => [fieldOfSql(column), valueFromJson(fieldOfSql(column), value)]),
    );
  const before = { ...base, ...values(Object.entries(row.old)) };
  return {
    changeId: row.change_id,
    userId: row.user_id,
    sent: values(open),
    base,
    before,
    hasLeft: row.has_left,
    ageMs: row.age_ms,
  };
}

export async function readIntents(db: Queryable, teamId: Id): Promise<readonly Intent[]> {
  const { rows } = await sql<IntentRow>`
    select ${intentColumns} from sync.changes c
    left join sync.user_base b on b.team_id = c.team_id and b.id = c.user_id
    where c.team_id = ${teamId} and c.state = 'open' order by c.change_id`.execute(db);
  return rows.map(toIntent);
}

/** The service's values of the fields to send; a name that differs from base is split. */
function shownBefore(plan: UserPlan): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    decisionsOf(plan, 'push').map(
      ([
        field,
        {
          values: { base, service },
        },
      ]) => {
        if (service === undefined) return [sqlField(field), base ?? null];
        if (field !== 'name')
          return [sqlField(field), typeof service === 'string' ? stored(service) : service];
        const pair = (base ?? plan.write?.base.name) as NamePair | undefined;
        const joined = typeof service === 'string' ? service : '';
        const same = pair !== undefined && joinName(pair) === canonicalName(joined);
        return [sqlField(field), same ? pair : splitName(joined)];
      },
    ),
  );
}

/**
 * Writes down what is about to be sent, without users whose row changed since it was read, who already have an open
 * intent, or with a held field among those to send, because a person has decided meanwhile.
 */
export async function openIntents(
  tx: Transaction,
  { teamId, runId }: RunOf,
  plans: readonly UserPlan[],
  approved: ReadonlySet<Id>,
): Promise<readonly Intent[]> {
  const staged = plans.map((plan) => ({
    id: plan.id,
    sent: patchInSql(pushOf(plan)),
    old: shownBefore(plan),
    approved: approved.has(plan.id),
  }));
  const { rows } = await sql<IntentRow>`
    with wanted as (
      select s.id, s.sent, s.old, s.approved
      from jsonb_to_recordset(${toJson(staged)}::jsonb) as s (id bigint, sent jsonb, old jsonb, approved boolean)
      cross join lateral ${byKey('mirror.users', teamId, sql`s.id`)} u
      where u.gone_at is null and not ${isHeldBack(teamId)} and s.sent <@ jsonb_build_object('name', jsonb_build_object('first', u.first_name, 'last', u.last_name),
        'email', u.email, 'phone', u.phone, 'role_id', u.role_id)
    ),
    opened as (
      insert into sync.changes (team_id, user_id, run_id, kind, state, base, old, new, approved, edited_by)
      select ${teamId}, w.id, ${runId}, 'push', 'open', agreed.values, w.old, w.sent, w.approved, edited.by
      from wanted w
      cross join lateral ${byKey('sync.user_base', teamId, sql`w.id`)} b
      cross join lateral (
        select jsonb_object_agg(v.key, v.value) as values
        from jsonb_each(jsonb_build_object('name', jsonb_build_object('first', b.first_name, 'last', b.last_name),
          'email', b.email, 'phone', b.phone, 'role_id', b.role_id)) v
        where w.sent ? v.key
      ) agreed
      cross join lateral (${editorsOf(teamId, sql`w`)}) edited
      on conflict (team_id, user_id) where state = 'open' do nothing
      returning *
    )
    select ${intentColumns} from opened c
    cross join lateral ${byKey('sync.user_base', teamId, sql`c.user_id`)} b order by c.user_id`.execute(tx);
  return rows.map(toIntent);
}

/** Records when these users' open intents leave: the quiet period counts from the last time. */
export async function markSent(tx: Transaction, teamId: Id, ids: readonly Id[]): Promise<void> {
  await tx
    .updateTable('sync.changes')
    .set({ sent_at: databaseTime })
    .where((eb) => eb.and({ team_id: teamId, state: 'open' }))
    .where('user_id', '=', anyOf(ids))
    .execute();
}
