import type { UserValues } from '../../src/model/fields.ts';

/** Values of a user as the columns of `mirror.users` and of `sync.user_base`. */
export const columnsOf = ({ name, email, phone, roleId }: UserValues) => ({
  first_name: name.first,
  last_name: name.last,
  email,
  phone,
  role_id: roleId,
});
