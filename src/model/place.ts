/** The home of a mirror: a mirror sends only at this place (server, database, address), and only reads elsewhere. */
import { showTime } from './zone-time.ts';

/** The address of a database in the settings. */
export interface Address {
  /** For example `db.example.net:5432/muster` or `folder /var/lib/musterd`. Several hosts are joined by ` or `. */
  readonly at: string;
  /** A digest of the machine's id if the address is local to each machine; `null` for other addresses, or if unknown. */
  readonly machine: string | null;
}

export interface PresentPlace {
  /** The server's system identifier (`pg_control_system()`); `null` if the owner of the tables may not read it. */
  readonly identifier: string | null;
  /** The oid of the database. */
  readonly database: string;
  readonly address: Address;
}

interface PlaceOnRecord {
  readonly identifier: string | null;
  /** `null` if musterd 0.1.0 restored the record from a dump that did not contain the database's oid. */
  readonly database: string | null;
  /** All addresses of the place; empty before the first run. */
  readonly addresses: readonly Address[];
  /** In ISO 8601. */
  readonly since: string;
  /** The person who recorded the place; `null` if no person had to. */
  readonly by: string | null;
  readonly why: string | null;
  /** The end of the last run at this place, found by the first run at another place. */
  readonly left?: string;
}

/** The kind is `copy` if a person recorded that the mirror is meant as a copy. */
export type KnownPlace = PlaceOnRecord & { readonly kind: 'home' | 'copy' };

/** The reason why nothing is sent. */
export type SendBlock = 'elsewhere' | 'copy';
export type PlaceVerdict = 'here' | 'unrecorded' | SendBlock;

/** The recorded place and the present place, compared. */
export interface Placing {
  readonly verdict: PlaceVerdict;
  readonly known: KnownPlace | null;
  readonly here: PresentPlace;
  /** The end of the last run whose verdict was not `elsewhere`. */
  readonly until: Date | null;
}

/** True if the values differ. An unknown value (`null`) does not count as different. */
const isOther = (a: string | null, b: string | null): boolean => a !== null && b !== null && a !== b;

/** Joins the hosts of one database in an address. */
export const otherAddress = ' or ';

/** True if the addresses have a host in common. Hosts in one address are servers of one database, so one host is enough. */
export const isSameAddress = (a: Address, b: Address): boolean => {
  const hosts = a.at.split(otherAddress);
  return b.at.split(otherAddress).some((at) => hosts.includes(at)) && !isOther(a.machine, b.machine);
};

/** True if the recorded and the present database can be the same. Also true for a copy of the disk. */
export const isSameDatabase = (
  known: Pick<KnownPlace, 'identifier' | 'database'>,
  here: Pick<PresentPlace, 'identifier' | 'database'>,
): boolean => !isOther(known.identifier, here.identifier) && known.database === here.database;

/**
 * Compares the present place with the recorded place (`any`: home or copy; `·`: does not matter):
 *
 * | on record | identifier of the server       | oid of the database | present address       | verdict    |
 * |-----------|--------------------------------|---------------------|-----------------------|------------|
 * | nothing   | ·                              | ·                   | ·                     | unrecorded |
 * | any       | differs                        | ·                   | ·                     | elsewhere  |
 * | any       | same, or one is not known      | differs, or unknown | ·                     | elsewhere  |
 * | any       | same, or one is not known      | same                | no address on record  | unrecorded |
 * | any       | same, or one is not known      | same                | not on record         | elsewhere  |
 * | home      | same, or one is not known      | same                | on record             | here       |
 * | copy      | same, or one is not known      | same                | on record             | copy       |
 *
 * An address is on record if its text is, and the machine is the same or its id is not known. A copy that has moved is
 * `elsewhere`, because a person recorded it as a copy at another place.
 */
