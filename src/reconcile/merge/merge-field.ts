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
 * The name is one value of two halves: the mirror's pair is compared with the base's pair, and the service's
 * joined name with the base's joined name. Without a base both sides count as changed.
 *
 * If the service does not show a field, the run cannot see if it moved. `none`: base is absent. `empty`: base has no value.
 *
 * | the field is     | base    | edited | verdict                            |
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

/** The canonical form of a field's value in base. For the name, it is the form of the joined name that base stores. */
export function canonicalBase(field: Field, base: BaseUser): string {
  return field === 'name' ? canonicalName(base.joined) : canonicalValue(field, base);
}

/** The reason why it is not known if the service has changed a field; `undefined` if it is known. */
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

/** The side that wins if both sides changed a field. `hold`: neither side wins until a person decides. */
export type ConflictPolicy = 'hold' | 'service-wins' | 'mirror-wins';

export interface Policy extends Readonly<Record<Field, ConflictPolicy>> {
  /** True if pushes may need an approval. Then a name is sent along only if a person approved its split. */
  readonly approvesSplits?: boolean;
}

/** Applies the policy to a conflict. All other verdicts are returned unchanged. */
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
