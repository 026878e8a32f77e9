/**
 * The three-way merge of one field. `edited`: mirror and base differ, byte for byte. `moved`: service and
 * base differ, in canonical form. `agree`: mirror and service are equal, in canonical form.
 *
 * | edited | moved | agree | verdict  |
 * |--------|-------|-------|----------|
 * | no     | no    | –     | nothing  |
 * | no     | yes   | –     | pull     |
 * | yes    | no    | –     | push     |
 * | yes    | yes   | yes   | settle   |
 * | yes    | yes   | no    | conflict |
 *
 * The name is one value of two halves: the mirror's pair against the base's pair, the service's joined
 * name against the base's. Without a base both sides count as changed.
 *
 * If the service does not show a field, it is unknown whether it has moved. `none`: no base. `empty`: no value in base.
 *
 * | the service says | base    | edited | verdict                            |
 * |------------------|---------|--------|------------------------------------|
 * | unreadable       | ·       | ·      | unread                             |
 * | left out         | none    | ·      | nothing                            |
 * | left out         | empty   | no     | nothing                            |
 * | left out         | empty   | yes    | push: empty fields may be left out |
 * | left out         | a value | ·      | unread                             |
 *
 * An unread field is not pulled, pushed or settled: it waits for a run that can read it.
 */
import type { Field, UserValues } from '../../model/fields.ts';
import { canonicalName } from '../../model/name.ts';
import {
  type BaseUser,
  canonicalValue,
  type FieldReading,
  type ServiceUser,
  readingOf,
  sameBytes,
} from '../../model/user.ts';

export type Verdict = 'nothing' | 'pull' | 'push' | 'settle' | 'conflict' | 'unread';

export function decide(edited: boolean, moved: boolean, agree: boolean): Exclude<Verdict, 'unread'> {
  if (!edited) return moved ? 'pull' : 'nothing';
  if (!moved) return 'push';
  return agree ? 'settle' : 'conflict';
}

/** The canonical form of a field in base; for the name, of the service's joined name, which base keeps. */
export function canonicalBase(field: Field, base: BaseUser): string {
  return field === 'name' ? canonicalName(base.joined) : canonicalValue(field, base);
}

/** The reason why it is unknown whether the service has moved a field; `undefined` if it is known. */
export function unreadOf(
  field: Field,
  base: BaseUser | undefined,
  service: ServiceUser,
): Exclude<FieldReading, object> | undefined {
  const reading = readingOf(field, service);
  if (typeof reading === 'object') return undefined;
  const isKnown = reading === 'left out' && (base === undefined || canonicalBase(field, base) === '');
  return isKnown ? undefined : reading;
}

export function mergeField(
  field: Field,
  base: BaseUser | undefined,
  mirror: UserValues,
  service: ServiceUser,
): Verdict {
  if (unreadOf(field, base, service) !== undefined) return 'unread';
  const reading = readingOf(field, service);
  if (typeof reading !== 'object')
    return decide(base !== undefined && !sameBytes(field, mirror, base), false, false);
  const edited = base === undefined || !sameBytes(field, mirror, base);
  const moved = base === undefined || reading.value !== canonicalBase(field, base);
  return decide(edited, moved, reading.value === canonicalValue(field, mirror));
}

/** The side that wins when both changed a field: none until a person decides, the service, or the mirror. */
export type ConflictPolicy = 'hold' | 'service-wins' | 'mirror-wins';

export interface Policy extends Readonly<Record<Field, ConflictPolicy>> {
  /** True if pushes may need an approval, so that an unapproved split of a name is not sent along. */
  readonly approvesSplits?: boolean;
}

/** Applies the policy to a conflict; other verdicts stay. */
export function applyPolicy(policy: Policy, field: Field, verdict: Verdict): Verdict {
  if (verdict !== 'conflict') return verdict;
  switch (policy[field]) {
    case 'hold':
      return 'conflict';
    case 'service-wins':
      return 'pull';
    case 'mirror-wins':
      return 'push';
    default:
      return policy[field] satisfies never;
  }
}
