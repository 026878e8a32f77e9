/** The roster as the page shows it: who is there, how each stands, and a page of them by keys. */
import { type RawBuilder, sql } from 'kysely';
import type { Id } from '../model/id.ts';
import {
  type PeopleSort,
  type PeopleState,
  type UserStanding,
  standingOf,
  standings,
} from '../model/standing.ts';
import type { Row } from './database.ts';
import { idArray } from './by-key.ts';
import type { PageReader } from './page-reader.ts';

/** A field that is not as on the service. */
export interface OpenField {
  readonly field: string;
  /** Why it is held; `null`: it is not, and goes by itself. */
  readonly reason: string | null;
  readonly batch: string | null;
  readonly until: Date | null;
  readonly decidedBy: string | null;
}

export interface PeopleAsked {
  /** What a name, an email, a phone or an id contains; without details an id alone. */
  readonly q: string;
  readonly details: boolean;
  readonly state: PeopleState;
  readonly roleId: Id | null;
  readonly sort: PeopleSort;
  readonly isDown: boolean;
  /** The last one of the page before. */
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
  /** There are others after these. */
  readonly isMore: boolean;
  /** Of all, whatever is searched for. */
  readonly counts: Readonly<Record<PeopleState, number>>;
  /** How many match; `null`: nothing was searched for, and the counts say it. */
  readonly found: number | null;
  readonly roles: readonly Row<'mirror.roles', 'role_id' | 'name'>[];
}

interface Noted {
  readonly teamId: Id;
  readonly present: number;
  readonly left: number;
  /** Who may not be equal on both sides. */
  readonly suspects: readonly Id[];
  readonly unresolved: readonly Id[];
}

/** One pass over the users. Who was never edited here, is resolved and has nothing held is equal, as `musterd status` has it. */
async function readNoted({ db, teamIds }: PageReader): Promise<readonly Noted[]> {
  const { rows } = await sql<Noted>`
    select team_id as "teamId", count(*) filter (where gone_at is null)::int as present,
      count(*) filter (where gone_at is not null)::int as left,
      coalesce(array_agg(id) filter (where edited_at is not null and gone_at is null), '{}') as suspects,
      coalesce(array_agg(id) filter (where not resolved and gone_at is null), '{}') as unresolved
    from mirror.users where team_id = any (${idArray(teamIds)})
    group by team_id order by team_id`.execute(db);
  return rows;
}

type OpenRow = OpenField & { readonly id: Id };

async function readOpen({ db }: PageReader, { teamId, suspects }: Noted): Promise<readonly OpenRow[]> {
  const { rows } = await sql<OpenRow>`
    select h.user_id as id, h.field, h.reason, h.batch, h.until, h.decided_by as "decidedBy"
    from report.held h
    join mirror.users u on u.team_id = h.team_id and u.id = h.user_id and u.gone_at is null
    where h.team_id = ${teamId}
    union all
    select p.user_id, p.field, null, null, null, null
    from report.pending p
    where p.team_id = ${teamId} and p.state in ('waiting', 'sent') and p.user_id = any (${idArray(suspects)})
    order by id, field`.execute(db);
  return rows;
}

/** Who is not equal, by team and id. */
interface TeamStandings {
  readonly noted: Noted;
  readonly open: ReadonlyMap<Id, readonly OpenField[]>;
  readonly ids: Readonly<Partial<Record<UserStanding, readonly Id[]>>>;
}

async function readStandings(reader: PageReader): Promise<readonly TeamStandings[]> {
  const teams: TeamStandings[] = [];
  for (const noted of await readNoted(reader)) {
    const open = Map.groupBy(await readOpen(reader, noted), ({ id }) => id);
    const unresolved = new Set(noted.unresolved);
    const all = new Set([...open.keys(), ...noted.unresolved]);
    const ids = Object.groupBy(all, (id) =>
      standingOf(
        (open.get(id) ?? []).map(({ reason }) => reason),
        !unresolved.has(id),
      ),
    );
    teams.push({ noted, open, ids });
  }
  return teams;
}

