/** The home of this mirror, and whether this place is its home: the topic `place` of `sync.learned`. */
import { sql } from 'kysely';
import { MusterdError } from '../../errors.ts';
import { toJson } from '../../model/json.ts';
import {
  addressesInWords,
  adviceOn,
  type PresentPlace,
  judgePlace,
  maybeAlso,
  type KnownPlace,
  placeInWords,
  type Placing,
  sendBlockOf,
} from '../../model/place.ts';
import type { Database, Queryable, Transaction } from '../db/database.ts';
import { sqlState } from '../db/database-errors.ts';

export interface KnownPlaceRow {
  readonly place: KnownPlace | null;
  readonly identifier: string | null;
  readonly database: string;
  readonly until: string | null;
}

export function placingOf(
  { place: known, identifier, database, until }: KnownPlaceRow,
  { address }: Pick<Database, 'address'>,
): Placing {
  const here = { identifier, database, address };
  return {
    verdict: judgePlace(known, here),
    known,
    here,
    until: until === null ? null : new Date(until),
  };
}

/** @param db the database at the address of the settings @param within if given, the transaction in which to read */
export async function readPlacing(
  db: Pick<Database, 'address' | 'kysely'>,
  within: Queryable = db.kysely,
): Promise<Placing> {
  const { rows } = await sql<{ known: KnownPlaceRow }>`select mirror.known_place() as known`.execute(within);
  const [row] = rows;
  if (row === undefined) throw new Error('a select without a table returned no row');
  return placingOf(row.known, db);
}

/** A move of the mirror to another place, as the ledger records it. */
export interface PlaceMove {
  readonly from: string;
  readonly to: string;
  readonly why: string;
}

/** Writes the place if the recorded place is still `before`. @returns true if it was written */
export async function writePlace(
  tx: Transaction,
  before: KnownPlace | null,
  place: KnownPlace,
  move: PlaceMove | null = null,
): Promise<boolean> {
  const { rows } = await sql<{ kept: boolean }>`
    select sync.keep_place(${before === null ? null : toJson(before)}::jsonb, ${toJson(place)}::jsonb,
      ${move === null ? null : toJson(move)}::jsonb) as kept`.execute(tx);
  return rows[0]?.kept === true;
}

export const moveOf = (before: KnownPlace | null, now: KnownPlace, why: string): PlaceMove => {
  const inWords = (place: KnownPlace | null) =>
    place === null ? 'nowhere' : `${place.kind === 'copy' ? 'copy at ' : ''}${addressesInWords(place)}`;
  return { from: inWords(before), to: inWords(now), why };
};

/** A record of the present place as the home of the mirror, with the present address as its only address. */
export const homeAt = ({ identifier, database, address }: PresentPlace, now: Date): KnownPlace => ({
  kind: 'home',
  identifier,
  database,
  addresses: [address],
  since: now.toISOString(),
  by: null,
  why: null,
});

/**
 * The record of the place that a run has to write; `undefined` if it is written already. By the verdict on the place:
 *
 * | verdict    | what the run records                                                               |
 * |------------|------------------------------------------------------------------------------------|
 * | unrecorded | this place                                                                         |
 * | here, copy | the server's identifier, if it was not known; `left` is removed                    |
 * | elsewhere  | `left`, the end of the last run at home, if no `left` is recorded                  |
 */
export function placeToNote({ verdict, known, here, until }: Placing, now: Date): KnownPlace | undefined {
  if (known === null || verdict === 'unrecorded') {
    const home = homeAt(here, now);
    return known === null ? home : { ...known, identifier: here.identifier, addresses: home.addresses };
  }
  const { left, ...rest } = known;
  if (verdict === 'elsewhere')
    return left === undefined && until !== null ? { ...known, left: until.toISOString() } : undefined;
  const isNews = left !== undefined || (known.identifier === null && here.identifier !== null);
  return isNews ? { ...rest, identifier: here.identifier ?? known.identifier } : undefined;
}

/** Records what a run finds about its place. If several processes record the first place, only one of them succeeds. */
export async function notePlace(db: Database, placing: Placing): Promise<Placing> {
  const place = placeToNote(placing, new Date());
  if (place === undefined) return placing;
  return await db.transaction(async (tx) =>
    (await writePlace(tx, placing.known, place))
      ? { ...placing, known: place, verdict: judgePlace(place, placing.here) }
      : await readPlacing(db, tx),
  );
}

/** Records the place of a new schema, but without an address, because runs may connect by another address. */
export async function noteDatabase(db: Database): Promise<void> {
  const placing = await readPlacing(db);
  if (placing.known !== null) return;
  const place = { ...homeAt(placing.here, new Date()), addresses: [] };
  await db.transaction((tx) => writePlace(tx, null, place));
}

export const notHome = (placing: Placing): MusterdError =>
  new MusterdError(
    'copy',
    placing.verdict === 'copy'
      ? 'Nothing can be decided or sent in a copy'
      : `Nothing can be decided or sent here: ${placeInWords(placing)}`,
    {
      hint: `${placing.verdict === 'copy' ? `T${placeInWords(placing).slice(1)}. ` : ''}${adviceOn(placing)}`,
    },
  );

/** Must be called before anything is sent or decided. @throws MusterdError `copy` if this mirror must not do that */
export async function requireHome(db: Pick<Database, 'address' | 'kysely'>): Promise<void> {
  const placing = await readPlacing(db);
  if (sendBlockOf(placing) !== undefined) throw notHome(placing);
}

/**
 * Runs a transaction for a person. It needs no lease, so runs of the team continue in parallel, as with an edit in SQL.
 * @throws MusterdError `copy` if this mirror may not decide; the address of the person's connection does not matter
 */
export async function asPerson<R>(db: Database, work: (tx: Transaction) => Promise<R>): Promise<R> {
  const placing = ofDatabase(await readPlacing(db));
  if (sendBlockOf(placing) !== undefined) throw notHome(placing);
  return await db.transaction(work).catch(async (error: unknown) => {
    throw sqlState(error) === '55000' ? notHome(ofDatabase(await readPlacing(db))) : error;
  });
}

/** The verdict on the place without regard to the address, because a person may use any host name to connect. */
export function ofDatabase(placing: Placing): Placing {
  const { known } = placing;
  if (known === null || !maybeAlso(placing) || known.addresses.length === 0) return placing;
  return { ...placing, verdict: known.kind === 'copy' ? 'copy' : 'here' };
}
