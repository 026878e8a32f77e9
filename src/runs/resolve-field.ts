/** A person decides about one held field; the next run carries that out. */
import { MusterdError } from '../errors.ts';
import type { Transaction } from '../mirror/db/database.ts';
import { decideEdits } from '../mirror/users/decide-edits.ts';
import { editUsers } from '../mirror/users/edits.ts';
import { type LeasedTeam, underLease } from '../mirror/team/lease.ts';
import { recordStep } from '../mirror/runs/runs.ts';
import { readUserState } from '../mirror/users/users-read.ts';
import { applyDecisions } from '../mirror/users/users-write.ts';
import { columnOf, type Field, type FieldValue } from '../model/fields.ts';
import type { Id } from '../model/id.ts';
import { shownDigest } from '../model/shown-field.ts';
import {
  type BaseUser,
  canonicalShown,
  canonicalValue,
  type MirrorRow,
  sameBytes,
  type UserPatch,
} from '../model/user.ts';
import type { Hold } from '../model/user-plan.ts';
import { isStopped } from '../reconcile/merge/held-field.ts';
import { planResolved } from '../reconcile/merge/plan-resync.ts';
import { actAs, decideFor } from './four-eyes.ts';
import { requireTeamId, requireUser } from './named-user.ts';
import type { Setup } from './open.ts';
import { type HeldField, refusalOf, requireHeld, sayValue } from './require-held.ts';

/** The value that wins: that of one side, or another one. */
export type WinningValue = 'mirror' | 'service' | { readonly value: FieldValue };

/** The value that the service showed; absent if the person does not say. */
interface SeenService {
  readonly service?: string | Id | null | undefined;
}

/**
 * What the person saw: the edit by its number, or the mirror's value, each perhaps with the service's value; or the
 * digest of all that a page showed (`shownDigest`). If something else is there by now, nothing is decided.
 */
export type SeenField =
  | ({ readonly kind: 'edit'; readonly edit: Id } & SeenService)
  | ({ readonly kind: 'value'; readonly value: FieldValue } & SeenService)
  | { readonly kind: 'shown'; readonly digest: string };

export interface Resolution {
  readonly field: Field;
  readonly take: WinningValue;
  /** Absent if a command has just read and shown it in the same transaction, so that it decides about whatever is there. */
  readonly seen: SeenField | undefined;
  readonly why: string;
  /** The name that the person gave. */
  readonly actor: string | undefined;
}

/** @throws MusterdError `usage` if the person saw something else */
function requireSeen(id: Id, { hold, mirror }: HeldField, seen: SeenField | undefined): void {
  if (seen === undefined) return;
  const { field, edit, shown = hold.service } = hold;
  const isShown = ({ service }: SeenService): boolean =>
    service === undefined || canonicalShown(field, service) === canonicalShown(field, shown ?? null);
  const isSeen = (): boolean => {
    switch (seen.kind) {
      case 'edit':
        return seen.edit === edit && isShown(seen);
      case 'value':
        return sameBytes(field, { ...mirror, [field]: seen.value }, mirror) && isShown(seen);
      case 'shown':
        return seen.digest === shownDigest({ edit, mirror: mirror[field], service: shown });
      default:
        return seen satisfies never;
    }
  };
  if (isSeen()) return;
  const what = `The ${columnOf(field)} of user ${id} is not as it was`;
  const hint = 'Nothing was decided. Look at it again, and decide about what is there now.';
  // A page itself shows what is there now, with values only if its settings allow that.
  if (seen.kind === 'shown') throw new MusterdError('usage', `${what} shown`, { hint });
  const now = [
    `the mirror has ${sayValue(mirror[field])}`,
    `the service ${sayValue(shown)}`,
    ...(edit === undefined ? [] : [`the edit is number ${edit}`]),
  ];
  throw new MusterdError('usage', `${what} seen: ${now.join(', ')} now`, { hint });
}

const busy = (id: Id) =>
  new MusterdError('mirror', `User ${id} is being edited; nothing was changed`, { hint: 'Try again.' });

/** The value to write to the mirror, or `undefined` if it is already there. */
function wantedOf(
  take: Exclude<WinningValue, 'service'>,
  field: Field,
  mirror: MirrorRow,
): UserPatch | undefined {
  const value = take === 'mirror' ? mirror[field] : take.value;
  const patch: UserPatch = { [field]: value };
  const same = sameBytes(field, { ...mirror, ...patch }, mirror);
  // Taking a name whose split was guessed accepts the split.
  return same && (field !== 'name' || mirror.split === 'known') ? undefined : patch;
}

/** Whether the service gets the mirror's value, in whatever spelling. */
const sendsMirrors = (take: WinningValue, field: Field, mirror: MirrorRow): boolean =>
  take === 'mirror' ||
  (take !== 'service' &&
    canonicalValue(field, { ...mirror, [field]: take.value }) === canonicalValue(field, mirror));

/** A value that equals the mirror's counts as taking the mirror's. */
const isMirrors = (take: WinningValue, field: Field, mirror: MirrorRow): boolean =>
  typeof take === 'object' && sameBytes(field, { ...mirror, [field]: take.value }, mirror);

