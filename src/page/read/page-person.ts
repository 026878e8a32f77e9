/** Reads everything that the page shows about one person, with the rights of a reader of reports. */
import { sql } from 'kysely';
import { fieldOf, type UserValues } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import { joinName } from '../../model/name.ts';
import type { ServiceUser, ServiceValue } from '../../model/user.ts';
import type { UserState } from '../../model/user-state.ts';
import { valueFromJson, valuesOf } from '../../mirror/db/field-sql.ts';
import type { Row } from '../../mirror/db/database.ts';
import { type HeldRow, readHeldFields } from '../../mirror/users/held.ts';
import { type LedgerLine, readHistory } from './page-changes.ts';
import type { RosterRow } from './page-people.ts';
import type { PageReader } from './page-reader.ts';
import { readUserState } from '../../mirror/users/users-read.ts';

type PersonRow = Pick<RosterRow, 'name' | 'email' | 'phone' | 'role_id' | 'role' | 'gone_at'> &
  Row<'mirror.users', 'first_name' | 'last_name' | 'name_split' | 'resolved' | 'created_at'> &
  Row<'mirror.users', 'edited_at' | 'edited_by'>;

export interface PersonRead {
  readonly id: Id;
  readonly teamId: Id;
  readonly row: PersonRow;
  /** The service's values as last seen by a run. */
  readonly state: UserState;
  readonly held: readonly HeldRow[];
  readonly history: readonly LedgerLine[];
}

/** True if the service is known to have no value: both sides were compared, or it had a value. Else it is unknown. */
const isEmptied = ({ reason, held_before: before, service_value_then: then }: HeldRow): boolean =>
  [reason, before].some((why) => why === 'conflict' || why === 'limit' || why === 'review') || then !== null;

/** The service's values as last seen by a run: the base; for held fields, the value that was stored with the hold. */
function lastSeen(id: Id, base: UserValues, held: readonly HeldRow[]): ServiceUser {
  const shownValues = held.flatMap((row) => {
    const field = fieldOf(row.field);
    const { service_value: value } = row;
    if (value === null && !isEmptied(row)) return [];
    return [[field, (field === 'name' ? (value ?? '') : valueFromJson(field, value)) as ServiceValue]];
  });
  return { id, ...base, name: joinName(base.name), ...Object.fromEntries(shownValues), raw: {} };
}

export async function readPerson(reader: PageReader, wanted: string): Promise<PersonRead | null> {
  const { db, teamIds } = reader;
  const [teamId] = teamIds;
  if (teamId === undefined || !/^\d{1,18}$/.test(wanted)) return null;
  const id = BigInt(wanted);
  const { rows } = await sql<PersonRow>`
    select u.name, u.name_split, ${valuesOf('u')}, u.resolved, u.gone_at, u.created_at, u.edited_at, u.edited_by,
      case when u.role_id is null then u.role else r.name end as role
    from mirror.users u left join mirror.roles r on r.team_id = u.team_id and r.role_id = u.role_id where u.team_id = ${teamId} and u.id = ${id}`.execute(
    db,
  );
  const [row] = rows;
  if (row === undefined) return null;
  const held = await readHeldFields(db, teamId, { userId: id });
  const state = await readUserState(db, teamId, id);
  const { base } = state;
  const isKnown = base !== undefined && row.resolved && row.gone_at === null;
  return {
    id,
    teamId,
    row,
    state: { ...state, service: isKnown ? lastSeen(id, base, held) : undefined },
    held,
    history: await readHistory(reader, id),
  };
}
