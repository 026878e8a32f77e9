/** The context of pushing. Reads pushed users back from the service, and records the outcomes of the pushes. */

import type { Field } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import type { Intent, PushTries } from '../../model/intent.ts';
import type { SendBlock } from '../../model/place.ts';
import type { Team } from '../../model/team.ts';
import { readable, type ServiceUser } from '../../model/user.ts';
import { look, staleOf } from '../look.ts';
import type { Policy } from '../merge/merge-field.ts';
import type { MirrorPort, MirrorWriter, ServicePort } from '../ports.ts';
import { membersOf } from '../read/members.ts';
import type { RunNotes } from '../run-notes.ts';
import { type AnsweredIntent, resultOf } from './result.ts';

export interface PushContext {
  readonly service: ServicePort;
  readonly mirror: MirrorPort & MirrorWriter;
  readonly notes: RunNotes;
  readonly team: Team;
  /** The users as the service showed them just before anything is sent. */
  readonly users: ReadonlyMap<Id, ServiceUser>;
  /** When the plan asked for the users, by `monotonicMs`, if pushes may use that read; `null` if they must read again. */
  readonly plannedAtMs: number | null;
  /** The fields that a person approved or resolved, by user. */
  readonly approved: ReadonlyMap<Id, readonly Field[]>;
  /** The reason why nothing may be sent; absent if sending is allowed. */
  readonly sendBlock?: SendBlock | undefined;
  readonly monotonicMs: () => number;
  /** The latest time, by `monotonicMs`, at which the prepared updates may leave. */
  readonly sendByMs: number;
  /** `open` is set when an update has cleared or shortened a name that it did not contain. This run then stops pushing. */
  readonly breaker: {
    open: boolean;
    /** The number of requests in this run that could not be sent or stayed unanswered. */
    unanswered: number;
  };
}

/** The context of a run that has not read, approved or prepared anything yet. */
export function createPushContext(
  {
    service,
    mirror,
    notes,
    monotonicMs,
    sendBlock,
  }: Pick<PushContext, 'service' | 'mirror' | 'notes' | 'monotonicMs' | 'sendBlock'>,
  team: Team,
): PushContext {
  return {
    service,
    mirror,
    notes,
    monotonicMs,
    sendBlock,
    team,
    users: new Map(),
    plannedAtMs: null,
    approved: new Map(),
    sendByMs: Number.NEGATIVE_INFINITY,
    breaker: { open: false, unanswered: 0 },
  };
}

export interface PushSettings {
  readonly batchSize: number;
  readonly quietPeriodMs: number;
  /** An update must be sent within this many ms after its users were read, plus `placeMs` for each place. */
  readonly sendDeadlineMs: number;
  /** Ms between two calls (places) when calls leave at an even pace. */
  readonly placeMs: number;
  readonly policy: Policy;
  /** A field that was pushed this many times in a row without effect is held. */
  readonly maxTries: number;
}

/**
 * Reads the users of these pushes from the service: by the addresses in base, the addresses that the service showed, and
 * the sent addresses, because the user may have any of these now. If the service shows an older version of a user than
 * before, the user counts as missing, because an old version that contains the sent value does not prove the push.
 */
export async function readBackIntents(
  places: PushContext,
  intents: readonly Intent[],
): Promise<ReadonlyMap<Id, ServiceUser>> {
  if (intents.length === 0) return new Map();
  const { users, team } = places;
  const members = await membersOf(team);
  const addressesOf = (field: 'email' | 'phone', { userId, base, before, sent }: Intent) =>
    [
      readable(users.get(userId)?.[field]),
      base[field],
      before[field],
      sent[field],
      members.get(userId)?.[field],
    ].flatMap((address) => address ?? []);
  const wanted = intents.map((intent) => ({
    id: intent.userId,
    emails: addressesOf('email', intent),
    phones: addressesOf('phone', intent),
  }));
  const seen = await look(places, team, wanted);
  const older = new Set(staleOf(seen));
  return new Map([...seen.roster.users].filter(([id]) => !older.has(id)));
}

/** Stops all pushes of this run, because an update changed a name that it did not contain. The next run restores it. */
function stopPushing({ breaker, notes }: PushContext, userId: Id): void {
  breaker.open = true;
  notes.partial(
    `an update of user ${userId} changed a name that was not sent: pushing stopped, and the next run puts the name back`,
  );
}

/** Records the results and reports them. */
export async function record(
  places: PushContext,
  settings: PushSettings,
  answered: readonly AnsweredIntent[],
): Promise<void> {
  const { mirror, notes } = places;
  if (answered.length === 0) return;
  const isInVain = ({ outcomes, refusal }: AnsweredIntent) =>
    Object.values(outcomes).some(
      (outcome) => outcome !== 'confirmed' && (outcome !== 'unsent' || refusal !== undefined),
    );
  const inVain = answered.filter(isInVain).map(({ intent }) => intent);
  const tries = inVain.length === 0 ? new Map<Id, PushTries>() : (await mirror.readEarlier(inVain)).tries;
  const results = answered.map((answer) =>
    resultOf({ ...answer, before: places.users.get(answer.intent.userId) }, tries, settings.maxTries),
  );
  const locked = new Set(await mirror.applyResults(results));
  for (const { intent, outcomes, holds, harmed } of results) {
    if (harmed) stopPushing(places, intent.userId);
    if (locked.has(intent.userId)) {
      notes.partial(`user ${intent.userId} is being edited: the push is confirmed later`);
      continue;
    }
    const all = Object.values(outcomes);
    notes.count('pushed', all.filter((outcome) => outcome === 'confirmed').length);
    notes.count('ineffective', all.filter((outcome) => outcome === 'ineffective').length);
    notes.count('held', holds.length);
    const open = all.filter((outcome) => outcome === 'unknown').length;
    notes.count('unknown', open);
    if (open > 0) notes.partial(`the outcome of a push to user ${intent.userId} is unknown`);
    if (all.includes('missing'))
      notes.partial(
        `the service does not show what was pushed to user ${intent.userId}: it is not known whether it had an effect`,
      );
    if (all.includes('ineffective') && holds.length === 0) {
      notes.partial(`a push to user ${intent.userId} had no effect and will be tried again`);
    }
  }
}
