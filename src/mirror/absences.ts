/** Rows that complete listings no longer show: since when, what is withheld, and what people decided. */
import { type Kysely, sql, type Transaction } from 'kysely';
import type { AbsenceDecision, AbsenceGrounds, MirroredResource, WithheldAbsence } from '../model/absence.ts';
import type { Id } from '../model/id.ts';
import { type RunOf, writeLedger } from './users-write.ts';

/** How long an approval counts: time enough for two passes. */
const approvalLifetime = sql`interval '24 hours'`;

export async function readAbsenceGrounds<T>(
  db: Kysely<T>,
  teamId: Id,
  resource: MirroredResource,
): Promise<AbsenceGrounds> {
  const scope = await sql<{ scope: string }>`
    select scope from sync.scopes where team_id = ${teamId} and resource = ${resource}`.execute(db);
  const approved = await sql<{ id: Id }>`
    select distinct unnest(ids) as id from sync.withheld_absences
    where team_id = ${teamId} and resource = ${resource} and state = 'approved'
      and expires_at > clock_timestamp()`.execute(db);
  return { scope: scope.rows[0]?.scope ?? null, approved: new Set(approved.rows.map(({ id }) => id)) };
}

/** Puts it in place of what was withheld before; the same again is left as it is. */
async function writeWithheld<T>(
  tx: Transaction<T>,
  { teamId, runId }: RunOf,
  resource: MirroredResource,
  withheld: WithheldAbsence | null,
): Promise<void> {
  await sql`
    update sync.withheld_absences set state = 'superseded'
    where team_id = ${teamId} and resource = ${resource} and state = 'waiting'
      and hash is distinct from ${withheld?.hash ?? null}::text`.execute(tx);
  if (withheld === null) return;
  const { hash, reason, ids } = withheld;
  await sql`
    insert into sync.withheld_absences (team_id, resource, hash, reason, ids, run_id, expires_at)
    values (${teamId}, ${resource}, ${hash}, ${reason}, ${ids}::bigint[], ${runId}, 'infinity')
    on conflict (team_id, resource) where state = 'waiting' do update set reason = excluded.reason
      where withheld_absences.reason <> excluded.reason`.execute(tx);
}

async function writeScope<T>(
  tx: Transaction<T>,
  teamId: Id,
  resource: MirroredResource,
  scope: string,
): Promise<void> {
  await sql`
    insert into sync.scopes as s (team_id, resource, scope)
    select ${teamId}::bigint, ${resource}::text, ${scope}::text
    where not exists (
      select from sync.scopes where team_id = ${teamId} and resource = ${resource} and scope = ${scope})
    on conflict (team_id, resource) do update set scope = excluded.scope, since = clock_timestamp()`.execute(
    tx,
  );
}

/**
 * Counts a complete pass against the missing rows and calls the proven ones gone.
 * @returns those that an editor holds: they are missing still, and called gone by a later run
 */
export async function applyAbsences<T>(
  tx: Transaction<T>,
  run: RunOf,
  resource: MirroredResource,
  { missing, gone, withheld, scope }: AbsenceDecision,
): Promise<readonly Id[]> {
  const { teamId } = run;
  await writeWithheld(tx, run, resource, withheld);
  if (withheld === null) await writeScope(tx, teamId, resource, scope);
  if (missing.length === 0) return [];
  await sql`
    insert into sync.absences as a (team_id, resource, id, missing_since)
    select ${teamId}, ${resource}, m.id, clock_timestamp() from unnest(${missing}::bigint[]) m (id)
    on conflict (team_id, resource, id) do update set passes = a.passes + 1`.execute(tx);
  if (gone.length === 0) return [];
  const table = sql.table(`mirror.${resource}`);
  const free = await sql<{ id: Id }>`
    select id from ${table} where team_id = ${teamId} and id = any (${gone}::bigint[]) and gone_at is null
    order by id for update skip locked`.execute(tx);
  const ids = free.rows.map(({ id }) => id);
  await sql`
    update ${table} set gone_at = clock_timestamp()
    where team_id = ${teamId} and id = any (${ids}::bigint[])`.execute(tx);
  await sql`
    delete from sync.absences
    where team_id = ${teamId} and resource = ${resource} and id = any (${ids}::bigint[])`.execute(tx);
  if (resource === 'users') {
    const rows = ids.map((id) => ({ user_id: id, kind: 'tombstone', base: {}, old: {}, new: {} }));
    await writeLedger(tx, run, rows);
  }
  return gone.filter((id) => !ids.includes(id));
}

/** Missing rows that wait for a person. */
export interface WaitingAbsence extends WithheldAbsence {
  readonly absence_id: bigint;
  readonly resource: MirroredResource;
  readonly made_at: Date;
}

export async function readWaitingAbsences<T>(db: Kysely<T>, teamId: Id): Promise<readonly WaitingAbsence[]> {
  const { rows } = await sql<WaitingAbsence>`
    select absence_id, resource, hash, reason, ids, made_at from sync.withheld_absences
    where team_id = ${teamId} and state = 'waiting' order by resource`.execute(db);
  return rows;
}

/** Writes down that a person agrees: these rows may be called gone for a day, if nothing speaks against it. */
export async function approveAbsence<T>(
  tx: Transaction<T>,
  teamId: Id,
  { absence_id: id, resource, hash, reason, ids }: WaitingAbsence,
  why: string,
): Promise<void> {
  await sql`update sync.withheld_absences set state = 'superseded' where absence_id = ${id}`.execute(tx);
  await sql`
    insert into sync.withheld_absences
      (team_id, resource, hash, state, reason, ids, expires_at, decided_at, decided_by, decided_why)
    values (${teamId}, ${resource}, ${hash}, 'approved', ${reason}, ${ids}::bigint[],
            clock_timestamp() + ${approvalLifetime}, clock_timestamp(), session_user, ${why})`.execute(tx);
}
