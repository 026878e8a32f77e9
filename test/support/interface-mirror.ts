/**
 * Where what the interface lets a client read and write is in the mirror: `table.column`, a command or a setting, or else
 * why it is nowhere. It stands in docs/interface-coverage.md; `test/system/interface-coverage.test.ts` holds it against the
 * schema and the commands.
 */
import { noPath, type Row } from './interface-row.ts';

type Where = string;

const column = (table: string, name: string): Where => `\`mirror.${table}.${name}\``;
const scheduled = (name: string): Where => column('scheduled_messages', name);
const asAnswered = `${scheduled('raw')}, as it was answered`;
const unused = 'nowhere: it is not sent, since the interface does not say what it does';
const noContacts = `nowhere: no endpoint gives contacts. How many there are is ${column('contact_counts', 'count')}`;
const noLists = `nowhere: no endpoint gives lists. The id of one is ${scheduled('list_id')}`;
const noTemplates = `nowhere: no endpoint gives templates. The id of one is ${scheduled('template_id')}`;
const noLinks = 'nowhere: no endpoint gives links';
const noGroups = 'nowhere: no endpoint gives user groups';
const noConversations = `nowhere: no endpoint gives conversations. The id of one is ${scheduled('conversation_id')}; they are marked as read by \`mirror.conversation_reads\``;
const noSending =
  'nowhere: no endpoint sends a message at once. One is scheduled by `mirror.scheduled_messages`';
const ofPages = 'nowhere: a run chooses it. Setting `pages.size`';
const ofSegments = 'setting `segments`, and `scope` for tags and contact fields';

/** The last name of a path such as `meta.content.gallery[].url`. */
const lastOf = (path: string): string => path.replace(/^.*\./, '');

const contentColumns: Readonly<Record<string, string>> = {
  attachments: 'attachments',
  gallery: 'gallery',
  template: 'template_id',
  text: 'text',
};

/** What a message has below `content`; the rest of it is kept as it was answered, and never sent. */
const contentOf = (path: string, rest: Where): Where => {
  const [first = ''] = path.split(/\.|\[\]/);
  const found = contentColumns[first];
  return found === undefined ? rest : scheduled(found);
};

const usersOf = (path: string): Where =>
  ['memberships', 'users'].includes(path) ? '`mirror.users`' : column('users', lastOf(path));

const scheduledColumns = new Set(['id', 'inbox_id', 'local_id']);
const readMessage = (path: string): Where => {
  if (path === 'execute') return scheduled('execute_at');
  if (path === 'meta.conversation_id' || path === 'meta.list_id') return scheduled(lastOf(path));
  if (path.startsWith('meta.content.')) return contentOf(path.slice('meta.content.'.length), asAnswered);
  return scheduledColumns.has(path) ? scheduled(path) : asAnswered;
};
const sentMessage = (path: string): Where => {
  if (path === 'content') return '`mirror.scheduled_messages`';
  if (path === '_' || path === 'super_id') return unused;
  return path.startsWith('content.') ? contentOf(path.slice('content.'.length), unused) : scheduled(path);
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
  'Scheduled message': readMessage,
  'Shared pagination body': (name) => (['limit', 'page', 'date'].includes(name) ? ofPages : ofSegments),
  'Endpoints: users/get': (name) => column('user_lookups', name),
  'Endpoints: surveys': () => ofPages,
  'Endpoints: tag': (name) => column('tags', name),
  'Endpoints: conversations/read': (name) => column('conversation_reads', name),
  'Endpoints, note 2: UpdateUser': usersOf,
  'Endpoints, note 3: ScheduleRequest': sentMessage,
};

