/** Holds fields of a user for a while, so that runs change them on neither side, or ends such a hold. */
import { MusterdError } from '../../errors.ts';
import { type RequestedHolds, askHolds } from '../../mirror/users/held.ts';
import { sqlState } from '../../mirror/db/database-errors.ts';
import type { Transaction } from '../../mirror/db/database.ts';
import { asPerson } from '../../mirror/team/known-place.ts';
import { onceFree } from '../../mirror/team/lease.ts';
import type { LeasedTeam } from '../../mirror/team/lease-holder.ts';
import type { Field } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import type { TimeFromNow } from '../../model/moment.ts';
import { actAs } from '../four-eyes.ts';
import { requireTeamId } from '../named-user.ts';
import type { Setup } from '../open.ts';
import { readTimeFromNow } from '../time-from-now.ts';

export type { RequestedHolds } from '../../mirror/users/held.ts';

export interface HoldWish {
  readonly id: Id;
  readonly fields: readonly Field[];
  readonly end: TimeFromNow;
  readonly why: string;
  /** The name that the person gave. */
  readonly actor: string | undefined;
}

/** @throws MusterdError `usage` */
export function readUntil(text: string | undefined): TimeFromNow {
  if (text === undefined)
    throw new MusterdError('usage', '--until is missing: say when the hold ends, such as 2h or 3d');
  return readTimeFromNow('--until', text);
}

/** Runs `work` in a transaction, between runs of the team. @throws MusterdError `lease-held`; `copy`; `stopped` */
async function betweenRuns<R>(
  { db }: Setup['mirror'],
  { team, lease }: LeasedTeam,
  work: (tx: Transaction) => Promise<R>,
): Promise<R> {
  const { result } = await onceFree(db, team, lease, async () => {
    try {
      return { result: await asPerson(db, work) };
    } catch (error) {
      if (sqlState(error) === '55006') return undefined;
      throw error;
    }
  });
  return result;
}

/** Holds the fields until `end`. A field can be held already. @throws MusterdError `usage` if `end` is in the past */
export async function holdFields(
  setup: Setup,
  team: LeasedTeam,
  { id, actor, ...wanted }: HoldWish,
): Promise<RequestedHolds> {
  const teamId = await requireTeamId(setup);
  return await betweenRuns(setup.mirror, team, async (tx) => {
    await actAs(tx, setup.config, actor);
    return await askHolds(tx, teamId, id, wanted);
  });
}

/** @returns the fields whose hold was ended */
export async function endHold(
  setup: Setup,
  team: LeasedTeam,
  { id, fields }: Pick<HoldWish, 'id' | 'fields'>,
): Promise<readonly string[]> {
  const teamId = await requireTeamId(setup);
  const ended = await betweenRuns(setup.mirror, team, (tx) =>
    askHolds(tx, teamId, id, { fields, end: null, why: '' }),
  );
  return ended.held;
}
