import { randomUUID } from 'node:crypto';
import { cancelled, scheduledMessage, writeResult } from '../wire/answer-schemas.ts';
import {
  type EndpointAnswer,
  bodyEndpoint,
  type EndpointCall,
  type Endpoint,
  notFound,
  ok,
  plainEndpoint,
  refused,
} from '../wire/endpoint.ts';
import { type ScheduleBody, scheduleRequest } from '../wire/request-schemas.ts';
import { type PlayedTeam, type ScheduleRecord, nextId } from './played-team.ts';
import { sendDueMessages, targetFamilies } from './sent-messages.ts';
import { momentOf, parseMoment, formatMoment } from '../wire/show-timestamp.ts';
import { laterThan } from './update-user.ts';
import type { TeamRow } from '../wire/encode.ts';
import type { Variants } from '../faults/variants.ts';

const minuteMs = 60_000;

/** The reason why a ScheduleRequest is refused; `undefined` if it is accepted. */
function scheduleProblem(request: ScheduleBody, call: EndpointCall): string | undefined {
  const { inbox_id: inboxId, execute_at: executeAt, content } = request;
  if (inboxId === undefined) return 'inbox_id is missing';
  const inbox = call.team.inboxes.get(inboxId);
  if (inbox === undefined) return `no inbox ${inboxId}`;
  const checked = call.variants['schedule-creator'] === 'checked';
  if (checked && request.user_id !== undefined && !inbox.members.includes(request.user_id))
    return `user_id ${request.user_id} is no member of the inbox ${inboxId}`;
  if (content === undefined) return 'content is missing';
  const targets = targetFamilies(request);
  if (targets.length !== 1) return `one target family is needed, not ${targets.length}`;
  return timeProblem(executeAt, call);
}

function timeProblem(executeAt: string | undefined, call: EndpointCall): string | undefined {
  if (executeAt === undefined) return 'execute_at is missing';
  const at = /[Tt ]/.test(executeAt) ? parseMoment(executeAt) : undefined;
  if (at === undefined) return 'execute_at is not RFC 3339';
  const { 'schedule-grid': grid, 'schedule-margin': margin } = call.variants;
  if (grid !== 'none' && (at.ms % (grid * minuteMs) !== 0 || at.nanos !== 0))
    return `execute_at is not on a multiple of ${grid} minutes`;
  if (margin !== 'none' && at.ms - call.clock.now() < margin * minuteMs)
    return `execute_at is less than ${margin} minutes ahead`;
  return undefined;
}

const metaKeys = ['content', 'conversation_id', 'list_id'] as const;

/** interface.md, Scheduled message. The campaign fields are left out: only a campaign's messages have them. */
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
    (call) => withSchedule(call, (schedule) => readSchedule(call, schedule)),
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
    (call) => withSchedule(call, (schedule) => cancelSchedule(call, schedule)),
  ),
];

function withSchedule(
  call: EndpointCall,
  answer: (schedule: ScheduleRecord) => EndpointAnswer,
): EndpointAnswer {
  if (Number.isNaN(call.id)) return refused('the id is not an integer');
  sendDueMessages(call.team, call.clock.now());
  const schedule = call.team.schedules.get(call.id);
  return schedule === undefined ? notFound(`no schedule ${call.id}`) : answer(schedule);
}

function createSchedule(call: EndpointCall, request: ScheduleBody): EndpointAnswer {
  const { team, variants, clock } = call;
  const problem = scheduleProblem(request, call);
  if (problem !== undefined) return refused(problem);
  const { local_id: localId } = request;
  const same =
    variants['local-id'] === 'ignored' || !localId
      ? undefined
      : [...team.schedules.values()].find((there) => there.request['local_id'] === localId);
  if (same !== undefined && variants['local-id'] === 'refused') return refused('local_id was sent before');
  if (same !== undefined) {
    put(team, { ...same, creates: same.creates + 1 });
    return ok(created(same, call));
  }
  const id = nextId(team);
  const now = momentOf(clock.now(), id);
  const schedule: ScheduleRecord = {
    id,
    uuid: randomUUID(),
    rev: 1,
    op: 'create',
    state: 'waiting',
    creates: 1,
    created: now,
    updated: now,
    request,
  };
  put(team, schedule);
  return ok(created(schedule, call));
}

function created(schedule: ScheduleRecord, call: EndpointCall): object {
  const { id, rev, uuid } = schedule;
  return call.variants['schedule-answer'] === 'id-only' ? { id } : { id, rev, uuid };
}

function readSchedule({ variants }: EndpointCall, schedule: ScheduleRecord): EndpointAnswer {
  if (schedule.state === 'cancelled' && variants['cancelled-read'] === 'missing')
    return notFound('it was cancelled');
  if (schedule.state === 'sent' && variants['sent-read'] === 'missing') return notFound('it has been sent');
  return ok(showSchedule(schedule, variants));
}

function replaceSchedule(
  call: EndpointCall,
  schedule: ScheduleRecord,
  request: ScheduleBody,
): EndpointAnswer {
  const settled = settledAnswer(call, schedule);
  if (settled !== undefined) return settled;
  const problem = scheduleProblem(request, call);
  if (problem !== undefined) return refused(problem);
  const { rev } = put(call.team, { ...changed(call, schedule, 'update'), request });
  return ok({ id: schedule.id, rev, uuid: schedule.uuid });
}

function cancelSchedule(call: EndpointCall, schedule: ScheduleRecord): EndpointAnswer {
  const settled = settledAnswer(call, schedule);
  if (settled !== undefined) return settled;
  put(call.team, { ...changed(call, schedule, 'delete'), state: 'cancelled' });
  return ok('ok');
}

/** The answer to a change of a sent or cancelled message; `undefined` if it can still be changed. */
function settledAnswer({ variants }: EndpointCall, schedule: ScheduleRecord): EndpointAnswer | undefined {
  if (schedule.state === 'cancelled') return notFound('it was cancelled');
  if (schedule.state === 'waiting') return undefined;
  const why = 'it has been sent';
  return variants['sent-change'] === 'missing' ? notFound(why) : refused(why);
}

function changed(call: EndpointCall, schedule: ScheduleRecord, op: string): ScheduleRecord {
  const updated = laterThan(schedule.updated, schedule.id, call.clock);
  return { ...schedule, rev: schedule.rev + 1, op, updated };
}

function put(team: PlayedTeam, schedule: ScheduleRecord): ScheduleRecord {
  team.schedules.set(schedule.id, schedule);
  team.version += 1;
  return schedule;
}
