/** Writes the results of pushes to mirror, base, ledger and holds. */
import { sql } from 'kysely';
import { columnOf, emptyValues, type Field, fields } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import type { IntentResult } from '../../model/intent.ts';
import { toJson } from '../../model/json.ts';
import { anyOf, byKey } from '../db/by-key.ts';
import type { Row, Transaction } from '../db/database.ts';
import { byColumn, definitionsOf, setValues } from '../db/field-sql.ts';
import { stagedTimes, timesOf } from '../db/timestamp.ts';
import { noteNames } from '../team/name-safety.ts';
import { isOlder } from '../team/stale.ts';
import { endArrived, giveDecisionsBack, writeHolds } from './holds.ts';
import type { RunOf } from './users-write.ts';

function stageResult(result: IntentResult) {
  const { intent, outcomes, seen, taken, joined, harmed, closed, hasLeft, requestId } = result;
  const times = timesOf(seen);
  return {
    change_id: intent.changeId,
    id: intent.userId,
    outcome: Object.fromEntries(
      Object.entries(outcomes).map(([field, outcome]) => [columnOf(field as Field), outcome]),
    ),
    closed,
    has_left: hasLeft,
    request_id: requestId,
    harmed,
    ...byColumn({ ...emptyValues, ...intent.sent }, 'sent_'),
    ...byColumn(taken),
    joined,
    is_known: seen !== null,
    is_direct: result.isDirect,
    ...Object.fromEntries(stagedTimes.map(([name], at) => [name, times[at]])),
    raw: seen?.raw ?? {},
  };
}

const stagedAs = (json: string) => sql`
  select * from jsonb_to_recordset(${json}::jsonb) as s (change_id bigint, id bigint, outcome jsonb, closed boolean, has_left boolean, request_id text,
    harmed boolean, ${definitionsOf('sent_')}, ${definitionsOf()}, joined text, is_known boolean, is_direct boolean, created_at timestamptz, updated_at timestamptz,
    user_created_at timestamptz, user_updated_at timestamptz, raw jsonb)`;

/** True if the result s confirms the field. */
const took = (field: Field) => sql`coalesce(s.outcome ->> ${sql.lit(columnOf(field))} = 'confirmed', false)`;
const tookAny = sql.join(fields.map(took), sql` or `);

/** The new value of a mirror column: for a confirmed field that still has the sent value, the value that was returned. */
const toMirror = (column: string, field: Field) => {
  const isSent =
    field === 'name'
      ? sql`pair_is_sent`
      : sql`${sql.ref(`u.${column}`)} is not distinct from ${sql.ref(`s.sent_${column}`)}`;
  return sql`case when ${took(field)} and ${isSent} then ${sql.ref(`s.${column}`)} else ${sql.ref(`u.${column}`)} end`;
};

/** The new value of a base column: for a confirmed field, the value that the service returned. */
const toBase = (column: string, field: Field) =>
  sql`case when ${field === 'name' ? sql`takes_name` : took(field)} then ${sql.ref(`s.${column}`)} else ${sql.ref(`b.${column}`)} end`;

/**
 * Records confirmed and refused fields of users whose row an editor has locked. They are recorded only in the ledger,
 * which editors cannot lock. The push stays open until mirror, base and holds are written, too; `closed_at` shows that it
 * was answered. For a user whose name was harmed, no outcome is recorded, because the user is read back first.
 */
async function noteAnswers(tx: Transaction, results: readonly IntentResult[]): Promise<void> {
  const rows = results.map(({ intent, outcomes, harmed, requestId }) => ({
    change_id: intent.changeId,
    request_id: requestId,
    outcome: Object.fromEntries(
      Object.entries(outcomes)
        .filter(([, outcome]) => (outcome === 'confirmed' || outcome === 'refused') && !harmed)
        .map(([field, outcome]) => [columnOf(field as Field), outcome]),
    ),
  }));
  await sql`
    update sync.changes c set outcome = c.outcome || s.outcome, request_id = coalesce(s.request_id, c.request_id),
      closed_at = case when s.outcome <> '{}' then clock_timestamp() else c.closed_at end
    from jsonb_to_recordset(${toJson(rows)}::jsonb) as s (change_id bigint, request_id text, outcome jsonb)
    where c.change_id = s.change_id and c.change_id = ${anyOf(rows.map(({ change_id }) => change_id))}`.execute(
    tx,
  );
}

/** Closes the intents of users whose mirror row was deleted, because nothing is left to send. */
async function closeLost(
  tx: Transaction,
  teamId: Id,
  results: readonly IntentResult[],
): Promise<ReadonlySet<Id>> {
  const { rows } = await sql<{ user_id: Id; change_id: Id }>`
    update sync.changes c set state = 'closed', closed_at = clock_timestamp(),
      outcome = (select jsonb_object_agg(key, 'missing') from jsonb_object_keys(c.new) as key)
    where c.change_id = any (${results.map(({ intent }) => intent.changeId)}::bigint[])
      and not exists (select from mirror.users u where u.team_id = ${teamId} and u.id = c.user_id)
    returning c.user_id, c.change_id`.execute(tx);
  const closed = rows.map(({ change_id }) => change_id);
  if (closed.length > 0) await giveDecisionsBack(tx, closed);
  return new Set(rows.map(({ user_id }) => user_id));
}

