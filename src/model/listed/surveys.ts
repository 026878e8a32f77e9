import type { ListedResource } from '../listed-resource.ts';

/** interface.md, Survey. "Allowed values of survey `type`: not shown" (Other shapes, 4). */
const surveys: ListedResource = {
  name: 'surveys',
  noun: 'survey',
  list: { method: 'POST', path: '/v1/surveys', isPaged: true },
  row: '/v1/survey/{id}',
  columns: { name: 'text', type: 'text', question: 'text', created: 'text', updated: 'text' },
  byRow: ['question'],
};

export default surveys;
