/** Intents: pushes that are recorded before they are sent. `apply-results.ts` closes them. */
import { type RawBuilder, sql } from 'kysely';
import { stored } from '../../model/canonical.ts';
import { columnOf, emptyValues, fieldOf, valuesIn } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import type { Intent, OpenedIntents, PushOutcome } from '../../model/intent.ts';
import { toJson } from '../../model/json.ts';
import { canonicalName, joinName, type NamePair, splitName } from '../../model/name.ts';
import type { BaseUser, UserPatch } from '../../model/user.ts';
import { decisionsOf, pushOf, type UserPlan } from '../../model/user-plan.ts';
import { anyOf, byKey, idArray } from '../db/by-key.ts';
import type { Queryable, Row, Transaction } from '../db/database.ts';
import { objectOf, valueFromJson, valuesOf } from '../db/field-sql.ts';
import { editorsOf, patchInSql } from './edits.ts';
import { isHeldBack, isSpent, spendDecisions } from './holds.ts';
import type { RunOf } from './users-write.ts';

interface IntentRow extends Row<'sync.changes', 'change_id'> {
  readonly user_id: Id;
  readonly sent: Readonly<Record<string, unknown>>;
  readonly outcome: Readonly<Record<string, string>>;
  readonly old: Readonly<Record<string, unknown>>;
  readonly base_name: string;
  readonly decided: readonly string[];
  readonly has_base: boolean;
  readonly has_left: boolean;
  readonly is_unwritten: boolean;
  readonly age_ms: number;
}

/** The fields h that the open push c sends because of a person's decision. */
const spentBy = sql`
  select h.field from sync.held_fields h
  where h.team_id = c.team_id and h.user_id = c.user_id and ${isSpent} and h.edit_id = (c.edits ->> h.field)::bigint`;

const intentColumns = (decided: RawBuilder<unknown>) => sql`
  array(${decided}) as decided, c.change_id, c.user_id, c.new as sent, c.old, c.outcome, coalesce(b.name, '') as base_name,
  b.id is not null as has_base, ${valuesOf('b')},
  c.sent_at is not null as has_left, c.closed_at is not null as is_unwritten, (extract(epoch from clock_timestamp() - coalesce(c.sent_at, c.opened_at)) * 1000)::float8 as age_ms`;

function toIntent(row: IntentRow): Intent {
  const base: BaseUser = { ...(row.has_base ? valuesIn(row) : emptyValues), joined: row.base_name };
  const isKnown = (field: string) => row.is_unwritten && row.outcome[field] !== 'unknown';
  const known = Object.entries(row.outcome).filter(([field]) => isKnown(field));
  const open = Object.entries(row.sent).filter(
    ([field]) => (row.outcome[field] ?? 'unknown') === 'unknown' || isKnown(field),
  );
  const values = (columns: readonly (readonly [string, unknown])[]): UserPatch =>
    Object.fromEntries(
      columns.map(([column, value]) => [fieldOf(column), valueFromJson(fieldOf(column), value)]),
    );
  const before = { ...base, ...values(Object.entries(row.old)) };
  return {
    changeId: row.change_id,
    userId: row.user_id,
    sent: values(open),
    base,
    before,
    decided: row.decided.map(fieldOf),
    known: Object.fromEntries(known.map(([field, outcome]) => [fieldOf(field), outcome as PushOutcome])),
    hasLeft: row.has_left,
    ageMs: row.age_ms,
  };
}

export async function readIntents(db: Queryable, teamId: Id): Promise<readonly Intent[]> {
  const { rows } = await sql<IntentRow>`
    select ${intentColumns(spentBy)} from sync.changes c
    left join sync.user_base b on b.team_id = c.team_id and b.id = c.user_id
    where c.team_id = ${teamId} and c.state = 'open' and c.user_id is not null order by c.change_id`.execute(
    db,
  );
  return rows.map(toIntent);
}

/** The service's values of the fields to send, before the push. A name is split if it differs from the base's name. */
function shownBefore(plan: UserPlan): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    decisionsOf(plan, 'push').map(
      ([
        field,
        {
          values: { base, service },
        },
      ]) => {
        if (service === undefined) return [columnOf(field), base ?? null];
        if (field !== 'name')
          return [columnOf(field), typeof service === 'string' ? stored(service) : service];
        const pair = (base ?? plan.write?.base.name) as NamePair | undefined;
        const joined = typeof service === 'string' ? service : '';
        const isSame = pair !== undefined && joinName(pair) === canonicalName(joined);
        return [columnOf(field), isSame ? pair : splitName(joined)];
      },
    ),
  );
}

const lastingEdit = (teamId: Id, id: RawBuilder<unknown>, field: RawBuilder<unknown>) => sql`(
  select l.edit_id, l.new_value from sync.edits l
  where l.team_id = ${teamId} and l.user_id = ${id} and l.field = ${field} and l.ended_at is null offset 0)`;

/**
 * Locks these users and their holds. Skips rows that an open transaction has locked to edit them or to decide, because
 * its result cannot be seen yet. A user with a skipped row is busy.
 */
const lockedFree = (teamId: Id, ids: readonly Id[]) => sql`
  free as materialized (
    select u.id from unnest(${idArray(ids)}) w (id)
    cross join lateral (select id from mirror.users where team_id = ${teamId} and id = w.id offset 0 for share skip locked) u
  ),
  holds as materialized (
    select h.* from unnest(${idArray(ids)}) w (id)
    cross join lateral (
      select user_id, field, decision, edit_id from sync.held_fields
      where team_id = ${teamId} and user_id = w.id offset 0 for share skip locked
    ) h
  ),
  busy as materialized (
    select w.id from unnest(${idArray(ids)}) w (id)
    where w.id not in (select f.id from free f) or exists (
      select from (
        select user_id, field from sync.held_fields where team_id = ${teamId} and user_id = w.id offset 0
      ) h
      where (h.user_id, h.field) not in (select l.user_id, l.field from holds l))
  )`;

