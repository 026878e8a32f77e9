/** A person decides about one held field; the next run carries that out. */
import { MusterdError } from '../errors.ts';
import type { Transaction } from '../mirror/database.ts';
import { editUsers, stampEdit } from '../mirror/edits.ts';
import { writeResolution } from '../mirror/held-batches.ts';
import { type LeaseOptions, underLease } from '../mirror/lease.ts';
import { recordStep } from '../mirror/runs.ts';
import { readUserState } from '../mirror/users-read.ts';
import { applyDecisions } from '../mirror/users-write.ts';
import { columnOf } from '../model/field-values.ts';
import type { Id } from '../model/id.ts';
import {
  type BaseUser,
  type Field,
  type MirrorRow,
  type ServiceUser,
  type ServiceValue,
  sameBytes,
  type UserPatch,
} from '../model/user.ts';
import type { FieldValue, Hold, Values } from '../model/user-plan.ts';
import type { UserState } from '../model/user-state.ts';
import { hashOf } from '../reconcile/guard/batch-hash.ts';
import { holdStands } from '../reconcile/merge/plan-field.ts';
import { planResolved } from '../reconcile/merge/plan-resync.ts';
import { actAs, decideFor, requireOtherEyes } from './four-eyes.ts';
import { requireTeamId, requireUser } from './named-user.ts';
import type { Setup } from './open.ts';

/** Which value wins: that of one side, or another one. */
export type Take = 'mirror' | 'service' | { readonly value: FieldValue };

/** A person's decision about a held field. */
export interface Resolution {
  readonly field: Field;
  readonly take: Take;
  readonly why: string;
  /** In whose name. */
  readonly actor: string | undefined;
}

interface Held {
  readonly hold: Hold;
  readonly mirror: MirrorRow;
  readonly base: BaseUser;
}

/** @throws MusterdError `usage` if there is nothing to resolve */
function requireHeld({ id, held, mirror, base }: UserState, field: Field): Held {
  const hold = held.find((one) => one.field === field);
  const column = columnOf(field);
  if (hold === undefined) {
    throw new MusterdError('usage', `The ${column} of user ${id} is not held`, {
      hint: '"musterd held" lists what is; a field that is not held is edited in mirror.users.',
    });
  }
  if (hold.reason === 'asked') {
    throw new MusterdError('usage', `The ${column} of user ${id} is held because somebody asked for it`, {
      hint: `End it with "musterd hold ${id} ${column} --end".`,
    });
  }
  if (mirror === undefined || base === undefined || mirror.gone) {
    throw new MusterdError('usage', `User ${id} is not in the team now`, {
      hint: 'The field stays held until the user is back.',
    });
  }
  const unsaid: ServiceUser = { id, raw: {} };
  if (!holdStands(hold, mirror, unsaid)) {
    throw new MusterdError('usage', `The ${column} of user ${id} was edited since it was held`, {
      hint: 'The next run looks at it again; "musterd held" shows what it makes of it.',
    });
  }
  return { hold, mirror, base };
}

const busy = (id: Id) =>
  new MusterdError('mirror', `User ${id} is being edited; nothing was changed`, { hint: 'Try again.' });

/** The value to write to the mirror, or `undefined` if it is already there. */
function wantedOf(take: Exclude<Take, 'service'>, field: Field, mirror: MirrorRow): UserPatch | undefined {
  const value = take === 'mirror' ? mirror[field] : take.value;
  const patch: UserPatch = { [field]: value };
  const same = sameBytes(field, { ...mirror, ...patch }, mirror);
  // Taking a name whose split was guessed accepts the split.
  return same && (field !== 'name' || mirror.split === 'known') ? undefined : patch;
}

/** A value that equals the mirror's counts as taking the mirror's. */
const isMirrors = (take: Take, field: Field, mirror: MirrorRow): boolean =>
  typeof take === 'object' && sameBytes(field, { ...mirror, [field]: take.value }, mirror);

