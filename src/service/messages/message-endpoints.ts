/** The endpoints for messages and for direct writes: tag creation, conversations, schedules. */
import { randomUUID } from 'node:crypto';
import { ServiceError } from '../../errors.ts';
import type { Id } from '../../model/id.ts';
import { type MakeCall, nullIfMissing } from '../call.ts';
import { nameOperation, type Operation, operations, pathWithId } from '../operation.ts';
import type { ConversationRead, ScheduleRequest } from '../../model/message-request.ts';
import type { SendOptions } from '../../model/service-request.ts';
import { encodeRead, encodeSchedule, findScheduleFlaw } from './schedule-request.ts';
import { decodeOne } from '../wire-lists.ts';
import {
  decodeScheduledMessage,
  decodeString,
  decodeWriteResult,
  type ScheduledMessage,
  type WriteResult,
} from './wire-schedule.ts';

/** All methods except `schedule` write. They are refused in read-only mode, and repeated only if that is safe. */
export interface MessageEndpoints {
  /** `POST /v1/tag` with `{tag}` (interface.md, Endpoints). */
  createTag(tag: string, options?: SendOptions): Promise<WriteResult>;
  /** `POST /v1/conversations/read`: "marks the conversation as read"; answers the service's string. */
  readConversation(
    request: ConversationRead,
    options?: SendOptions,
  ): Promise<{ readonly answer: string; readonly requestId: string | null }>;
  /**
   * `POST /v1/schedule` (interface.md, Endpoints, note 3). The request is checked first, and not sent if it is invalid.
   *
   * @returns the write result and the `local_id` that was sent: the request's own, or a new one
   */
  createSchedule(
    request: ScheduleRequest,
    options?: SendOptions,
  ): Promise<WriteResult & { readonly localId: string }>;
  /** `GET /v1/schedule/{id}`; `null` if the service answers 404. */
  schedule(id: Id): Promise<ScheduledMessage | null>;
  /** `PUT /v1/schedule/{id}`, with the same checks as `createSchedule`. */
  replaceSchedule(id: Id, request: ScheduleRequest, options?: SendOptions): Promise<WriteResult>;
  /** `DELETE /v1/schedule/{id}`: "cancels the scheduled message before it sends". */
  cancelSchedule(id: Id, options?: SendOptions): Promise<{ readonly requestId: string | null }>;
}

/** @throws ServiceError `not-sent` */
function refuseFlawed(operation: Operation, flaw: string | null): void {
  if (flaw === null) return;
  const name = nameOperation(operation);
  throw new ServiceError(`${name} was not sent: ${flaw}`, { operation: name, phase: 'not-sent' });
}

/** @param serviceNowMs returns the time by the service's clock or, before it is known, by our clock */
export function createMessageEndpoints(call: MakeCall, serviceNowMs: () => number): MessageEndpoints {
  const withId = (operation: Operation, id: Id) => ({
    operation,
    path: pathWithId(operation, id),
  });
  const schedule = (id: Id) =>
    nullIfMissing(async () =>
      decodeOne(await call(withId(operations.schedule, id)), 'scheduled message', id, decodeScheduledMessage),
    );
  return {
    createTag: async (tag, options) => {
      const flaw = tag.trim() === '' ? 'the tag has no name' : null;
      refuseFlawed(operations.createTag, flaw);
      return decodeWriteResult(await call({ operation: operations.createTag, body: { tag }, ...options }));
    },
    readConversation: async (request, options) => {
      const body = encodeRead(request);
      const reply = await call({ operation: operations.readConversation, body, ...options });
      return { answer: decodeString(reply), requestId: reply.requestId };
    },
    createSchedule: async (request, options) => {
      refuseFlawed(operations.createSchedule, findScheduleFlaw(request, serviceNowMs()));
      const localId = request.localId ?? randomUUID();
      const body = encodeSchedule({ ...request, localId });
      const result = decodeWriteResult(
        await call({ operation: operations.createSchedule, body, ...options }),
      );
      return { ...result, localId };
    },
    schedule,
    replaceSchedule: async (id, request, options) => {
      refuseFlawed(operations.replaceSchedule, findScheduleFlaw(request, serviceNowMs()));
      const body = encodeSchedule(request);
      return decodeWriteResult(await call({ ...withId(operations.replaceSchedule, id), body, ...options }));
    },
    cancelSchedule: async (id, options) => {
      const reply = await call({ ...withId(operations.cancelSchedule, id), ...options });
      decodeString(reply, 'ok');
      return { requestId: reply.requestId };
    },
  };
}
