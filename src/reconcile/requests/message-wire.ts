/** Messages between the columns of the mirror and the requests of the service. */
import { isDeepStrictEqual } from 'node:util';
import type { Id } from '../../model/id.ts';
import type { ScheduleContent, ScheduleRequest } from '../../model/message-request.ts';
import type { Wanted } from '../../model/requests.ts';

const idOf = (value: unknown): Id | undefined =>
  typeof value === 'number' || typeof value === 'bigint' ? BigInt(value) : undefined;
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const textsOf = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) ? value.map(String) : undefined;

/** Leaves out columns without a value. */
const withoutUndefined = <T extends object>(values: T) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };

export function toScheduleRequest(localId: string, wanted: Wanted): ScheduleRequest {
  const gallery = Array.isArray(wanted['gallery']) ? (wanted['gallery'] as readonly Wanted[]) : undefined;
  return withoutUndefined({
    localId,
    inboxId: idOf(wanted['inbox_id']) ?? 0n,
    executeAt: textOf(wanted['execute_at']) ?? '',
    userId: idOf(wanted['user_id']),
    conversationId: idOf(wanted['conversation_id']),
    listId: idOf(wanted['list_id']),
    phoneNumber: textOf(wanted['phone_number']),
    targets: textsOf(wanted['targets']),
    isEmail: typeof wanted['is_email'] === 'boolean' ? wanted['is_email'] : undefined,
    content: withoutUndefined({
      text: textOf(wanted['text']),
      template: idOf(wanted['template_id']),
      attachments: wanted['attachments'] as ScheduleContent['attachments'] | undefined,
      gallery: gallery?.map((entry) =>
        withoutUndefined({
          annotationPosition: textOf(entry['annotation_position']),
          annotationText: textOf(entry['annotation_text']),
          originalUrl: textOf(entry['original_url']),
          url: textOf(entry['url']) ?? '',
        }),
      ),
    }),
  }) as ScheduleRequest;
}

export const toConversationRead = (wanted: Wanted) =>
  withoutUndefined({
    inboxId: idOf(wanted['inbox_id']) ?? 0n,
    userId: idOf(wanted['user_id']) ?? 0n,
    target: textOf(wanted['target']),
    targets: textsOf(wanted['targets']),
    reassignId: idOf(wanted['reassign_id']),
  });

/** Whether the service shows the message as it was sent, in all the columns that it shows. */
export const isAsSent = (shown: Wanted, sent: Wanted): boolean =>
  Object.entries(shown).every(([column, value]) => isDeepStrictEqual(sent[column] ?? null, value ?? null));
