/** What a push rests on, compared: the same value on the same base, over the same value of the service. */
import type { Field } from './fields.ts';
import { canonicalOf, canonicalShown, sameValue } from './user.ts';
import type { Values } from './user-plan.ts';

/** What the service showed, in the form in which it is compared; where it left the field out, what was agreed on. */
export const canonicalService = (field: Field, { base, service }: Values): string =>
  service === undefined ? canonicalOf(field, base) : canonicalShown(field, service);

/** Whether both send the same value on the same base, byte for byte, over the same value of the service. */
export const samePush = (field: Field, a: Values, b: Values): boolean =>
  sameValue(field, a.mirror, b.mirror) &&
  sameValue(field, a.base, b.base) &&
  canonicalService(field, a) === canonicalService(field, b);
