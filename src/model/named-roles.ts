/** The names of roles, which people know rather than their ids. */
import type { Id } from './id.ts';

/** By team and id. */
export type NamedRoles = ReadonlyMap<string, string>;

/** The value of a field as people know it: a role with its name, `1 admin`. */
export function withRoleName(
  names: NamedRoles,
  teamId: Id | null,
  field: string | null,
  value: unknown,
): unknown {
  const name = field === 'role_id' ? names.get(`${teamId} ${String(value)}`) : undefined;
  return name === undefined ? value : `${String(value)} ${name}`;
}
