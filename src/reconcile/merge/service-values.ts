/** The service's values in the form in which mirror and base store them, and the rows to write. */
import type { Id } from '../../model/id.ts';
import {
  type Field,
  fields as allFields,
  type UserValues,
  singlesOf,
  storedValue,
  emptyValues,
} from '../../model/fields.ts';
import { canonicalName, joinName, samePair, splitName } from '../../model/name.ts';
import { type BaseUser, type MirrorUser, readable, type ServiceUser, sameBytes } from '../../model/user.ts';
import {
  type Decision,
  type Decisions,
  detailsOf,
  type ObservedUser,
  type UserWrite,
} from '../../model/user-plan.ts';
import type { UserState } from '../../model/user-state.ts';

/**
 * The service's values in their stored form. A field that the service does not show gets the fallback's value. The name
 * gets the fallback's halves if these join to the service's name.
 */
export function takeValues(service: ServiceUser, fallback: UserValues): UserValues {
  const joined = readable(service.name);
  const isSame = joined === undefined || joinName(fallback.name) === canonicalName(joined ?? '');
  return {
    name: isSame ? fallback.name : splitName(joined ?? ''),
    ...singlesOf((field) => {
      const value = readable<string | Id>(service[field]);
      return value === undefined ? fallback[field] : storedValue(value);
    }),
  };
}

/** The service's joined name, byte for byte; the fallback if the service does not show a name. */
const joinedOf = (service: ServiceUser, fallback: string) => {
  const serviceName = readable(service.name);
  return serviceName === undefined ? fallback : (serviceName ?? '');
};

/** The base. A user without a base gets the service's values as base. */
export function agreedOf(base: BaseUser | undefined, mirror: UserValues, service: ServiceUser): BaseUser {
  return base ?? { ...takeValues(service, mirror), joined: joinedOf(service, joinName(mirror.name)) };
}

const takes = ({ kind }: Decision) => kind === 'pull' || kind === 'settle' || kind === 'adopt';
const agrees = (decision: Decision) => takes(decision) || 'agrees' in decision;

/**
 * Mirror and base after these decisions:
 *
 * | decision                   | mirror        | base          |
 * |----------------------------|---------------|---------------|
 * | pull, settle, adopt        | the service's | the service's |
 * | hold that `agrees`         | stays         | the service's |
 * | any other decision         | stays         | stays         |
 *
 * If existing halves of a name join to the service's name, they are kept instead of a new split. A settle or an adoption
 * keeps the mirror's halves, all other decisions keep the base's halves.
 */
export function writeOf(
  state: UserState,
  service: ServiceUser,
  fields: Decisions,
  observe: (joined: string) => ObservedUser,
): UserWrite {
  const { id, mirror: row, base: before } = state;
  const old: MirrorUser = row ?? { ...(before ?? takeValues(service, emptyValues)), split: 'guessed' };
  const agreed = agreedOf(before, old, service);
  const [overMirror, overBase] = [takeValues(service, old), takeValues(service, agreed)];
  const isKept = (field: Field) => fields[field].kind === 'settle' || fields[field].kind === 'adopt';
  const valuesOf = (is: (decision: Decision) => boolean): Partial<UserValues> =>
    Object.fromEntries(
      allFields
        .filter((field) => is(fields[field]))
        .map((field) => [field, (isKept(field) ? overMirror : overBase)[field]]),
    );
  const joined = agrees(fields.name) ? joinedOf(service, agreed.joined) : agreed.joined;
  const base = { ...agreed, ...valuesOf(agrees), joined };
  const after = { ...old, ...valuesOf(takes) };
  // If an edit of the name is given up, the earlier halves come back with their earlier split, known or guessed.
  const isGivenBack = before !== undefined && samePair(after.name, before.name);
  const split = (isGivenBack ? state.edits.name?.split : undefined) ?? 'guessed';
  const mirror = samePair(after.name, old.name) ? after : { ...after, split };
  return { id, expected: row ?? null, mirror, observed: observe(joined), base };
}

/** Returns `null` if the write changes nothing. Comparing base is enough: a plan that changes mirror changes base too. */
export function unlessSame({ base, observedDiffers }: UserState, write: UserWrite): UserWrite | null {
  const { expected: row, observed } = write;
  const isSame =
    row !== null &&
    !(row.gone || observedDiffers || row.resolved !== observed.resolved || row.role !== observed.role) &&
    base?.joined === write.base.joined &&
    allFields.every((field) => sameBytes(field, write.base, base));
  return isSame ? null : write;
}

/** The columns that only the service sets. */
export function observe(service: ServiceUser, role: string | null, joined: string): ObservedUser {
  return { name: readable(service.name) ?? joined, role, resolved: true, details: detailsOf(service) };
}