/**
 * Ends edits that an editor withdrew during their push, if the push did not arrive. If it arrived, the base changes, and
 * a trigger on the base ends the edit. Decisions about edits that have not ended may become valid again.
 */
async function endWithdrawn(tx: Transaction, teamId: Id, results: readonly IntentResult[]): Promise<void> {
  const isOver = (outcome: string) => outcome !== 'confirmed' && outcome !== 'unknown';
  const over = results
    .filter(({ outcomes }) => Object.values(outcomes).some(isOver))
    .map(({ intent }) => intent);
  if (over.length === 0) return;
  const ids = over.map(({ userId }) => userId);
  await sql`select sync.end_edits(${teamId}, ${ids}::bigint[])`.execute(tx);
  if (over.some(({ decided }) => decided.length > 0))
    await giveDecisionsBack(
      tx,
      over.map(({ changeId }) => changeId),
    );
}

/**
 * True if a person decided about a field of user s that this push did not send. The row that was read back may show a
 * change on the service after this decision. So the row's version is not stored, and the next run sees a new version.
 */
const hasDecided = (teamId: Id) => sql`exists (select from sync.held_fields d
  where d.team_id = ${teamId} and d.user_id = s.id and d.decision is not null
    and coalesce(s.outcome ->> d.field, 'unsent') = 'unsent')`;

/**
 * Stores the values that the service returned for confirmed fields: always in the base, and in the mirror if it still has
 * the sent value. A later edit stays in the mirror, and is pushed next.
 * @returns the users whose row an editor has locked. For these users, only the ledger has the outcomes.
 */
export async function applyResults(
  tx: Transaction,
  run: RunOf,
  results: readonly IntentResult[],
): Promise<readonly Id[]> {
  const { teamId } = run;
  const ids = results.map(({ intent }) => intent.userId);
  const { rows } = await sql<Row<'mirror.users', 'id'>>`
    select id from mirror.users where team_id = ${teamId} and id = any (${ids}::bigint[])
    order by id for update skip locked`.execute(tx);
  const free = new Set(rows.map(({ id }) => id));
  const lost = free.size === new Set(ids).size ? new Set<Id>() : await closeLost(tx, teamId, results);
  const applied = results.filter(({ intent }) => free.has(intent.userId));
  const locked = results.filter(({ intent: { userId } }) => !free.has(userId) && !lost.has(userId));
  if (locked.length > 0) await noteAnswers(tx, locked);
  const lockedIds = locked.map(({ intent }) => intent.userId);
  if (applied.length === 0) return lockedIds;
  const json = toJson(applied.map(stageResult));
  // Limits the comparison to these few rows, so that Postgres never reads the whole team, whatever the statistics say.
  const anyOfApplied = anyOf(applied.map(({ intent }) => intent.userId));
  const changes = applied.map(({ intent }) => intent.changeId);
  await sql`
    with staged as materialized (${stagedAs(json)}),
    in_mirror as (update mirror.users u set
      ${setValues(toMirror)},
      name_split = case when ${took('name')} and pair_is_sent then 'known' else u.name_split end,
      name = case when ${took('name')} then s.joined else u.name end,
      created_at = case when is_news then s.created_at else u.created_at end,
      updated_at = case when is_news then s.updated_at else u.updated_at end,
      user_created_at = case when is_news then s.user_created_at else u.user_created_at end,
      user_updated_at = case when is_news then s.user_updated_at else u.user_updated_at end,
      raw = case when is_news then s.raw else u.raw end
    from staged s
    cross join lateral ${byKey('mirror.users', teamId, sql`s.id`)} m
    cross join lateral (
      select (m.first_name, m.last_name) is not distinct from (s.sent_first_name, s.sent_last_name),
        s.is_known and not ${isOlder(sql`m`)} and (s.is_direct or not ${hasDecided(teamId)})
    ) p (pair_is_sent, is_news)
    where u.team_id = ${teamId} and u.id = s.id and u.id = ${anyOfApplied}
      and (is_news or ${tookAny})),
    in_base as (update sync.user_base b set
      name = case when takes_name then s.joined else b.name end,
      ${setValues(toBase)},
      agreed_at = clock_timestamp()
    from staged s
    cross join lateral (
      select ${took('name')} or s.harmed and not exists (
        select from sync.held_fields h where h.team_id = ${teamId} and h.user_id = s.id and h.field = 'name')
    ) n (takes_name)
    where b.team_id = ${teamId} and b.id = s.id and b.id = ${anyOfApplied}
      and (takes_name or ${tookAny})),
    arrived as (${endArrived(teamId, sql`staged s`)})
    update sync.changes c set outcome = c.outcome || s.outcome, request_id = coalesce(s.request_id, c.request_id),
      state = case when s.closed then 'closed' else 'open' end, sent_at = case when s.has_left then c.sent_at end,
      closed_at = case when s.closed then clock_timestamp() end
    from staged s where c.change_id = s.change_id and c.change_id = ${anyOf(changes)}
      and (s.closed or c.closed_at is not null or not c.outcome @> s.outcome)`.execute(tx);
  await writeHolds(
    tx,
    run,
    applied.flatMap(({ intent, holds }) => holds.map((hold) => ({ id: intent.userId, hold }))),
    'push',
  );
  await endWithdrawn(tx, teamId, applied);
  await noteNames(tx, teamId, applied);
  return lockedIds;
}