export function judgePlace(known: KnownPlace | null, here: PresentPlace): PlaceVerdict {
  if (known === null) return 'unrecorded';
  if (!isSameDatabase(known, here)) return 'elsewhere';
  if (known.addresses.length === 0) return 'unrecorded';
  if (!known.addresses.some((address) => isSameAddress(address, here.address))) return 'elsewhere';
  return known.kind === 'copy' ? 'copy' : 'here';
}

/** The reason why nothing is sent; `undefined` if the mirror sends. */
export const sendBlockOf = ({ verdict }: Pick<Placing, 'verdict'>): SendBlock | undefined =>
  verdict === 'elsewhere' || verdict === 'copy' ? verdict : undefined;

/** `a, b or c` */
export function addressesInWords({ addresses }: Pick<KnownPlace, 'addresses'>): string {
  const names = [...new Set(addresses.map(({ at }) => at))];
  if (names.length === 0) return 'a place that is not on record';
  return names.length === 1 ? String(names[0]) : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}

/** Words for how the present place differs from a recorded place with the same address. */
function namesake(known: KnownPlace, here: PresentPlace): string {
  const same = known.addresses.find((address) => isSameAddress({ ...address, machine: null }, here.address));
  if (same === undefined) return '';
  if (isOther(known.identifier, here.identifier)) return ', on another server';
  if (isOther(same.machine, here.address.machine)) return ', on another machine';
  return ', in another database of that name';
}

/** Words for where the mirror was and where it is, for the middle of a sentence. */
function whereaboutsOf({ known, here, until }: Placing): string {
  if (known === null) return `is at ${here.address.at}`;
  const last = until === null ? '' : ` until ${showTime(until)}`;
  return `was at ${addressesInWords(known)}${last}, and is at ${here.address.at}${namesake(known, here)} now`;
}

/** Words for who recorded the place, and when. */
function saidInWords({ by, why, since }: Pick<KnownPlace, 'by' | 'why' | 'since'>): string {
  const when = showTime(new Date(since));
  return by === null ? `since ${when}` : `said by ${by} at ${when}${why === null ? '' : `: ${why}`}`;
}

/** True if the present place may be just another address of the recorded database. */
export const maybeAlso = ({ known, here }: Pick<Placing, 'known' | 'here'>): boolean =>
  known !== null && isSameDatabase(known, here) && !here.address.at.startsWith(folderPrefix);

/** The prefix of the address of an embedded server, which is its folder. */
export const folderPrefix = 'folder ';

/** The advice to a person if nothing is sent; empty if the mirror sends. */
export function adviceOn(placing: Placing): string {
  if (placing.verdict === 'copy') return 'To let it send: musterd adopt --reason …';
  if (placing.verdict !== 'elsewhere') return '';
  const also = maybeAlso(placing)
    ? ' If this is only another name of the same server: musterd adopt --also --reason …'
    : '';
  return `If it has moved here: musterd adopt --reason …, and stop the other one. If it should be a copy: musterd adopt --as-copy --reason …${also}`;
}

/** One sentence about where the mirror is. */
export function placeInWords(placing: Placing): string {
  const { verdict, known, here } = placing;
  if (verdict === 'elsewhere') return `this mirror ${whereaboutsOf(placing)}: nothing is sent from here`;
  if (verdict === 'copy' && known !== null)
    return `this is a copy, ${saidInWords(known)}; it reads, and sends nothing`;
  if (verdict === 'unrecorded') return `${here.address.at}, which the first run records`;
  return known === null ? here.address.at : addressesInWords(known);
}

/** The placing as JSON for scripts, as `status` and `adopt` print it. */
export const placeInJson = ({ verdict, known, here, until }: Placing): object => ({
  verdict,
  at: here.address.at,
  known_at: known?.addresses.map(({ at }) => at) ?? [],
  until: verdict === 'elsewhere' ? until : null,
  since: known?.since ?? null,
  by: known?.by ?? null,
  why: known?.why ?? null,
});