export interface ResolvedField {
  readonly id: Id;
  readonly field: Field;
  readonly name: string;
  readonly mirror: FieldValue;
  readonly base: FieldValue;
  /** Whether a person still has to approve it before it is sent. */
  readonly waits: boolean;
  /** Whether that has to be another person (`push.fourEyes`). */
  readonly fourEyes: boolean;
  /** The number of the decision. */
  readonly decision: bigint | null;
}

interface UserToResolve {
  readonly teamId: Id;
  readonly config: Setup['config'];
  readonly id: Id;
}

/** One act of deciding, in one step and under one number. Both are known once something has been decided. */
interface DecisionInProgress {
  runId?: bigint;
  decision: bigint | null;
}

/** The values of base and service that this decides about: what both sides agree on now, or what was held. */
function decidedOver(take: WinningValue, { base, service }: Hold, agreed: BaseUser, field: Field) {
  if (take === 'service') return { base, service: service ?? null };
  return {
    base: agreed[field],
    service: field === 'name' ? agreed.joined : (agreed[field] as string | Id | null),
  };
}

/** Ends one hold within the given transaction. */
async function resolveHold(
  tx: Transaction,
  { teamId, config, id }: UserToResolve,
  act: DecisionInProgress,
  { field, take: wantedTake, seen, why, actor }: Resolution,
): Promise<ResolvedField> {
  const { team } = config;
  if (wantedTake === 'service') await actAs(tx, config, actor);
  const fourEyes = wantedTake !== 'service' && (await decideFor(tx, config, actor)).fourEyes;
  const state = await readUserState(tx, teamId, id);
  const sends = (of: MirrorRow) => sendsMirrors(wantedTake, field, of);
  const held = await requireHeld(tx, teamId, state, { field, sends });
  requireSeen(id, held, seen);
  const { hold, mirror, base } = held;
  const take = isMirrors(wantedTake, field, mirror) ? 'mirror' : wantedTake;
  act.runId ??= await recordStep(tx, { team, teamId, command: 'resolve' });
  const { runId } = act;
  // Another value is an edit like any other, about which nobody has decided. The conflict is over, but what a limit on the
  // whole run or a review stopped waits again, and every limit applies anew.
  const isAnother = typeof take === 'object';
  const staysInBatch = isAnother && isStopped(hold);
  const side = take === 'service' ? take : 'mirror';
  const decided = planResolved({ ...state, mirror, base }, hold, side, take === 'mirror' || staysInBatch);
  const deferred = await applyDecisions(tx, { teamId, runId }, [decided]);
  if (deferred.size > 0) throw busy(id);
  const { mirror: after, base: agreed } = decided.write;
  const wanted = take === 'service' ? undefined : wantedOf(take, field, mirror);
  if (wanted !== undefined) {
    const edited = await editUsers(tx, teamId, [{ id, expected: mirror, values: wanted }]);
    if (!edited.has(id)) throw busy(id);
  }
  const to = wanted === undefined ? after[field] : (wanted[field] as FieldValue);
  const resolving = { verb: 'resolve', why, runId, decision: act.decision } as const;
  const edit = {
    userId: id,
    field,
    edit: hold.edit,
    to,
    ...decidedOver(take, hold, agreed, field),
    sends: sends(mirror),
    passes: take === 'mirror',
    edited: isAnother,
  };
  const [answer] = await decideEdits(tx, teamId, resolving, [edit]);
  if (answer?.answer !== 'resolved') throw refusalOf(answer?.answer ?? 'moved', state, field);
  act.decision = answer.decision;
  const waits = isAnother && (staysInBatch || config.push.approve === 'always');
  return {
    id,
    field,
    name: mirror.joined,
    mirror: to,
    base: agreed[field],
    fourEyes,
    waits,
    decision: act.decision,
  };
}

/** A decision about a field of somebody. */
export interface UserResolution extends Resolution {
  readonly id: Id;
}

export interface ResolvedFields {
  readonly resolved: readonly ResolvedField[];
  /** Number of the decision. */
  readonly decision: bigint | null;
}

/** Decides about these fields within the given transaction, in one step: about all of them or none. */
export async function resolveEach(
  tx: Transaction,
  team: Omit<UserToResolve, 'id'>,
  resolutions: readonly UserResolution[],
): Promise<ResolvedFields> {
  const act: DecisionInProgress = { decision: null };
  const resolved: ResolvedField[] = [];
  for (const { id, ...one } of resolutions.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
    resolved.push(await resolveHold(tx, { ...team, id }, act, one));
  return { resolved, decision: act.decision };
}

export async function resolveAll(
  setup: Setup,
  team: LeasedTeam,
  resolutions: readonly UserResolution[],
): Promise<ResolvedFields> {
  const teamId = await requireTeamId(setup);
  const { config } = setup;
  return await underLease(setup.mirror.db, team, (tx) => resolveEach(tx, { teamId, config }, resolutions));
}

/** Decides about one held field. */
export async function resolve(
  setup: Setup,
  team: LeasedTeam,
  userText: string,
  resolution: Resolution,
): Promise<ResolvedField> {
  const teamId = await requireTeamId(setup);
  const { id } = await requireUser(setup, teamId, userText);
  const { resolved } = await resolveAll(setup, team, [{ ...resolution, id }]);
  return resolved[0] as ResolvedField;
}
