/** Reads the record of who is at rest, and what the database knows of the time since. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import type { MirroredResource } from '../../model/absence.ts';
import type { ListingRest, Mark, WrittenSince, RestingListing, RestingUsers } from '../../model/rest.ts';
import type { TeamHead } from '../../model/team.ts';
import type { Queryable, Row } from '../db/database.ts';
import type { KnownTeam } from './known-team.ts';
import type { Learned, LearnedValue } from './learned.ts';

const topicOf = (resource: MirroredResource) => `${resource} at rest`;
/** After this time everybody is read again, whatever is known. */
const longestMs = 86_400_000;

function onlyRow<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error('an aggregate returned no row');
  return row;
}

export async function readRest(db: Queryable, teamId: Id): Promise<WrittenSince> {
  const { rows } = await sql<WrittenSince>`
    select mark, schema, since, written, noted, present from sync.rest(${teamId})`.execute(db);
  return onlyRow(rows);
}

/** Reads the records of all listings at once. */
export async function readListingRests(
  db: Queryable,
  teamId: Id,
): Promise<ReadonlyMap<MirroredResource, ListingRest>> {
  const { rows } = await sql<ListingRest & { readonly resource: MirroredResource }>`
    select resource, mark, schema, since, present, "isLacking" from sync.listing_rests(${teamId})`.execute(
    db,
  );
  return new Map(rows.map((row) => [row.resource, row]));
}

/**
 * Reads the state after a first run has taken everybody, and which rows are not as it took them. A row that it took has
 * the transaction of its entry in the ledger.
 */
export async function readTaken(
  db: Queryable,
  teamId: Id,
  runId: bigint,
): Promise<Pick<Mark, 'mark'> & { readonly written: readonly Id[] }> {
  const { rows } = await sql<Pick<Mark, 'mark'> & { readonly written: readonly Id[] }>`
    with taken as materialized (
      select c.xmin as xid from sync.changes c
      where c.team_id = ${teamId} and c.run_id = ${runId} and c.kind = 'adopt' group by c.xmin)
    select sync.mark() as mark, array(
      select u.id from mirror.users u where u.team_id = ${teamId} and u.xmin <> all (array(select xid from taken))
      union
      select b.id from sync.user_base b where b.team_id = ${teamId} and b.xmin <> all (array(select xid from taken))
    ) as written`.execute(db);
  return onlyRow(rows);
}

/** The record of a resource; `null` if it is too old, or if the clock was set back since. */
export function toResting<Resting>(
  learned: ReadonlyMap<string, LearnedValue>,
  resource: MirroredResource,
): Resting | null {
  const learnedValue = learned.get(topicOf(resource));
  return learnedValue === undefined || learnedValue.ageMs < 0 || learnedValue.ageMs >= longestMs
    ? null
    : (learnedValue.value as Resting);
}

/** The record to store when the run ends. @param isWhole whether all rows were compared, which begins the day anew */
export const learnedOfRest = (
  resource: MirroredResource,
  value: RestingUsers | RestingListing,
  isWhole = true,
): Learned => ({ topic: topicOf(resource), value, ...(isWhole ? {} : { atMs: 0 }) });

/** The hashes that were kept with this very record. */
export async function readRowHashes(
  db: Queryable,
  teamId: Id,
  { mark }: RestingUsers,
): Promise<Buffer | null> {
  const { rows } = await sql<Row<'sync.learned', 'hashes'>>`
    select l.hashes from sync.learned l join sync.teams t on t.team = l.team
    where t.team_id = ${teamId} and l.topic = ${topicOf('users')} and l.value ->> 'mark' = ${mark}`.execute(
    db,
  );
  return rows[0]?.hashes ?? null;
}

/** The team of the record. If the answer is the same and so is the mirror, the answer need not be read. */
export function toTeamHead({ teamId, team, learned }: KnownTeam): TeamHead | undefined {
  const resting = toResting<RestingUsers>(learned, 'users');
  if (resting === null || teamId === null || team === null || team.members === null) return undefined;
  const { name, listSize, team: digest } = resting;
  return name === team.name && listSize === (team.listSize?.toString() ?? null)
    ? { id: teamId, name, listSize: team.listSize, digest }
    : undefined;
}
