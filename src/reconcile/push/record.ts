/** The context of pushing, and how the outcome of a push is read back and recorded. */

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

/** The data that was read for a plan, as far as a push can use it. */
export interface FreshRead {
  /** The time of the request for the users, by `monotonicMs`. */
  readonly readAtMs: number;
}

export interface PushContext {
  readonly service: ServicePort;
  readonly mirror: MirrorPort & MirrorWriter;
  readonly notes: RunNotes;
  readonly team: Team;
  /** The users as the service showed them just before anything is sent. */
  readonly users: ReadonlyMap<Id, ServiceUser>;
  /** The values that the plan has read a moment ago; `null` if the users must be read again in any case. */
  readonly fresh: FreshRead | null;
  /** The fields that a person approved or resolved, by user. */
  readonly approved: ReadonlyMap<Id, readonly Field[]>;
  /** The reason why nothing may be sent; absent if it may. */
  readonly sendBlock?: SendBlock | undefined;
  readonly monotonicMs: () => number;
  /** The latest time, by that clock, for the prepared updates to leave. */
  readonly sendByMs: number;
  /** Opened when an update has harmed a name: nothing more is pushed in this run. */
  readonly breaker: {
    open: boolean;
    /** Number of requests in this run that failed to leave or got no answer. */
    unanswered: number;
  };
}

/** The state before anything is read, approved or prepared. */
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
    fresh: null,
    approved: new Map(),
    sendByMs: Number.NEGATIVE_INFINITY,
    breaker: { open: false, unanswered: 0 },
  };
}

export interface PushSettings {
  readonly batchSize: number;
  readonly quietPeriodMs: number;
  /** Ms after the first answer about its users within which an update must leave, besides the wait for places. */
  readonly sendDeadlineMs: number;
  /** Ms from one place in the pace to the next. */
  readonly placeMs: number;
  readonly policy: Policy;
  /** A field that was pushed this many times in a row without effect is held. */
  readonly maxTries: number;
}

/**
 * Reads the users of these pushes: by the addresses that found them before the push, and by the sent addresses, since
 * they may have only these now. If the mirror won a conflict, or the address was changed on the service since, the address
 * there may be a third one. Whom the service shows older than before counts as not shown: a field that once had the value that
 * was sent proves nothing then.
 */
export async function readBackIntents(
  places: PushContext,
  intents: readonly Intent[],
): Promise<ReadonlyMap<Id, ServiceUser>> {
  if (intents.length === 0) return new Map();
  const { users, team } = places;
  const members = membersOf(team);
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

/** Stops all pushes of this run, because a name that was not sent has changed. The next run puts the name back. */
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
