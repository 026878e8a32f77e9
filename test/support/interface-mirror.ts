/**
 * Where what the interface lets a client read and write is in the mirror: `table.column`, a command or a setting, or else
 * why it is nowhere. It stands in docs/interface-coverage.md; `test/system/interface-coverage.test.ts` holds it against the
 * schema and the commands.
 */
import { noPath, type Row } from './interface-row.ts';

type Where = string;

const column = (table: string, name: string): Where => `\`mirror.${table}.${name}\``;
const create = '`musterd schedule create`';
const put = '`musterd api` with PUT';
const show = '`musterd api` with GET';
const option = (name: string): Where => `${create} \`--${name}\``;
const asShown = `${show} prints this field`;
const unused = 'nowhere: musterd does not send this field, because the interface does not explain it';
const noContacts = `nowhere: no endpoint returns contacts. Their number is ${column('contact_counts', 'count')}`;
const noLists = `nowhere: no endpoint returns lists. The id of a list is passed to ${option('list')}`;
const noTemplates = `nowhere: no endpoint returns templates. The id of a template is passed to ${option('template')}`;
const noLinks = 'nowhere: no endpoint returns links';
const noGroups = 'nowhere: no endpoint returns user groups';
const noConversations =
  'nowhere: no endpoint returns conversations. `musterd conversations read` marks a conversation as read';
const noSending = `nowhere: no endpoint sends a message at once. ${create} schedules a message`;
const ofPages = 'nowhere: a run chooses this value. See the setting `pages.size`';
const ofSegments = 'setting `segments`';

/** The last name of a path such as `meta.content.gallery[].url`. */
const lastOf = (path: string): string => path.replace(/^.*\./, '');

const usersOf = (path: string): Where =>
  ['memberships', 'users'].includes(path) ? '`mirror.users`' : column('users', lastOf(path));

/** The options that give the fields of a message. */
const messageOptions: Readonly<Record<string, Where>> = {
  conversation_id: option('conversation'),
  execute_at: `${option('at')} and \`--zone\``,
  inbox_id: option('inbox'),
  is_email: option('is-email'),
  list_id: option('list'),
  local_id: `${create} makes and prints this id`,
  phone_number: option('to'),
  targets: option('to'),
  user_id: option('user'),
  attachments: option('attachment'),
  gallery: option('gallery'),
  template: option('template'),
  text: option('text'),
};
const sentMessage = (path: string): Where => {
  if (path === 'content') return create;
  if (path === '_' || path === 'super_id') return unused;
  const [first = ''] = path.replace(/^content\./, '').split(/\.|\[\]/);
  return messageOptions[first] ?? `${put} sends this field`;
};
const readOptions: Readonly<Record<string, string>> = {
  inbox_id: 'inbox',
  reassign_id: 'reassign',
  user_id: 'user',
};

/** By heading, for what is not named below. */
const bySection: Readonly<Record<string, (name: string) => Where>> = {
  Inbox: (name) =>
    name === 'team' ? column('inboxes', 'team_id') : column('inboxes', name.replace(/\..*$/, '')),
  User: usersOf,
  'User Group': () => noGroups,
  Team: (name) =>
    name === 'id'
      ? column('teams', 'team_id')
      : name.startsWith('members[]')
        ? column('users', lastOf(name))
        : column('teams', name),
  Contact: () => noContacts,
  'Contact field': (name) => column('contact_fields', name),
  List: () => noLists,
  Template: () => noTemplates,
  Tag: (name) => column('tags', name),
  Link: () => noLinks,
  Survey: (name) => column('surveys', name),
  'Scheduled message': () => asShown,
  'Shared pagination body': (name) => (['limit', 'page'].includes(name) ? ofPages : ofSegments),
  'Endpoints: users/get': (name) => column('user_lookups', name),
  'Endpoints: surveys': () => ofPages,
  'Endpoints: tag': () => '`musterd tag create`',
  'Endpoints: conversations/read': (name) =>
    `\`musterd conversations read\` \`--${readOptions[name] ?? name}\``,
  'Endpoints, note 2: UpdateUser': usersOf,
  'Endpoints, note 3: ScheduleRequest': sentMessage,
};

