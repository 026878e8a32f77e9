/** A push in the form in which it is shown to a person, approved, and compared with what is about to be sent. */
import { createHash } from 'node:crypto';
import { type DecidedUser, decisionsOf, mapPushes, pushOf, type UserPlan } from '../../model/user-plan.ts';
import { toJson } from '../../model/json.ts';
import type { PlannedPush } from '../../model/plan.ts';
import {
  canonicalShown,
  canonicalValue,
  type Field,
  fields,
  type ServiceValue,
  sameBytes,
  type UserValues,
} from '../../model/user.ts';
import { patchedFields } from '../push/outcome.ts';

/** What a plan would send, with the values of both sides that it rests on. */
export function plannedPush(plan: DecidedUser, name: string): PlannedPush {
  const pushed = decisionsOf(plan, 'push').map(([field, { values }]) => [field, values] as const);
  // Where nothing was agreed on before, what is about to be written counts.
  const base = Object.fromEntries(
    pushed.map(([field, values]) => [field, (plan.write?.base ?? { [field]: values.base })[field] ?? null]),
  );
  const service: Partial<Record<Field, ServiceValue>> = Object.fromEntries(
    pushed.flatMap(([field, shown]) => (shown.service === undefined ? [] : [[field, shown.service]])),
  );
  return { userId: plan.id, name, base, service, patch: pushOf(plan) };
}

function canonicalBaseOf({ base }: PlannedPush, field: Field): string {
  return base[field] === undefined ? '' : canonicalValue(field, base as UserValues);
}

function shownOf(push: PlannedPush, field: Field): string {
  const value = push.service?.[field];
  return value === undefined ? canonicalBaseOf(push, field) : canonicalShown(field, value);
}

/** What the service showed of a field when this was planned. */
export function shownIn(push: PlannedPush, field: Field): ServiceValue {
  const value = push.service?.[field];
  if (value !== undefined) return value;
  return field === 'name' ? canonicalBaseOf(push, field) : push.base[field];
}

/** Whether both send the same value of a field on the same base, byte for byte, over the same value of the service. */
export function samePush(field: Field, a: PlannedPush, b: PlannedPush): boolean {
  const same = (one: Partial<UserValues>, other: Partial<UserValues>) =>
    one[field] !== undefined &&
    other[field] !== undefined &&
    sameBytes(field, one as UserValues, other as UserValues);
  return (
    a.userId === b.userId &&
    same(a.patch, b.patch) &&
    same(a.base, b.base) &&
    shownOf(a, field) === shownOf(b, field)
  );
}

/** The fields of a push that one of these rows holds with the same values. */
export function fieldsAmong(push: PlannedPush, rows: readonly PlannedPush[]): readonly Field[] {
  return patchedFields(push.patch).filter((field) => rows.some((row) => samePush(field, push, row)));
}

/** The row of these fields alone. */
export function onlyFields(push: PlannedPush, of: readonly Field[]): PlannedPush {
  const pick = (values: object) =>
    Object.fromEntries(Object.entries(values).filter(([field]) => of.includes(field as Field)));
  const { base, service, patch } = push;
  return {
    ...push,
    base: pick(base),
    ...(service === undefined ? {} : { service: pick(service) }),
    patch: pick(patch),
  };
}

/**
 * What of a plan that was made again may be sent: what the guard saw, value, base and all. Anything else was
 * edited since, on either side, and no limit has been asked about it: it waits for the next run.
 */
export function onlyGuarded(plan: UserPlan, guarded: UserPlan): UserPlan {
  const seen = fieldsAmong(plannedPush(plan, ''), [plannedPush(guarded, '')]);
  return mapPushes(plan, (field, push) => (seen.includes(field) ? push : { kind: 'wait' }));
}

/**
 * Stands for these rows with these values: any other row, value, base or value of the service makes another hash.
 * @param lacking fields that many users no longer have
 */
export function hashOf(pushes: readonly PlannedPush[], lacking: readonly Field[] = []): string {
  const sorted = pushes.toSorted((a, b) => (a.userId < b.userId ? -1 : 1));
  const rows = sorted.map((push) => [
    push.userId,
    fields.map((field) => {
      const shown = shownOf(push, field);
      const moved = push.patch[field] !== undefined && shown !== canonicalBaseOf(push, field);
      return [push.base[field] ?? null, push.patch[field] ?? null, ...(moved ? [shown] : [])];
    }),
  ]);
  const all = lacking.length === 0 ? rows : [...rows, ...fields.filter((field) => lacking.includes(field))];
  return createHash('sha256').update(toJson(all)).digest('hex').slice(0, 12);
}
