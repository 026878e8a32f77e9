/** A person decides about held fields, by `sync.resolve()`; the next run carries the decision out. */
import { MusterdError } from '../../errors.ts';
import type { Transaction } from '../../mirror/db/database.ts';
import { asPerson } from '../../mirror/team/known-place.ts';
import { resolveHeld } from '../../mirror/users/decide-edits.ts';
import { readUserState } from '../../mirror/users/users-read.ts';
import { columnOf, type Field, type FieldValue, typedText } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import { shownDigest } from '../../model/shown-field.ts';
import { splitName } from '../../model/name.ts';
import { canonicalShown, sameBytes, type ServiceValue } from '../../model/user.ts';
import { decideFor } from '../four-eyes.ts';
import { requireTeamId, requireUser } from '../named-user.ts';
import type { Setup } from '../open.ts';
import { type HeldField, refusalOf, requireHeld, sayValue } from './require-held.ts';

/** The value that wins: the value of one side, or another value. */
export type WinningValue = 'mirror' | 'service' | { readonly value: FieldValue };

/** The value that the service showed; absent if the person did not give it. */
interface SeenService {
  readonly service?: string | Id | null | undefined;
}

/**
 * What the person saw: the number of the edit, or the mirror's value, each optionally with the service's value; or
 * the digest of everything that a page showed (`shownDigest`). If any of it has changed, nothing is decided.
 */
export type SeenField =
  | ({ readonly kind: 'edit'; readonly edit: Id } & SeenService)
  | ({ readonly kind: 'value'; readonly value: FieldValue } & SeenService)
  | { readonly kind: 'shown'; readonly digest: string };

export interface Resolution {
  readonly field: Field;
  readonly take: WinningValue;
  /** `undefined` if the person decides about the present values, whatever they are. */
  readonly seen: SeenField | undefined;
  readonly why: string;
  /** The name that the person gave. */
  readonly actor: string | undefined;
}

/** @throws MusterdError `usage` if the field is not as the person saw it */
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
  const what = `The ${columnOf(field)} of user ${id} has changed since it was`;
  const hint = 'Nothing was decided. Look at the field again before you decide.';
  // This message has no values, because a page shows the present values itself, if its settings allow that.
  if (seen.kind === 'shown') throw new MusterdError('usage', `${what} shown`, { hint });
  const now = [
    `the mirror has ${sayValue(mirror[field])}`,
    `the service ${sayValue(shown)}`,
    ...(edit === undefined ? [] : [`the edit is number ${edit}`]),
  ];
  throw new MusterdError('usage', `${what} seen: now ${now.join(', ')}`, { hint });
}

export interface ResolvedField {
  readonly id: Id;
  readonly field: Field;
  readonly name: string;
  readonly mirror: FieldValue;
  readonly base: FieldValue;
  /** True if a person still has to approve the value before it is sent. */
  readonly waits: boolean;
  /** True if the person who approves the value must not be its editor (`push.fourEyes`). */
  readonly fourEyes: boolean;
  /** The number of the decision. */
  readonly decision: bigint | null;
}

interface UserToResolve {
  readonly teamId: Id;
  readonly config: Setup['config'];
  readonly id: Id;
}

/** The value that the service shows, in the form in which the base stores it. */
const agreedOn = (field: Field, shown: ServiceValue): FieldValue =>
  field === 'name' ? splitName(String(shown ?? '')) : (shown ?? null);

/** Ends one hold within this transaction. @param decision the decision that it belongs to; `null` makes a new one */
async function resolveHold(
  tx: Transaction,
  { teamId, config, id }: UserToResolve,
  { field, take, seen, why, actor }: Resolution,
  decision: bigint | null,
): Promise<ResolvedField> {
  const { fourEyes } = await decideFor(tx, config, actor);
  const state = await readUserState(tx, teamId, id);
  const held = requireHeld(state, field);
  requireSeen(id, held, seen);
  const { edit, shown = held.hold.service, reason } = held.hold;
  const isTyped = typeof take === 'object';
  const done = await resolveHeld(tx, teamId, {
    userId: id,
    field,
    take: isTyped ? 'value' : take,
    value: isTyped ? typedText(take.value) : null,
    why,
    edit: edit ?? null,
    service: typedText(shown ?? null),
    decision,
  });
  if (done.outcome !== 'resolved') throw refusalOf(done.outcome, state, field);
  const { mirror, base } = await readUserState(tx, teamId, id);
  const isSaid = (shown ?? null) !== null || reason === 'conflict';
  return {
    id,
    field,
    name: held.mirror.joined,
    mirror: mirror?.[field] ?? null,
    base: (take === 'mirror' && isSaid ? agreedOn(field, shown) : base?.[field]) ?? null,
    fourEyes,
    waits: done.state === 'held' || (isTyped && config.push.approve === 'always'),
    decision: done.decision,
  };
}

/** A decision about a field of a user. */
export interface UserResolution extends Resolution {
  readonly id: Id;
}

export interface ResolvedFields {
  readonly resolved: readonly ResolvedField[];
  /** Number of the decision. */
  readonly decision: bigint | null;
}

/** Decides about these fields within the given transaction: about all of them or none. */
export async function resolveEach(
  tx: Transaction,
  team: Omit<UserToResolve, 'id'>,
  resolutions: readonly UserResolution[],
): Promise<ResolvedFields> {
  const resolved: ResolvedField[] = [];
  const decision = () => resolved[0]?.decision ?? null;
  for (const { id, ...one } of resolutions.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
    resolved.push(await resolveHold(tx, { ...team, id }, one, decision()));
  return { resolved, decision: decision() };
}

export async function resolveAll(
  setup: Setup,
  resolutions: readonly UserResolution[],
): Promise<ResolvedFields> {
  const teamId = await requireTeamId(setup);
  const { config } = setup;
  return await asPerson(setup.mirror.db, (tx) => resolveEach(tx, { teamId, config }, resolutions));
}

/** Decides about one held field. */
export async function resolve(
  setup: Setup,
  userText: string,
  resolution: Resolution,
): Promise<ResolvedField> {
  const teamId = await requireTeamId(setup);
  const { id } = await requireUser(setup, teamId, userText);
  const { resolved } = await resolveAll(setup, [{ ...resolution, id }]);
  return resolved[0] as ResolvedField;
}