/** Who is in this standing; those who are equal are the others. */
function inState(state: PeopleState, teams: readonly TeamStandings[]): RawBuilder<unknown> {
  if (state === 'left') return sql`u.gone_at is not null`;
  if (state === 'present') return sql`u.gone_at is null`;
  const chosen = state === 'equal' ? standings.filter((one) => one !== 'equal') : [state];
  const some = teams.flatMap(({ noted, ids }) => {
    const all = chosen.flatMap((standing) => ids[standing] ?? []);
    return all.length === 0 ? [] : [sql`(u.team_id = ${noted.teamId} and u.id = any (${idArray(all)}))`];
  });
  const any = some.length === 0 ? sql`false` : sql`(${sql.join(some, sql` or `)})`;
  return state === 'equal' ? sql`u.gone_at is null and not ${any}` : sql`u.gone_at is null and ${any}`;
}

/** `%`, `_` and the sign that takes away their meaning, as themselves. */
const pattern = (q: string) => `%${q.replaceAll(/[\\%_]/g, '\\$&')}%`;

function matches({ q, details }: PeopleAsked): RawBuilder<unknown> {
  if (q === '') return sql`true`;
  const isDigits = /^\d+$/.test(q);
  if (!details) return isDigits ? sql`u.id::text like ${pattern(q)}` : sql`false`;
  // ASCII letters change their case without a table of letters: of 100,000 names that is much quicker.
  const letters = /^[\x20-\x7e]*$/.test(q) ? sql` collate "C"` : sql``;
  const id = isDigits ? sql`, u.id` : sql``;
  const inText = sql`lower(concat_ws(e'\n', u.name, u.email, u.phone${id})${letters}) like lower(${pattern(q)})`;
  const digits = /^\+?[\d ()./-]+$/.test(q) ? q.replaceAll(/\D/g, '') : '';
  return digits === '' || isDigits ? inText : sql`(${inText} or u.phone like ${pattern(digits)})`;
}

const changedAt = sql`greatest(u.edited_at, u.updated_at)`;

/** What is sorted by; whoever has no value comes last going up. Without details nothing is sorted by what is not shown. */
function keysOf({ sort, details }: PeopleAsked): readonly RawBuilder<unknown>[] {
  const name = details ? [sql`u.name`] : [];
  const text = (column: RawBuilder<unknown>) => [sql`(${column} is null)`, sql`coalesce(${column}, '')`];
  const keys = {
    state: name,
    name,
    role: [...text(sql`u.role`), ...name],
    email: details ? text(sql`u.email`) : [],
    phone: details ? text(sql`u.phone`) : [],
    id: [],
    changed: [sql`coalesce(${changedAt}, '-infinity')`],
  } as const satisfies Record<PeopleSort, readonly RawBuilder<unknown>[]>;
  return [...keys[sort], sql`u.id`, sql`u.team_id`];
}

type FoundRow = Omit<RosterRow, 'standing' | 'open'> & { readonly found: number | null };
type Cursor = NonNullable<PeopleAsked['after']>;

/** Those in a state, a page of them. @param after the last row of the page before, if it was of this state */
async function readState(
  { db, teamIds }: PageReader,
  asked: PeopleAsked,
  of: { readonly where: RawBuilder<unknown>; readonly after: Cursor | null; readonly limit: number },
): Promise<readonly FoundRow[]> {
  const keys = keysOf(asked);
  const way = asked.isDown ? sql`desc` : sql`asc`;
  const { after, where, limit } = of;
  // The key of the last row is looked up, so that no link holds a name.
  const beyond =
    after === null
      ? sql`true`
      : sql`(${sql.join(keys)}) ${asked.isDown ? sql`<` : sql`>`} (
          select ${sql.join(keys)} from mirror.users u where u.team_id = ${after.teamId} and u.id = ${after.id})`;
  const role = asked.roleId === null ? sql`true` : sql`u.role_id = ${asked.roleId}`;
  const wanted = sql`u.team_id = any (${idArray(teamIds)}) and ${where} and ${role} and ${matches(asked)}`;
  const columns = sql`u.team_id, u.id, u.name, u.email, u.phone, u.role_id, u.role, u.gone_at, u.edited_at, u.updated_at`;
  // What is searched for is searched for once, for the page and for how many there are.
  const isNarrow = asked.q !== '' || asked.roleId !== null;
  const from = isNarrow ? sql`matched u where ${beyond}` : sql`mirror.users u where ${wanted} and ${beyond}`;
  const matched = sql`with matched as materialized (select ${columns} from mirror.users u where ${wanted})`;
  const { rows } = await sql<FoundRow>`
    ${isNarrow ? matched : sql``}
    select u.team_id, u.id, u.name, u.email, u.phone, u.role_id, u.role, u.gone_at, ${changedAt} as changed_at,
      ${isNarrow ? sql`(select count(*)::int from matched)` : sql`null::int`} as found
    from ${from}
    order by ${sql.join(keys.map((key) => sql`${key} ${way}`))}
    limit ${limit}`.execute(db);
  return rows;
}

