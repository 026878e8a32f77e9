/** A person declares that this place is the home of the mirror, or that it is a copy. */
import { MusterdError } from '../../errors.ts';
import { actFor, readLogin } from '../../mirror/users/decide-edits.ts';
import { homeAt, moveOf, readPlacing, writePlace } from '../../mirror/team/known-place.ts';
import type { Database, Transaction } from '../../mirror/db/database.ts';
import { readTeamNames, wakeForEdits } from '../../mirror/team/due.ts';
import { dropForeignTransactions } from '../../mirror/users/settled.ts';
import { type Lease, takeLease } from '../../mirror/team/lease.ts';
import type { LeaseOptions } from '../../mirror/team/lease-holder.ts';
import { requireSchema } from '../open.ts';
import {
  folderPrefix,
  isSameAddress,
  isSameDatabase,
  type KnownPlace,
  type Placing,
} from '../../model/place.ts';

/** `also` means that the recorded place has a further address: this one. */
export type AdoptAs = 'home' | 'copy' | 'also';

export interface Adoption {
  readonly as: AdoptAs;
  readonly why: string;
  /** The name that the person gave. */
  readonly actor: string | undefined;
}

type AdoptionReason = Pick<KnownPlace, 'by' | 'why'>;

const refuse = (message: string, hint: string): never => {
  throw new MusterdError('usage', message, { hint });
};

/** The place with this address added; `null` if the place has it. @throws MusterdError `usage` for another database */
function withAddress({ known, here }: Placing, now: Date): KnownPlace | null {
  if (known === null) return homeAt(here, now);
  if (!isSameDatabase(known, here))
    refuse(
      'This is another database, not another address of the database on record',
      'If the mirror has moved here: musterd adopt --reason …, and stop the other one.',
    );
  if (here.address.at.startsWith(folderPrefix))
    refuse(
      'This folder of an embedded server is a copy of the one on record, not another address of it',
      'If the mirror has moved here: musterd adopt --reason …, and stop the other one.',
    );
  if (known.addresses.some((address) => isSameAddress(address, here.address))) return null;
  const { left: _, ...rest } = known;
  return { ...rest, addresses: [...known.addresses, here.address] };
}

/** The place to record, or `null` if it is already recorded. @throws MusterdError `usage` */
function planAdoption(
  placing: Placing,
  as: AdoptAs,
  { by, why }: AdoptionReason,
  now: Date,
): KnownPlace | null {
  if (as === 'also') return withAddress(placing, now);
  const isSo = placing.verdict === (as === 'copy' ? 'copy' : 'here');
  if (isSo && placing.known?.addresses.length === 1) return null;
  return { ...homeAt(placing.here, now), kind: as, by, why };
}

/** Finds where the mirror is, and whether the adoption would change the recorded place. @throws MusterdError `usage` */
export async function foreseeAdoption(
  db: Database,
  as: AdoptAs,
  why: string,
): Promise<{ readonly placing: Placing; readonly isNews: boolean }> {
  await requireSchema(db);
  const placing = await readPlacing(db);
  return { placing, isNews: planAdoption(placing, as, { by: null, why }, new Date()) !== null };
}

/** Runs one transaction while no run of these teams is under way, because a run reads the place only when it begins. */
async function betweenRuns<R>(
  db: Database,
  teams: readonly string[],
  options: LeaseOptions,
  work: (tx: Transaction) => Promise<R>,
): Promise<R> {
  const leases: Lease[] = [];
  try {
    for (const team of teams) leases.push(await takeLease(db, team, options));
    return await db.transaction(async (tx) => {
      const done = await work(tx);
      for (const lease of leases) lease.require();
      return done;
    });
  } finally {
    await Promise.allSettled(leases.map((lease) => lease.release()));
  }
}

export interface AdoptedPlace {
  readonly before: Placing;
  readonly after: Placing;
  readonly isNews: boolean;
}

/**
 * Records the place while no run of any team is under way, with the person and the reason in the ledger of each team.
 * The next runs then look again at edits that waited for this decision.
 * @throws MusterdError `usage`; `lease-held`
 */
export async function adoptPlace(
  db: Database,
  lease: LeaseOptions,
  { as, why, actor }: Adoption,
): Promise<AdoptedPlace> {
  const teams = [...(await readTeamNames(db.kysely)).values()].toSorted();
  return await betweenRuns(db, teams, lease, async (tx) => {
    if (actor !== undefined) await actFor(tx, actor);
    const before = await readPlacing(db, tx);
    const place = planAdoption(before, as, { by: actor ?? (await readLogin(tx)).login, why }, new Date());
    if (place === null) return { before, after: before, isNews: false };
    if (!(await writePlace(tx, before.known, place, moveOf(before.known, place, why))))
      throw new MusterdError('mirror', 'Another person has just recorded the place of this mirror', {
        hint: 'Run "musterd status" to see the recorded server and database.',
      });
    await dropForeignTransactions(tx);
    for (const team of teams) await wakeForEdits(tx, team);
    return { before, after: await readPlacing(db, tx), isNews: true };
  });
}