const byName: Readonly<Record<string, Where>> = {
  'What the service does: messages to one contact or to a list, whose members do not see each other': `${scheduled('targets')}, ${scheduled('phone_number')} and ${scheduled('list_id')}: scheduled, not sent at once`,
  'What the service does: templates, media and merge tokens in messages': `${scheduled('template_id')}, ${scheduled('attachments')}, ${scheduled('gallery')} and ${scheduled('text')}`,
  'What the service does: surveys, campaigns and tracked short links': `surveys in \`mirror.surveys\`; campaigns and links nowhere: no endpoint gives them`,
  'General rules: 5. `creator_id` when a message is sent': `nowhere: no endpoint sends a message at once. Of a scheduled one it is ${scheduled('user_id')}, a member in \`mirror.inbox_members.user_id\``,
  'Contact: tags': `nowhere: no endpoint gives contacts. All tags are \`mirror.tags\``,
  'Contact: custom': `nowhere: no endpoint gives contacts. Its fields are \`mirror.contact_fields\``,
  'Contact field: the ids are keys of a contact’s `custom`': `${column('contact_fields', 'id')}; the contacts nowhere`,
  'List: id': `${scheduled('list_id')}, as whoever writes it knows it; the lists nowhere: no endpoint gives them`,
  'Template: id': `${scheduled('template_id')}, as whoever writes it knows it; the templates nowhere: no endpoint gives them`,
  'Survey: ids are used when messages are sent': `${column('surveys', 'id')}; no endpoint sends one`,
  'Write result: id': `${column('tags', 'id')} and ${scheduled('id')}`,
  'Write result: rev': `nowhere: it is read with the tag (${column('tags', 'rev')})`,
  'Write result: uuid': 'nowhere: no endpoint takes one',
  'Other shapes: 1. fields of a conversation': noConversations,
  'Other shapes: 2. fields of a message, and of sending one': noSending,
  'Endpoints: GET /v1/inboxes': '`mirror.inboxes` and `mirror.inbox_members`; `musterd inboxes`',
  'Endpoints: GET /v1/users/get': '`mirror.users`',
  'Endpoints: POST /v1/users/update': '`update` of `mirror.users`; `musterd import`',
  'Endpoints: GET /v1/team': '`mirror.teams`',
  'Endpoints: POST /v1/contact-fields': '`mirror.contact_fields`',
  'Endpoints: POST /v1/tags': '`mirror.tags`',
  'Endpoints: POST /v1/contacts/count': column('contact_counts', 'count'),
  'Endpoints: POST /v1/surveys': '`mirror.surveys`; `musterd surveys`',
  'Endpoints: GET /v1/survey/{id}': `${column('surveys', 'question')}; whether a survey that is not listed is gone`,
  'Endpoints: POST /v1/tag': '`insert` into `mirror.tags`; `musterd tag create`',
  'Endpoints: GET /v1/tag/{id}': 'whether a tag that is not listed is gone: `mirror.tags.gone_at`',
  'Endpoints: POST /v1/conversations/read':
    '`insert` into `mirror.conversation_reads`; `musterd conversations read`',
  'Endpoints: POST /v1/schedule': '`insert` into `mirror.scheduled_messages`; `musterd schedule create`',
  'Endpoints: GET /v1/schedule/{id}': `${scheduled('base')} and ${scheduled('state')}; \`musterd schedule show\``,
  'Endpoints: PUT /v1/schedule/{id}': '`update` of `mirror.scheduled_messages`; `musterd schedule update`',
  'Endpoints: DELETE /v1/schedule/{id}': '`delete` of `mirror.scheduled_messages`; `musterd schedule cancel`',
  'Endpoints: path `id`: a required integer': `${column('surveys', 'id')}, ${column('tags', 'id')}, ${scheduled('id')}`,
  'Endpoints: answer of contacts/count: a string that holds the count': column('contact_counts', 'count'),
  'Endpoints: answer of conversations/read: a string': column('conversation_reads', 'answer'),
  'Endpoints: answer of cancelling: the string `ok`': scheduled('state'),
  'Endpoints, notes: 6. contacts other than their count (not shown)': noContacts,
  'Endpoints, notes: 6. lists (not shown)': noLists,
  'Endpoints, notes: 6. templates (not shown)': noTemplates,
  'Endpoints, notes: 6. user groups (not shown)': noGroups,
  'Endpoints, notes: 6. links (not shown)': noLinks,
  'Endpoints, notes: 6. conversations other than read (not shown)': noConversations,
  'Endpoints, notes: 6. message sending (not shown)': noSending,
  'Events: webhooks: kinds, shape, delivery, retries, signing':
    'nowhere: no endpoint sets up any, and a run reads what has moved',
  'Errors: 403 `link_tracking_not_available`: a link endpoint': noLinks,
  'Errors: 404: a link of another team, or none': noLinks,
  'Limits: at most 5 tags of a contact': 'nowhere: no endpoint writes contacts',
  'Limits: the team’s `list_size`, of a list': `${column('teams', 'list_size')}; the lists nowhere`,
};

/** Whether it is about something to read or write: a field, an endpoint, or what no endpoint gives. */
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
