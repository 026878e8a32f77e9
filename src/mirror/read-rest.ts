/** Whether mirror and base are as the run left them that recorded the users at rest. */
import { sql } from 'kysely';
import type { Id } from '../model/id.ts';
import { digestOfRows, type KnownRows, openKnownRows } from '../model/known-rows.ts';
import type { ListedResource, MirroredResource } from '../model/absence.ts';
import type {
  Keeping,
  ListingRest,
  Rest,
  RestingListing,
  RestingUsers,
  RestNow,
  RestOfSome,
} from '../model/rest.ts';
import type { TeamBefore } from '../model/team.ts';
import { anyOf, byKey, idArray } from './by-key.ts';
import type { Queryable } from './database.ts';
import type { KnownTeam } from './known-team.ts';
import { type Learned, type LearnedValue, readLearnedRows } from './learned.ts';

const topicOf = (resource: MirroredResource) => `${resource} at rest`;
/** After this everybody is read again, whatever is known. */
const longestMs = 86_400_000;

/** `versions` of {@link Rest}. */
export async function readVersions(db: Queryable, teamId: Id): Promise<string> {
  const { rows } = await sql<Pick<Rest, 'versions'>>`select sync.versions(${teamId}) as versions`.execute(db);
  return onlyRow(rows).versions;
}

type Noted = Pick<Rest, 'versions' | 'schema'> & { readonly noted: readonly Id[] };

/** `versions` has the `xmin` of each row, which is another one after any write. `noted` are users who are not at rest. */
async function readNoted(db: Queryable, teamId: Id): Promise<Noted> {
  const { rows } = await sql<Noted>`
    select versions, schema, noted from sync.rest(${teamId})`.execute(db);
  return onlyRow(rows);
}

function onlyRow<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error('an aggregate returned no row');
  return row;
}

/** Compares mirror and base with each other, for everybody or for some users. */
async function readDiffering(
  db: Queryable,
  teamId: Id,
  ids?: readonly Id[],
): Promise<Pick<Rest, 'print' | 'differing'>> {
  const beside = ids === undefined ? allBeside(teamId) : someBeside(teamId, ids);
  const { rows } = await sql<Pick<Rest, 'print' | 'differing'>>`
    select coalesce(bit_xor(hash_record_extended(row(u.id, b.id, u.gone_at is null, u.name, u.role, u.resolved,
        u.created_at, u.updated_at, u.user_created_at, u.user_updated_at, b.name, b.email, b.phone, b.role_id), 0)), 0)::text as print,
      coalesce(array_agg(coalesce(u.id, b.id)) filter (where u.gone_at is null and (u.id is null or b.id is null
        or not u.resolved or u.name is distinct from b.name or (u.first_name, u.last_name, u.email, u.phone, u.role_id)
           is distinct from (b.first_name, b.last_name, b.email, b.phone, b.role_id))), '{}') as differing
    from ${beside}`.execute(db);
  return onlyRow(rows);
}

const allBeside = (teamId: Id) => sql`(select * from mirror.users where team_id = ${teamId}) u
  full join (select * from sync.user_base where team_id = ${teamId}) b on b.id = u.id`;

/** Each by its key, whatever the statistics say. */
const someBeside = (teamId: Id, ids: readonly Id[]) => sql`unnest(${idArray([...new Set(ids)])}) as i (id)
  left join lateral ${byKey('mirror.users', teamId, sql`i.id`)} u on true
  left join lateral ${byKey('sync.user_base', teamId, sql`i.id`)} b on true
  where u.id is not null or b.id is not null`;

/**
 * If no row was written since `known`, mirror and base are not compared again.
 * `versions` are read before the comparison: a write in between makes them other versions the next time.
 */
export async function readRest(db: Queryable, teamId: Id, known: RestingUsers | null): Promise<Rest> {
  const { noted, ...now } = await readNoted(db, teamId);
  const { print, differing } =
    known?.versions === now.versions
      ? { print: known.print, differing: known.differing.map(BigInt) }
      : await readDiffering(db, teamId);
  return { ...now, print, differing, restless: [...new Set([...differing, ...noted])] };
}

/** Takes the rows of one hash out of the other, or puts them in. */
function exclusiveOr(a: string, b: string): string {
  const [left, right] = [a.split(' '), b.split(' ')];
  return left
    .map((part, at) => BigInt.asIntN(64, BigInt(part) ^ BigInt(right[at] ?? 0)).toString())
    .join(' ');
}

/** The versions of everybody without those of some users. */
function butFor(everybody: string, some: string): string {
  const [place = '', ...rows] = everybody.split(' ');
  return `${place} ${exclusiveOr(rows.join(' '), some)}`;
}

