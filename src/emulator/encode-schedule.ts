import type { TeamRow } from './encode.ts';
import type { ScheduleRecord } from './played-team.ts';
import { formatMoment, parseMoment } from './show-timestamp.ts';
import type { Variants } from './variants.ts';

const metaKeys = ['content', 'conversation_id', 'list_id'] as const;

/** interface.md, Scheduled message. The fields of campaigns are those of messages that a campaign made. */
export function showSchedule(schedule: ScheduleRecord, variants: Variants): TeamRow {
  const { request } = schedule;
  const execute = parseMoment(String(request['execute_at']));
  return {
    id: schedule.id,
    created: formatMoment(schedule.created, variants.fraction),
    updated: formatMoment(schedule.updated, variants.fraction),
    execute: execute === undefined ? '' : formatMoment(execute, variants.fraction),
    inbox_id: request['inbox_id'],
    local_id: request['local_id'] ?? '',
    meta: Object.fromEntries(
      metaKeys.filter((key) => request[key] !== undefined).map((key) => [key, request[key]]),
    ),
    ...(variants.revisions === 'absent' ? {} : { op: schedule.op, rev: schedule.rev }),
  };
}
