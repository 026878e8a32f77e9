/** The daemons of a team, running or ended. Each reports every minute under the topic `daemon` of `sync.learned`. */
import { sql } from 'kysely';
import type { DaemonEnd, SeenDaemon } from '../../model/daemons.ts';
import type { Database, Queryable } from '../db/database.ts';
import { thisProcess } from '../db/process-identity.ts';

export interface DaemonNote {
  readonly teams: readonly string[];
  readonly bySystemd: boolean;
  /** How the daemon ended; `null` as long as it runs. */
  readonly end: DaemonEnd | null;
}

/** Records that this process serves these teams, or has ended. Removes other daemons that ended or stopped reporting. */
export async function noteDaemon(db: Database, { teams, bySystemd, end }: DaemonNote): Promise<void> {
  const { host, pid, process } = thisProcess();
  const [name = ''] = host.split(' ');
  const key = `${host} ${pid} ${process}`;
  const note = sql`
    insert into sync.learned as l (team, topic, value)
    select t.team, 'daemon', jsonb_build_object(${key}::text, n.note || jsonb_build_object('started_at', clock_timestamp()))
    from (
      select jsonb_build_object('host', ${name}::text, 'pid', ${pid}::bigint, 'by_systemd', ${bySystemd}::boolean,
        'seen_at', clock_timestamp(), 'ended_at', case when ${end}::text is not null then clock_timestamp() end, 'how', ${end}::text) as note
    ) n
    cross join (select u.team from unnest(${teams}::text[]) u (team) order by u.team) t
    on conflict (team, topic) do update set learned_at = clock_timestamp(), value = (
      select jsonb_object_agg(e.key, e.said) from (
        select o.key, o.value as said from jsonb_each(l.value) o
        where o.key <> ${key} and o.value ->> 'ended_at' is null
          and (o.value ->> 'seen_at')::timestamptz > clock_timestamp() - interval '10 minutes'
        union all
        select o.key, o.value || case when l.value ? o.key then jsonb_build_object('started_at', l.value -> o.key -> 'started_at') else '{}' end
        from jsonb_each(excluded.value) o
      ) e
    )`;
  await db.transaction((tx) => note.execute(tx));
}

/** Reads the daemons of the teams that the connected role sees. */
export async function readDaemons(db: Queryable): Promise<readonly SeenDaemon[]> {
  const { rows } = await sql<SeenDaemon>`
    select team, host, pid, by_systemd as "bySystemd", started_at as "startedAt", seen_at as "seenAt", ended_at as "endedAt", how
    from mirror.daemons()`.execute(db);
  return rows;
}