/** The worst first: one standing after the other, until the page is full. */
async function readWorstFirst(
  reader: PageReader,
  asked: PeopleAsked,
  teams: readonly TeamStandings[],
  standingBy: (row: { readonly team_id: Id; readonly id: Id }) => UserStanding,
): Promise<readonly FoundRow[]> {
  const order: UserStanding[] = standings.filter((standing) => standing !== 'left');
  if (asked.isDown) order.reverse();
  const { after } = asked;
  const first = after === null ? undefined : standingBy({ team_id: after.teamId, id: after.id });
  const from = first === undefined ? 0 : Math.max(0, order.indexOf(first));
  const rows: FoundRow[] = [];
  for (const standing of order.slice(from)) {
    const limit = asked.limit + 1 - rows.length;
    if (limit === 0) break;
    const where = inState(standing, teams);
    rows.push(
      ...(await readState(reader, asked, { where, limit, after: standing === first ? after : null })),
    );
  }
  return rows;
}

export async function readPeople(reader: PageReader, asked: PeopleAsked): Promise<PeopleRead> {
  const { db, teamIds } = reader;
  const teams = await readStandings(reader);
  const by = new Map(
    teams.flatMap(({ noted, ids }) =>
      standings.flatMap((standing) =>
        (ids[standing] ?? []).map((id) => [`${noted.teamId} ${id}`, standing] as const),
      ),
    ),
  );
  const standingBy = (row: { readonly team_id: Id; readonly id: Id }) =>
    by.get(`${row.team_id} ${row.id}`) ?? 'equal';
  const isSearch = asked.q !== '' || asked.roleId !== null;
  const where = inState(asked.state, teams);
  const rows =
    asked.sort === 'state' && asked.state === 'present' && !isSearch
      ? await readWorstFirst(reader, asked, teams, standingBy)
      : await readState(reader, asked, { where, after: asked.after, limit: asked.limit + 1 });
  const roles = await sql<PeopleRead['roles'][number]>`
    select r.role_id, min(r.name) as name from mirror.roles r
    where r.team_id = any (${idArray(teamIds)}) and r.gone_at is null
    group by r.role_id order by sum(r.members) desc, r.role_id limit 100`.execute(db);
  const openOf = new Map(teams.map(({ noted, open }) => [noted.teamId, open]));
  return {
    rows: rows.slice(0, asked.limit).map((row) => ({
      ...row,
      standing: row.gone_at === null ? standingBy(row) : 'left',
      open: openOf.get(row.team_id)?.get(row.id) ?? [],
    })),
    isMore: rows.length > asked.limit,
    counts: countStandings(teams),
    found: isSearch ? (rows[0]?.found ?? 0) : null,
    roles: roles.rows,
  };
}

function countStandings(teams: readonly TeamStandings[]): PeopleRead['counts'] {
  const sum = (of: (team: TeamStandings) => number) => teams.reduce((all, team) => all + of(team), 0);
  const present = sum(({ noted }) => noted.present);
  const by = Object.fromEntries(standings.map((one) => [one, sum(({ ids }) => ids[one]?.length ?? 0)]));
  const others = Object.values(by).reduce((all, one) => all + one, 0);
  return {
    ...(by as Record<UserStanding, number>),
    present,
    equal: present - others,
    left: sum(({ noted }) => noted.left),
  };
}
