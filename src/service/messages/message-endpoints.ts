/** The endpoints that write, or that are about messages: tag creation, conversations, schedules. */
import { randomUUID } from 'node:crypto';
import { ServiceError } from '../../errors.ts';
import type { Id } from '../../model/id.ts';
import { type MakeCall, nullIfMissing } from '../call.ts';
import { nameOperation, type Operation, operations } from '../operation.ts';
import { encodeSchedule, findScheduleFlaw, type ScheduleRequest } from './schedule-request.ts';
import { decodeOne } from '../wire-lists.ts';
import {
  decodeScheduledMessage,
  decodeString,
  decodeWriteResult,
  type ScheduledMessage,
  type WriteResult,
} from './wire-schedule.ts';

/** The body of `POST /v1/conversations/read`; the two ids are required in practice. */
export interface ReadConversation {
  readonly inboxId: Id;
  readonly userId: Id;
  readonly target?: string;
  readonly targets?: readonly string[];
  readonly reassignId?: Id;
}

/** All of them but `schedule` are writes: refused in read-only mode and never repeated blindly. */
export interface MessageEndpoints {
  /** `POST /v1/tag` with `{tag}` (interface.md, Endpoints). */
  createTag(tag: string): Promise<WriteResult>;
  /** `POST /v1/conversations/read`: "marks the conversation as read"; answers the service's string. */
  readConversation(request: ReadConversation): Promise<string>;
  /**
   * `POST /v1/schedule` (interface.md, Endpoints, note 3). Checked first; an invalid request is not sent.
   *
   * @returns the write result and the `local_id` that was sent: the one given, or a new one
   */
  createSchedule(request: ScheduleRequest): Promise<WriteResult & { readonly localId: string }>;
  /** `GET /v1/schedule/{id}`; `null` if the service says 404. */
  schedule(id: Id): Promise<ScheduledMessage | null>;
  /** `PUT /v1/schedule/{id}`, with the same checks. */
  replaceSchedule(id: Id, request: ScheduleRequest): Promise<WriteResult>;
  /** `DELETE /v1/schedule/{id}`: "cancels the scheduled message before it sends". */
  cancelSchedule(id: Id): Promise<void>;
}

/** @throws ServiceError `not-sent` */
function refuseFlawed(operation: Operation, flaw: string | null): void {
  if (flaw === null) return;
  const name = nameOperation(operation);
  throw new ServiceError(`${name} was not sent: ${flaw}`, { operation: name, phase: 'not-sent' });
}

/** @param serviceNowMs the service's clock, as far as it is known */
export function createMessageEndpoints(call: MakeCall, serviceNowMs: () => number): MessageEndpoints {
  const withId = (operation: Operation, id: Id) => ({
    operation,
    path: operation.path.replace('{id}', String(id)),
  });
  return {
    createTag: async (tag) => {
      const flaw = tag.trim() === '' ? 'the tag has no name' : null;
      refuseFlawed(operations.createTag, flaw);
      return decodeWriteResult(await call({ operation: operations.createTag, body: { tag } }));
    },
    readConversation: async (request) => {
      const body = {
        inbox_id: request.inboxId,
        user_id: request.userId,
        target: request.target,
        targets: request.targets,
        reassign_id: request.reassignId,
      };
      return decodeString(await call({ operation: operations.readConversation, body }));
    },
    createSchedule: async (request) => {
      refuseFlawed(operations.createSchedule, findScheduleFlaw(request, serviceNowMs()));
      const localId = request.localId ?? randomUUID();
      const body = encodeSchedule({ ...request, localId });
      const result = decodeWriteResult(await call({ operation: operations.createSchedule, body }));
      return { ...result, localId };
    },
    schedule: async (id) =>
      await nullIfMissing(async () =>
        decodeOne(
          await call(withId(operations.schedule, id)),
          'scheduled message',
          id,
          decodeScheduledMessage,
        ),
      ),
    replaceSchedule: async (id, request) => {
      refuseFlawed(operations.replaceSchedule, findScheduleFlaw(request, serviceNowMs()));
      const body = encodeSchedule(request);
      const result = decodeWriteResult(await call({ ...withId(operations.replaceSchedule, id), body }));
      return result;
    },
    cancelSchedule: async (id) => {
      decodeString(await call(withId(operations.cancelSchedule, id)), 'ok');
    },
  };
}