/**
 * Records pushes before they are sent. A user is left out if the row changed since it was read, if a person is editing
 * the user or deciding about it, if an intent is open already, or if one of the edits was replaced, rejected or held
 * since. An edit without a record is recorded now. People's decisions about the edits are used up, whatever the outcome
 * of the push.
 */
export async function openIntents(
  tx: Transaction,
  { teamId, runId }: RunOf,
  plans: readonly UserPlan[],
  approved: ReadonlySet<Id>,
): Promise<OpenedIntents> {
  const staged = plans.map((plan) => ({
    id: plan.id,
    sent: patchInSql(pushOf(plan)),
    edits: Object.fromEntries(
      decisionsOf(plan, 'push').map(([field, { edit }]) => [columnOf(field), edit ?? null]),
    ),
    old: shownBefore(plan),
    approved: approved.has(plan.id),
  }));
  const ids = plans.map(({ id }) => id);
  const { rows } = await sql<{ busy: readonly Id[]; opened: boolean } & IntentRow>`
    with ${lockedFree(teamId, ids)},
    wanted as (
      select s.id, s.sent, s.old, s.approved, m.edits
      from jsonb_to_recordset(${toJson(staged)}::jsonb) as s (id bigint, sent jsonb, old jsonb, edits jsonb, approved boolean)
      cross join lateral ${byKey('mirror.users', teamId, sql`s.id`)} u
      cross join lateral (
        select jsonb_object_agg(f.key, f.edit) as edits, coalesce(bool_and(f.is_meant and not ${isHeldBack(teamId)}), true) as is_free
        from (
          select p.key, coalesce(l.edit_id, sync.find_edit(${teamId}, s.id, p.key)) as edit,
            p.value = 'null' or (p.value #>> '{}')::bigint is not distinct from l.edit_id as is_meant
          from jsonb_each(s.edits) p
          left join lateral ${lastingEdit(teamId, sql`s.id`, sql`p.key`)} l
            on l.new_value is not distinct from nullif(s.sent -> p.key, 'null')
        ) f
      ) m
      where u.gone_at is null and m.is_free and s.id <> all (array(select b.id from busy b)) and s.sent <@ ${objectOf('u')}
    ),
    opened as (
      insert into sync.changes (team_id, user_id, run_id, kind, state, base, old, new, approved, edits, edited_by)
      select ${teamId}, w.id, ${runId}, 'push', 'open', agreed.values, w.old, w.sent, w.approved, w.edits, edited.by
      from wanted w
      cross join lateral ${byKey('sync.user_base', teamId, sql`w.id`)} b
      cross join lateral (
        select jsonb_object_agg(v.key, v.value) as values
        from jsonb_each(${objectOf('b')}) v
        where w.sent ? v.key
      ) agreed
      cross join lateral (${editorsOf(teamId, sql`w`)}) edited
      on conflict (team_id, user_id) where state = 'open' do nothing
      returning *
    ),
    spent as (${spendDecisions(sql`opened c`)} returning h.user_id, h.field)
    select w.busy, i.change_id is not null as opened, i.* from (select array(select id from busy order by id)) w (busy)
    left join (
      select ${intentColumns(sql`select s.field from spent s where s.user_id = c.user_id`)} from opened c
      cross join lateral ${byKey('sync.user_base', teamId, sql`c.user_id`)} b
    ) i on true order by i.user_id`.execute(tx);
  return { intents: rows.filter(({ opened }) => opened).map(toIntent), busy: rows[0]?.busy ?? [] };
}

/**
 * Records that these users' open intents are sent now. The quiet period begins at the last such time.
 * @returns the users whose push must not be sent, because an edit was withdrawn, replaced or rejected since, or a person
 * is just doing that. If there are such users, nothing is recorded for any user.
 */
export async function markSent(tx: Transaction, teamId: Id, ids: readonly Id[]): Promise<readonly Id[]> {
  const { rows } = await sql<{ readonly user_id: Id }>`
    with ${lockedFree(teamId, ids)},
    leaving as materialized (
      select c.change_id, c.user_id, c.user_id <> all (array(select f.id from free f)) or exists (
        select from jsonb_each(c.edits) p
        left join lateral ${lastingEdit(teamId, sql`c.user_id`, sql`p.key`)} l on true
        left join sync.held_fields s on s.team_id = ${teamId} and s.user_id = c.user_id and s.field = p.key
        where l.edit_id is distinct from (p.value #>> '{}')::bigint
          or s.field is not null and coalesce((s.user_id, s.field, l.edit_id) not in (
            select h.user_id, h.field, h.edit_id from holds h where ${isSpent} and h.edit_id is not null), true)
      ) as is_over
      from sync.changes c
      where c.team_id = ${teamId} and c.state = 'open' and c.user_id = ${anyOf(ids)}
    ),
    marked as (
      update sync.changes c set sent_at = clock_timestamp() from leaving l
      where c.change_id = l.change_id and not exists (select from leaving where is_over)
    )
    select user_id from leaving where is_over order by user_id`.execute(tx);
  return rows.map(({ user_id }) => user_id);
}
