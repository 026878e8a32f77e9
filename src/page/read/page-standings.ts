/** The states of the users that are not equal on both sides, by team and id; all others are equal. */
import { type RawBuilder, sql } from 'kysely';
import type { EditState, HeldReason } from '../../model/edit-state.ts';
import type { Id } from '../../model/id.ts';
import { type PeopleState, type UserStanding, standingOf, standings } from '../../model/standing.ts';
import { idArray } from '../../mirror/db/by-key.ts';
import { type NotAtRest, pendingOf, readNotAtRest } from '../../mirror/users/not-at-rest.ts';
import type { PageReader } from './page-reader.ts';

/** A field that differs from the service. */
export interface OpenField {
  readonly field: string;
  readonly state: EditState;
  /** The reason of its hold. */
  readonly reason: HeldReason | null;
  readonly batch: string | null;
  readonly until: Date | null;
  readonly decidedBy: string | null;
}

type OpenRow = OpenField & { readonly id: Id };

async function readOpen({ db }: PageReader, { teamId, edited }: NotAtRest): Promise<readonly OpenRow[]> {
  const { rows } = await sql<OpenRow>`
    select h.user_id as id, h.field, h.state, h.reason, h.batch, h.until, h.decided_by as "decidedBy"
    from report.held h
    join mirror.users u on u.team_id = h.team_id and u.id = h.user_id and u.gone_at is null
    where h.team_id = ${teamId}
    union all
    select p.user_id, p.field, p.state, null, null, null, null
    from ${pendingOf(teamId, sql`select unnest(${idArray(edited)})`)}
    where p.state in ('waiting', 'sending', 'unknown') and p.detail is null
    order by id, field`.execute(db);
  return rows;
}

/** Users that are not equal. As in `musterd status`, equal users were never edited, are resolved and have no hold. */
export interface TeamStandings {
  readonly noted: NotAtRest;
  readonly open: ReadonlyMap<Id, readonly OpenField[]>;
  readonly ids: Readonly<Partial<Record<UserStanding, readonly Id[]>>>;
}

export async function readTeamStandings(reader: PageReader): Promise<readonly TeamStandings[]> {
  const teams: TeamStandings[] = [];
  for (const noted of await readNotAtRest(reader.db, reader.teamIds)) {
    const open = Map.groupBy(await readOpen(reader, noted), ({ id }) => id);
    const unresolved = new Set(noted.unresolved);
    const all = new Set([...open.keys(), ...noted.unresolved]);
    const ids = Object.groupBy(all, (id) => standingOf(open.get(id) ?? [], !unresolved.has(id)));
    teams.push({ noted, open, ids });
  }
  return teams;
}

/** The users in this state; the equal ones are all others. */
export function inState(state: PeopleState, teams: readonly TeamStandings[]): RawBuilder<unknown> {
  if (state === 'left') return sql`u.gone_at is not null`;
  if (state === 'present') return sql`u.gone_at is null`;
  const chosen = state === 'equal' ? standings.filter((standing) => standing !== 'equal') : [state];
  const some = teams.flatMap(({ noted, ids }) => {
    const all = chosen.flatMap((standing) => ids[standing] ?? []);
    return all.length === 0 ? [] : [sql`(u.team_id = ${noted.teamId} and u.id = any (${idArray(all)}))`];
  });
  const any = some.length === 0 ? sql`false` : sql`(${sql.join(some, sql` or `)})`;
  return state === 'equal' ? sql`u.gone_at is null and not ${any}` : sql`u.gone_at is null and ${any}`;
}

/** Number of users in each state. */
export function countStandings(teams: readonly TeamStandings[]): Readonly<Record<PeopleState, number>> {
  const sum = (of: (team: TeamStandings) => number) => teams.reduce((all, team) => all + of(team), 0);
  const present = sum(({ noted }) => noted.present);
  const by = Object.fromEntries(
    standings.map((standing) => [standing, sum(({ ids }) => ids[standing]?.length ?? 0)]),
  );
  const others = Object.values(by).reduce((all, number) => all + number, 0);
  return {
    ...(by as Record<UserStanding, number>),
    present,
    equal: present - others,
    left: sum(({ noted }) => noted.left),
  };
}