export async function readRestOfSome(db: Queryable, teamId: Id, ids: readonly Id[]): Promise<RestOfSome> {
  if (ids.length === 0) return { versions: '0 0', print: '0', differing: [] };
  const versionsOf = (table: string) => sql`(
    select coalesce(bit_xor(hash_record_extended(row(t.id, t.xmin), 0)), 0) from ${sql.table(table)} t
    where t.team_id = ${teamId} and t.id = ${anyOf(ids)})`;
  const { rows } = await sql<Pick<Rest, 'versions'>>`
    select concat_ws(' ', ${versionsOf('mirror.users')}, ${versionsOf('sync.user_base')}) as versions`.execute(
    db,
  );
  return { ...onlyRow(rows), ...(await readDiffering(db, teamId, ids)) };
}

/**
 * Mirror and base as they are by now, if only these users were written since `before`.
 *
 * If all was compared before, that is reckoned, not read: if somebody else was written as well, the next run finds other
 * rows than these, and compares all of them. Otherwise all is compared now.
 * @returns `null` if somebody else was written
 */
export async function readRestSince(
  db: Queryable,
  teamId: Id,
  before: Pick<Rest, 'versions'> & Partial<Rest>,
  ids: readonly Id[],
  some: RestOfSome,
): Promise<RestNow | null> {
  const someNow = await readRestOfSome(db, teamId, ids);
  const { print, differing, schema } = before;
  if (print !== undefined && differing !== undefined && schema !== undefined) {
    const [place = '', ...rows] = before.versions.split(' ');
    const moved = exclusiveOr(some.versions, someNow.versions);
    return {
      versions: `${place} ${exclusiveOr(rows.join(' '), moved)}`,
      print: exclusiveOr(print, exclusiveOr(some.print, someNow.print)),
      differing: [...new Set(differing).difference(new Set(ids)), ...someNow.differing],
      schema,
    };
  }
  const { versions, schema: newest } = await readNoted(db, teamId);
  if (butFor(versions, someNow.versions) !== butFor(before.versions, some.versions)) return null;
  return { versions, schema: newest, ...(await readDiffering(db, teamId)) };
}

/** Of all listings at once. A row has another `xmin` after any write. */
export async function readListingRests(
  db: Queryable,
  teamId: Id,
): Promise<Readonly<Record<ListedResource, ListingRest>>> {
  const { rows } = await sql<ListingRest & { readonly resource: ListedResource }>`
    select resource, schema, print, "isLacking" from sync.listing_rests(${teamId})`.execute(db);
  const of = (resource: ListedResource) => onlyRow(rows.filter((row) => row.resource === resource));
  return { tags: of('tags'), contact_fields: of('contact_fields') };
}

/** What was learned of a resource; `null`: it is too old, or the clock was set back since. */
export function toResting<Resting>(
  learned: ReadonlyMap<string, LearnedValue>,
  resource: MirroredResource,
): Resting | null {
  const known = learned.get(topicOf(resource));
  return known === undefined || known.ageMs < 0 || known.ageMs >= longestMs ? null : (known.value as Resting);
}

/** To be kept with the end of the run. */
export const learnedOfRest = (
  resource: MirroredResource,
  value: RestingUsers | RestingListing,
  { packed, isWhole }: Pick<Keeping, 'packed' | 'isWhole'>,
): Learned => ({
  topic: topicOf(resource),
  value,
  ...(packed === null ? {} : { rows: packed.toString('base64') }),
  ...(isWhole ? {} : { atMs: 0 }),
});

/** A listing as it is once the run's own writes are in it. */
export const afterWrites = (listing: RestingListing, moved: string): RestingListing => {
  const [place = '', rows = '0'] = listing.print.split(' ');
  return { ...listing, print: `${place} ${exclusiveOr(rows, moved)}` };
};

export async function readKnownRows(
  db: Queryable,
  teamId: Id,
  resource: MirroredResource,
  { rows }: RestingUsers | RestingListing,
): Promise<KnownRows | null> {
  const packed = rows === undefined ? null : await readLearnedRows(db, teamId, topicOf(resource));
  return packed === null || digestOfRows(packed) !== rows?.digest ? null : openKnownRows(packed);
}

/** The team of the record. If the answer is the same and so is the mirror, the answer need not be read. */
export function toTeamBefore({ teamId, team, learned }: KnownTeam): TeamBefore | undefined {
  const resting = toResting<RestingUsers>(learned, 'users');
  if (resting === null || teamId === null || team === null) return undefined;
  const { name, listSize, team: digest } = resting;
  return name === team.name && listSize === (team.listSize?.toString() ?? null)
    ? { id: teamId, ...team, digest }
    : undefined;
}
