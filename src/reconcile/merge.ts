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
 */
import { canonicalName } from '../model/name.ts';
import {
  type BaseUser,
  canonicalServiceValue,
  canonicalValue,
  type Field,
  type ServiceUser,
  sameBytes,
  type UserValues,
} from '../model/user.ts';

export type Verdict = 'nothing' | 'pull' | 'push' | 'settle' | 'conflict';

export function decide(edited: boolean, moved: boolean, agree: boolean): Verdict {
  if (!edited) return moved ? 'pull' : 'nothing';
  if (!moved) return 'push';
  return agree ? 'settle' : 'conflict';
}

/** The canonical form of what base says of a field; for the name, of the service's own joined name. */
export function canonicalBase(field: Field, base: BaseUser): string {
  return field === 'name' ? canonicalName(base.joined) : canonicalValue(field, base);
}

/** A field that the service left out of its row counts as unmoved: absence is no evidence. */
export function mergeField(
  field: Field,
  base: BaseUser | undefined,
  mirror: UserValues,
  service: ServiceUser,
): Verdict {
  const said = canonicalServiceValue(field, service);
  if (said === undefined) return decide(base !== undefined && !sameBytes(field, mirror, base), false, false);
  const edited = base === undefined || !sameBytes(field, mirror, base);
  const moved = base === undefined || said !== canonicalBase(field, base);
  return decide(edited, moved, said === canonicalValue(field, mirror));
}
