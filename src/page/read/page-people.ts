/** Reads the roster: users with their states, with keyset pagination. */
import { type RawBuilder, sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import { type PeopleSort, type PeopleState, type UserStanding, standings } from '../../model/standing.ts';
import type { Row } from '../../mirror/db/database.ts';
import { idArray } from '../../mirror/db/by-key.ts';
import { contains, fits } from '../../mirror/users/find-user.ts';
import { readUserQuery } from '../../mirror/users/user-query.ts';
import type { PageReader } from './page-reader.ts';
import {
  countStandings,
  inState,
  type OpenField,
  readTeamStandings,
  type TeamStandings,
} from './page-standings.ts';

export interface PeopleFilter {
  /** A part of a name, email, phone or id; without details only an id. */
  readonly q: string;
  readonly details: boolean;
  readonly state: PeopleState;
  readonly roleId: Id | null;
  readonly sort: PeopleSort;
  readonly isDown: boolean;
  /** The last user of the previous page. */
  readonly after: { readonly teamId: Id; readonly id: Id } | null;
  readonly limit: number;
}

export interface RosterRow
  extends Row<
    'mirror.users',
    'team_id' | 'id' | 'name' | 'email' | 'phone' | 'role_id' | 'role' | 'gone_at'
  > {
  /** The last change on either side. */
  readonly changed_at: Date | null;
  readonly standing: UserStanding;
  readonly open: readonly OpenField[];
}

export interface PeopleRead {
  readonly rows: readonly RosterRow[];
  /** Whether there are more users after these. */
  readonly isMore: boolean;
  /** Counts of all users, independent of the search. */
  readonly counts: Readonly<Record<PeopleState, number>>;
  /** The number of matches; `null` if nothing is searched for. */
  readonly found: number | null;
  readonly roles: readonly Row<'mirror.roles', 'role_id' | 'name'>[];
}

function matches({ q, details }: PeopleFilter): RawBuilder<unknown> {
  if (q === '') return sql`true`;
  const query = readUserQuery(q);
  if (details) return fits('u', query);
  return query.id === null ? sql`false` : contains(sql`u.id::text`, query);
}

/** The role's name, as in report.roster: `u.role` is the one that the service gave before an edit of `role_id`. */
const roleName = sql`case when u.role_id is null then u.role else r.name end`;
const withRole = sql`left join mirror.roles r on r.team_id = u.team_id and r.role_id = u.role_id`;
const changedAt = sql`greatest(u.edited_at, u.updated_at)`;

/** The sort key; empty values come last in ascending order. Without details, hidden values are not sort keys. */
function keysOf({ sort, details }: PeopleFilter): readonly RawBuilder<unknown>[] {
  const name = details ? [sql`u.name`] : [];
  const text = (column: RawBuilder<unknown>) => [sql`(${column} is null)`, sql`coalesce(${column}, '')`];
  const keys = {
    state: name,
    name,
    role: [...text(roleName), ...name],
    email: details ? text(sql`u.email`) : [],
    phone: details ? text(sql`u.phone`) : [],
    id: [],
    changed: [sql`coalesce(${changedAt}, '-infinity')`],
  } as const satisfies Record<PeopleSort, readonly RawBuilder<unknown>[]>;
  return [...keys[sort], sql`u.id`, sql`u.team_id`];
}

type FoundRow = Omit<RosterRow, 'standing' | 'open'>;
type Cursor = NonNullable<PeopleFilter['after']>;

interface StateFilter {
  readonly where: RawBuilder<unknown>;
  /** The last row of the previous page, if it had this state. */
  readonly after: Cursor | null;
  readonly limit: number;
}

const columns = sql`u.team_id, u.id, u.name, u.email, u.phone, u.role_id, ${roleName} as role, u.gone_at, ${changedAt} as changed_at`;

/** The selection, its sort keys, and the condition for this page, which gets the names of the keys there. */
function selectionOf({ teamIds }: PageReader, filter: PeopleFilter, { where, after }: StateFilter) {
  const keys = keysOf(filter);
  const way = filter.isDown ? sql`desc` : sql`asc`;
  const role = filter.roleId === null ? sql`true` : sql`u.role_id = ${filter.roleId}`;
  // The sort key of the last row is looked up, so that links contain no names.
  const beyond = (called: readonly RawBuilder<unknown>[]) =>
    after === null
      ? sql`true`
      : sql`(${sql.join(called)}) ${filter.isDown ? sql`<` : sql`>`} (
          select ${sql.join(keys)} from mirror.users u ${withRole} where u.team_id = ${after.teamId} and u.id = ${after.id})`;
  const order = (called: readonly RawBuilder<unknown>[]) =>
    sql`order by ${sql.join(called.map((key) => sql`${key} ${way}`))}`;
  const wanted = sql`u.team_id = any (${idArray(teamIds)}) and ${where} and ${role} and ${matches(filter)}`;
  return { keys, wanted, beyond, order };
}

/** One page of the users in a state. */
async function readState(
  reader: PageReader,
  filter: PeopleFilter,
  state: StateFilter,
): Promise<readonly FoundRow[]> {
  const { keys, wanted, beyond, order } = selectionOf(reader, filter, state);
  const { rows } = await sql<FoundRow>`
    select ${columns} from mirror.users u ${withRole}
    where ${wanted} and ${beyond(keys)} ${order(keys)} limit ${state.limit}`.execute(reader.db);
  return rows;
}

/** Reads the page and the number of matches in one pass over all users, which keeps only the keys of each match. */
async function readMatching(
  reader: PageReader,
  filter: PeopleFilter,
  stateFilter: StateFilter,
): Promise<{ readonly rows: readonly FoundRow[]; readonly found: number }> {
  const { keys, wanted, beyond, order } = selectionOf(reader, filter, stateFilter);
  const called = keys.map((_, i) => sql.ref(`m.k${i}`));
  const { rows } = await sql<FoundRow & { readonly found: number }>`
    with matched as materialized (
      select u.team_id, u.id, ${sql.join(keys.map((key, i) => sql`${key} as ${sql.id(`k${i}`)}`))}
      from mirror.users u ${withRole} where ${wanted}
    ), page as materialized (
      select * from matched m where ${beyond(called)} ${order(called)} limit ${stateFilter.limit}
    )
    select c.found, p.* from (select count(*)::int as found from matched) c
    left join (
      select ${columns}, row_number() over (${order(called)}) as nth from page m
      cross join lateral (select * from mirror.users u where u.team_id = m.team_id and u.id = m.id offset 0) u ${withRole}
    ) p on true
    order by p.nth`.execute(reader.db);
  return { found: rows[0]?.found ?? 0, rows: rows.filter(({ id }) => id !== null) };
}

/** Reads one state after the other, the worst first, until the page is full. */
async function readWorstFirst(
  reader: PageReader,
  filter: PeopleFilter,
  teams: readonly TeamStandings[],
  standingBy: (row: { readonly team_id: Id; readonly id: Id }) => UserStanding,
): Promise<readonly FoundRow[]> {
  const order: UserStanding[] = standings.filter((standing) => standing !== 'left');
  if (filter.isDown) order.reverse();
  const { after } = filter;
  const first = after === null ? undefined : standingBy({ team_id: after.teamId, id: after.id });
  const from = first === undefined ? 0 : Math.max(0, order.indexOf(first));
  const rows: FoundRow[] = [];
  for (const standing of order.slice(from)) {
    const limit = filter.limit + 1 - rows.length;
    if (limit === 0) break;
    const where = inState(standing, teams);
    rows.push(
      ...(await readState(reader, filter, { where, limit, after: standing === first ? after : null })),
    );
  }
  return rows;
}

export async function readPeople(reader: PageReader, filter: PeopleFilter): Promise<PeopleRead> {
  const { db, teamIds } = reader;
  const teams = await readTeamStandings(reader);
  const by = new Map(
    teams.flatMap(({ noted, ids }) =>
      standings.flatMap((standing) =>
        (ids[standing] ?? []).map((id) => [`${noted.teamId} ${id}`, standing] as const),
      ),
    ),
  );
  const standingBy = (row: { readonly team_id: Id; readonly id: Id }) =>
    by.get(`${row.team_id} ${row.id}`) ?? 'equal';
  const isSearch = filter.q !== '' || filter.roleId !== null;
  const where = inState(filter.state, teams);
  const page = { where, after: filter.after, limit: filter.limit + 1 };
  const matching = isSearch ? await readMatching(reader, filter, page) : null;
  const rows =
    matching?.rows ??
    (filter.sort === 'state' && filter.state === 'present' && !isSearch
      ? await readWorstFirst(reader, filter, teams, standingBy)
      : await readState(reader, filter, page));
  const roles = await sql<PeopleRead['roles'][number]>`
    select r.role_id, min(r.name) as name from mirror.roles r
    where r.team_id = any (${idArray(teamIds)}) and r.gone_at is null
    group by r.role_id order by sum(r.members) desc, r.role_id limit 100`.execute(db);
  const openOf = new Map(teams.map(({ noted, open }) => [noted.teamId, open]));
  return {
    rows: rows.slice(0, filter.limit).map((row) => ({
      ...row,
      standing: row.gone_at === null ? standingBy(row) : 'left',
      open: openOf.get(row.team_id)?.get(row.id) ?? [],
    })),
    isMore: rows.length > filter.limit,
    counts: countStandings(teams),
    found: matching?.found ?? null,
    roles: roles.rows,
  };
}
