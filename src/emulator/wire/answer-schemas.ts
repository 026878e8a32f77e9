import { z } from 'zod';
import { scheduleContent } from './request-schemas.ts';

/**
 * The service's answers, as typed in interface.md. Tests check the emulator's own answers against
 * these (with the default variants), and the OpenAPI document is made from them.
 */

const timestamp = z.string().describe('ISO 8601, UTC.');
const rev = z.int().optional().describe('Revision number.');
const op = z.string().optional().describe('Operation performed.');

export const user = z
  .looseObject({
    id: z.int(),
    name: z.string(),
    email: z.string(),
    phone: z.string().describe('Digits in E.164 form without the plus sign.'),
    role_id: z.int().describe('Role within the team.'),
    team_id: z.int(),
    created_at: timestamp,
    updated_at: timestamp,
    user_created_at: timestamp,
    user_updated_at: timestamp,
  })
  .describe('Team user, also called membership.');

export const memberships = z.looseObject({ memberships: z.array(user) });

export const member = z.looseObject({ id: z.int(), name: z.string(), role: z.string() });

export const team = z.looseObject({
  id: z.int(),
  name: z.string(),
  list_size: z.int().describe('List size limit.'),
  members: z.array(member),
});

const widgetSettings = z.looseObject({
  background_color: z.string(),
  button_color: z.string(),
  fab_background_color: z.string(),
  fab_text_color: z.string(),
  message: z.string(),
  name: z.string(),
  phone: z.string(),
  title_background_color: z.string(),
  title_text_color: z.string(),
  tos: z.string(),
  position: z.int(),
  preview_enabled: z.boolean(),
});

export const inbox = z.looseObject({
  id: z.int(),
  name: z.string(),
  team: z.int().describe('Team ID.'),
  members: z.array(z.int()).describe('IDs of team members with access.'),
  phones: z.array(z.string()).describe('Service phone numbers of the inbox.'),
  phone: z.string().describe('A phone number of the inbox.'),
  allowed_domains: z.array(z.string()),
  auto_assignable: z.boolean(),
  bco_chats: z.boolean(),
  forward_number: z.string(),
  invited: z.array(z.string()),
  op,
  rev,
  widget_code: z.string(),
  widget_settings: widgetSettings,
});

export const contactField = z.looseObject({
  id: z.int(),
  op,
  rev,
  tid: z.int(),
  title: z.string(),
  uid: z.int(),
});

export const tag = z.looseObject({
  id: z.int(),
  team_id: z.int(),
  tag: z.string().describe('Name.'),
  color: z.string(),
  rev,
  created: z.string(),
  updated: z.string(),
});

export const survey = z.looseObject({
  id: z.int(),
  name: z.string(),
  type: z.string(),
  question: z.string(),
  created: z.string(),
  updated: z.string(),
});

export const scheduledMessage = z.looseObject({
  id: z.int(),
  created: z.string(),
  updated: z.string(),
  execute: z.string().describe('Delivery time.'),
  inbox_id: z.int(),
  local_id: z.string(),
  meta: z.looseObject({
    campaign_id: z.int().optional(),
    campaign_step_id: z.int().optional(),
    campaign_target_phone: z.string().optional(),
    content: scheduleContent.optional(),
    conversation_id: z.int().optional(),
    list_id: z.int().optional(),
  }),
  op,
  rev,
});

export const writeResult = z.looseObject({
  id: z.int(),
  rev: z.int().optional(),
  uuid: z.string().optional(),
});

export const contactCount = z.string().regex(/^\d+$/).describe('A string holding the count of contacts.');
export const cancelled = z.literal('ok');
export const conversationAnswer = z.string();
export const errorLabel = z.string().describe('Errors are a status code with a JSON string body.');
