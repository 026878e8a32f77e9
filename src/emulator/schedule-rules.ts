import type { EndpointCall } from './endpoint.ts';
import type { ScheduleBody } from './request-schemas.ts';
import { parseMoment } from './show-timestamp.ts';

const quarterHourMs = 15 * 60_000;

/** What a ScheduleRequest lacks, or undefined when it may be stored. */
export function scheduleProblem(request: ScheduleBody, call: EndpointCall): string | undefined {
  const { inbox_id: inboxId, execute_at: executeAt, content } = request;
  if (inboxId === undefined) return 'inbox_id is missing';
  if (!call.team.inboxes.has(inboxId)) return `no inbox ${inboxId}`;
  if (executeAt === undefined) return 'execute_at is missing';
  const at = /[Tt ]/.test(executeAt) ? parseMoment(executeAt) : undefined;
  if (at === undefined) return 'execute_at is not RFC 3339';
  if (content === undefined) return 'content is missing';
  const targets = targetFamilies(request);
  if (targets.length !== 1) return `one target family is needed, not ${targets.length}`;
  if (call.variants['schedule-rules'] === 'off') return undefined;
  if (at.ms % quarterHourMs !== 0 || at.nanos !== 0) return 'execute_at is not on a quarter hour';
  if (at.ms - call.clock.now() < quarterHourMs) return 'execute_at is less than 15 minutes ahead';
  return undefined;
}

function targetFamilies(request: ScheduleBody): readonly string[] {
  return [
    ...(request.phone_number ? ['phone_number'] : []),
    ...(request.conversation_id ? ['conversation_id'] : []),
    ...(request.list_id ? ['list_id'] : []),
    ...(request.targets !== undefined && request.targets.length > 0 ? ['targets'] : []),
  ];
}
