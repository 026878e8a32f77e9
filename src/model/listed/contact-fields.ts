import type { ListedResource } from '../listed-resource.ts';

/** interface.md, Contact field: the definition of a custom field. `tid` and `uid` are its team and its user. */
const contactFields: ListedResource = {
  name: 'contact_fields',
  noun: 'contact field',
  list: { method: 'POST', path: '/v1/contact-fields', isPaged: true },
  columns: { title: 'text', op: 'text', rev: 'integer', tid: 'integer', uid: 'integer' },
};

export default contactFields;
