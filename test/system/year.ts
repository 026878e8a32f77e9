/** What a year leaves behind in the bookkeeping of one team: made by SQL, in a few seconds. */
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import type { Stage } from './stage.ts';

/** Tables that only ever grow. */
export const growing = ['changes', 'runs', 'contact_counts'] as const;

/** Rows of the smallest of them: whatever reads a small part of it is seen. */
export const rowsAtLeast = 4_000;

/**
 * A team that has run once: every present user has moved each day since, some have left. Nothing of it was
 * ever analysed, as after a restore.
 */
export async function addYear({ db }: Pick<Stage, 'db'>): Promise<void> {
  await runSqlText(
    db,
    `do $$
    declare
      my_team text; my_id bigint; place text;
    begin
      set local session_replication_role = replica;
      select team, team_id into strict my_team, my_id from sync.teams;
      foreach place in array array['mirror.users', 'mirror.tags', 'mirror.contact_fields', 'mirror.contact_counts', 'sync.user_base',
        'sync.runs', 'sync.changes', 'sync.held_fields', 'sync.absences']
      loop
        execute format('alter table %s set (autovacuum_enabled = false)', place);
      end loop;

      insert into sync.runs (team, team_id, command, started_at, finished_at, outcome, groups)
      select my_team, my_id, 'daemon', at, at, 'partial',
        case n % 12 when 0 then '{users,listings}'::text[] when 1 then '{edits}' else '{counts}' end
      from generate_series(1, 35000) n cross join lateral (select now() - (35001 - n) * interval '15 min' as at) t;

      insert into sync.changes (team_id, user_id, run_id, kind, new, old, outcome, opened_at, sent_at, closed_at)
      select my_id, u.id, 1, k.kind, v.new, v.new, case k.kind when 'push' then jsonb_build_object(v.field, 'confirmed') else '{}' end, at, at, at
      from generate_series(1, 5000) n
      cross join (select u.id from mirror.users u union all select 90000000 + g from generate_series(1, 10) g) u
      cross join lateral (select now() - interval '25 hours' - (5000 - n) * interval '105 min' as at) t
      cross join lateral (select (array['push', 'pull', 'settle', 'hold', 'approve'])[1 + n % 5] as kind) k
      cross join lateral (select f.field, jsonb_build_object(f.field, 'value ' || n) as new
        from (select (array['email', 'phone', 'name'])[1 + n % 3] as field) f) v
      order by n, u.id;

      insert into mirror.contact_counts (team_id, segment, counted_at, count)
      select my_id, s, now() - n * interval '15 min', n
      from generate_series(1, 35000) n, unnest(array['all', 'active', 'blocked']) s;
    end $$`,
  );
}
