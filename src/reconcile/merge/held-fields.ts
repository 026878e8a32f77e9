/** Which fields of a user are held, and which were ever known. */
import type { UserState } from '../../model/change.ts';
import { type BaseUser, type Field, fields } from '../../model/user.ts';

export function heldFields({ held }: UserState): readonly Field[] {
  return fields.filter((field) => held.some((hold) => hold.field === field));
}

/** Fields whose hold a person asked for and whose end lies ahead: they stay as they are, whatever comes or goes. */
export function askedFields({ held }: UserState): readonly Field[] {
  const asked = held.filter(({ reason, endsInMs }) => reason === 'asked' && (endsInMs ?? 0) > 0);
  return fields.filter((field) => asked.some((hold) => hold.field === field));
}

/** Whether all that was ever known of the user is what the team listing says. */
export const neverResolved = ({ email, phone, roleId }: BaseUser) =>
  email === null && phone === null && roleId === null;
