/** All that the page shows of one person, with the rights of whoever may read reports. */
import { sql } from 'kysely';
import type { Id } from '../model/id.ts';
import { joinName } from '../model/name.ts';
import type { ServiceUser, ServiceValue } from '../model/user.ts';
import type { UserState } from '../model/user-state.ts';
import type { Row } from './database.ts';
import { type HeldRow, readHeldFields } from './held.ts';
import { type ChangeRow, readChangesOf } from './page-changes.ts';
import type { PageReader } from './page-reader.ts';
import { fieldOfSql, toHold, valueFromJson } from './users-read.ts';

/** What the roster showed of the person, and from when to when. */
export interface PersonPeriod
  extends Row<
    'sync.user_periods',
    | 'valid_from'
    | 'present'
    | 'name'
    | 'first_name'
    | 'last_name'
    | 'email'
    | 'phone'
    | 'role_id'
    | 'role'
    | 'side'
    | 'run_id'
    | 'actor'
    | 'changed_by'
  > {
  /** `null`: it is so now. */
  readonly valid_to: Date | null;
}

type PersonRow = Row<
  'mirror.users',
  | 'name'
  | 'first_name'
  | 'last_name'
  | 'name_split'
  | 'email'
  | 'phone'
  | 'role_id'
  | 'role'
  | 'resolved'
  | 'gone_at'
  | 'created_at'
  | 'edited_at'
  | 'edited_by'
>;
type BaseColumns = Row<'sync.user_base', 'first_name' | 'last_name' | 'email' | 'phone' | 'role_id'>;

export interface PersonRead {
  readonly id: Id;
  readonly teamId: Id;
  readonly row: PersonRow;
  /** The service as a run last saw it. */
  readonly state: UserState;
  readonly held: readonly HeldRow[];
  /** The newest first. */
  readonly periods: readonly PersonPeriod[];
  /** The names of the roles of the team. */
  readonly roleNames: ReadonlyMap<Id, string>;
  /** The ledger of the person, the newest first. */
  readonly changes: readonly ChangeRow[];
}

const mostPeriods = 200;

/** What a run last saw of the service: what both sides agreed on, but for held fields, which keep what it shows. */
function lastSeen(id: Id, base: BaseColumns, held: readonly HeldRow[]): ServiceUser {
  const agreed: Record<string, ServiceValue> = {
    name: joinName({ first: base.first_name, last: base.last_name }),
    email: base.email,
    phone: base.phone,
    roleId: base.role_id,
  };
  const shown = held.flatMap(({ field: column, service_value: value }) => {
    const field = fieldOfSql(column);
    if (value === null || value === undefined) return [];
    return [[field, (field === 'roleId' ? valueFromJson(field, value) : value) as ServiceValue]];
  });
  return { id, ...agreed, ...Object.fromEntries(shown), raw: {} };
}

function stateOf(
  id: Id,
  {
    row,
    base,
    isOpen,
  }: { readonly row: PersonRow; readonly base: BaseColumns | null; readonly isOpen: boolean },
  held: readonly HeldRow[],
  now: Date,
): UserState {
  const { role, resolved } = row;
  const nameOf = (of: { readonly first_name: string; readonly last_name: string }) => ({
    first: of.first_name,
    last: of.last_name,
  });
  const isKnown = base !== null && resolved && row.gone_at === null;
  return {
    id,
    service: isKnown ? lastSeen(id, base, held) : undefined,
    mirror: {
      name: nameOf(row),
      split: row.name_split,
      email: row.email,
      phone: row.phone,
      roleId: row.role_id,
      joined: row.name,
      role,
      resolved,
      gone: row.gone_at !== null,
    },
    base:
      base === null
        ? undefined
        : {
            name: nameOf(base),
            joined: joinName(nameOf(base)),
            email: base.email,
            phone: base.phone,
            roleId: base.role_id,
          },
    held: held.map((one) =>
      toHold({
        ...one,
        mirror_value: one.mirror_value_then,
        service_value: one.service_value_then,
        shown_value: one.service_value,
        batch_reason: null,
        ends_in_ms: one.until === null ? null : one.until.getTime() - now.getTime(),
      }),
    ),
    hasOpenIntent: isOpen,
    missingForMs: undefined,
    observedDiffers: false,
  };
}

/** @returns `null`: the mirror has nobody with this id */
export async function readPerson(reader: PageReader, wanted: string): Promise<PersonRead | null> {
  const { db, now, teamIds } = reader;
  const [teamId] = teamIds;
  if (teamId === undefined || !/^\d{1,18}$/.test(wanted)) return null;
  const id = BigInt(wanted);
  const row = await db
    .selectFrom('mirror.users')
    .select(['name', 'first_name', 'last_name', 'name_split', 'email', 'phone', 'role_id', 'role'])
    .select(['resolved', 'gone_at', 'created_at', 'edited_at', 'edited_by'])
    .where((eb) => eb.and({ team_id: teamId, id }))
    .executeTakeFirst();
  if (row === undefined) return null;
  const base = await db
    .selectFrom('sync.user_base')
    .select(['first_name', 'last_name', 'email', 'phone', 'role_id'])
    .where((eb) => eb.and({ team_id: teamId, id }))
    .executeTakeFirst();
  const open = await db
    .selectFrom('sync.changes')
    .select('opened_at')
    .where((eb) => eb.and({ team_id: teamId, user_id: id, state: 'open' }))
    .executeTakeFirst();
  const held = await readHeldFields(db, teamId, id);
  const periods = await sql<PersonPeriod>`
    select p.valid_from, nullif(p.valid_to, 'infinity') as valid_to, p.present, p.name, p.first_name, p.last_name, p.email,
      p.phone, p.role_id, p.role, p.side, p.run_id, p.actor, p.changed_by
    from sync.user_periods p where p.team_id = ${teamId} and p.user_id = ${id}
    order by p.valid_from desc limit ${mostPeriods}`.execute(db);
  const roles = await db
    .selectFrom('mirror.roles')
    .select(['role_id', 'name'])
    .where('team_id', '=', teamId)
    .execute();
  const known = { row, base: base ?? null, isOpen: open !== undefined };
  return {
    id,
    teamId,
    row,
    state: stateOf(id, known, held, now),
    held,
    periods: periods.rows,
    roleNames: new Map(roles.flatMap(({ role_id: role, name }) => (name === null ? [] : [[role, name]]))),
    changes: await readChangesOf(reader, id),
  };
}
