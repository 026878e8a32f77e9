import type { ListedResource } from '../listed-resource.ts';

/** interface.md, Tag. The timestamp format is not documented: times are kept as the service wrote them. */
const tags: ListedResource = {
  name: 'tags',
  noun: 'tag',
  list: { method: 'POST', path: '/v1/tags', isPaged: true },
  row: '/v1/tag/{id}',
  columns: {
    team_id: 'team',
    tag: 'text',
    color: 'text',
    rev: 'integer',
    created: 'text',
    updated: 'text',
  },
};

export default tags;
