import { onService, type Stage } from './stage.ts';

/**
 * All that a run leaves behind, but for times, on both sides.
 * @param batch what is said of the batches: by whose names two teams differ whose edits were made at other times
 */
export async function traces(stage: Stage, batch: 'batch' | 'batch is null') {
  return {
    mirror: await stage.sql(
      'select id, name, first_name, last_name, email, phone, role_id, role, resolved, gone_at is null from mirror.users order by id',
    ),
    base: await stage.sql(
      'select id, name, first_name, last_name, email, phone, role_id from sync.user_base order by id',
    ),
    held: await stage.sql(
      `select user_id, field, reason, ${batch}, base_value, mirror_value, service_value, decision from sync.held_fields order by 1, 2`,
    ),
    tags: await stage.sql('select id, tag, color, gone_at is null from mirror.tags order by id'),
    fields: await stage.sql('select id, title, gone_at is null from mirror.contact_fields order by id'),
    absences: await stage.sql('select resource, id, passes from sync.absences order by 1, 2'),
    stale: await stage.sql(
      'select id, older_passes from sync.user_base where older_since is not null order by 1',
    ),
    ledger: await stage.sql(
      'select run_id, user_id, kind, outcome, base, old, new from sync.changes order by change_id',
    ),
    service: [...onService(stage)],
  };
}
