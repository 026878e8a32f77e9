/** The documented objects that are sent; those that are answered are in interface-shapes.ts. */
import {
  contentOf,
  many,
  one,
  place,
  type Resource,
  requests,
  type Shape,
  userFields,
} from './interface-shapes.ts';

const sentSchedule = 'service/messages/schedule-request.ts';

const scheduleRequest: Shape = {
  client: place(sentSchedule, 'encodeSchedule'),
  emulator: place(requests, 'scheduleRequest'),
  fields: {
    _: 'integer',
    content: one(
      contentOf(
        place(sentSchedule, 'encodeContent'),
        place(sentSchedule, 'encodeContent'),
        place('model/message-request.ts', 'ScheduleContent'),
      ),
    ),
    conversation_id: 'integer',
    execute_at: 'string',
    inbox_id: 'integer',
    is_email: 'boolean',
    list_id: 'integer',
    local_id: 'string',
    phone_number: 'string',
    super_id: 'integer',
    targets: 'string[]',
    user_id: 'integer',
  },
};

const userUpdate: Shape = {
  client: place('service/wire-user.ts', 'encodeUserPatch'),
  emulator: place(requests, 'userUpdate'),
  elsewhere: userFields,
  fields: {
    id: 'integer',
    first_name: 'string',
    last_name: 'string',
    email: 'string',
    phone: 'string',
    role_id: 'integer',
  },
};

const userFilter: Shape = {
  client: place('service/wire-user.ts', 'encodeUserFilter'),
  emulator: place(requests, 'userFilter'),
  fields: { phone: 'string[]', email: 'string[]' },
};

/** The two that listings are read with are the client's own; the others pass through it as given. */
const asGiven = place('service/listing-endpoints.ts', 'createListingEndpoints.contactCount');
const readWith = place('service/page.ts', 'PageQuery');

const pagination: Shape = {
  client: readWith,
  emulator: place(requests, 'pageRequest'),
  elsewhere: {
    archived: asGiven,
    ascending: asGiven,
    assigned: asGiven,
    date: asGiven,
    filter: asGiven,
    filters: asGiven,
    id: asGiven,
    order: asGiven,
    parent_id: asGiven,
  },
  fields: {
    archived: 'boolean',
    ascending: 'boolean',
    assigned: 'integer',
    date: 'string',
    filter: 'string',
    filters: 'object',
    id: 'integer',
    limit: 'integer',
    order: 'string',
    page: 'integer',
    parent_id: 'integer',
  },
};

const surveyPage: Shape = {
  client: readWith,
  emulator: place(requests, 'surveyPageRequest'),
  fields: { limit: 'integer', page: 'integer' },
};

const newTag: Shape = {
  client: place('service/messages/message-endpoints.ts', 'createMessageEndpoints'),
  emulator: place(requests, 'newTag'),
  fields: { tag: 'string' },
};

const conversationRead: Shape = {
  client: place('service/messages/schedule-request.ts', 'encodeRead'),
  emulator: place(requests, 'conversationRead'),
  fields: {
    inbox_id: 'integer',
    user_id: 'integer',
    target: 'string',
    targets: 'string[]',
    reassign_id: 'integer',
  },
};

const updateUsers: Shape = {
  client: place('service/roster-endpoints.ts', 'createRosterEndpoints'),
  emulator: place(requests, 'userUpdates'),
  fields: { users: many(userUpdate) },
};

/** Everything that requests hold. */
export const bodies = {
  pagination: {
    section: 'Shared pagination body',
    shape: pagination,
    at: ['POST /v1/contact-fields request', 'POST /v1/tags request', 'POST /v1/contacts/count request'],
  },
  surveyPage: { section: 'Endpoints: surveys', shape: surveyPage, at: ['POST /v1/surveys request'] },
  userFilter: { section: 'Endpoints: users/get', shape: userFilter, at: ['GET /v1/users/get request'] },
  updateUsers: {
    section: 'Endpoints, note 2: UpdateUser',
    shape: updateUsers,
    at: ['POST /v1/users/update request'],
  },
  newTag: { section: 'Endpoints: tag', shape: newTag, at: ['POST /v1/tag request'] },
  conversationRead: {
    section: 'Endpoints: conversations/read',
    shape: conversationRead,
    at: ['POST /v1/conversations/read request'],
  },
  scheduleRequest: {
    section: 'Endpoints, note 3: ScheduleRequest',
    shape: scheduleRequest,
    at: ['POST /v1/schedule request', 'PUT /v1/schedule/{id} request'],
  },
} as const satisfies Readonly<Record<string, Resource>>;
