/** A person asks for fields of somebody to be left alone on both sides for a while, or for the end of that. */
import { MusterdError } from '../errors.ts';
import { type AskedHolds, askHolds, endAskedHolds, type HoldEnd } from '../mirror/users/held.ts';
import { type LeaseOptions, underLease } from '../mirror/team/lease.ts';
import type { Field } from '../model/fields.ts';
import type { Id } from '../model/id.ts';
import { momentMs } from '../model/moment.ts';
import { actAs } from './four-eyes.ts';
import { requireTeamId } from './named-user.ts';
import type { Setup } from './open.ts';

export type { AskedHolds, HoldEnd } from '../mirror/users/held.ts';

interface Team {
  readonly team: string;
  readonly lease: LeaseOptions;
}

export interface HoldWish {
  readonly id: Id;
  readonly fields: readonly Field[];
  readonly end: HoldEnd;
  readonly why: string;
  /** In whose name. */
  readonly actor: string | undefined;
}

const secondsPer: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 86_400, w: 604_800 };

/** A moment (UTC, where no zone is given), or a stretch of time from now. @throws MusterdError `usage` */
export function readUntil(text: string | undefined): HoldEnd {
  if (text === undefined)
    throw new MusterdError('usage', '--until is missing: say when the hold ends, such as 2h or 3d');
  const [, count, unit = ''] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  if (count !== undefined) return { seconds: Number(count) * (secondsPer[unit] ?? 1) };
  const ms = momentMs(text);
  if (Number.isNaN(ms))
    throw new MusterdError(
      'usage',
      `--until "${text}" is neither a time such as 2026-03-01T09:00Z nor a duration such as 2h or 3d`,
    );
  return { moment: new Date(ms).toISOString() };
}

/** Holds them until then, whatever holds them already. @throws MusterdError `usage` for an end in the past */
export async function holdFields(
  setup: Setup,
  team: Team,
  { id, actor, ...wanted }: HoldWish,
): Promise<AskedHolds> {
  const teamId = await requireTeamId(setup);
  return await underLease(setup.mirror.db, team, async (tx) => {
    await actAs(tx, setup.config, actor);
    return await askHolds(tx, teamId, id, wanted);
  });
}

/** @returns the fields that were held because somebody had asked for it */
export async function endHold(
  setup: Setup,
  team: Team,
  { id, fields }: Pick<HoldWish, 'id' | 'fields'>,
): Promise<readonly string[]> {
  const teamId = await requireTeamId(setup);
  return await underLease(setup.mirror.db, team, (tx) => endAskedHolds(tx, teamId, id, fields));
}
