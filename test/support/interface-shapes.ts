/**
 * The documented objects of interface.md, written from the document: which fields of which type, where
 * they appear, and where client and emulator have them. Read by the coverage table and by the tests of the
 * fields, so that what stands here is tested.
 */

export type Scalar = 'integer' | 'string' | 'boolean' | 'object' | 'integer[]' | 'string[]';

/** Objects inside an object, or a list of them. */
export interface Nested {
  readonly shape: Shape;
  readonly list: boolean;
}

/** A declaration in a file of src; the fields stand inside it under their own names. */
export interface Place {
  /** From `src/` on. */
  readonly file: string;
  /** Such as `decodeTeam`, or `tags.color` for something inside it. */
  readonly symbol: string;
}

export interface Shape {
  readonly fields: Readonly<Record<string, Scalar | Nested>>;
  readonly client: Place;
  readonly emulator: Place;
  /** Fields that the client has elsewhere. */
  readonly elsewhere?: Readonly<Record<string, Place>>;
}

/** A shape under its heading of the interface, and where in which endpoints it stands. */
export interface Resource {
  readonly section: string;
  readonly shape: Shape;
  /** Such as `GET /v1/inboxes response []` or `POST /v1/users/update request users[]`. */
  readonly at: readonly string[];
}

export const place = (file: string, symbol: string): Place => ({ file, symbol });
const rowId = { id: place('service/wire.ts', 'decodeRows.id') };
export const one = (shape: Shape): Nested => ({ shape, list: false });
export const many = (shape: Shape): Nested => ({ shape, list: true });
const answers = 'emulator/wire/answer-schemas.ts';
export const requests = 'emulator/wire/request-schemas.ts';

const inWidgetSettings = {
  background_color: 'string',
  button_color: 'string',
  fab_background_color: 'string',
  fab_text_color: 'string',
  message: 'string',
  name: 'string',
  phone: 'string',
  title_background_color: 'string',
  title_text_color: 'string',
  tos: 'string',
  position: 'integer',
  preview_enabled: 'boolean',
} as const;

/** They are kept as they come. */
const asTheyCome = place('model/listed/inboxes.ts', 'inboxes.widget_settings');
const widgetSettings: Shape = {
  client: asTheyCome,
  emulator: place(answers, 'widgetSettings'),
  elsewhere: Object.fromEntries(Object.keys(inWidgetSettings).map((name) => [name, asTheyCome])),
  fields: inWidgetSettings,
};

const inbox: Shape = {
  client: place('model/listed/inboxes.ts', 'inboxes'),
  emulator: place(answers, 'inbox'),
  elsewhere: rowId,
  fields: {
    id: 'integer',
    name: 'string',
    team: 'integer',
    members: 'integer[]',
    phones: 'string[]',
    phone: 'string',
    allowed_domains: 'string[]',
    auto_assignable: 'boolean',
    bco_chats: 'boolean',
    forward_number: 'string',
    invited: 'string[]',
    op: 'string',
    rev: 'integer',
    widget_code: 'string',
    widget_settings: one(widgetSettings),
  },
};

/** The fields of one value are read and sent by the one table of them. */
export const userFields = Object.fromEntries(
  ['email', 'phone', 'role_id'].map((name) => [name, place('model/fields.ts', `singleFields.${name}`)]),
);

export const user: Shape = {
  client: place('service/wire-user.ts', 'shape'),
  emulator: place(answers, 'user'),
  elsewhere: { ...rowId, ...userFields },
  fields: {
    id: 'integer',
    name: 'string',
    email: 'string',
    phone: 'string',
    role_id: 'integer',
    team_id: 'integer',
    created_at: 'string',
    updated_at: 'string',
    user_created_at: 'string',
    user_updated_at: 'string',
  },
};

const member: Shape = {
  client: place('service/wire-team.ts', 'memberShape'),
  emulator: place(answers, 'member'),
  elsewhere: rowId,
  fields: { id: 'integer', name: 'string', role: 'string' },
};

const team: Shape = {
  client: place('service/wire-team.ts', 'teamShape'),
  emulator: place(answers, 'team'),
  elsewhere: {
    id: place('service/wire-team.ts', 'decodeTeam.id'),
    members: place('service/wire-team.ts', 'decodeTeam.members'),
  },
  fields: { id: 'integer', name: 'string', list_size: 'integer', members: many(member) },
};

