/** Records rows that are missing from complete listings: since when, verdicts, and which rows wait for a person. */
import { sql } from 'kysely';
import type {
  AbsenceDecision,
  AbsenceVerdict,
  AbsenceVerdicts,
  MirroredResource,
  WithheldAbsence,
} from '../../model/absence.ts';
import type { Id } from '../../model/id.ts';
import type { Queryable, Transaction } from '../db/database.ts';
import type { KnownTeam } from '../team/known-team.ts';
import { writeLedger } from './ledger.ts';
import type { RunOf } from './users-write.ts';

export async function readAbsenceVerdicts(
  db: Queryable,
  teamId: Id,
  resource: MirroredResource,
): Promise<AbsenceVerdicts> {
  const { rows } = await sql<{ id: Id; verdict: AbsenceVerdict }>`
    select id, verdict from sync.absences
    where team_id = ${teamId} and resource = ${resource} and verdict is not null
    order by decided_at, id`.execute(db);
  return new Map(rows.map(({ id, verdict }) => [id, verdict]));
}

/** Replaces the rows that wait for a person. @returns true if a row waits that did not wait before, or for a new reason */
async function writeWithheld(
  tx: Transaction,
  teamId: Id,
  resource: MirroredResource,
  withheld: WithheldAbsence | null,
): Promise<boolean> {
  await sql`
    update sync.absences set batch = null, detail = null, withheld_at = null
    where team_id = ${teamId} and resource = ${resource} and batch is not null
      and id <> all (${withheld?.ids ?? []}::bigint[])`.execute(tx);
  if (withheld === null) return false;
  const { hash, reason, ids } = withheld;
  const { rows } = await sql`
    update sync.absences set batch = ${hash}, detail = ${reason},
      withheld_at = case when batch = ${hash} then withheld_at else clock_timestamp() end
    where team_id = ${teamId} and resource = ${resource} and id = any (${ids}::bigint[])
      and (batch, detail) is distinct from (${hash}::text, ${reason}::text)
    returning id`.execute(tx);
  return rows.length > 0;
}

/** Sets the verdict of these missing rows. Rows that a listing has shown again since get no verdict. */
async function writeVerdict(
  tx: Transaction,
  { teamId, resource }: { readonly teamId: Id; readonly resource: MirroredResource },
  ids: readonly Id[],
  verdict: AbsenceVerdict | null,
): Promise<void> {
  if (ids.length === 0) return;
  await sql`
    update sync.absences set verdict = ${verdict}::text,
      decided_at = case when ${verdict}::text is not null then clock_timestamp() end, decided_by = null, decided_role = null,
        decided_why = null
    where team_id = ${teamId} and resource = ${resource} and id = any (${ids}::bigint[])`.execute(tx);
}

/** True if there is nothing to write: no row is missing now, and none was missing before. */
export function isNoNews(
  known: KnownTeam,
  resource: MirroredResource,
  { missing }: AbsenceDecision,
): boolean {
  return missing.length === 0 && !known.missing.has(resource);
}

/**
 * Counts one more complete listing that lacked the missing rows, and sets `gone_at` of rows that are proven gone.
 * @returns rows that an editor has locked: these rows stay missing, and a later run marks them as gone
 */
export async function applyAbsences(
  tx: Transaction,
  run: RunOf,
  resource: MirroredResource,
  { missing, gone, found, lost, withheld }: AbsenceDecision,
): Promise<readonly Id[]> {
  const { teamId } = run;
  if (missing.length > 0)
    await sql`
    insert into sync.absences as a (team_id, resource, id, missing_since)
    select ${teamId}, ${resource}, m.id, clock_timestamp() from unnest(${missing}::bigint[]) m (id)
    on conflict (team_id, resource, id) do update set passes = a.passes + 1,
      missing_since = case when a.passes = 0 then excluded.missing_since else a.missing_since end`.execute(
      tx,
    );
  await writeWithheld(tx, teamId, resource, withheld);
  await writeVerdict(tx, { teamId, resource }, found, 'found');
  await writeVerdict(tx, { teamId, resource }, lost, null);
  if (gone.length === 0) return [];
  const table = sql.table(`mirror.${resource}`);
  const free = await sql<{ id: Id }>`
    select id from ${table} where team_id = ${teamId} and id = any (${gone}::bigint[]) and gone_at is null
    order by id for update skip locked`.execute(tx);
  const ids = free.rows.map(({ id }) => id);
  const called = new Set(ids);
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
  return gone.filter((id) => !called.has(id));
}

/** Missing rows that wait for a person. */
export interface WaitingAbsence extends WithheldAbsence {
  readonly resource: MirroredResource;
  readonly made_at: Date;
}

export async function readWaitingAbsences(db: Queryable, teamId: Id): Promise<readonly WaitingAbsence[]> {
  const { rows } = await sql<WaitingAbsence>`
    select resource, batch as hash, min(detail) as reason, array_agg(id order by id) as ids, min(withheld_at) as made_at
    from sync.absences where team_id = ${teamId} and batch is not null
    group by resource, batch order by resource`.execute(db);
  return rows;
}
