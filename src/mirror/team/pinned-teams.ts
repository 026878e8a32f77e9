/** Which team of the service a configured name means, and the team's row in the mirror. */
import { sql } from 'kysely';
import { MusterdError } from '../../errors.ts';
import type { Id } from '../../model/id.ts';
import { toJson } from '../../model/json.ts';
import type { Team } from '../../model/team.ts';
import type { Database, Queryable, Row, Transaction } from '../db/database.ts';

/** Reads the service's id of the team; `null` until a run of this team has read it. */
export async function readTeamId(db: Queryable, team: string): Promise<Id | null> {
  const row = await db.selectFrom('sync.teams').select('team_id').where('team', '=', team).executeTakeFirst();
  return row?.team_id ?? null;
}

/** @throws MusterdError `wrong-team` if this mirror has another team under the name, or the team under another name */
export async function checkTeam(db: Queryable, team: string, teamId: Id): Promise<void> {
  const rows = await db
    .selectFrom('sync.teams')
    .select(['team', 'team_id'])
    .where((eb) => eb.or({ team, team_id: teamId }))
    .execute();
  const other = rows.find((row) => row.team !== team || row.team_id !== teamId);
  if (other === undefined) return;
  throw new MusterdError(
    'wrong-team',
    other.team === team
      ? `The credentials are those of team ${teamId}, but this mirror holds team ${other.team_id} as "${team}"`
      : `This mirror already holds team ${teamId} as "${other.team}"`,
    {
      hint: 'Nothing more was read, and neither side was written to. Use the credentials of the mirrored team, or another database.',
    },
  );
}

/** Records the team in its first run. @throws MusterdError `wrong-team` */
export async function pinTeam(db: Database, team: string, teamId: Id): Promise<void> {
  await checkTeam(db.kysely, team, teamId);
  if ((await readTeamId(db.kysely, team)) !== null) return;
  await db.transaction(async (tx) => {
    await tx
      .insertInto('sync.teams')
      .values({ team, team_id: teamId })
      .onConflict((oc) => oc.doNothing())
      .execute();
    await checkTeam(tx, team, teamId);
  });
}

export async function writeTeam(tx: Transaction, { id, name, listSize, members, raw }: Team): Promise<void> {
  const json = toJson(raw);
  await sql`
    insert into mirror.teams (team_id, name, list_size, members, raw)
    values (${id}, ${name}, ${listSize}, ${members.length}, ${json}::jsonb)
    on conflict (team_id) do update set name = excluded.name, list_size = excluded.list_size, members = excluded.members,
      raw = excluded.raw, changed_at = clock_timestamp()`.execute(tx);
}

/** True if people cannot approve their own edits of this team in SQL; `null` until a run has read the team. */
export async function readFourEyes(db: Queryable, team: string): Promise<boolean | null> {
  const row = await db
    .selectFrom('sync.teams')
    .select('four_eyes')
    .where('team', '=', team)
    .executeTakeFirst();
  return row?.four_eyes ?? null;
}

/** Settings of the team that SQL obeys. Edited phones without a plus sign must begin with `phone_country`, if it is set. */
type SqlSettings = Partial<Row<'sync.teams', 'four_eyes' | 'phone_country'>>;

export async function writeSettings(tx: Transaction, team: string, settings: SqlSettings): Promise<void> {
  await tx.updateTable('sync.teams').set(settings).where('team', '=', team).execute();
}