const contactField: Shape = {
  client: place('model/listed/contact-fields.ts', 'contactFields'),
  emulator: place(answers, 'contactField'),
  elsewhere: rowId,
  fields: { id: 'integer', op: 'string', rev: 'integer', tid: 'integer', title: 'string', uid: 'integer' },
};

const tag: Shape = {
  client: place('model/listed/tags.ts', 'tags'),
  emulator: place(answers, 'tag'),
  elsewhere: rowId,
  fields: {
    id: 'integer',
    team_id: 'integer',
    tag: 'string',
    color: 'string',
    rev: 'integer',
    created: 'string',
    updated: 'string',
  },
};

const survey: Shape = {
  client: place('model/listed/surveys.ts', 'surveys'),
  emulator: place(answers, 'survey'),
  elsewhere: rowId,
  fields: {
    id: 'integer',
    name: 'string',
    type: 'string',
    question: 'string',
    created: 'string',
    updated: 'string',
  },
};

/** ScheduleContent and GalleryEntry are read and written, by two declarations of the client. */
export const contentOf = (content: Place, gallery: Place, attachment: Place): Shape => ({
  client: content,
  emulator: place(requests, 'scheduleContent'),
  fields: {
    attachments: many({
      client: attachment,
      emulator: place(requests, 'attachment'),
      fields: { name: 'string', type: 'string', url: 'string' },
    }),
    gallery: many({
      client: gallery,
      emulator: place(requests, 'galleryEntry'),
      fields: {
        annotation_position: 'string',
        annotation_text: 'string',
        original_url: 'string',
        url: 'string',
      },
    }),
    local_day: 'integer',
    local_time: 'string',
    offset: 'integer',
    template: 'integer',
    text: 'string',
    to: 'string',
  },
});

const readSchedule = 'service/messages/wire-schedule.ts';

const scheduledMessage: Shape = {
  client: place(readSchedule, 'shape'),
  emulator: place(answers, 'scheduledMessage'),
  elsewhere: rowId,
  fields: {
    id: 'integer',
    created: 'string',
    updated: 'string',
    execute: 'string',
    inbox_id: 'integer',
    local_id: 'string',
    meta: one({
      client: place(readSchedule, 'metaShape'),
      emulator: place(answers, 'scheduledMessage'),
      fields: {
        campaign_id: 'integer',
        campaign_step_id: 'integer',
        campaign_target_phone: 'string',
        content: one(
          contentOf(
            place(readSchedule, 'contentShape'),
            place(readSchedule, 'galleryShape'),
            place(readSchedule, 'attachmentShape'),
          ),
        ),
        conversation_id: 'integer',
        list_id: 'integer',
      },
    }),
    op: 'string',
    rev: 'integer',
  },
};

const writeResult: Shape = {
  client: place(readSchedule, 'decodeWriteResult'),
  emulator: place(answers, 'writeResult'),
  fields: { id: 'integer', rev: 'integer', uuid: 'string' },
};

const memberships: Shape = {
  client: place('service/wire-user.ts', 'decodeMemberships'),
  emulator: place(answers, 'memberships'),
  fields: { memberships: many(user) },
};

/** Everything that answers hold, by the interface's headings. */
export const responses = {
  inbox: { section: 'Inbox', shape: inbox, at: ['GET /v1/inboxes response []'] },
  memberships: {
    section: 'User',
    shape: memberships,
    at: ['GET /v1/users/get response', 'POST /v1/users/update response'],
  },
  team: { section: 'Team', shape: team, at: ['GET /v1/team response'] },
  contactField: {
    section: 'Contact field',
    shape: contactField,
    at: ['POST /v1/contact-fields response []'],
  },
  tag: { section: 'Tag', shape: tag, at: ['POST /v1/tags response []', 'GET /v1/tag/{id} response'] },
  survey: {
    section: 'Survey',
    shape: survey,
    at: ['POST /v1/surveys response []', 'GET /v1/survey/{id} response'],
  },
  scheduledMessage: {
    section: 'Scheduled message',
    shape: scheduledMessage,
    at: ['GET /v1/schedule/{id} response'],
  },
  writeResult: {
    section: 'Write result',
    shape: writeResult,
    at: ['POST /v1/tag response', 'POST /v1/schedule response', 'PUT /v1/schedule/{id} response'],
  },
} as const satisfies Readonly<Record<string, Resource>>;
