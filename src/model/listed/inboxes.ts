import type { ListedResource } from '../listed-resource.ts';

/** interface.md, Inbox. `members`: "IDs of team members with access". Phones are as the service wrote them, with or without a plus. */
const inboxes: ListedResource = {
  name: 'inboxes',
  noun: 'inbox',
  list: { method: 'GET', path: '/v1/inboxes', isPaged: false },
  columns: {
    name: 'text',
    team: 'team',
    members: 'ids',
    phones: 'texts',
    phone: 'text',
    allowed_domains: 'texts',
    auto_assignable: 'boolean',
    bco_chats: 'boolean',
    forward_number: 'text',
    invited: 'texts',
    op: 'text',
    rev: 'integer',
    widget_code: 'text',
    widget_settings: 'object',
  },
};

export default inboxes;
