import { z } from 'zod';

/**
 * The requests of clients, with the types of interface.md. Unknown keys are allowed everywhere, because the
 * interface mentions further attributes of several bodies. A known key with another type gets a 400.
 */

/** Shared pagination body. A null means the same as leaving the key out, and is dropped beforehand. */
export const pageRequest = z
  .looseObject({
    archived: z.boolean().optional(),
    ascending: z.boolean().optional(),
    assigned: z.int().optional(),
    date: z.string().optional().describe('An RFC 3339 timestamp: rows changed strictly before it.'),
    filter: z.string().optional(),
    filters: z.record(z.string(), z.unknown()).optional(),
    id: z.int().optional(),
    limit: z.int().nonnegative().optional(),
    order: z.string().optional(),
    page: z.int().nonnegative().optional(),
    parent_id: z.int().optional(),
  })
  .describe('Shared pagination body.');
export type PageRequest = z.infer<typeof pageRequest>;

export const surveyPageRequest = z.looseObject({
  limit: z.int().nonnegative().optional(),
  page: z.int().nonnegative().optional(),
});

/** Some clients send `[]` for an empty object, and `null` entries for unknown values. */
export const userFilter = z.looseObject({
  phone: z.array(z.string().nullable()).nullish().describe('E.164 without the plus sign.'),
  email: z.array(z.string().nullable()).nullish(),
});
export type UserFilterBody = z.infer<typeof userFilter>;

export const userUpdate = z
  .looseObject({
    id: z.int(),
    first_name: z
      .string()
      .optional()
      .describe('Linked with last_name: send both, or the other is overwritten.'),
    last_name: z
      .string()
      .optional()
      .describe('Linked with first_name: send both, or the other is overwritten.'),
    email: z.string().optional(),
    phone: z.string().optional(),
    role_id: z.int().optional(),
  })
  .describe('Further attributes of UpdateUser: undocumented.');
export type UserUpdate = z.infer<typeof userUpdate>;

export const userUpdates = z.looseObject({ users: z.array(userUpdate) });

export const newTag = z.looseObject({ tag: z.string().min(1) });

export const conversationRead = z.looseObject({
  inbox_id: z.int(),
  user_id: z.int(),
  target: z.string().optional(),
  targets: z.array(z.string()).optional(),
  reassign_id: z.int().optional(),
});

export const galleryEntry = z.looseObject({
  annotation_position: z.string().optional(),
  annotation_text: z.string().optional(),
  original_url: z.string().optional(),
  url: z.string().optional(),
});

const attachment = z.looseObject({
  name: z.string().optional(),
  type: z.string().optional(),
  url: z.string().optional(),
});

export const scheduleContent = z.looseObject({
  attachments: z.array(attachment).optional(),
  gallery: z.array(galleryEntry).optional(),
  local_day: z.int().optional(),
  local_time: z.string().optional(),
  offset: z.int().optional(),
  template: z.int().optional(),
  text: z.string().optional(),
  to: z.string().optional(),
});

/** interface.md, note 3. It does not show which fields are required; `scheduleProblem` checks them. */
export const scheduleRequest = z.looseObject({
  _: z.int().optional(),
  content: scheduleContent.optional(),
  conversation_id: z.int().optional(),
  execute_at: z.string().optional(),
  inbox_id: z.int().optional(),
  is_email: z.boolean().optional(),
  list_id: z.int().optional(),
  local_id: z.string().optional(),
  phone_number: z.string().optional(),
  super_id: z.int().optional(),
  targets: z.array(z.string()).optional(),
  user_id: z.int().optional(),
});
export type ScheduleBody = z.infer<typeof scheduleRequest>;