export interface Resolved {
  readonly id: Id;
  readonly field: Field;
  readonly name: string;
  readonly mirror: FieldValue;
  readonly base: FieldValue;
  /** It is sent only once another person has approved it. */
  readonly waits: boolean;
}

/** The decision lifts the limits for what a guard or person stopped; limits on single fields only if one of them did. */
function decisionOn({ reason, batch }: Hold): Hold['decision'] {
  if (reason !== 'limit' && reason !== 'review' && reason !== 'rejected') return undefined;
  return reason === 'limit' && batch === undefined ? 'resolved' : 'approved';
}

/** Ends one hold within the given transaction. */
async function resolveHold(
  tx: Transaction,
  { teamId, config, id }: { readonly teamId: Id; readonly config: Setup['config']; readonly id: Id },
  { field, take: asked, why, actor }: Resolution,
): Promise<Resolved> {
  const { team, push } = config;
  if (asked === 'service') await actAs(tx, config, actor);
  const fourEyes = asked !== 'service' && (await decideFor(tx, config, actor));
  const state = await readUserState(tx, teamId, id);
  const { hold, mirror, base } = requireHeld(state, field);
  const take = isMirrors(asked, field, mirror) ? 'mirror' : asked;
  if (take === 'mirror' && fourEyes) await requireOtherEyes(tx, teamId, [{ userId: id, field }]);
  const runId = await recordStep(tx, { team, teamId, command: 'resolve' });
  const decided = planResolved({ ...state, mirror, base }, hold, take === 'service' ? take : 'mirror');
  // Another value is a new edit: if the field waited in a batch, it goes on waiting for somebody else's approval.
  const staysHeld = typeof take === 'object' && fourEyes && hold.batch !== undefined;
  const deferred = await applyDecisions(tx, { teamId, runId }, staysHeld ? [] : [decided]);
  if (deferred.size > 0) throw busy(id);
  const { mirror: after, base: agreed } = staysHeld ? { mirror, base } : decided.write;
  const note = (values: Partial<Hold>, decision?: Hold['decision']) =>
    writeResolution(tx, { teamId, runId }, { id, hold: { ...hold, ...values }, decision, why });
  const result = { id, field, name: mirror.joined, mirror: after[field], base: agreed[field], waits: false };
  if (take === 'service') {
    await note({ mirror: after[field] });
    return result;
  }
  const wanted = wantedOf(take, field, mirror);
  if (wanted === undefined) await stampEdit(tx, teamId, id);
  else {
    const edited = await editUsers(tx, teamId, [{ id, expected: mirror, values: wanted }]);
    if (!edited.has(id)) throw busy(id);
  }
  const value = wanted?.[field] === undefined ? mirror[field] : (wanted[field] as FieldValue);
  const service = field === 'name' ? agreed.joined : agreed[field];
  const values: Values = { base: agreed[field], mirror: value, service: service as ServiceValue };
  const isSeenByOther = take === 'mirror' || !fourEyes;
  const decision = isSeenByOther ? decisionOn(hold) : undefined;
  if (decision !== undefined || push.approve === 'guarded' || !isSeenByOther) await note(values, decision);
  // A person has seen the value and sends it: there is nothing left to review.
  else {
    const batch = hashOf([{ userId: id, field, values }]);
    await note({ ...values, reason: 'review', detail: 'decided by itself', batch }, 'approved');
  }
  return { ...result, mirror: value, waits: staysHeld || (!isSeenByOther && push.approve === 'always') };
}

/** Decides about a held field in one transaction. */
export async function resolve(
  setup: Setup,
  { team, lease }: { readonly team: string; readonly lease: LeaseOptions },
  who: string,
  resolution: Resolution,
): Promise<Resolved> {
  const teamId = await requireTeamId(setup);
  const { id } = await requireUser(setup, teamId, who);
  return await underLease(setup.mirror.db, { team, lease }, (tx) =>
    resolveHold(tx, { teamId, config: setup.config, id }, resolution),
  );
}
