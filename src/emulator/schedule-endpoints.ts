import { randomUUID } from 'node:crypto';
import { cancelled, scheduledMessage, writeResult } from './answer-schemas.ts';
import {
  type EndpointAnswer,
  bodyEndpoint,
  type EndpointCall,
  type Endpoint,
  notFound,
  ok,
  plainEndpoint,
  refused,
} from './endpoint.ts';
import { type ScheduleBody, scheduleRequest } from './request-schemas.ts';
import { type ScheduleRecord, nextId } from './played-team.ts';
import { momentOf, parseMoment, formatMoment } from './show-timestamp.ts';
import { laterThan } from './update-user.ts';
import type { TeamRow } from './encode.ts';
import type { Variants } from './variants.ts';

const quarterHourMs = 15 * 60_000;

/** The reason why a ScheduleRequest is refused; `undefined` if it may be stored. */
function scheduleProblem(request: ScheduleBody, call: EndpointCall): string | undefined {
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

const metaKeys = ['content', 'conversation_id', 'list_id'] as const;

/** interface.md, Scheduled message. The fields of campaigns are those of messages that a campaign made. */
function showSchedule(schedule: ScheduleRecord, variants: Variants): TeamRow {
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

export const scheduleEndpoints: readonly Endpoint[] = [
  bodyEndpoint(
    {
      method: 'POST',
      path: '/v1/schedule',
      summary: 'Schedules a message.',
      request: scheduleRequest,
      response: writeResult,
      writes: true,
    },
    createSchedule,
  ),
  plainEndpoint(
    {
      method: 'GET',
      path: '/v1/schedule/{id}',
      summary: 'One scheduled message.',
      response: scheduledMessage,
    },
    (call) => withSchedule(call, (schedule) => ok(showSchedule(schedule, call.variants))),
  ),
  bodyEndpoint(
    {
      method: 'PUT',
      path: '/v1/schedule/{id}',
      summary: 'Replaces a scheduled message.',
      request: scheduleRequest,
      response: writeResult,
      writes: true,
    },
    (call, request) => withSchedule(call, (schedule) => replaceSchedule(call, schedule, request)),
  ),
  plainEndpoint(
    {
      method: 'DELETE',
      path: '/v1/schedule/{id}',
      summary: 'Cancels a scheduled message before it sends.',
      response: cancelled,
      writes: true,
    },
    (call) =>
      withSchedule(call, (schedule) => {
        if (isSent(call, schedule)) return refused('it has been sent');
        call.team.schedules.delete(schedule.id);
        call.team.version += 1;
        return ok('ok');
      }),
  ),
];

function withSchedule(
  call: EndpointCall,
  answer: (schedule: ScheduleRecord) => EndpointAnswer,
): EndpointAnswer {
  if (Number.isNaN(call.id)) return refused('the id is not an integer');
  const schedule = call.team.schedules.get(call.id);
  return schedule === undefined ? notFound(`no schedule ${call.id}`) : answer(schedule);
}

/** A `local_id` that was sent before makes no second message. */
function createSchedule(call: EndpointCall, request: ScheduleBody): EndpointAnswer {
  const { team, variants, clock } = call;
  const problem = scheduleProblem(request, call);
  if (problem !== undefined) return refused(problem);
  const { local_id: localId } = request;
  const same =
    variants['local-id'] === 'ignored' || !localId
      ? undefined
      : [...team.schedules.values()].find((there) => there.request['local_id'] === localId);
  if (same !== undefined) return ok(created(same, call));
  const id = nextId(team);
  const now = momentOf(clock.now(), id);
  const schedule = { id, uuid: randomUUID(), rev: 1, op: 'create', created: now, updated: now, request };
  team.schedules.set(id, schedule);
  team.version += 1;
  return ok(created(schedule, call));
}

function created(schedule: ScheduleRecord, call: EndpointCall): object {
  const { id, rev, uuid } = schedule;
  return call.variants['schedule-answer'] === 'id-only' ? { id } : { id, rev, uuid };
}

function replaceSchedule(
  call: EndpointCall,
  schedule: ScheduleRecord,
  request: ScheduleBody,
): EndpointAnswer {
  if (isSent(call, schedule)) return refused('it has been sent');
  const problem = scheduleProblem(request, call);
  if (problem !== undefined) return refused(problem);
  const rev = schedule.rev + 1;
  const updated = laterThan(schedule.updated, schedule.id, call.clock);
  call.team.schedules.set(schedule.id, { ...schedule, rev, op: 'update', updated, request });
  call.team.version += 1;
  return ok({ id: schedule.id, rev, uuid: schedule.uuid });
}

function isSent(call: EndpointCall, schedule: ScheduleRecord): boolean {
  const at = parseMoment(String(schedule.request['execute_at']));
  return at !== undefined && at.ms <= call.clock.now();
}
