/**
 * The plan of one run for one user: a decision for each field, and the rows to write. Nothing in it has been done yet.
 * The decisions show which fields are sent, pulled, held or no longer held.
 */
import { type Field, fields as allFields, type FieldValue } from './fields.ts';
import type { Id } from './id.ts';
import {
  type BaseUser,
  type MirrorRow,
  type MirrorUser,
  type ServiceUser,
  type ServiceValue,
  type UserPatch,
  canonicalOf,
  canonicalShown,
  sameValue,
} from './user.ts';

/** The three versions of one field. */
export interface Values {
  /** `undefined` if both sides have never agreed on a value. */
  readonly base: FieldValue | undefined;
  readonly mirror: FieldValue | undefined;
  readonly service: ServiceValue;
}

/** The reasons why a field waits for a person. */
export type HoldReason =
  | 'conflict'
  | 'refused'
  | 'ineffective'
  | 'unsupported'
  | 'returned'
  /** A limit stopped it: one on the whole run, or one on this field alone. */
  | 'limit'
  /** A person must approve the edit before it is sent. */
  | 'review'
  /** A person asked for the hold. */
  | 'asked'
  /** A person decided that the edit is not sent. */
  | 'rejected';

/** True if a person decides about holds with this reason by `approve`. For all other reasons, `resolve` is needed. */
export const isApprovable = (reason: HoldReason | null): boolean => reason === 'limit' || reason === 'review';

/** A hold: the field is neither pushed nor pulled until mirror or service has another value (`holdStands`). */
export interface Hold extends Values {
  readonly field: Field;
  /** The held edit; absent if the field has no edit on record. */
  readonly edit?: Id | undefined;
  readonly reason: HoldReason;
  /** A sentence about what led to the hold. */
  readonly detail: string;
  /** The service's value as a run last saw it, if the field was held before. */
  readonly shown?: ServiceValue;
  /** For a hold on request: ms from now until its end. A change of the values does not end it earlier. */
  readonly endsInMs?: number | undefined;
  /** True if the limit that holds the field is a limit on single fields, not on the whole run. */
  readonly isAlone?: boolean | undefined;
  /** The batch of the hold. It is set when the run that made the hold ends. */
  readonly batch?: string;
  /** Set if a person let the edit pass: `approved` passes limits on a whole run, `resolved` also those on single fields. */
  readonly decision?: 'approved' | 'resolved';
}

interface MovingField {
  readonly values: Values;
  /** True if the decision ends an earlier hold of the field. */
  readonly ends: boolean;
}

/** A field that gets the service's value: in mirror and base (`pull`), or in base if the mirror has it (`settle`). */
export interface Pull extends MovingField {
  readonly kind: 'pull' | 'settle';
}

/** A field that has to be sent. */
export interface Push extends MovingField {
  readonly kind: 'push';
  /** The edit that the push sends; `undefined` if the edit is not on record yet. */
  readonly edit: Id | undefined;
}

export type Move = Pull | Push;

/** The decision about one field. */
export type Decision =
  /** Nothing happens, because neither side has changed the value. */
  | { readonly kind: 'same'; readonly ends: boolean }
  /** The field takes the service's value, because the whole user is taken from the service. */
  | { readonly kind: 'adopt'; readonly ends: boolean }
  | Move
  /** The field is held from now on. */
  | { readonly kind: 'hold'; readonly hold: Hold; readonly agrees?: true }
  /** The field stays held. `shown` is the service's value now; `undefined` if it cannot be read. */
  | { readonly kind: 'held'; readonly shown: ServiceValue }
  /** The field is neither pulled nor pushed. `until`: a push of the field has to wait for the next run, or the next whole one. */
  | { readonly kind: 'wait'; readonly until?: 'next' | 'whole' };

export type Decisions = Readonly<Record<Field, Decision>>;

/** The case of a user (table in `reconcile/merge/user-case.ts`). A `missing` user is not proven gone yet. */
export type UserCase =
  | 'adopt'
  | 'return'
  | 'merge'
  | 'unresolved'
  | 'missing'
  | 'forget'
  | 'stranger'
  | 'waiting';

export interface DecidedUser {
  readonly id: Id;
  readonly fields: Decisions;
  /** The rows to write to the mirror and the base; `null` if they stay unchanged. */
  readonly write: UserWrite | null;
}