const byName: Readonly<Record<string, Where>> = {
  'What the service does: messages to one contact or to a list, whose members do not see each other': `${option('to')} and \`--list\` schedule such a message; no endpoint sends a message at once`,
  'What the service does: templates, media and merge tokens in messages': `${option('template')}, \`--attachment\`, \`--gallery\` and \`--text\``,
  'What the service does: surveys, campaigns and tracked short links': `surveys are in \`mirror.surveys\`; campaigns and links are nowhere, because no endpoint returns campaigns or links`,
  'General rules: 5. `creator_id` when a message is sent': `nowhere: no endpoint sends a message at once. For a scheduled message, ${option('user')} takes the id of a member of the inbox (\`mirror.inbox_members.user_id\`)`,
  'Contact: tags': `nowhere: no endpoint returns contacts. \`mirror.tags\` has all tags of the team`,
  'Contact: custom': `nowhere: no endpoint returns contacts. \`mirror.contact_fields\` has all contact fields of the team`,
  'Contact field: the ids of contact fields are the keys of a contact’s `custom`': `${column('contact_fields', 'id')}; contacts are nowhere, because no endpoint returns contacts`,
  'List: id': `${option('list')}; lists are nowhere, because no endpoint returns lists`,
  'Template: id': `${option('template')}; templates are nowhere, because no endpoint returns templates`,
  'Survey: the id of a survey is used when messages are sent': `${column('surveys', 'id')}; no endpoint sends a survey`,
  'Write result: id': `\`musterd tag create\` and ${create} print this id`,
  'Write result: rev': `nowhere: a run reads the \`rev\` of a new tag with that tag (${column('tags', 'rev')})`,
  'Write result: uuid': 'nowhere: no endpoint takes a uuid',
  'Other shapes: 1. fields of a conversation': noConversations,
  'Other shapes: 2. fields of a message, and of a request that sends a message': noSending,
  'Endpoints: GET /v1/inboxes': '`mirror.inboxes` and `mirror.inbox_members`',
  'Endpoints: GET /v1/users/get': '`mirror.users`',
  'Endpoints: POST /v1/users/update':
    'a run pushes edits made by `update` of `mirror.users` or by `musterd import`',
  'Endpoints: GET /v1/team': '`mirror.teams`',
  'Endpoints: POST /v1/contact-fields': '`mirror.contact_fields`',
  'Endpoints: POST /v1/tags': '`mirror.tags`',
  'Endpoints: POST /v1/contacts/count': column('contact_counts', 'count'),
  'Endpoints: POST /v1/surveys': '`mirror.surveys`',
  'Endpoints: GET /v1/survey/{id}': `${column('surveys', 'question')}; if the listing lacks a survey, a run requests it by its id, to check if it is gone`,
  'Endpoints: POST /v1/tag': '`musterd tag create`',
  'Endpoints: GET /v1/tag/{id}':
    '`mirror.tags.gone_at`: if the listing lacks a tag, a run requests it by its id, to check if it is gone',
  'Endpoints: POST /v1/conversations/read': '`musterd conversations read`',
  'Endpoints: POST /v1/schedule': create,
  'Endpoints: GET /v1/schedule/{id}': show,
  'Endpoints: PUT /v1/schedule/{id}': put,
  'Endpoints: DELETE /v1/schedule/{id}': '`musterd schedule cancel`',
  'Endpoints: the `id` in a path is a required integer': `${column('surveys', 'id')}, ${column('tags', 'id')}, ${show}`,
  'Endpoints: contacts/count answers with a string that holds the count': column('contact_counts', 'count'),
  'Endpoints: conversations/read answers with a string': '`musterd conversations read` prints this answer',
  'Endpoints: cancelling a schedule is answered with the string `ok`': '`musterd schedule cancel`',
  'Endpoints, notes: 6. endpoints of contacts except contacts/count (undocumented)': noContacts,
  'Endpoints, notes: 6. lists (undocumented)': noLists,
  'Endpoints, notes: 6. templates (undocumented)': noTemplates,
  'Endpoints, notes: 6. user groups (undocumented)': noGroups,
  'Endpoints, notes: 6. links (undocumented)': noLinks,
  'Endpoints, notes: 6. endpoints of conversations except conversations/read (undocumented)': noConversations,
  'Endpoints, notes: 6. message sending (undocumented)': noSending,
  'Events: webhooks: kinds, shape, delivery, retries, signing':
    'nowhere: no endpoint sets up webhooks, and a run reads all changes itself',
  'Errors: a link endpoint can answer 403 `link_tracking_not_available`': noLinks,
  'Errors: 404 means that the link does not exist, or belongs to another team': noLinks,
  'Limits: a contact has at most 5 tags': 'nowhere: no endpoint writes contacts',
  'Limits: the team’s `list_size` limits the size of a list': `${column('teams', 'list_size')}; lists are nowhere, because no endpoint returns lists`,
};

/** Whether it is about something to read or write: a field, an endpoint, or what no endpoint returns. */
export const isOfData = ({ name, field, client }: Row): boolean =>
  field !== undefined || client === noPath || /^[A-Z]+ \/v1\//.test(name);

const keyOf = ({ section, name }: Row): string => `${section}: ${name}`;

/** Where it is, or why it is nowhere; `undefined` for a rule. */
export function inMirror(row: Row): Where | undefined {
  if (!isOfData(row)) return undefined;
  return byName[keyOf(row)] ?? bySection[row.section]?.(row.field?.path ?? row.name);
}

/** Names here that no row has. */
export const strayNames = (rows: readonly Row[]): readonly string[] => {
  const all = new Set(rows.filter(isOfData).map(keyOf));
  return Object.keys(byName).filter((name) => !all.has(name));
};
