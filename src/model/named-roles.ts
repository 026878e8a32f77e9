/** The names of roles, because people do not know their ids. */
import type { Id } from './id.ts';

/** The role names, by team and role id. */
export type NamedRoles = ReadonlyMap<string, string>;

/** The value of a field as people read it. A role's id gets the role's name: `1 admin`. */
export function withRoleName(
  names: NamedRoles,
  teamId: Id | null,
  field: string | null,
  value: unknown,
): unknown {
  const name = field === 'role_id' ? names.get(`${teamId} ${String(value)}`) : undefined;
  return name === undefined ? value : `${String(value)} ${name}`;
}
