/** What the service says, in the form in which mirror and base store it. */

import { stored } from '../../model/canonical.ts';
import type { FieldValue, ObservedUser } from '../../model/change.ts';
import { canonicalName, joinName, samePair, splitName } from '../../model/name.ts';
import {
  type BaseUser,
  type Field,
  type MirrorUser,
  readable,
  type ServiceUser,
  type UserValues,
} from '../../model/user.ts';

const takeText = (text: string | null | undefined, fallback: string | null) =>
  text === undefined ? fallback : stored(text);

/** The service's value of one field as it is stored; one that the service does not show is the fallback's. */
export function takeValue<F extends Field>(
  field: F,
  service: ServiceUser,
  fallback: UserValues,
): UserValues[F] {
  const take = (): FieldValue => {
    switch (field) {
      case 'name': {
        const joined = readable(service.name);
        if (joined === undefined || joinName(fallback.name) === canonicalName(joined ?? '')) {
          return fallback.name;
        }
        return splitName(joined ?? '');
      }
      case 'email':
        return takeText(readable(service.email), fallback.email);
      case 'phone':
        return takeText(readable(service.phone), fallback.phone);
      case 'roleId': {
        const roleId = readable(service.roleId);
        return roleId === undefined ? fallback.roleId : roleId;
      }
      default:
        return field satisfies never;
    }
  };
  return take() as UserValues[F];
}

export const emptyValues: UserValues = {
  name: { first: '', last: '' },
  email: null,
  phone: null,
  roleId: null,
};

/** Everything as the service has it; the pair that we have is kept where it joins to the service's name. */
export function adoptValues(
  service: ServiceUser,
  fallback: MirrorUser | undefined,
): { mirror: MirrorUser; base: BaseUser } {
  const from = fallback ?? { ...emptyValues, split: 'guessed' as const };
  const values: UserValues = {
    name: takeValue('name', service, from),
    email: takeValue('email', service, from),
    phone: takeValue('phone', service, from),
    roleId: takeValue('roleId', service, from),
  };
  const split = samePair(values.name, from.name) ? from.split : 'guessed';
  return {
    mirror: { ...values, split },
    base: { ...values, joined: readable(service.name) ?? joinName(values.name) },
  };
}

export function observe(service: ServiceUser, role: string | null, joined: string): ObservedUser {
  return {
    name: readable(service.name) ?? joined,
    role,
    resolved: true,
    details: {
      createdAt: service.createdAt ?? null,
      updatedAt: service.updatedAt ?? null,
      userCreatedAt: service.userCreatedAt ?? null,
      userUpdatedAt: service.userUpdatedAt ?? null,
      raw: service.raw,
    },
  };
}