export interface UserPlan extends DecidedUser {
  readonly case: UserCase;
}

/** The new mirror and base of one user. Both are written, or neither. */
export interface UserWrite {
  readonly id: Id;
  /** The mirror's row when it was read. If the row has changed before the write, nothing is written. */
  readonly expected: MirrorRow | null;
  readonly mirror: MirrorUser;
  readonly observed: ObservedUser;
  readonly base: BaseUser;
}

/** The columns of a mirror row that only the service sets. */
export interface ObservedUser {
  readonly name: string;
  readonly role: string | null;
  readonly resolved: boolean;
  /** The details of the user; `null` if nothing new is known, so that the row keeps its details. */
  readonly details: UserDetails | null;
}

export interface UserDetails {
  /** The time in ISO 8601 UTC, as the service wrote it. */
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  readonly userCreatedAt: string | null;
  readonly userUpdatedAt: string | null;
  readonly raw: Readonly<Record<string, unknown>>;
}

export const detailsOf = (service: ServiceUser): UserDetails => ({
  createdAt: service.createdAt ?? null,
  updatedAt: service.updatedAt ?? null,
  userCreatedAt: service.userCreatedAt ?? null,
  userUpdatedAt: service.userUpdatedAt ?? null,
  raw: service.raw,
});

export function decideEach(decide: (field: Field) => Decision): Decisions {
  return Object.fromEntries(allFields.map((field) => [field, decide(field)])) as Record<Field, Decision>;
}

type DecisionOfKind<Kind extends Decision['kind']> = Decision & { readonly kind: Kind };

/** The fields with this kind of decision, and the decisions. */
export function decisionsOf<Kind extends Decision['kind']>(
  { fields }: Pick<DecidedUser, 'fields'>,
  kind: Kind,
): readonly (readonly [Field, DecisionOfKind<Kind>])[] {
  return allFields.flatMap((field) => {
    const decision = fields[field];
    return decision.kind === kind ? [[field, decision as DecisionOfKind<Kind>] as const] : [];
  });
}

/** The values to send. */
export function pushOf(plan: Pick<DecidedUser, 'fields'>): UserPatch {
  return Object.fromEntries(decisionsOf(plan, 'push').map(([field, { values }]) => [field, values.mirror]));
}

export const isPush = (plan: Pick<DecidedUser, 'fields'>): boolean => decisionsOf(plan, 'push').length > 0;

/** Fields that are held from now on; each replaces an earlier hold of its field. */
export function holdsOf(plan: Pick<DecidedUser, 'fields'>): readonly Hold[] {
  return decisionsOf(plan, 'hold').map(([, { hold }]) => hold);
}

/** Fields whose hold ends with this plan. */
export function endedHolds({ fields }: Pick<DecidedUser, 'fields'>): readonly Field[] {
  return allFields.filter((field) => 'ends' in fields[field] && fields[field].ends);
}

/** A field that is held from now on, with its values. */
export const holdField = (
  field: Field,
  reason: HoldReason,
  detail: string,
  { base, mirror, service }: Values,
): DecisionOfKind<'hold'> => ({ kind: 'hold', hold: { field, reason, detail, base, mirror, service } });

/** Returns the plan, with the decision about each pushed field replaced by the result of `decide`. */
export function mapPushes(
  plan: UserPlan,
  decide: (field: Field, push: DecisionOfKind<'push'>) => Decision,
): UserPlan {
  const changed = decisionsOf(plan, 'push').map(([field, push]) => [field, decide(field, push)]);
  return { ...plan, fields: { ...plan.fields, ...Object.fromEntries(changed) } };
}

/** The service's value in canonical form, or the base's value if the service left the field out. */
export const canonicalService = (field: Field, { base, service }: Values): string =>
  service === undefined ? canonicalOf(field, base) : canonicalShown(field, service);

/** True if both pushes send the same value, over the same base (byte for byte) and the same value of the service. */
export const samePush = (field: Field, a: Values, b: Values): boolean =>
  sameValue(field, a.mirror, b.mirror) &&
  sameValue(field, a.base, b.base) &&
  canonicalService(field, a) === canonicalService(field, b);
