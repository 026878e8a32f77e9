/** What a push rests on, compared: the same value on the same base, over the same value of the service. */
import { canonicalShown, canonicalValue, type Field, sameBytes, type UserValues } from './user.ts';
import type { FieldValue, Hold, Values } from './user-plan.ts';

const nothing: UserValues = { name: { first: '', last: '' }, email: null, phone: null, roleId: null };
const valuesOf = (field: Field, value: FieldValue | undefined): UserValues =>
  value === undefined || value === null ? nothing : ({ ...nothing, [field]: value } as UserValues);

/** Whether two values of a field are the same, byte for byte. */
export const sameValue = (field: Field, a: FieldValue | undefined, b: FieldValue | undefined): boolean =>
  sameBytes(field, valuesOf(field, a), valuesOf(field, b));

/** What the service showed, in the form in which it is compared; where it left the field out, what was agreed on. */
export const canonicalService = (field: Field, { base, service }: Values): string =>
  service === undefined ? canonicalValue(field, valuesOf(field, base)) : canonicalShown(field, service);

/** Whether both send the same value on the same base, byte for byte, over the same value of the service. */
export const samePush = (field: Field, a: Values, b: Values): boolean =>
  sameValue(field, a.mirror, b.mirror) &&
  sameValue(field, a.base, b.base) &&
  canonicalService(field, a) === canonicalService(field, b);

/** Whether a run has seen another value of the service since. */
export const hasMovedSince = (hold: Hold): boolean =>
  hold.shown !== undefined &&
  canonicalService(hold.field, { ...hold, service: hold.shown }) !== canonicalService(hold.field, hold);
