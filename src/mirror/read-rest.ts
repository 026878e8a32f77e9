/** Whether anything in mirror or base is other than a run left it that found nothing to do. */
import { sql } from 'kysely';
import type { Id } from '../model/id.ts';
import type { ListedResource, MirroredResource } from '../model/absence.ts';
import type { ListingRest, Rest, RestingListing, RestingUsers } from '../model/rest.ts';
import type { TeamBefore } from '../model/team.ts';
import type { Queryable } from './database.ts';
import type { KnownTeam } from './known-team.ts';
import type { Learned, LearnedValue } from './learned.ts';

const topicOf = (resource: MirroredResource) => `${resource} at rest`;
/** Then everybody is read again, whatever is known. */
const longestMs = 86_400_000;

/** Without a parameter: what is asked outside of a transaction then takes one round trip. */
const literal = (teamId: Id) => sql.raw<Id>(String(teamId));

/** `versions` of {@link Rest}. */
export async function readVersions(db: Queryable, teamId: Id): Promise<string> {
  const { rows } = await sql<
    Pick<Rest, 'versions'>
  >`select sync.versions(${literal(teamId)}) as versions`.execute(db);
  return onlyRow(rows).versions;
}

type Noted = Pick<Rest, 'versions' | 'schema'> & { readonly noted: readonly Id[] };

/** A row that was written, by whomever, has another `xmin` than before; and who is noted as not at rest. */
async function readNoted(db: Queryable, teamId: Id): Promise<Noted> {
  const { rows } = await sql<Noted>`
    select versions, schema, noted from sync.rest(${literal(teamId)})`.execute(db);
  return onlyRow(rows);
}

function onlyRow<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error('an aggregate returned no row');
  return row;
}

/** Compares all of mirror and base with each other. */
async function readDiffering(db: Queryable, teamId: Id): Promise<Pick<Rest, 'print' | 'differing'>> {
  const { rows } = await sql<Pick<Rest, 'print' | 'differing'>>`
    select coalesce(bit_xor(hash_record_extended(row(u.id, b.id, u.gone_at is null, u.name, u.role, u.resolved,
        u.created_at, u.updated_at, u.user_created_at, u.user_updated_at, b.name, b.email, b.phone, b.role_id), 0)), 0)::text as print,
      coalesce(array_agg(coalesce(u.id, b.id)) filter (where u.gone_at is null and (u.id is null or b.id is null
        or not u.resolved or u.name is distinct from b.name or (u.first_name, u.last_name, u.email, u.phone, u.role_id)
           is distinct from (b.first_name, b.last_name, b.email, b.phone, b.role_id))), '{}') as differing
    from (select * from mirror.users where team_id = ${teamId}) u
    full join (select * from sync.user_base where team_id = ${teamId}) b on b.id = u.id`.execute(db);
  return onlyRow(rows);
}

/**
 * Where no row was written since `known`, mirror and base are not compared again.
 * The rows are looked at before they are compared: what is written in between makes them others the next time.
 */
export async function readRest(db: Queryable, teamId: Id, known: RestingUsers | null): Promise<Rest> {
  const { noted, ...now } = await readNoted(db, teamId);
  const { print, differing } =
    known?.versions === now.versions
      ? { print: known.print, differing: known.differing.map(BigInt) }
      : await readDiffering(db, teamId);
  return { ...now, print, differing, restless: [...new Set([...differing, ...noted])] };
}

/** Of all listings at once. A row that was written, by whomever, has another `xmin` than before. */
export async function readListingRests(
  db: Queryable,
  teamId: Id,
): Promise<Readonly<Record<ListedResource, ListingRest>>> {
  const { rows } = await sql<ListingRest & { readonly resource: ListedResource }>`
    select resource, schema, print, "isLacking" from sync.listing_rests(${literal(teamId)})`.execute(db);
  const of = (resource: ListedResource) => onlyRow(rows.filter((row) => row.resource === resource));
  return { tags: of('tags'), contact_fields: of('contact_fields') };
}

/** What was learned of a resource, unless all of it is to be read again by now; a clock that went back tells nothing. */
export function toResting<Resting>(
  learned: ReadonlyMap<string, LearnedValue>,
  resource: MirroredResource,
): Resting | null {
  const known = learned.get(topicOf(resource));
  return known === undefined || known.ageMs < 0 || known.ageMs >= longestMs ? null : (known.value as Resting);
}

/** To be kept with the end of the run. */
export const learnedOfRest = (resource: MirroredResource, value: RestingUsers | RestingListing): Learned => ({
  topic: topicOf(resource),
  value,
});

/** A team whose answer need not be read where it is as it was when everybody was at rest, and the mirror has it so. */
export function toTeamBefore({ teamId, team, learned }: KnownTeam): TeamBefore | undefined {
  const resting = toResting<RestingUsers>(learned, 'users');
  if (resting === null || teamId === null || team === null) return undefined;
  const { name, listSize, team: digest } = resting;
  return name === team.name && listSize === (team.listSize?.toString() ?? null)
    ? { id: teamId, ...team, digest }
    : undefined;
}
