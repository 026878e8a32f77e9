import type { PlayedTeam } from './played-team.ts';
import type { ScheduleBody } from '../wire/request-schemas.ts';
import { parseMoment } from '../wire/show-timestamp.ts';

/** The keys of a ScheduleRequest that name the recipients (interface.md, note 3). */
const targetKeys = ['phone_number', 'conversation_id', 'list_id', 'targets'] as const;

/** The target keys that a request fills in. */
export function targetFamilies(
  request: Readonly<Record<string, unknown>>,
): readonly (typeof targetKeys)[number][] {
  return targetKeys.filter((key) => {
    const value = request[key];
    return Array.isArray(value) ? value.length > 0 : Boolean(value);
  });
}

/** Sends each due message once to each recipient. A sent message stays sent if the clock is set back. */
export function sendDueMessages(team: PlayedTeam, nowMs: number): void {
  for (const schedule of team.schedules.values()) {
    const request = schedule.request as ScheduleBody;
    const at = parseMoment(request.execute_at ?? '');
    if (schedule.state !== 'waiting' || at === undefined || at.ms > nowMs) continue;
    team.schedules.set(schedule.id, { ...schedule, state: 'sent' });
    const { inbox_id: inboxId = 0, local_id: localId, content } = request;
    for (const recipient of recipientsOf(request)) {
      team.deliveries.push({
        scheduleId: schedule.id,
        localId,
        inboxId,
        recipient,
        at: new Date(at.ms).toISOString(),
        content,
      });
    }
    team.version += 1;
  }
}

function recipientsOf(request: ScheduleBody): ReadonlySet<string> {
  const { phone_number: phone, conversation_id: conversation, list_id: list, targets = [] } = request;
  const [family] = targetFamilies(request);
  if (family === 'phone_number') return new Set([phone ?? '']);
  if (family === 'conversation_id') return new Set([`conversation ${conversation}`]);
  if (family === 'list_id') return new Set([`list ${list}`]);
  return new Set(targets);
}
